package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/spf13/cobra"
)

// keeper is the part of croft.Service that `croft trash` calls.
type keeper interface {
	repoFinder
	croft.Trash
}

// trashResult is the trash, the most recently removed first.
type trashResult struct {
	Trash     []croft.TrashItem `json:"trash"`
	Bytes     int64             `json:"bytes"`     // of all together
	Inodes    int64             `json:"inodes"`    // of all together
	MaxBytes  *int64            `json:"maxBytes"`  // what they may be; null: no limit is known
	MaxInodes *int64            `json:"maxInodes"` // what they may be; null: no limit is known
}

// The settings that bound the trash.
const (
	maxBytesKey  = "trash.max_bytes"
	maxInodesKey = "trash.max_inodes"
)

func newTrashCommand(a *app) *cobra.Command {
	show := listing.IDsOfTwins
	cmd := &cobra.Command{
		Use:   "trash",
		Short: "List what can be restored",
		Args:  takesNothing,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, _ []string) error {
			return a.runTrash(ctx, svc, a.dir(), show)
		}),
	}
	addWordFlag(cmd, &show, listing.IDsOfAll, "ids", "", "the ID of each, also where the name is there once")
	return cmd
}

func (a *app) runTrash(ctx context.Context, svc keeper, repo string, show listing.ShownIDs) error {
	items, err := svc.Trash(ctx, croft.TrashRequest{Repo: repo})
	if err != nil {
		return err
	}
	result := trashResult{Trash: items.Items}
	for _, item := range items.Items {
		result.Bytes, result.Inodes = result.Bytes+item.Bytes, result.Inodes+item.Inodes
	}
	result.MaxBytes, result.MaxInodes = a.trashBudget(ctx, svc, repo)
	if a.json {
		a.emit(result)
		return nil
	}
	if len(items.Items) == 0 {
		a.note("the trash is empty")
		return nil
	}
	if a.isShown() {
		a.printTrash(result, show)
	} else {
		a.printTrashTable(result)
	}
	now := a.env.Now()
	var words map[croft.ID]string
	if a.isShown() {
		words = restoreWords(items.Items)
	}
	for _, item := range items.Items {
		word := restoreWord(words, item.ID)
		switch {
		case item.Stays != "":
			a.note("%s stays in the trash, because not all of it could be kept otherwise (%s): croft restore %s", item.Name, strings.ReplaceAll(item.Stays, "\n", ", "), word)
		case item.PurgeAt.IsZero():
		case !item.PurgeAt.After(now):
			a.note("%s goes from the trash with the next croft gc, and is not in its target; before that: croft restore %s", item.Name, word)
		default:
			a.note("%s goes from the trash in %s, and is not in its target; before that: croft restore %s", item.Name, listing.Remaining(now, item.PurgeAt), word)
		}
	}
	return nil
}

// printTrashTable prints for a program what can be restored.
func (a *app) printTrashTable(result trashResult) {
	now := a.env.Now()
	rows := [][]cell{headingRow("ID", "NAME", "BRANCH", "SIZE", "INODES", "REMOVED", "KEPT FOR")}
	for _, item := range result.Trash {
		rows = append(rows, plainRow(string(item.ID), item.Name, orDash(item.Branch), itemSizeText(item),
			strconv.FormatInt(item.Inodes, 10), ageText(now, item.RemovedAt)+" ago", listing.KeptFor(now, item)))
	}
	a.printTable(rows)
	a.note("%s", trashTotalText(result))
}

// trashBudget is how much the trash may hold, where that is known.
func (a *app) trashBudget(ctx context.Context, svc repoFinder, repo string) (bytes, inodes *int64) {
	if a.env.Config == nil {
		return nil, nil
	}
	found, err := svc.Repo(ctx, croft.RepoRequest{Repo: repo})
	if err != nil {
		return nil, nil // the trash can be listed without it
	}
	view, err := a.configView(found.Path)
	if err != nil {
		return nil, nil
	}
	read := func(key string) *int64 {
		n, err := strconv.ParseInt(view.value(key), 10, 64)
		if err != nil {
			return nil
		}
		return &n
	}
	return read(maxBytesKey), read(maxInodesKey)
}

// trashTotalText says how much the trash holds of what it may.
func trashTotalText(r trashResult) string {
	bytes, inodes := sizeText(r.Bytes), countNoun(r.Inodes, "inode")
	if r.MaxBytes != nil && r.MaxInodes != nil {
		bytes += " of " + sizeText(*r.MaxBytes)
		inodes = wording.Count(int(r.Inodes)) + " of " + countNoun(*r.MaxInodes, "inode")
	}
	return "in all " + bytes + ", " + inodes
}

// itemSizeText says how large an item is, or what is left of it.
func itemSizeText(item croft.TrashItem) string {
	if item.Left != croft.LeftDirectory && item.Left != "" {
		return string(item.Left)
	}
	return sizeText(item.Bytes)
}
