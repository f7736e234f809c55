package layout

import "strings"

const adjectives = `able agile airy amber ample autumn brave breezy bright brisk bronze calm
candid careful clear clever copper coral cosy crisp curious dapper daring deft eager early
fair fleet fresh gentle gilded glad golden grand green happy hardy honest humble indigo
ivory jolly keen kind lively lucky lunar mellow merry misty modest neat nimble noble northern
patient placid plucky polite proud quick quiet rapid ready robust rosy ruby rustic sandy
serene sharp silent silver simple sleek smooth snowy solar sound spry steady still stout
sturdy sunny swift tidy tranquil trusty upbeat vivid warm western wise witty`

const nouns = `acorn alder aspen badger barley beacon beaver birch bison bramble brook
burrow canyon cedar clover comet condor cove crane creek cricket curlew dale delta dune eagle
egret elm ember falcon fern finch fjord fox gecko glade grove gull harbor harvest hawk hazel
heath hedge heron hill ibex island ivy juniper kestrel lagoon lake lantern lark linden lynx
maple marsh marten meadow mesa moor moss oak orchard osprey otter owl panda pebble pine
plover pond poplar prairie puffin quail raven reed ridge river robin sage salmon sparrow
spruce stork swan tern thicket thistle thrush tiger trout tundra valley walnut willow wren`

// Invent returns a random name such as quiet-otter. rnd returns a number from 0 up
// to but not including n.
func Invent(rnd func(n int) int) string {
	a, n := strings.Fields(adjectives), strings.Fields(nouns)
	return a[rnd(len(a))] + "-" + n[rnd(len(n))]
}
