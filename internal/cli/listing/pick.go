package listing

import "github.com/croft-sh/croft/internal/screen"

// ToPick are the rows, to choose from them on a terminal: without commands, one line each.
func (s *Shown) ToPick(to screen.Stream) (heading string, lines []string) {
	t := s.table()
	screen.Drop(colNext)(t, 0)
	screen.Drop(colBranch)(t, 0)
	cutEnd := func(text string, room int) string { return screen.CutEnd(text, room, s.signs.Cut) }
	cutName := func(text string, room int) string { return screen.CutMiddle(text, room, s.signs.Cut) }
	t.Fit(to.Width, screen.Shrink(colName, fullName, cutName), screen.Shrink(colWhy, leastWhy, cutEnd), screen.Shrink(colName, leastName, cutName), screen.Drop(colWhy),
		screen.Drop(colIdle), screen.Drop(colCommits))
	return t.Heading(to), t.Body(to)
}
