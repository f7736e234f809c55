package dashboard

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/croft-sh/croft"
)

const (
	treeAgents = 12  // how many agents a tree has at most
	treeRound  = 240 // pixels from round to round
	treeAgent  = 40  // from agent to agent
	treeTop    = 28
)

// roundTree is the drawing of the rounds of a session, the oldest at the left. Sizes are attributes: the policy
// of the pages allows no styles.
type roundTree struct {
	Width, Height int
	Label         string
	Edges         []string // paths of SVG
	Rounds        []treeNode
	Attempts      []treeNode
}

type treeNode struct {
	X, Y, TextX, TextY int
	Text, Class        string
}

// treeOf draws the rounds that the page shows, or nothing where the drawing would be too large.
func treeOf(data *sessionData) *roundTree {
	if len(data.Rounds) == 0 || len(data.Rows) == 0 || len(data.Rows) > treeAgents {
		return nil
	}
	t := &roundTree{
		Width: len(data.Rounds)*treeRound + 20, Height: treeTop + len(data.Rows)*treeAgent,
		Label: fmt.Sprintf("Round tree: %s of %s, each attempt from the commit that its round started from.", countText(len(data.Rounds), "round"), countText(len(data.Rows), "agent")),
	}
	middle := treeTop + len(data.Rows)*treeAgent/2 - 7
	last := len(data.Rounds) - 1
	for i := range data.Rounds {
		round, x := data.Rounds[last-i], i*treeRound+20
		t.Rounds = append(t.Rounds, treeNode{X: x, Y: middle, Text: "Round " + strconv.Itoa(round.Number)})
		if i > 0 {
			t.Edges = append(t.Edges, fmt.Sprintf("M%d %dH%d", x-treeRound+6, middle, x-6))
		}
		for j, row := range data.Rows {
			cell := row.Cells[last-i]
			if cell.WS == nil {
				continue
			}
			y := treeTop + j*treeAgent
			t.Edges = append(t.Edges, fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x+6, middle, x+40, middle, x+30, y+13, x+70, y+13))
			t.Attempts = append(t.Attempts, treeNode{X: x + 70, Y: y, TextX: x + 84, TextY: y + 17, Text: cutText(cell.WS.Label, 10), Class: cell.class(round)})
		}
	}
	return t
}

// class colours an attempt by what became of it. The table says the same in words.
func (c attemptCell) class(round *croft.Round) string {
	switch {
	case c.Fault != "":
		return "bad"
	case round.State == croft.RoundOpen:
		return "go"
	case c.Held > 0:
		return "warn"
	case c.Total != nil && *c.Total != (croft.Changes{}):
		return "ok"
	}
	return ""
}

// cutText shortens a text to so many characters.
func cutText(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(slices.Concat(runes[:most-1], []rune("…")))
}
