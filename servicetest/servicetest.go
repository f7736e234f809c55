// Package servicetest proves that an implementation of croft.Service keeps the
// contract that is written on the Service's parts. It knows no implementation, and not
// where one keeps its workspaces: what the suite does besides calling the Service, it
// does through a Harness.
//
// An implementation on this machine needs a function that opens it:
//
//	func TestService(t *testing.T) {
//		servicetest.Run(t, harness.Local(func(t *testing.T, dir string, env []string) croft.Service {
//			svc, err := mine.Open(t.Context(), dir, env)
//			…
//			t.Cleanup(func() { svc.Close() })
//			return svc
//		}))
//	}
//
// One on other machines, such as a client of a daemon or a fleet, brings a Harness of its
// own: see package harness, and wire.Remote for one that shares no path with the test. Begin
// with Capabilities that returns nil: what is skipped then is named in the output of go test
// -v. Then add the capabilities that you have. A part that is not there yet can be had by
// embedding croft.UnimplementedService; its scenarios fail, they are not skipped.
//
// Every scenario has a real repository and a user without records of its own, and looks at
// the result through git and the files, not only through the Service that is being tested.
// Run one with -run 'TestService/Merges/Conflict'.
package servicetest

import (
	"errors"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/servicetest/harness"
)

// Harness is what the suite needs besides a Service: see there. Of an implementation on
// this machine it is harness.Local.
type Harness = harness.Harness

// Run tests the whole contract, but for scenarios that need a capability that the harness
// lacks: they are reported as skipped.
func Run(t *testing.T, h Harness) { run(t, h, groups()) }

// RunNeeding tests only what needs a capability.
func RunNeeding(t *testing.T, c harness.Capability, h Harness) {
	list := groups()
	for i := range list {
		list[i].scenarios = slices.DeleteFunc(list[i].scenarios, func(s scenario) bool { return !slices.Contains(s.needs, c) })
	}
	run(t, h, slices.DeleteFunc(list, func(g group) bool { return len(g.scenarios) == 0 }))
}

// group is a set of scenarios about one part of a Service.
type group struct {
	name      string
	scenarios []scenario
}

// groupOf is the group whose scenarios are the exported methods of a type.
func groupOf(name string, of any) group { return group{name: name}.and("", of) }

// and adds the exported methods of another type, which need a capability unless it is "".
func (g group) and(c harness.Capability, of any) group {
	for method, value := range reflect.ValueOf(of).Methods() {
		s := scenario{name: method.Name, run: value.Interface().(func(*testing.T, *fixture))}
		if c != "" {
			s.needs = []harness.Capability{c}
		}
		g.scenarios = append(g.scenarios, s)
	}
	return g
}

// needing says that some scenarios of the group need a capability.
func (g group) needing(c harness.Capability, names ...string) group {
	for _, name := range names {
		i := slices.IndexFunc(g.scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			panic("servicetest: no scenario " + g.name + "/" + name)
		}
		g.scenarios[i].needs = append(g.scenarios[i].needs, c)
	}
	return g
}

