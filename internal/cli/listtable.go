package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
)

// The columns of the table of workspaces.
const (
	colMark     = "MARK" // on a terminal: where one stands, and the symbol of the kind
	colName     = "NAME"
	colState    = "STATE"
	colWhy      = "WHY"
	colWork     = "WORK"
	colCommits  = "COMMITS" // on a terminal, with the target
	colAhead    = "AHEAD"
	colBehind   = "BEHIND"
	colTarget   = "TARGET"
	colIdle     = "IDLE"
	colCollides = "COLLIDES WITH"
	colBranch   = "BRANCH"
	colHead     = "HEAD"
	colAge      = "AGE"
	colNext     = "NEXT"
)

// pipeColumns are the columns of the list on a pipe. They are the same in every list, and stay in
// every release of one major version.
func pipeColumns() []string {
	return []string{colName, colState, colWhy, colWork, colAhead, colBehind, colTarget, colIdle, colCollides, colBranch, colHead, colAge, colNext}
}

// unknown stands on a pipe for what was not looked at.
const unknown = "?"

// pipeRow is the row of a workspace for a program: whole texts, without colours and symbols.
func (a *app) pipeRow(ws *croft.Workspace) []cell {
	state, why := conditionCells(ws)
	ahead, behind := "-", "-"
	if isDue(ws) {
		if ahead, behind = unknown, unknown; ws.Work.Has(croft.AspectCommits) {
			ahead, behind = strconv.Itoa(ws.Work.Ahead), strconv.Itoa(ws.Work.Behind)
		}
	}
	return []cell{
		plainCell(ws.Name), state, why, plainCell(a.pipeWork(ws)), plainCell(ahead), plainCell(behind), plainCell(orDash(ws.Target)),
		plainCell(a.idleText(ws, unknown)), plainCell(orDash(fewNames(ws.Collides))), plainCell(orDash(ws.Branch)),
		plainCell(orDash(shortCommit(ws.Head))), plainCell(ageText(a.env.Now(), ws.CreatedAt)), nextCell(ws),
	}
}

func (a *app) pipeWork(ws *croft.Workspace) string {
	switch {
	case !isDue(ws):
		return "-"
	case !ws.Work.Has(croft.AspectFiles):
		return unknown
	}
	return linesText(ws.Work.Added, ws.Work.Deleted)
}

// linesText are lines that were added and deleted, in ASCII.
func linesText(added, deleted int) string {
	var parts []string
	if added > 0 {
		parts = append(parts, "+"+strconv.Itoa(added))
	}
	if deleted > 0 {
		parts = append(parts, "-"+strconv.Itoa(deleted))
	}
	return orDash(strings.Join(parts, " "))
}

// isDue reports whether a workspace has files and commits that can be looked at.
func isDue(ws *croft.Workspace) bool {
	return ws.Mode != croft.ModeLegacy && (ws.State == croft.Ready || ws.State == croft.Stopped)
}

// idleText is how long ago the last write or commit was. not stands for what was not looked at.
func (a *app) idleText(ws *croft.Workspace, not string) string {
	switch {
	case !isDue(ws):
		return "-"
	case !ws.Work.Has(croft.AspectFiles):
		return not
	}
	return ageText(a.env.Now(), ws.Work.IdleSince)
}

// stale is how long a workspace is idle before that is worth a look.
const stale = 7 * 24 * time.Hour

// shownList is the table of workspaces on a terminal.
type shownList struct {
	a      *app
	signs  screen.Signs
	rows   []*croft.Workspace
	target string // of all of them, if that is one and short
	inside string // the path of the workspace that the caller stands in

	turn    int               // which of the signs of what goes on is shown
	changed map[croft.ID]bool // those whose state changed a moment ago
}

// showList makes the table of workspaces, in the order in which they are shown.
func (a *app) showList(list []croft.Workspace) *shownList {
	s := &shownList{a: a, signs: a.stdout().Signs(), target: commonTarget(list)}
	here, err := filepath.EvalSymlinks(a.env.Dir)
	if err != nil {
		here = a.env.Dir
	}
	for i := range list {
		s.rows = append(s.rows, &list[i])
		if path := list[i].Path; len(path) > len(s.inside) && (isWithin(here, path) || isWithin(a.env.Dir, path)) {
			s.inside = path
		}
	}
	return s
}

// isWithin reports whether a directory is a path or lies below it.
func isWithin(dir, path string) bool {
	return path != "" && (dir == path || strings.HasPrefix(dir, path+string(filepath.Separator)))
}

// commonTarget is the target of all workspaces, if it is one and short enough for a heading.
func commonTarget(list []croft.Workspace) string {
	const longest = 10
	if len(list) == 0 {
		return ""
	}
	for _, ws := range list {
		if ws.Target != list[0].Target {
			return ""
		}
	}
	if screen.Width(list[0].Target) > longest {
		return ""
	}
	return list[0].Target
}

