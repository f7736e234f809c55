package listing

import (
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

// Setting is a setting as it is shown: a list has several items.
type Setting struct {
	Key    string
	Items  []string
	Source string
}

// Settings are the lines of a list of settings, an item a line. A terminal that is too narrow has the sources, and
// then the values, on lines of their own.
func Settings(settings []Setting, to screen.Stream) []string {
	t := &screen.Table{Columns: []screen.Column{{Key: "KEY"}, {Key: "VALUE"}, {Key: "SOURCE"}}}
	for _, s := range settings {
		for i, item := range s.Items {
			row := []screen.Cell{nil, screen.Text(screen.Printable(wording.OrDash(item)), screen.Plain), nil}
			if i == 0 {
				row[0], row[2] = screen.Text(s.Key, screen.Bold), screen.Text(s.Source, screen.Dim)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	sign := to.Signs().Cut
	const leastValue = 20
	t.Fit(to.Width,
		screen.Shrink("SOURCE", leastWhy, func(text string, room int) string { return screen.CutMiddle(text, room, sign) }),
		screen.Drop("SOURCE"),
		screen.Shrink("VALUE", leastValue, func(text string, room int) string { return screen.CutEnd(text, room, sign) }),
		screen.Below("VALUE"))
	return t.Body(to)
}