func groups() []group {
	return withLayout([]group{
		groupOf("Repos", repoScenarios{}).needing(harness.Environment, "EnvironmentIsIgnored"),
		groupOf("Create", createScenarios{}).needing(harness.Environment, "GitMissing").and(harness.SharedDisk, localCreateScenarios{}),
		{name: "AllOrNone", scenarios: allOrNoneScenarios()},
		groupOf("Base", baseScenarios{}),
		groupOf("Pushes", pushScenarios{}),
		groupOf("Places", placeScenarios{}).and(harness.SharedDisk, localPlaceScenarios{}),
		withRoles(groupOf("Swarm", swarmScenarios{}).and(harness.SharedDisk, localSwarmScenarios{})),
		groupOf("Sibling", siblingScenarios{}).needing(harness.Environment, "MaxWorkers"),
		groupOf("Agents", agentScenarios{}).and(harness.SharedDisk, localAgentScenarios{}).needing(harness.PlainDirectories, "PlainDirectory"),
		groupOf("Roles", roleScenarios{}),
		groupOf("List", listScenarios{}).and(harness.SharedDisk, localListScenarios{}),
		groupOf("Status", statusScenarios{}),
		groupOf("Conditions", conditionScenarios{}),
		groupOf("Remove", removeScenarios{}).and(harness.SharedDisk, localRemoveScenarios{}),
		groupOf("Lock", lockScenarios{}),
		groupOf("Lease", leaseScenarios{}),
		groupOf("Reap", reapScenarios{}),
		groupOf("Clean", cleanScenarios{}),
		groupOf("Trash", trashScenarios{}),
		groupOf("TrashUpkeep", trashUpkeepScenarios{}).and(harness.SharedDisk, localTrashUpkeepScenarios{}),
		groupOf("Snapshots", snapshotScenarios{}).and(harness.SharedDisk, localSnapshotScenarios{}),
		groupOf("Radar", radarScenarios{}),
		groupOf("History", historyScenarios{}),
		groupOf("Merges", mergeScenarios{}).needing(harness.LostState, "DatabaseLost"),
		groupOf("Seen", seenScenarios{}),
		groupOf("Gets", getScenarios{}),
		groupOf("Commits", commitScenarios{}),
		groupOf("Resolve", resolveScenarios{}).and(harness.SharedDisk, localResolveScenarios{}),
		groupOf("Save", saveScenarios{}),
		groupOf("Finish", finishScenarios{}).needing(harness.PlainDirectories, "FinishPlainDirectory"),
		groupOf("Branch", branchScenarios{}),
		groupOf("Lanes", laneScenarios{}),
		groupOf("Revert", revertScenarios{}),
		groupOf("Reviews", reviewScenarios{}).needing(harness.LostState, "LostDatabase"),
		groupOf("Rounds", roundScenarios{}).and(harness.SharedDisk, localRoundScenarios{}),
		groupOf("RoundModes", roundModeScenarios{}).needing(harness.Isolated, "Isolated", "IsolatedSeesTheOthers").
			needing(harness.PlainDirectories, "PlainDirectory", "PlainDirectoryFallsBack", "PlainDirectoryLegacy", "PlainDirectoryChanged"),
		groupOf("Scratch", scratchScenarios{}).and(harness.SharedDisk, localScratchScenarios{}),
		groupOf("Presenter", presenterScenarios{}),
		groupOf("Doctor", doctorScenarios{}),
		groupOf("Keys", keyScenarios{}),
		groupOf("Events", eventScenarios{}),
		groupOf("Told", toldScenarios{}),
		groupOf("Reasons", reasonScenarios{}),
		groupOf("Limits", limitScenarios{}).needing(harness.Environment, "MaxWorkersRace"),
		groupOf("Actors", actorScenarios{}),
		groupOf("Revisions", revisionScenarios{}),
		groupOf("Meta", metaScenarios{}),
		groupOf("Reports", reportScenarios{}),
		groupOf("Runs", runScenarios{}),
		groupOf("Adopt", adoptScenarios{}),
		groupOf("Setups", setupScenarios{}),
		groupOf("Ports", portScenarios{}),
		groupOf("Everywhere", everywhereScenarios{}),
		groupOf("CheckLog", checkLogScenarios{}),
		groupOf("Diffs", diffScenarios{}),
		groupOf("CommitList", commitListScenarios{}),
		groupOf("Files", fileScenarios{}),
	})
}

func run(t *testing.T, h Harness, groups []group) {
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, s := range g.scenarios {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					if c := harness.Missing(h, s.needs); c != "" {
						t.Skipf("needs the capability %q", c)
					}
					s.play(t, h)
				})
			}
		})
	}
}

// scenario is one named test of a promise.
type scenario struct {
	name  string
	run   func(t *testing.T, f *fixture)
	needs []harness.Capability
}

// play runs a scenario. A panic, as after an answer that is nil, fails it and leaves the
// others alone.
func (s scenario) play(t *testing.T, h Harness) {
	t.Helper()
	defer func() {
		if t.Skipped() {
			t.Error("skipped for another reason than a capability")
		}
		if reason := recover(); reason != nil {
			t.Errorf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	s.run(t, newFixture(t, h))
}

// must ends the test if a call failed that the scenario needs.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errOf drops the result of a call of which the scenario needs only the error.
func errOf[T any](_ T, err error) error { return err }

// wantCode ends the test unless err has the code, and returns the error.
func wantCode(t *testing.T, err error, want croft.Code) *croft.Error {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error = %v, want %s", err, want)
	}
	var e *croft.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %T is not a *croft.Error", err)
	}
	checkError(t, e)
	return e
}

// checkError checks the properties that every error has.
func checkError(t *testing.T, e *croft.Error) {
	t.Helper()
	switch {
	case e.Op == "":
		t.Errorf("%s: no operation", e.Code)
	case e.Message == "" || strings.ContainsAny(e.Message, "\n"):
		t.Errorf("%s: message %q is not one line", e.Code, e.Message)
	case strings.HasSuffix(e.Message, "."):
		t.Errorf("%s: message %q ends with a period", e.Code, e.Message)
	}
}

// eventually polls until the answer is true, and ends the test if it never is.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("never happened: %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