// byKind is the order of the list on a terminal: by what is to be done, and then by age.
func byKind(x, y croft.Workspace) int {
	return cmp.Or(cmp.Compare(kindOf(&x), kindOf(&y)), x.CreatedAt.Compare(y.CreatedAt))
}

// table makes the table as wide as it is without a terminal's limit.
func (s *shownList) table() *screen.Table {
	commits := s.signs.Up + s.signs.Down + " " + cmp.Or(s.target, "target")
	t := &screen.Table{Columns: []screen.Column{
		{Key: colMark, IsClose: true},
		{Key: colName, Heading: colName},
		{Key: colState, Heading: colState},
		{Key: colWhy, Heading: colWhy},
		{Key: colWork, Heading: colWork, IsRight: true},
		{Key: colCommits, Heading: commits},
		{Key: colIdle, Heading: colIdle, IsRight: true},
		{Key: colBranch, Heading: colBranch},
		{Key: colNext, Heading: colNext},
	}}
	for _, ws := range s.rows {
		t.Rows = append(t.Rows, s.row(ws))
	}
	return t
}

func (s *shownList) row(ws *croft.Workspace) []screen.Cell {
	kind := kindOf(ws)
	state, why := conditionCells(ws)
	name, rest, next := screen.Bold, screen.Plain, screen.Cyan
	switch kind {
	case screen.Going:
		name = screen.Plain
	case screen.Nothing, screen.Done:
		name, rest, next = screen.Dim, screen.Dim, screen.Dim.And(screen.Cyan)
	}
	if s.changed[ws.ID] {
		name, state.style = screen.Bold, screen.Bold.And(state.style)
	}
	command := ""
	if ws.Next != nil {
		command = ws.Next.Command
	}
	return []screen.Cell{
		s.mark(ws, kind),
		screen.Text(printable(ws.Name), name),
		screen.Text(printable(state.text), state.style),
		screen.Text(printable(s.whyText(ws, why.text)), screen.Dim),
		s.work(ws, rest), s.commits(ws, rest), s.idle(ws),
		screen.Text(printable(ws.Branch), screen.Dim),
		screen.Text(printable(command), next),
	}
}

func (s *shownList) mark(ws *croft.Workspace, kind screen.Kind) screen.Cell {
	sign, here := s.signs.Of(kind), screen.Span{Text: " "}
	if kind == screen.Going {
		sign = s.signs.Turning[s.turn%len(s.signs.Turning)]
	}
	if ws.Path == s.inside && s.inside != "" {
		here = screen.Span{Text: s.signs.Here, Style: screen.Bold}
	}
	return screen.Cell{here, {Text: " "}, {Text: sign, Style: kind.Style()}}
}

// whyText is the reason of a condition, with the workspaces that it collides with, which is a
// condition only if they are already merged.
func (s *shownList) whyText(ws *croft.Workspace, why string) string {
	if why == "-" {
		why = ""
	}
	if kindOf(ws) == screen.Stuck || ws.Status == croft.ConditionCollides {
		return why // which says with whom
	}
	others := slices.DeleteFunc(slices.Clone(ws.Collides), func(name string) bool { return name == ws.Target })
	if len(others) == 0 {
		return why
	}
	with := "collides with " + fewNames(others)
	if why == "" {
		return with
	}
	return why + ", " + with
}

func (s *shownList) work(ws *croft.Workspace, style screen.Style) screen.Cell {
	switch {
	case !isDue(ws):
		return nil
	case !ws.Work.Has(croft.AspectFiles):
		return screen.Text(s.signs.Dot, screen.Dim)
	}
	return linesCell(ws.Work.Added, ws.Work.Deleted, s.signs, style)
}

// linesCell are lines that were added and deleted, in their colours.
func linesCell(added, deleted int, signs screen.Signs, style screen.Style) screen.Cell {
	var cell screen.Cell
	if added > 0 {
		cell = append(cell, screen.Span{Text: "+" + countText(added), Style: style.And(screen.Green)})
	}
	if deleted > 0 {
		if len(cell) > 0 {
			cell = append(cell, screen.Span{Text: " "})
		}
		cell = append(cell, screen.Span{Text: signs.Minus + countText(deleted), Style: style.And(screen.Red)})
	}
	return cell
}

func (s *shownList) commits(ws *croft.Workspace, style screen.Style) screen.Cell {
	if !isDue(ws) || ws.Target == "" {
		return nil
	}
	text := ""
	if s.target == "" {
		text = printable(ws.Target)
	}
	if !ws.Work.Has(croft.AspectCommits) {
		return screen.Text(text, style)
	}
	if ws.Work.Ahead > 0 {
		text += " " + s.signs.Up + countText(ws.Work.Ahead)
	}
	if ws.Work.Behind > 0 {
		text += " " + s.signs.Down + countText(ws.Work.Behind)
	}
	return screen.Text(strings.TrimPrefix(text, " "), style)
}

