package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/plaintext"
	"github.com/croft-sh/croft/internal/screen"
)

// mergeGetter is the part of croft.Service that says how far one merge has come, and what its checks
// print.
type mergeGetter interface {
	Merge(ctx context.Context, req croft.GetRequest) (*croft.Merge, error)
	CheckLog(ctx context.Context, req croft.CheckLogRequest) (*croft.CheckLog, error)
}

// When the lines of merges that go on are shown.
const (
	liveAfter = time.Second            // unless a check runs
	liveEvery = 250 * time.Millisecond // anew
	liveSlow  = 30 * time.Second       // a line for each of these, where no line can be written over
)

// liveMerges are merges that a person waits for.
type liveMerges struct {
	a      *app
	svc    mergeGetter
	merges []croft.Merge // in the order in which they were asked for
	works  map[croft.ID]*croft.Work
	tip    string // where the target was, if that is known

	region screen.Region
	begun  time.Time
	told   time.Time
	checks map[croft.ID][]croft.Check // of each merge, all that were seen
	last   string                     // the last line of the output of the check that runs
}

// follow shows how far the merges have come, until stop is called.
func (l *liveMerges) follow(ctx context.Context) (stop func()) {
	if l.a.quiet || l.a.silent || l.a.json {
		return func() {}
	}
	l.begun = time.Now()
	l.told, l.region.W = l.begun, l.a.env.Stderr
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
				l.look(ctx)
				l.show()
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// look asks how far the merges have come. What cannot be read is as it was: the call that waits
// reports it.
func (l *liveMerges) look(ctx context.Context) {
	l.last = ""
	for i, m := range l.merges {
		if m.State == croft.MergeDone {
			continue
		}
		now, err := l.svc.Merge(ctx, croft.GetRequest{Repo: l.a.dir(), Ref: string(m.ID)})
		if err != nil {
			continue
		}
		l.merges[i] = *now
		l.keepChecks(*now)
		if check := runningCheck(*now); check != nil && len(l.merges) == 1 {
			l.last = l.lastLine(ctx, *now, check)
		}
	}
}

// keepChecks remembers the checks of a merge: a lane forgets those of a second try.
func (l *liveMerges) keepChecks(m croft.Merge) {
	for _, attempt := range m.Attempts {
		if !isLastBatch(m, attempt) || attempt.Merges < attempt.Position {
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

func isLastBatch(m croft.Merge, a croft.Attempt) bool {
	return a.Batch == m.Attempts[len(m.Attempts)-1].Batch
}

func runningCheck(m croft.Merge) *croft.Check {
	for _, attempt := range slices.Backward(m.Attempts) {
		for _, c := range slices.Backward(attempt.Checks) {
			if c.State == croft.TryRunning {
				return &c
			}
		}
	}
	return nil
}

// lastLine is the last line that a check has printed.
func (l *liveMerges) lastLine(ctx context.Context, m croft.Merge, c *croft.Check) string {
	const end = 4096
	req := croft.CheckLogRequest{Merge: m.ID, Check: c.ID, Limit: 1}
	log, err := l.svc.CheckLog(ctx, req)
	if err != nil {
		return ""
	}
	req.Offset, req.Limit = max(log.Size-end, 0), end
	if log, err = l.svc.CheckLog(ctx, req); err != nil {
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
			lines = append(lines, printable(line))
		}
	}
	return lines
}

func (l *liveMerges) show() {
	to, now := l.a.stderr(), time.Now()
	isRunning := slices.ContainsFunc(l.merges, func(m croft.Merge) bool { return m.State == croft.MergeChecking })
	switch {
	case !to.IsTerminal() || l.a.env.IsDumb:
		if now.Sub(l.told) >= liveSlow {
			l.told = now
			l.a.note("still running, %s", ageText(now, l.begun))
		}
	case isRunning || now.Sub(l.begun) > liveAfter:
		var lines []string
		for _, cell := range l.lines(to, now) {
			lines = append(lines, to.Line(cutCell(cell, to.Width-1, to.Signs().Cut)...))
		}
		l.region.Show(lines)
	}
}

// cutCell cuts the last texts of a line that is wider than the terminal.
func cutCell(c screen.Cell, room int, sign string) screen.Cell {
	var out screen.Cell
	for _, span := range c {
		wide := screen.Width(span.Text)
		if wide > room {
			return append(out, screen.Span{Text: screen.CutEnd(span.Text, room, sign), Style: span.Style})
		}
		out, room = append(out, span), room-wide
	}
	return out
}

// lines are what is shown of merges that go on.
func (l *liveMerges) lines(to screen.Stream, now time.Time) []screen.Cell {
	if len(l.merges) > 1 {
		return l.severalLines(to, now)
	}
	m := l.merges[0]
	lines := append([]screen.Cell{l.heading(to, m)}, l.checkLines(to, m, now)...)
	if len(lines) == 1 {
		lines = append(lines, screen.Cell{{Text: "  "}, markSpan(to, screen.Going), {Text: " " + l.waitText(m, now)}})
	}
	if l.last != "" {
		lines = append(lines, screen.Text("      "+l.last, styleDim))
	}
	return lines
}

func markSpan(to screen.Stream, k screen.Kind) screen.Span {
	return screen.Span{Text: to.Signs().Of(k), Style: k.Style()}
}

// heading says what is merged into what.
func (l *liveMerges) heading(to screen.Stream, m croft.Merge) screen.Cell {
	target := m.Target
	if l.tip != "" {
		target += "@" + shortCommit(l.tip)
	}
	cell := screen.Cell{{Text: "  "}, {Text: printable(m.WorkspaceName), Style: styleBold}, {Text: to.Signs().Spell(" → ") + printable(target)}}
	if spans := workSpans(l.works[m.Workspace], to.Signs()); len(spans) > 0 {
		cell = append(cell, screen.Span{Text: ", "})
		cell = append(cell, spans[1:]...)
	}
	return cell
}

func (l *liveMerges) waitText(m croft.Merge, now time.Time) string {
	since := takenTime(now.Sub(l.begun))
	if m.State == croft.MergeQueued {
		return "queued, " + since
	}
	return string(m.State) + ", " + since
}

// severalLines are a line for each merge.
func (l *liveMerges) severalLines(to screen.Stream, now time.Time) []screen.Cell {
	wide := 0
	for _, m := range l.merges {
		wide = max(wide, screen.Width(m.WorkspaceName))
	}
	var lines []screen.Cell
	for _, m := range l.merges {
		name := screen.Span{Text: " " + printable(m.WorkspaceName) + strings.Repeat(" ", wide-screen.Width(m.WorkspaceName)) + columnGap}
		mark, text := screen.Span{Text: " "}, "waits"
		switch check := runningCheck(m); {
		case m.State == croft.MergeDone:
			o := mergeOutcome(m, nil, to.Signs(), "")
			mark, text = markSpan(to, o.kind), to.Signs().Spell(o.word)
		case check != nil:
			mark, text = markSpan(to, screen.Going), printable(check.Command)+columnGap+l.runningText(*check, now)
		case m.State != croft.MergeQueued:
			mark, text = markSpan(to, screen.Going), string(m.State)
		}
		lines = append(lines, screen.Cell{{Text: "  "}, mark, name, {Text: text}})
	}
	return lines
}

func (l *liveMerges) runningText(c croft.Check, now time.Time) string {
	text := ageText(now, c.StartedAt)
	if usual := time.Duration(c.Usual); usual >= time.Second {
		text += " of about " + ageText(now, now.Add(-usual))
	}
	return text
}

// checkLines are the checks of a merge, a line for each: those that have ended, with their time,
// and the one that runs.
func (l *liveMerges) checkLines(to screen.Stream, m croft.Merge, now time.Time) []screen.Cell {
	var commands []string
	runs := map[string][]croft.Check{}
	for _, c := range l.checks[m.ID] {
		if len(runs[c.Command]) == 0 {
			commands = append(commands, c.Command)
		}
		runs[c.Command] = append(runs[c.Command], c)
	}
	alone := aloneChecks(m)
	wide := 0
	for _, command := range commands {
		wide = max(wide, screen.Width(printable(command)))
	}
	wide = min(wide, 40)
	var lines []screen.Cell
	line := func(k screen.Kind, command, text string) {
		command = screen.CutEnd(printable(command), wide, to.Signs().Cut)
		pad := strings.Repeat(" ", wide-screen.Width(command))
		lines = append(lines, screen.Cell{{Text: "  "}, markSpan(to, k), {Text: " " + command + pad + columnGap}, {Text: text, Style: styleDim}})
	}
	for _, command := range commands {
		tries := runs[command]
		first, last := tries[0], tries[len(tries)-1]
		took := takenTime(time.Duration(first.Took))
		switch {
		case first.State == croft.TryRunning:
			line(screen.Going, command, l.runningText(first, now))
		case first.Passed && first.IsFlaky:
			line(screen.Look, command, "passed at the second try: flaky")
		case first.Passed:
			line(screen.Done, command, took)
		case first.State == croft.TryStopped:
			line(screen.Look, command, "stopped")
		case len(tries) > 1 && last.State == croft.TryRunning:
			line(screen.Look, command, "failed after "+took+", trying once more")
			line(screen.Going, command, l.runningText(last, now)+", second try")
		case len(tries) > 1 && last.Passed:
			line(screen.Look, command, "passed at the second try: flaky")
		case m.State != croft.MergeDone && len(tries) == 1 && len(alone) == 0:
			line(screen.Look, command, "failed after "+took+", trying once more")
		default:
			text := "failed, " + took
			if len(tries) > 1 {
				text = "failed twice, " + takenTime(time.Duration(first.Took+last.Took))
			}
			line(screen.Stuck, command, text+aloneText(m, alone, command))
		}
	}
	for _, c := range alone {
		if c.State == croft.TryRunning {
			line(screen.Going, c.Command, l.runningText(c, now)+", on "+m.Target+" alone")
		}
	}
	return lines
}

// aloneChecks are the checks of the target itself, which are run after a failure to find out whose
// it is.
func aloneChecks(m croft.Merge) []croft.Check {
	for _, attempt := range slices.Backward(m.Attempts) {
		if isLastBatch(m, attempt) && attempt.Merges == 0 {
			return attempt.Checks
		}
	}
	return nil
}

func aloneText(m croft.Merge, alone []croft.Check, command string) string {
	for _, c := range alone {
		switch {
		case c.Command != command || c.State == croft.TryRunning || c.State == croft.TryStopped:
		case c.Passed:
			return "; passes on " + m.Target + " alone"
		default:
			return "; fails on " + m.Target + " alone, too"
		}
	}
	return ""
}

// end says how the checks of one merge went, after it has ended: of those that failed, also the last
// lines that they printed, and where all of it is.
func (l *liveMerges) end(ctx context.Context) {
	if len(l.merges) != 1 || l.a.json {
		return
	}
	m := l.merges[0]
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
	to := l.a.stderr()
	l.a.remark(l.heading(to, m)...)
	for _, line := range l.checkLines(to, m, time.Now()) {
		l.a.remark(line...)
	}
	for _, c := range m.Checks {
		if !c.Passed {
			l.printOutput(ctx, to, m, c)
		}
	}
}

// printOutput shows the end of what a check printed.
func (l *liveMerges) printOutput(ctx context.Context, to screen.Stream, m croft.Merge, c croft.Check) {
	const most = 15
	lines := outputLines(c.Tail)
	if log, err := l.svc.CheckLog(ctx, croft.CheckLogRequest{Merge: m.ID, Check: c.ID}); err == nil && log.Next >= log.Size {
		lines = outputLines(string(log.Data))
	}
	shown := lines[max(len(lines)-most, 0):]
	for _, line := range shown {
		cell := screen.Cell{{Text: "    " + to.Signs().Bar + " ", Style: styleDim}, {Text: line}}
		if to.IsTerminal() {
			cell = cutCell(cell, to.Width, to.Signs().Cut)
		}
		l.a.remark(cell...)
	}
	if c.Log == "" {
		return
	}
	count := countNoun(len(shown), "line")
	if len(lines) > len(shown) {
		count = fmt.Sprintf("the last %d of %s", len(shown), countNoun(len(lines), "line"))
	}
	l.a.remark(screen.Span{Text: "    " + count + "; all: ", Style: styleDim}, screen.Span{Text: printable(l.a.homePath(c.Log))})
}
