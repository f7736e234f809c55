package listing

import (
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

// mostInMatrix is how many workspaces a matrix has at most.
const mostInMatrix = 12

// Matrix says in how many files workspaces collide with each other and with their target: a row for each that
// collides, and a letter for each row. There is none if there are too many of them, or if the terminal is too
// narrow.
func Matrix(pairs []croft.Collision, to screen.Stream) []string {
	names := colliding(pairs)
	if len(names) < 2 || len(names) > mostInMatrix {
		return nil
	}
	heading := targetHeading(pairs)
	t := &screen.Table{Columns: []screen.Column{{Key: "LETTER", IsClose: true}, {Key: colName}}}
	if heading != "" {
		t.Columns = append(t.Columns, screen.Column{Key: colTarget, Heading: heading})
	}
	for i := range names {
		t.Columns = append(t.Columns, screen.Column{Key: letter(i), Heading: letter(i)})
	}
	for i, name := range names {
		row := []screen.Cell{screen.Text(letter(i), screen.Dim), screen.Text(screen.Printable(name), screen.Bold)}
		if heading != "" {
			row = append(row, countCell(pairs, name, "", screen.Width(heading), to.Signs()))
		}
		for _, other := range names {
			row = append(row, countCell(pairs, name, other, 1, to.Signs()))
		}
		t.Rows = append(t.Rows, row)
	}
	sign := to.Signs().Cut
	if !t.Fit(to.Width, screen.Shrink(colName, leastName, func(text string, room int) string { return screen.CutMiddle(text, room, sign) })) {
		return nil
	}
	return append([]string{t.Heading(to)}, t.Body(to)...)
}

func letter(i int) string { return string(rune('a' + i)) }

// colliding are the workspaces that collide with another one or with their target, in the order of the pairs.
func colliding(pairs []croft.Collision) (names []string) {
	for _, c := range pairs {
		for _, name := range []string{c.A, c.B} {
			if !slices.Contains(names, name) && (name == c.A || !c.IsTarget) {
				names = append(names, name)
			}
		}
	}
	return names
}

// targetHeading is the name of the target that workspaces collide with; empty if none does.
func targetHeading(pairs []croft.Collision) string {
	heading := ""
	for _, c := range pairs {
		switch {
		case !c.IsTarget || c.B == heading:
		case heading == "" && screen.Width(c.B) <= leastName:
			heading = screen.Printable(c.B)
		default:
			return "target"
		}
	}
	return heading
}

// countCell is in how many files two workspaces collide, or one with its target, if other is empty.
func countCell(pairs []croft.Collision, name, other string, wide int, signs screen.Signs) screen.Cell {
	cell := screen.Span{Text: signs.Dot, Style: screen.Dim}
	for _, c := range pairs {
		isOf := c.IsTarget && other == "" && c.A == name || !c.IsTarget && (c.A == name && c.B == other || c.A == other && c.B == name)
		if isOf && name != other {
			cell = screen.Span{Text: strconv.Itoa(max(len(c.Paths), 1)), Style: screen.Red}
		}
	}
	return screen.Cell{{Text: strings.Repeat(" ", max(wide-screen.Width(cell.Text)+1, 0)/2)}, cell}
}

// Pairs are the pairs that collide, with the paths.
func Pairs(pairs []croft.Collision, to screen.Stream) []string {
	t := &screen.Table{Columns: []screen.Column{{Key: colName}, {Key: colCollides}, {Key: "IN"}}}
	for _, c := range pairs {
		t.Rows = append(t.Rows, []screen.Cell{
			screen.Text(screen.Printable(c.A), screen.Bold), screen.Text(screen.Printable(c.B), screen.Plain), screen.Text(screen.Printable(CollisionText(c)), screen.Plain),
		})
	}
	sign := to.Signs().Cut
	middle := func(text string, room int) string { return screen.CutMiddle(text, room, sign) }
	t.Fit(to.Width, screen.Shrink("IN", leastWhy, middle), screen.Shrink(colName, leastName, middle), screen.Shrink(colCollides, leastName, middle), screen.Shrink("IN", leastLook, middle))
	return t.Body(to)
}

// CollisionText is the paths in which two workspaces collide, or why git cannot merge them.
func CollisionText(c croft.Collision) string {
	switch c.Reason {
	case croft.Unrelated:
		return "no history in common"
	case croft.Unmergeable:
		return "git itself fails to merge them"
	}
	return wording.FewNames(c.Paths)
}

// Order says which workspaces merge without a conflict, one after the other, and which do not.
func Order(f *croft.Forecast) (clean, after []string) {
	for _, name := range f.Order {
		isInTheWay := slices.ContainsFunc(f.Pairs, func(c croft.Collision) bool {
			return c.A == name && (c.IsTarget || slices.Contains(clean, c.B)) || c.B == name && !c.IsTarget && slices.Contains(clean, c.A)
		})
		if isInTheWay {
			after = append(after, name)
		} else {
			clean = append(clean, name)
		}
	}
	return clean, after
}

// MergeCommands are the commands that merge workspaces in an order, each as long as a line has room.
func MergeCommands(names []string, room int) (commands []string) {
	const merge = "croft merge"
	for _, name := range names {
		word := " " + wording.ShellWord(name)
		last := len(commands) - 1
		if last < 0 || screen.Width(commands[last]+word) > room {
			commands = append(commands, merge+word)
			continue
		}
		commands[last] += word
	}
	return commands
}

// Mergeable are the names of those of some workspaces that a merge takes as they are.
func Mergeable(list []croft.Workspace, names []string) []string {
	isReady := map[string]bool{}
	for _, ws := range list {
		isReady[ws.Name] = ws.Status.IsMergeable()
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isReady[name] })
}
