// Package listing lays out the list of workspaces: which columns there are, which of them yields when
// a terminal is narrow, and what the condition of a workspace asks of a person.
package listing

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

// gap is what stands between two texts.
const gap = "  "

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

// PipeColumns are the columns of the list on a pipe. They are the same in every list, and stay in
// every release of one major version.
func PipeColumns() []string {
	return []string{colName, colState, colWhy, colWork, colAhead, colBehind, colTarget, colIdle, colCollides, colBranch, colHead, colAge, colNext}
}

// unknown stands on a pipe for what was not looked at.
const unknown = "?"

// PipeRow is the row of a workspace for a program: whole texts, without colours and symbols.
func PipeRow(ws *croft.Workspace, now time.Time) []string {
	state, why := Condition(ws)
	ahead, behind, next := "-", "-", "-"
	if isDue(ws) {
		if ahead, behind = unknown, unknown; ws.Work.Has(croft.AspectCommits) {
			ahead, behind = strconv.Itoa(ws.Work.Ahead), strconv.Itoa(ws.Work.Behind)
		}
	}
	if ws.Next != nil {
		next = ws.Next.Command
	}
	return []string{
		ws.Name, state, why, pipeWork(ws), ahead, behind, wording.OrDash(ws.Target),
		idleText(ws, now, unknown), collidesText(ws), wording.OrDash(ws.Branch),
		wording.OrDash(wording.ShortCommit(ws.Head)), wording.Age(now, ws.CreatedAt), next,
	}
}

// collidesText names what a workspace collides with.
func collidesText(ws *croft.Workspace) string {
	if len(ws.Collides) == 0 && ws.Forecast == croft.ForecastUnknown {
		return unknown
	}
	return wording.OrDash(wording.FewNames(ws.Collides))
}

func pipeWork(ws *croft.Workspace) string {
	switch {
	case !isDue(ws):
		return "-"
	case !ws.Work.Has(croft.AspectFiles):
		return unknown
	}
	return wording.Lines(ws.Work.Added, ws.Work.Deleted)
}

// isDue reports whether a workspace has files and commits that can be looked at.
func isDue(ws *croft.Workspace) bool {
	return ws.Mode != croft.ModeLegacy && (ws.State == croft.Ready || ws.State == croft.Stopped)
}

// idleText is how long ago the last write or commit was. not stands for what was not looked at.
func idleText(ws *croft.Workspace, now time.Time, not string) string {
	switch {
	case !isDue(ws):
		return "-"
	case !ws.Work.Has(croft.AspectFiles):
		return not
	}
	return wording.Age(now, ws.Work.IdleSince)
}

// stale is how long a workspace is idle before that is worth a look.
const stale = 7 * 24 * time.Hour

// Shown is the table of workspaces on a terminal.
type Shown struct {
	Turn    int               // which of the signs of what goes on is shown
	Changed map[croft.ID]bool // those whose state changed a moment ago

	at     At
	signs  screen.Signs
	rows   []*croft.Workspace
	target string // of all of them, if that is one and short
	inside string // the path of the workspace that the caller stands in
}

// At is where and when a list is shown.
type At struct {
	Now  time.Time
	Dir  string // the caller's working directory
	Home string // the user's
	Repo string // what --repo named, for commands
}

// Show makes the table of workspaces, in the order in which they are shown.
func Show(list []croft.Workspace, to screen.Stream, at At) *Shown {
	s := &Shown{at: at, signs: to.Signs(), target: commonTarget(list)}
	here, err := filepath.EvalSymlinks(at.Dir)
	if err != nil {
		here = at.Dir
	}
	for i := range list {
		s.rows = append(s.rows, &list[i])
		if path := list[i].Path; len(path) > len(s.inside) && (IsWithin(here, path) || IsWithin(at.Dir, path)) {
			s.inside = path
		}
	}
	return s
}

// IsWithin reports whether a directory is a path or lies below it.
func IsWithin(dir, path string) bool {
	return path != "" && (dir == path || strings.HasPrefix(dir, path+string(filepath.Separator)))
}

// ByKind is the order of the list on a terminal: by what is to be done, and then by age.
func ByKind(x, y croft.Workspace) int {
	return cmp.Or(cmp.Compare(KindOf(&x), KindOf(&y)), x.CreatedAt.Compare(y.CreatedAt))
}

