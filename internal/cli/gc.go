package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// collector is the part of croft.Service that `croft gc` calls.
type collector interface {
	Reap(ctx context.Context, req croft.ReapRequest) (*croft.CleanResult, error)
	GC(ctx context.Context, req croft.GCRequest) (*croft.GCResult, error)
	Trash(ctx context.Context, req croft.TrashRequest) (*croft.List[croft.TrashItem], error)
}

// gcResult is what upkeep deleted.
type gcResult struct {
	croft.GCResult
	// Kept are removed workspaces whose time is over and whose directory stays in the
	// trash, because it has commits that could not be brought to the project.
	Kept   []croft.Kept `json:"kept"`
	DryRun bool         `json:"dryRun,omitempty"` // with --dry-run: all this would be done
}

func newGCCommand(a *app) *cobra.Command {
	var isAuto, isDry bool
	var key string
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Delete old trash and integrated branches",
		Long: `Delete recorded branches that are integrated and have no workspace any more, and
trash that is past its retention or over its budget.

Directories that can be made again, such as node_modules, go from the trash an
hour after the removal. What is in its target and was clean goes without a word.
Other work is announced before its directory goes, and can still be restored
afterwards, from its commits and a snapshot, for 30 days.

The history and the events go back 90 days. A removed workspace of which nothing
is left, no commit of its own and no snapshot, is forgotten after that time.

Commands that change something start "croft gc --auto" in the background, at
most once an hour. It also removes orphans, as "croft reap" does, and says
nothing.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if isAuto && key != "" {
				return usageError(cmd, "either --auto or --key")
			}
			a.silent = isAuto
			if isAuto && a.env.Background != nil {
				a.env.Background()
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				if isAuto {
					return runAutoGC(ctx, svc, a.dir())
				}
				req := croft.GCRequest{Key: key, Repo: a.dir()}
				if isDry {
					req.DryRun = croft.DryRunOn
				}
				return a.runGC(ctx, svc, req)
			})
		},
	}
	cmd.Flags().BoolVar(&isAuto, "auto", false, "reap orphans too, and say nothing")
	cmd.Flags().BoolVarP(&isDry, "dry-run", "n", false, "only tell what would be deleted, and announced")
	cmd.MarkFlagsMutuallyExclusive("auto", "dry-run")
	addKeyFlag(cmd, &key)
	return cmd
}

func (a *app) runGC(ctx context.Context, svc collector, req croft.GCRequest) error {
	result, err := svc.GC(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(gcResult{*result, result.Kept, req.DryRun == croft.DryRunOn})
		return nil
	}
	does := deletes
	if req.DryRun == croft.DryRunOn {
		does = wouldDelete
	}
	rows := gcRows(*result, does, nil)
	var words map[croft.ID]string
	if len(rows) == 0 && len(result.Announced)+len(result.Kept) == 0 && result.Forgotten == 0 {
		a.note("nothing to collect")
	}
	if a.isShown() {
		if len(result.Unseen)+len(result.Announced) > 0 {
			if items, err := svc.Trash(ctx, croft.TrashRequest{Repo: req.Repo}); err == nil {
				words = restoreWords(items.Items)
			}
		}
		a.printCollected(*result, does, words)
	} else {
		a.printSentences(rows)
		if result.Bytes > 0 {
			a.note("%s and %s %sfreed", sizeText(result.Bytes), countNoun(result.Inodes, "inode"), does)
		}
	}
	if result.Forgotten > 0 {
		a.note("forgotten, because nothing was left of them for long: %s", countNoun(result.Forgotten, "removed workspace"))
	}
	now := a.env.Now()
	for _, ann := range result.Announced {
		if ann.At.After(now) {
			a.note("%s", announcementText(now, ann, restoreWord(words, ann.ID)))
		}
	}
	for _, k := range result.Kept {
		a.note("%s: %s (%s); %s", k.Name, k.Reason.Message, strings.ReplaceAll(k.Reason.Details, "\n", ", "), k.Reason.Hint)
	}
	return nil
}

// tense stands before what is said to be deleted.
type tense string

const (
	deletes     tense = ""
	wouldDelete tense = "would be "
)

// printCollected says on a terminal what went.
func (a *app) printCollected(r croft.GCResult, does tense, words map[croft.ID]string) {
	kind := screen.Done
	if does == wouldDelete {
		kind = screen.Nothing
	}
	add := func(n int, one, many, what, detail string) {
		if n > 0 {
			a.printOutcomes(outcome{Kind: kind, Name: countOf(n, one, many) + " " + string(does) + what, Detail: []screen.Span{prose("%s", detail)}})
		}
	}
	freed := ""
	if r.Bytes > 0 {
		freed = sizeText(r.Bytes)
	}
	gone := len(r.Purged) + len(r.Reduced)
	left := freed
	switch n := len(r.Reduced) - len(r.Unseen); {
	case n > 0 && n < gone:
		left += "; what is nowhere else stays restorable"
	case n == 1:
		left += "; its work stays restorable"
	case n > 1:
		left += "; their work stays restorable"
	}
	left = strings.TrimPrefix(left, "; ")
	stripped := 0
	for _, id := range r.Stripped {
		if !slices.Contains(r.Purged, id) && !slices.Contains(r.Reduced, id) {
			stripped++
		}
	}
	if add(gone, "directory", "directories", "deleted from the trash", left); gone > 0 {
		freed = ""
	}
	add(stripped, "removed workspace", "removed workspaces", "rid of what can be made again", freed)
	add(len(r.Branches), "branch", "branches", "deleted", fewNames(r.Branches)+"; the tips are kept")
	a.printSentences(gcRows(croft.GCResult{Reduced: r.Unseen, Unseen: r.Unseen}, does, words))
}

// restoreWords are the words by which `croft restore` finds removed workspaces: the name, where it is there once, or the
// shortest beginning of the ID.
func restoreWords(items []croft.TrashItem) map[croft.ID]string {
	count := map[string]int{}
	var ids []croft.ID
	for _, item := range items {
		count[item.Name]++
		ids = append(ids, item.ID)
	}
	words := shortIDs(ids)
	for _, item := range items {
		if count[item.Name] == 1 {
			words[item.ID] = shellWord(item.Name)
		}
	}
	return words
}

// restoreWord is the word for a workspace, or its whole ID where none is known.
func restoreWord(words map[croft.ID]string, id croft.ID) string {
	return cmp.Or(words[id], string(id))
}

// gcRows are what went, with the words by which it is restored, or on a pipe nil.
func gcRows(result croft.GCResult, does tense, words map[croft.ID]string) [][]cell {
	var rows [][]cell
	for _, id := range result.Stripped {
		if !slices.Contains(result.Purged, id) && !slices.Contains(result.Reduced, id) {
			rows = append(rows, plainRow(string(id), "directories "+string(does)+"deleted that can be made again"))
		}
	}
	for _, id := range result.Reduced {
		kept := "directory " + string(does) + "deleted, its work kept"
		if slices.Contains(result.Unseen, id) {
			kept = "its directory was never seen again; its commits, and what was staged, are kept"
		}
		word := restoreWord(words, id)
		rows = append(rows, plainRow(word, kept+": croft restore "+word))
	}
	for _, id := range result.Purged {
		rows = append(rows, plainRow(string(id), "trash "+string(does)+"deleted"))
	}
	return append(rows, branchRows(result.Branches, "branch "+string(does)+"deleted, tip kept")...)
}

// announcementText says what is going to be deleted from the trash, when, and how to
// have it back before.
func announcementText(now time.Time, ann croft.Announcement, word string) string {
	what := "its directory goes from the trash"
	if ann.Left != croft.LeftDirectory {
		what = "what is left of it goes from the trash"
	}
	why := "its time is over"
	if ann.Reason == croft.TrashOverBudget {
		why = "the trash is over its budget"
	}
	return fmt.Sprintf("%s: %s in %s, because %s; before that: croft restore %s", ann.Name, what, listing.Remaining(now, ann.At), why, word)
}

// runAutoGC reaps orphaned workspaces and collects garbage, also if reaping failed. It
// returns the error of GC, or else that of Reap.
func runAutoGC(ctx context.Context, svc collector, repo string) error {
	_, reapErr := svc.Reap(ctx, croft.ReapRequest{Repo: repo})
	if _, err := svc.GC(ctx, croft.GCRequest{Repo: repo}); err != nil {
		return err
	}
	return reapErr
}
