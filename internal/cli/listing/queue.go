package listing

import (
	"fmt"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

// driveCommand is the hint of a merge that the next run of its queue tries again, now that its checks are approved.
const driveCommand = "croft queue run"

// Queue is the merges of each target: those that wait, in their order, and those that have ended.
func Queue(merges []croft.Merge, tips map[string]string, to screen.Stream, now time.Time) []string {
	var targets []string
	for _, m := range merges {
		if !slices.Contains(targets, m.Target) {
			targets = append(targets, m.Target)
		}
	}
	var ids []croft.ID
	for _, m := range merges {
		ids = append(ids, m.ID)
	}
	short := wording.ShortIDs(ids)
	var lines []string
	for _, target := range targets {
		name, tip := screen.Printable(target), at(tips[target])
		lines = append(lines, to.Paint(screen.CutMiddle(name, to.Width-screen.Width(tip), to.Signs().Cut), screen.Bold)+tip)
		lines = append(lines, queueTable(merges, target, short, to, now)...)
	}
	return lines
}

// at is where a branch is, if that is known.
func at(tip string) string {
	if tip == "" {
		return ""
	}
	return "@" + wording.ShortCommit(tip)
}

func queueTable(merges []croft.Merge, target string, short map[croft.ID]string, to screen.Stream, now time.Time) []string {
	t := &screen.Table{Columns: []screen.Column{{Key: colMark, IsClose: true}, {Key: colName}, {Key: colState}, {Key: "DETAIL"}}}
	place := 0
	for _, m := range merges {
		if m.Target != target {
			continue
		}
		kind, word := results.MergeKind(m), results.MergeWord(m)
		detail := endedDetail(m, short[m.ID], now)
		if m.State != croft.MergeDone {
			place++
			detail = waitingDetail(m, place, now)
		} else if m.Reason != "" && m.Became == "" {
			o := results.OfMerge(m, nil, to.Signs(), "")
			kind, word = o.Kind, o.Word
			if m.Reason == croft.ChecksUntrusted && m.Hint == driveCommand {
				kind, word, detail = screen.Ready, "approved", screen.Cell{results.Command(m.Hint), {Text: " tries it again", Style: screen.Dim}}
			}
		}
		mark := to.Signs().Of(kind)
		if m.State == croft.MergeQueued && !m.IsHeld {
			mark = " "
		}
		t.Rows = append(t.Rows, []screen.Cell{
			screen.Text("  "+mark, kind.Style()), screen.Text(screen.Printable(results.Subject(m)), screen.Bold), screen.Text(word, kind.Style()), detail,
		})
	}
	sign := to.Signs().Cut
	t.Fit(to.Width, screen.Shrink(colName, leastName, func(text string, room int) string { return screen.CutMiddle(text, room, sign) }), screen.Below("DETAIL"))
	return t.Body(to)
}

// waitingDetail says how far a merge is that has not ended.
func waitingDetail(m croft.Merge, place int, now time.Time) screen.Cell {
	if m.IsHeld {
		by := ""
		if h := m.Hold; h != nil {
			by = fmt.Sprintf("by %s %s: ", h.Actor, wording.Ago(now, h.At))
		}
		return screen.Cell{{Text: screen.Printable(by)}, results.Command("croft queue release " + wording.ShellWord(m.WorkspaceName))}
	}
	if check := results.RunningCheck(m); check != nil {
		return screen.Text(screen.Printable(check.Command)+gap+results.RunningText(*check, now), screen.Plain)
	}
	if m.State != croft.MergeQueued {
		return nil
	}
	text := ordinal(place) + ", since " + wording.Age(now, m.SubmittedAt)
	if n := len(m.Attempts); n > 0 && m.Attempts[n-1].State == croft.TryStopped {
		text += ", interrupted"
	}
	return screen.Text(text, screen.Dim)
}

// endedDetail says what came of a merge that has ended, and how the merge is named.
func endedDetail(m croft.Merge, id string, now time.Time) screen.Cell {
	text := ""
	if m.Commit != "" && m.Reason == "" {
		text = wording.ShortCommit(m.Commit) + ", "
	}
	return screen.Cell{{Text: text + wording.Ago(now, m.EndedAt) + ", as ", Style: screen.Dim}, {Text: id, Style: screen.Bold}}
}

func ordinal(n int) string {
	if n%100/10 != 1 {
		switch n % 10 {
		case 1:
			return fmt.Sprintf("%dst", n)
		case 2:
			return fmt.Sprintf("%dnd", n)
		case 3:
			return fmt.Sprintf("%drd", n)
		}
	}
	return fmt.Sprintf("%dth", n)
}

// IsDriven reports whether merges wait that are not held, and whether a process is seen to drive one.
func IsDriven(merges []croft.Merge) (isWaiting, isDriven bool) {
	for _, m := range merges {
		switch {
		case m.State == croft.MergeDone || m.IsHeld:
		case m.State == croft.MergeQueued:
			isWaiting = true
		default:
			isDriven = true
		}
	}
	return isWaiting, isDriven
}