// table makes the table as wide as it is without a terminal's limit.
func (s *Shown) table() *screen.Table {
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

func (s *Shown) row(ws *croft.Workspace) []screen.Cell {
	kind := KindOf(ws)
	word, why := Condition(ws)
	state := kind.Style()
	name, rest, next := screen.Bold, screen.Plain, screen.Cyan
	switch kind {
	case screen.Going:
		name = screen.Plain
	case screen.Nothing, screen.Done:
		name, rest, next = screen.Dim, screen.Dim, screen.Dim.And(screen.Cyan)
	}
	if s.Changed[ws.ID] {
		name, state = screen.Bold, screen.Bold.And(state)
	}
	command := ""
	if ws.Next != nil {
		command = ws.Next.Command
	}
	return []screen.Cell{
		s.mark(ws, kind),
		screen.Text(screen.Printable(ws.Name), name),
		screen.Text(screen.Printable(word), state),
		screen.Text(screen.Printable(s.whyText(ws, why)), screen.Dim),
		s.work(ws, rest), s.commits(ws, rest), s.idle(ws),
		screen.Text(screen.Printable(ws.Branch), screen.Dim),
		screen.Text(screen.Printable(command), next),
	}
}

func (s *Shown) mark(ws *croft.Workspace, kind screen.Kind) screen.Cell {
	sign, here := s.signs.Of(kind), screen.Span{Text: " "}
	if kind == screen.Going {
		sign = s.signs.Turning[s.Turn%len(s.signs.Turning)]
	}
	if ws.Path == s.inside && s.inside != "" {
		here = screen.Span{Text: s.signs.Here, Style: screen.Bold}
	}
	return screen.Cell{here, {Text: " "}, {Text: sign, Style: kind.Style()}}
}

// whyText is the reason of a condition, with the workspaces that it collides with, which is a
// condition only if they are already merged.
func (s *Shown) whyText(ws *croft.Workspace, why string) string {
	if why == "-" {
		why = ""
	}
	why = TimedWhy(ws, why, s.at.Now)
	if KindOf(ws) == screen.Stuck || ws.Status == croft.ConditionCollides {
		return why // which says with whom
	}
	others := slices.DeleteFunc(slices.Clone(ws.Collides), func(name string) bool { return name == ws.Target })
	if len(others) == 0 {
		return why
	}
	with := "collides with " + wording.FewNames(others)
	if why == "" {
		return with
	}
	return why + ", " + with
}

func (s *Shown) work(ws *croft.Workspace, style screen.Style) screen.Cell {
	switch {
	case !isDue(ws):
		return nil
	case !ws.Work.Has(croft.AspectFiles):
		return screen.Text(s.signs.Dot, screen.Dim)
	}
	return results.LinesCell(ws.Work.Added, ws.Work.Deleted, s.signs, style)
}

func (s *Shown) commits(ws *croft.Workspace, style screen.Style) screen.Cell {
	if !isDue(ws) || ws.Target == "" {
		return nil
	}
	text := ""
	if s.target == "" {
		text = screen.Printable(ws.Target)
	}
	if !ws.Work.Has(croft.AspectCommits) {
		return screen.Text(text, style)
	}
	if ws.Work.Ahead > 0 {
		text += " " + s.signs.Up + wording.Count(ws.Work.Ahead)
	}
	if ws.Work.Behind > 0 {
		text += " " + s.signs.Down + wording.Count(ws.Work.Behind)
	}
	return screen.Text(strings.TrimPrefix(text, " "), style)
}

func (s *Shown) idle(ws *croft.Workspace) screen.Cell {
	if !isDue(ws) || !ws.Work.Has(croft.AspectFiles) || ws.Work.IdleSince.IsZero() {
		return nil
	}
	style := screen.Dim
	if s.at.Now.Sub(ws.Work.IdleSince) >= stale {
		style = screen.Yellow
	}
	return screen.Text(wording.Since(s.at.Now, ws.Work.IdleSince), style)
}

// The columns of the terminal that are left to a text that is cut.
const (
	leastName = 16 // to a name
	leastWhy  = 16 // to a reason
	lastWhy   = 10 // to a reason that would go for a few columns
	fullWhy   = 24 // to a reason, before commands are shortened
	fullName  = 24 // to a name, before any other column yields than the branch
	leastLook = 9  // to a name, where else nothing could be shown
)

// fit makes a table as narrow as the terminal: columns yield in an order, and a command is
// printed whole, without the words that all of them have in common, or on a line of its own.
func (s *Shown) fit(t *screen.Table, width int) *screen.Table {
	sign := s.signs.Cut
	cutEnd := func(text string, room int) string { return screen.CutEnd(text, room, sign) }
	cutName := func(text string, room int) string { return screen.CutMiddle(text, room, sign) }
	short := func(text string, row int) string { return ShortCommand(text, s.rows[row].Name) }
	if wide := t.Clone(); wide.Fit(width, screen.Drop(colBranch), screen.Shrink(colName, fullName, cutName), screen.Shrink(colWhy, fullWhy, cutEnd)) {
		return wide
	}
	for _, yielding := range s.beforeWhy() {
		steps := []screen.Step{screen.Drop(colBranch), screen.Change(colNext, yielding.next, short)}
		for _, key := range yielding.columns {
			steps = append(steps, screen.Drop(key))
		}
		steps = append(steps, screen.Shrink(colName, fullName, cutName), screen.Shrink(colWhy, leastWhy, cutEnd), screen.Shrink(colName, leastName, cutName))
		if narrow := t.Clone(); narrow.Fit(width, append(steps, screen.Shrink(colWhy, yielding.least, cutEnd))...) {
			return narrow
		}
	}
	t = t.Clone()
	t.Fit(width,
		screen.Drop(colBranch), screen.Change(colNext, s.nextHeading(), short), screen.Drop(colWhy), screen.Shrink(colName, leastName, cutName),
		screen.Drop(colIdle), screen.Drop(colCommits), screen.Drop(colWork), screen.Shrink(colName, leastLook, cutName), screen.Below(colNext))
	return t
}

// yielding is what goes before the reasons do.
type yielding struct {
	columns []string
	next    string // the heading above the commands
	least   int    // columns of the terminal that are left to a reason
}

// beforeWhy are the ways to make room for the reasons. Other columns go before them only where an agent asks something.
func (s *Shown) beforeWhy() []yielding {
	next := s.nextHeading()
	if slices.ContainsFunc(s.rows, func(ws *croft.Workspace) bool { return ws.Status == croft.ConditionWaiting && ws.Why != "" }) {
		all := []string{colIdle, colCommits, colWork}
		return []yielding{{nil, next, leastWhy}, {all[:1], next, leastWhy}, {all[:2], next, leastWhy}, {all, next, leastWhy}, {all, next, lastWhy}}
	}
	if s.at.Repo != "" { // it is part of every command
		return []yielding{{nil, next, lastWhy}}
	}
	return []yielding{{nil, next, lastWhy}, {nil, colNext + " " + s.signs.Cut, lastWhy}}
}

// nextHeading is the heading above commands without the words that all of them have in common.
func (s *Shown) nextHeading() string {
	if s.at.Repo != "" {
		return colNext + " croft -C " + wording.ShellWord(s.at.Repo) + " " + s.signs.Cut
	}
	return colNext + " croft " + s.signs.Cut
}

// ShortCommand is a command for a workspace without the words that stand above and before it. One
// that begins with another program cannot be shortened, and show tells it.
func ShortCommand(command, name string) string {
	rest, ok := strings.CutPrefix(command, "croft ")
	if !ok && command != "" {
		return "show"
	}
	rest, _, _ = strings.Cut(rest, RepoFlag)
	return strings.TrimSuffix(rest, " "+wording.ShellWord(name))
}

// CountLines say how many workspaces there are of each kind, and more.
func (s *Shown) CountLines(width int, more string) [][]screen.Span {
	type group struct {
		word  string
		style screen.Style
		n     int
	}
	var groups []group
	for _, kind := range screen.Kinds() {
		for _, ws := range s.rows {
			if KindOf(ws) != kind {
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
		pieces = append(pieces, []screen.Span{{Text: wording.Count(g.n), Style: g.style}, {Text: word, Style: screen.Dim}})
	}
	if more != "" {
		pieces = append(pieces, []screen.Span{{Text: more, Style: screen.Dim}})
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
	state, _ := Condition(ws)
	return state
}

// Lines are the table as wide as the terminal. Those of several projects stand below the name of
// each.
func (s *Shown) Lines(to screen.Stream, repos []croft.Repo, areProjectsNamed bool) []string {
	t := s.fit(s.table(), to.Width)
	if !areProjectsNamed {
		return append([]string{t.Heading(to)}, t.Body(to)...)
	}
	rows := t.Rows
	var lines []string
	for _, path := range s.projects() {
		lines = append(lines, s.projectLine(to, path, repos))
		part := *t
		part.Rows = nil
		for i, ws := range s.rows {
			if ws.Repo == path {
				part.Rows = append(part.Rows, rows[i])
			}
		}
		lines = append(lines, part.BodyLike(t, to)...)
	}
	return lines
}

// projects are the directories of the projects, in the order in which they come.
func (s *Shown) projects() []string {
	var paths []string
	for _, ws := range s.rows {
		if !slices.Contains(paths, ws.Repo) {
			paths = append(paths, ws.Repo)
		}
	}
	slices.Sort(paths)
	return paths
}

// projectLine is the line above the workspaces of a project.
func (s *Shown) projectLine(to screen.Stream, path string, repos []croft.Repo) string {
	const leastPath = 8
	name, shown, branch, tip := screen.Printable(ProjectName(path)), screen.Printable(HomePath(path, s.at.Home)), "", ""
	for _, r := range repos {
		if r.Path == path && r.Branch != "" && r.Head != "" {
			branch, tip = gap+screen.Printable(r.Branch), "@"+wording.ShortCommit(r.Head)
		}
	}
	for _, part := range []struct {
		text  *string
		least int
	}{{&shown, leastPath}, {&branch, len(gap) + leastLook}, {&name, leastLook}} {
		by := screen.Width(name+gap+shown+branch+tip) - to.Width
		if by > 0 {
			*part.text = screen.CutMiddle(*part.text, max(screen.Width(*part.text)-by, part.least), s.signs.Cut)
		}
	}
	return to.Line(screen.Span{Text: name, Style: screen.Bold}, screen.Span{Text: gap + shown}, screen.Span{Text: branch + tip, Style: screen.Dim})
}

// ProjectName is the name of the project at a path.
func ProjectName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".git") }

// RepoFlag stands before the project in a command for a workspace of another one.
const RepoFlag = " --repo "
