package listing

import (
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

// ShownIDs says which removed workspaces are shown with their ID.
type ShownIDs string

const (
	// IDsOfTwins: those whose name is there twice.
	IDsOfTwins ShownIDs = ""
	// IDsOfAll: each.
	IDsOfAll ShownIDs = "all"
)

// Trash are the rows of what can be restored: what it was, for how long it is gone, and why; and what is left of it, where
// that is not its directory.
func Trash(items []croft.TrashItem, show ShownIDs, to screen.Stream, now time.Time) (heading string, lines []string) {
	count := map[string]int{}
	var ids []croft.ID
	for _, item := range items {
		count[item.Name]++
		ids = append(ids, item.ID)
	}
	short := wording.ShortIDs(ids)
	const colSize, colRemoved, colKept, colLeft = "SIZE", "REMOVED", "KEPT", "LEFT"
	t := &screen.Table{Columns: []screen.Column{
		{Key: colMark, IsClose: true},
		{Key: colName, Heading: colName},
		{Key: "ID", Heading: "ID"},
		{Key: colRemoved, Heading: colRemoved, IsRight: true},
		{Key: colWhy, Heading: colWhy},
		{Key: colLeft, Heading: colLeft},
		{Key: colSize, Heading: colSize, IsRight: true},
		{Key: colKept, Heading: colKept},
	}}
	for _, item := range items {
		id := "" // a name that is there twice needs it
		if show == IDsOfAll || count[item.Name] > 1 {
			id = short[item.ID]
		}
		size, left := "", string(item.Left)
		if item.Left == croft.LeftDirectory || item.Left == "" {
			size, left = wording.Size(item.Bytes), ""
		}
		t.Rows = append(t.Rows, []screen.Cell{
			screen.Text(" ", screen.Plain), screen.Text(screen.Printable(item.Name), screen.Bold), screen.Text(id, screen.Bold), screen.Text(wording.Ago(now, item.RemovedAt), screen.Dim),
			screen.Text(string(item.As), screen.Plain), screen.Text(left, screen.Dim), screen.Text(size, screen.Plain), screen.Text(KeptFor(now, item), screen.Dim),
		})
	}
	if show != IDsOfAll && !slices.ContainsFunc(items, func(i croft.TrashItem) bool { return count[i.Name] > 1 }) {
		screen.Drop("ID")(t, 0)
	}
	if !slices.ContainsFunc(items, func(i croft.TrashItem) bool { return i.Left != croft.LeftDirectory && i.Left != "" }) {
		screen.Drop(colLeft)(t, 0)
	}
	t.Fit(to.Width, screen.Drop(colLeft), screen.Drop(colSize), screen.Shrink(colName, leastName, middle(to)), screen.Drop(colWhy), screen.Drop(colRemoved))
	return t.Heading(to), t.Body(to)
}

// Merged are the rows of merges that can be reverted.
func Merged(merges []croft.Merge, to screen.Stream, now time.Time) (heading string, lines []string) {
	const colInto, colCommit, colEnded = "INTO", "AS", "MERGED"
	t := &screen.Table{Columns: []screen.Column{
		{Key: colMark, IsClose: true}, {Key: colName, Heading: colName}, {Key: colEnded, Heading: colEnded, IsRight: true}, {Key: colInto, Heading: colInto}, {Key: colCommit, Heading: colCommit},
	}}
	for _, m := range merges {
		t.Rows = append(t.Rows, []screen.Cell{
			screen.Text(" ", screen.Plain), screen.Text(screen.Printable(m.WorkspaceName), screen.Bold), screen.Text(wording.Ago(now, m.EndedAt), screen.Dim),
			screen.Text(screen.Printable(m.Target), screen.Plain), screen.Text(wording.ShortCommit(m.Commit), screen.Plain),
		})
	}
	t.Fit(to.Width, screen.Shrink(colName, fullName, middle(to)), screen.Shrink(colInto, leastName, middle(to)), screen.Shrink(colName, leastName, middle(to)), screen.Drop(colInto))
	return t.Heading(to), t.Body(to)
}

// middle cuts names for a terminal.
func middle(to screen.Stream) func(text string, room int) string {
	sign := to.Signs().Cut
	return func(text string, room int) string { return screen.CutMiddle(text, room, sign) }
}

// KeptFor says how long an item of the trash is kept yet.
func KeptFor(now time.Time, item croft.TrashItem) string {
	if item.Stays != "" {
		return "stays"
	}
	if !item.PurgeAt.IsZero() {
		return Remaining(now, item.PurgeAt)
	}
	return Remaining(now, item.ExpiresAt)
}

// Remaining says how long something is kept yet.
func Remaining(now, until time.Time) string {
	if !until.After(now) {
		return "until the next gc"
	}
	left := until.Sub(now)
	if left > time.Hour {
		left = left.Round(time.Hour) // a week is a week, also a second later
	}
	return wording.Age(now.Add(left), now)
}
