// Package live shows merges that a person waits for: which check runs, for how long, what it printed last, and
// how the checks went in the end.
package live

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/plaintext"
	"github.com/croft-sh/croft/internal/screen"
)

// gap is what stands between two texts.
const gap = "  "

// Getter is the part of croft.Service that says how far one merge has come, and what its checks
// print.
type Getter interface {
	Merge(ctx context.Context, req croft.GetRequest) (*croft.Merge, error)
	CheckLog(ctx context.Context, req croft.CheckLogRequest) (*croft.CheckLog, error)
}

// When the lines of merges that go on are shown.
const (
	liveAfter = time.Second            // unless a check runs
	liveEvery = 250 * time.Millisecond // anew
	liveSlow  = 30 * time.Second       // a line for each of these, where no line can be written over
)

// Screen is where merges are shown.
type Screen struct {
	To       screen.Stream
	W        io.Writer
	Home     string // the user's directory
	IsDumb   bool   // no line can be written over
	IsSilent bool   // nothing is shown
}

// Merges are merges that a person waits for.
type Merges struct {
	On     Screen
	Repo   croft.Ref
	Svc    Getter
	Merges []croft.Merge // in the order in which they were asked for
	Works  map[croft.ID]*croft.Work
	Tip    string        // where the target was, if that is known
	Others []croft.Merge // that waited in the queue before, and are merged along
	Begun  time.Time

	region screen.Region
	told   time.Time
	checks map[croft.ID][]croft.Check // of each merge, all that were seen
	last   string                     // the last line of the output of the check that runs
}

// Follow shows how far the merges have come, until stop is called.
func (l *Merges) Follow(ctx context.Context) (stop func()) {
	if l.On.IsSilent {
		return func() {}
	}
	l.Begun = time.Now()
	l.told, l.region.W = l.Begun, l.On.W
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				l.region.Erase()
				return
			case <-time.After(liveEvery):
				l.Look(ctx)
				l.show()
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// Look asks how far the merges have come. What cannot be read is as it was: the call that waits
// reports it.
func (l *Merges) Look(ctx context.Context) {
	l.last = ""
	for i, m := range l.Merges {
		if m.State == croft.MergeDone {
			continue
		}
		now, err := l.Svc.Merge(ctx, croft.GetRequest{Repo: l.Repo, Ref: string(m.ID)})
		if err != nil {
			continue
		}
		l.Merges[i] = *now
		l.keepChecks(*now)
		if check := results.RunningCheck(*now); check != nil && len(l.Merges) == 1 {
			l.last = l.lastLine(ctx, *now, check)
		}
	}
}

// keepChecks remembers the checks of a merge: a lane forgets those of a second try.
func (l *Merges) keepChecks(m croft.Merge) {
	if l.checks == nil {
		l.checks = map[croft.ID][]croft.Check{}
	}
	for _, attempt := range m.Attempts {
		if !results.IsLastBatch(m, attempt) || attempt.Merges < attempt.Position {
			continue
		}
		for _, c := range attempt.Checks {
			at := slices.IndexFunc(l.checks[m.ID], func(k croft.Check) bool { return k.ID == c.ID })
			if at < 0 {
				l.checks[m.ID] = append(l.checks[m.ID], c)
			} else {
				l.checks[m.ID][at] = c
			}
		}
		if attempt.State != croft.TryRunning {
			endChecks(l.checks[m.ID], attempt)
		}
	}
}

// endChecks ends the checks that ran when their attempt was seen last. If they had passed, the attempt
// would have, too.
func endChecks(checks []croft.Check, a croft.Attempt) {
	for i, c := range checks {
		if c.State == croft.TryRunning {
			checks[i].State, checks[i].Passed = a.State, a.State == croft.TryPassed
			checks[i].Took = croft.Duration(max(a.EndedAt.Sub(c.StartedAt), 0))
		}
	}
}

// lastLine is the last line that a check has printed.
func (l *Merges) lastLine(ctx context.Context, m croft.Merge, c *croft.Check) string {
	const end = 4096
	req := croft.CheckLogRequest{Merge: m.ID, Check: c.ID, Limit: 1}
	log, err := l.Svc.CheckLog(ctx, req)
	if err != nil {
		return ""
	}
	req.Offset, req.Limit = max(log.Size-end, 0), end
	if log, err = l.Svc.CheckLog(ctx, req); err != nil {
		return ""
	}
	lines := outputLines(string(log.Data))
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

// outputLines are the lines of an output that are not empty, as text for a terminal.
func outputLines(text string) []string {
	var lines []string
	for line := range strings.Lines(plaintext.Strip(text)) {
		line = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), "\r\n ")
		if line != "" {
			lines = append(lines, screen.Printable(line))
		}
	}
	return lines
}