func (s *shownList) idle(ws *croft.Workspace) screen.Cell {
	text := s.a.idleText(ws, "")
	if text == "-" || text == "" {
		return nil
	}
	style := screen.Dim
	if s.a.env.Now().Sub(ws.Work.IdleSince) >= stale {
		style = screen.Yellow
	}
	return screen.Text(text, style)
}

// The columns of the terminal that are left to a text that is cut.
const (
	leastWhy  = 16 // to a reason
	fullWhy   = 24 // to a reason, before commands are shortened
	leastLook = 9  // to a name, where else nothing could be shown
)

// fit makes a table as narrow as the terminal: columns yield in an order, and a command is
// printed whole, without the words that all of them have in common, or on a line of its own.
func (s *shownList) fit(t *screen.Table, width int) *screen.Table {
	sign := s.signs.Cut
	cutEnd := func(text string, room int) string { return screen.CutEnd(text, room, sign) }
	cutName := func(text string, room int) string { return screen.CutMiddle(text, room, sign) }
	short := func(text string, row int) string { return shortCommand(text, s.rows[row].Name) }
	if wide := t.Clone(); wide.Fit(width, screen.Drop(colBranch), screen.Shrink(colWhy, fullWhy, cutEnd)) {
		return wide
	}
	t = t.Clone()
	t.Fit(width,
		screen.Drop(colBranch), screen.Change(colNext, s.nextHeading(), short),
		screen.Shrink(colWhy, leastWhy, cutEnd), screen.Drop(colWhy), screen.Drop(colIdle), screen.Drop(colCommits),
		screen.Shrink(colName, leastName, cutName), screen.Drop(colWork), screen.Shrink(colName, leastLook, cutName), screen.Below(colNext))
	return t
}

// nextHeading is the heading above commands without the words that all of them have in common.
func (s *shownList) nextHeading() string {
	if s.a.repo != "" {
		return colNext + " croft -C " + shellWord(s.a.repo) + " " + s.signs.Cut
	}
	return colNext + " croft " + s.signs.Cut
}

// shortCommand is a command for a workspace without the words that stand above and before it. One
// that begins with another program cannot be shortened, and show tells it.
func shortCommand(command, name string) string {
	rest, ok := strings.CutPrefix(command, "croft ")
	if !ok && command != "" {
		return "show"
	}
	rest, _, _ = strings.Cut(rest, repoFlag)
	return strings.TrimSuffix(rest, " "+shellWord(name))
}

// countLines say how many workspaces there are of each kind, and more.
func (s *shownList) countLines(width int, more string) [][]screen.Span {
	type group struct {
		word  string
		style screen.Style
		n     int
	}
	var groups []group
	for _, kind := range screen.Kinds() {
		for _, ws := range s.rows {
			if kindOf(ws) != kind {
				continue
			}
			word := kindWord(kind, ws)
			at := slices.IndexFunc(groups, func(g group) bool { return g.word == word })
			if at < 0 {
				at, groups = len(groups), append(groups, group{word: word, style: kind.Style()})
			}
			groups[at].n++
		}
	}
	var pieces [][]screen.Span
	for i, g := range groups {
		word := " " + g.word
		if i < len(groups)-1 {
			word += ","
		}
		pieces = append(pieces, []screen.Span{{Text: countText(g.n), Style: g.style}, {Text: word, Style: styleDim}})
	}
	if more != "" {
		pieces = append(pieces, []screen.Span{{Text: more, Style: styleDim}})
	}
	return joinPieces(pieces, width)
}

// joinPieces puts pieces side by side, and begins a line where one does not fit any more.
func joinPieces(pieces [][]screen.Span, width int) [][]screen.Span {
	var lines [][]screen.Span
	used := 0
	for _, piece := range pieces {
		wide := screen.Cell(piece).Width()
		last := len(lines) - 1
		if last < 0 || used+1+wide > width {
			lines, used = append(lines, append([]screen.Span{{Text: countIndent}}, piece...)), len(countIndent)+wide
			continue
		}
		lines[last], used = append(append(lines[last], screen.Span{Text: " "}), piece...), used+1+wide
	}
	return lines
}

// countIndent stands before the counts, which are below the names.
const countIndent = "    "

// kindWord is what the workspaces of a kind are counted as.
func kindWord(kind screen.Kind, ws *croft.Workspace) string {
	switch kind {
	case screen.Stuck:
		return "stuck"
	case screen.Look:
		return "to look at"
	case screen.Ready:
		if ws.Status == croft.ConditionToReview {
			return "to review"
		}
		return "to merge"
	case screen.Going:
		return "at work"
	}
	state, _ := conditionCells(ws)
	return state.text
}

// countText is a number for people.
func countText(n int) string {
	text := strconv.Itoa(n)
	if n < 10_000 {
		return text
	}
	var b strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// fewNames names the first of several, and how many there are besides.
func fewNames(names []string) string {
	const shown = 2
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