func (l *Merges) show() {
	to, now := l.On.To, time.Now()
	isRunning := slices.ContainsFunc(l.Merges, func(m croft.Merge) bool { return m.State == croft.MergeChecking })
	switch {
	case !to.IsTerminal() || l.On.IsDumb:
		if now.Sub(l.told) >= liveSlow {
			l.told = now
			fmt.Fprintf(l.On.W, "still running, %s\n", wording.Age(now, l.Begun))
		}
	case isRunning || now.Sub(l.Begun) > liveAfter:
		l.region.Show(l.Shown(now))
	}
}

// Shown are the lines of merges that go on, narrower than the terminal: they are written over.
func (l *Merges) Shown(now time.Time) (lines []string) {
	to := l.On.To
	for _, cell := range l.Lines(to, now) {
		lines = append(lines, strings.TrimRight(to.Line(cutCell(cell, to.Width-1, to.Signs().Cut)...), " "))
	}
	return lines
}

// cutCell cuts the last texts of a line that is wider than the terminal.
func cutCell(c screen.Cell, room int, sign string) screen.Cell {
	if c.Width() <= room {
		return c
	}
	var out screen.Cell
	room -= screen.Width(sign)
	for _, span := range c {
		wide := screen.Width(span.Text)
		if wide > room {
			return append(out, screen.Span{Text: screen.CutEnd(span.Text, room, "") + sign, Style: span.Style})
		}
		out, room = append(out, span), room-wide
	}
	return out
}

// Lines are what is shown of merges that go on.
func (l *Merges) Lines(to screen.Stream, now time.Time) []screen.Cell {
	if len(l.Merges) > 1 {
		return append(l.severalLines(to, now), l.otherLines()...)
	}
	m := l.Merges[0]
	checks := l.checkLines(to, m, now)
	lines := slices.Concat([]screen.Cell{l.heading(to, m)}, l.otherLines(), checks)
	if len(checks) == 0 {
		lines = append(lines, screen.Cell{{Text: "  "}, results.MarkSpan(to, screen.Going), {Text: " " + l.waitText(m, now)}})
	}
	if l.last != "" {
		lines = append(lines, screen.Text("      "+l.last, screen.Dim))
	}
	return lines
}

// otherLines name the first merges that go along although nobody waits for them here.
func (l *Merges) otherLines() []screen.Cell {
	const most = 3
	if len(l.Others) == 0 {
		return nil
	}
	var names []string
	for _, m := range l.Others[:min(most, len(l.Others))] {
		names = append(names, screen.Printable(m.WorkspaceName))
	}
	text := strings.Join(names, ", ")
	if more := len(l.Others) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return []screen.Cell{screen.Text("  with "+text+" from the queue", screen.Dim)}
}

// heading says what is merged into what.
func (l *Merges) heading(to screen.Stream, m croft.Merge) screen.Cell {
	name, target, tip := screen.Printable(m.WorkspaceName), screen.Printable(m.Target), ""
	if l.Tip != "" {
		tip = "@" + wording.ShortCommit(l.Tip)
	}
	arrow := to.Signs().Spell(" → ")
	var work screen.Cell
	if spans := results.WorkSpans(l.Works[m.Workspace], to.Signs()); len(spans) > 0 {
		work = append(screen.Cell{{Text: ", "}}, spans[1:]...)
	}
	for _, text := range []*string{&name, &target} {
		by := screen.Width(gap+name+arrow+target+tip) + work.Width() - to.Width
		if to.IsTerminal() && by > 0 {
			*text = screen.CutMiddle(*text, max(screen.Width(*text)-by, leastName), to.Signs().Cut)
		}
	}
	return append(screen.Cell{{Text: gap}, {Text: name, Style: screen.Bold}, {Text: arrow + target + tip}}, work...)
}

// The columns of texts that are cut.
const (
	leastName   = 16 // are left of a name
	mostCommand = 40 // has a check, and what is said of it
)

func (l *Merges) waitText(m croft.Merge, now time.Time) string {
	since := wording.Took(now.Sub(l.Begun))
	if m.State == croft.MergeQueued {
		return "queued, " + since
	}
	return string(m.State) + ", " + since
}

// severalLines are a line for each merge.
func (l *Merges) severalLines(to screen.Stream, now time.Time) []screen.Cell {
	wide := 0
	for _, m := range l.Merges {
		wide = max(wide, screen.Width(screen.Printable(m.WorkspaceName)))
	}
	if to.IsTerminal() {
		const words = 24 // columns for what is said of it
		wide = min(wide, max(to.Width-words, leastName))
	}
	var lines []screen.Cell
	for _, m := range l.Merges {
		shown := screen.CutMiddle(screen.Printable(m.WorkspaceName), wide, to.Signs().Cut)
		name := screen.Span{Text: " " + shown + strings.Repeat(" ", wide-screen.Width(shown)) + gap}
		mark, text := screen.Span{Text: " "}, "waits"
		switch check := results.RunningCheck(m); {
		case m.State == croft.MergeDone:
			o := results.OfMerge(m, nil, to.Signs(), "")
			mark, text = results.MarkSpan(to, o.Kind), to.Signs().Spell(o.Word)
		case check != nil:
			mark, text = results.MarkSpan(to, screen.Going), screen.Printable(check.Command)+gap+results.RunningText(*check, now)
			if results.IsSecondTry(m, *check) {
				text += ", second try"
			}
		case m.State != croft.MergeQueued:
			mark, text = results.MarkSpan(to, screen.Going), string(m.State)
		}
		lines = append(lines, screen.Cell{{Text: "  "}, mark, name, {Text: text}})
	}
	return lines
}

// decisive are the checks of the tree that was checked last. What the whole batch failed says nothing of a merge
// whose own tree passed.
func (l *Merges) decisive(m croft.Merge) []croft.Check {
	all := l.checks[m.ID]
	return slices.DeleteFunc(slices.Clone(all), func(c croft.Check) bool { return c.Tree != all[len(all)-1].Tree })
}

// checkLines are the checks of a merge, a line for each: those that have ended, with their time,
// and the one that runs.
func (l *Merges) checkLines(to screen.Stream, m croft.Merge, now time.Time) []screen.Cell {
	var commands []string
	runs := map[string][]croft.Check{}
	for _, c := range l.decisive(m) {
		if len(runs[c.Command]) == 0 {
			commands = append(commands, c.Command)
		}
		runs[c.Command] = append(runs[c.Command], c)
	}
	alone := results.AloneChecks(m)
	wide := 0
	for _, command := range commands {
		wide = max(wide, screen.Width(screen.Printable(command)))
	}
	for _, c := range alone {
		wide = max(wide, screen.Width(screen.Printable(c.Command)))
	}
	wide = min(wide, mostCommand)
	if to.IsTerminal() {
		wide = min(wide, max(to.Width-mostCommand, leastName))
	}
	var lines, going []screen.Cell // the ones that run stand last: what they print stands below
	line := func(k screen.Kind, command, text string) {
		command = screen.CutEnd(screen.Printable(command), wide, to.Signs().Cut)
		pad := strings.Repeat(" ", wide-screen.Width(command))
		cell := screen.Cell{{Text: "  "}, results.MarkSpan(to, k), {Text: " " + command + pad + gap}, {Text: text, Style: screen.Dim}}
		if k == screen.Going {
			going = append(going, cell)
			return
		}
		lines = append(lines, cell)
	}
	for _, command := range commands {
		tries := runs[command]
		first, last := tries[0], tries[len(tries)-1]
		took := wording.Took(time.Duration(first.Took))
		isAgain := len(tries) > 1 && last.State == croft.TryRunning
		switch {
		case first.State == croft.TryRunning:
			line(screen.Going, command, results.RunningText(first, now))
		case first.Passed && first.IsFlaky:
			line(screen.Look, command, "passed at the second try: flaky")
		case first.Passed:
			line(screen.Done, command, took)
		case first.State == croft.TryStopped:
			line(screen.Look, command, "stopped")
		case isAgain:
			line(screen.Look, command, "failed after "+took+", trying once more")
		case len(tries) > 1 && last.Passed:
			line(screen.Look, command, "passed at the second try: flaky")
		case m.State != croft.MergeDone && len(tries) == 1 && len(alone) == 0:
			line(screen.Look, command, "failed after "+took+", trying once more")
		default:
			line(screen.Stuck, command, results.FailedText(tries...)+results.AloneText(m, alone, command))
		}
		if isAgain { // also of a check that had passed: all of them run at the second try
			line(screen.Going, command, results.RunningText(last, now)+", second try")
		}
	}
	for _, c := range alone {
		if c.State == croft.TryRunning {
			line(screen.Going, c.Command, results.RunningText(c, now)+", on "+m.Target+" alone")
		}
	}
	return append(lines, going...)
}

// End says how the checks of one merge went, after it has ended: of those that failed, also the last
// lines that they printed, and where all of it is. Of several merges it says which checks were flaky.
func (l *Merges) End(ctx context.Context) {
	if l.On.IsSilent {
		return
	}
	if len(l.Merges) != 1 {
		for _, line := range results.FlakyLines(l.On.To, l.Merges) {
			l.remark(line...)
		}
		return
	}
	m := l.Merges[0]
	if l.keepChecks(m); len(l.checks[m.ID]) == 0 && len(m.Checks) > 0 {
		l.checks[m.ID] = m.Checks
	}
	for i, c := range l.checks[m.ID] { // what its lane says of them in the end has the last word
		for _, final := range m.Checks {
			if c.Command == final.Command && final.IsFlaky {
				l.checks[m.ID][i].IsFlaky, l.checks[m.ID][i].Passed = true, true
			}
		}
	}
	if len(l.checks[m.ID]) == 0 {
		return
	}
	to := l.On.To
	l.remark(l.heading(to, m)...)
	for _, line := range l.checkLines(to, m, time.Now()) {
		l.remark(line...)
	}
	for _, c := range m.Checks {
		if !c.Passed {
			l.printOutput(ctx, to, m, c)
		}
	}
}

// printOutput shows the end of what a check printed.
func (l *Merges) printOutput(ctx context.Context, to screen.Stream, m croft.Merge, c croft.Check) {
	const most = 15
	lines := outputLines(c.Tail)
	if log, err := l.Svc.CheckLog(ctx, croft.CheckLogRequest{Merge: m.ID, Check: c.ID}); err == nil && log.Next >= log.Size {
		lines = outputLines(string(log.Data))
	}
	shown := lines[max(len(lines)-most, 0):]
	for _, line := range shown {
		cell := screen.Cell{{Text: "    " + to.Signs().Bar + " ", Style: screen.Dim}, {Text: line}}
		if to.IsTerminal() {
			cell = cutCell(cell, to.Width, to.Signs().Cut)
		}
		l.remark(cell...)
	}
	if c.Log == "" {
		return
	}
	count := wording.CountNoun(len(shown), "line")
	if len(lines) > len(shown) {
		count = fmt.Sprintf("the last %d of %s", len(shown), wording.CountNoun(len(lines), "line"))
	}
	l.remark(screen.Span{Text: "    " + count + "; all: ", Style: screen.Dim}, screen.Span{Text: screen.Printable(listing.HomePath(c.Log, l.On.Home))})
}

// remark prints a line of spans. Where it does not fit, its last text stands below.
func (l *Merges) remark(spans ...screen.Span) {
	to := l.On.To
	switch last := len(spans) - 1; {
	case l.On.IsSilent:
	case !to.IsTerminal() || screen.Cell(spans).Width() <= to.Width:
		fmt.Fprintln(l.On.W, to.Line(spans...))
	default:
		fmt.Fprintln(l.On.W, strings.TrimRight(to.Line(cutCell(spans[:last], to.Width, to.Signs().Cut)...), " "))
		for _, line := range screen.WrapSpans(spans[last:], to.Width-len(below), to.Signs().Cut) {
			fmt.Fprintln(l.On.W, below+to.Line(line...))
		}
	}
}

// below stands before a text that has a line of its own.
const below = "      "
