package cli

import (
	"context"
	"fmt"

	"github.com/croft-sh/croft"
)

// appliedText says how much of a workspace's work `croft apply` and `croft review` have brought to its target since its
// last merge; empty if nothing, or if that cannot be read: it is a remark beside the answer.
func appliedText(ctx context.Context, svc differ, ws croft.Workspace, merges []croft.Merge) string {
	files, last := map[string]bool{}, ""
	for _, m := range merges { // the newest first
		if m.Workspace != ws.ID || m.Status != croft.MergeMerged {
			continue
		}
		if m.Kind != croft.KindApply {
			break
		}
		work, err := svc.Diff(ctx, croft.DiffRequest{Repo: ws.Repo, Merge: m.ID, Detail: croft.DetailStat})
		if err != nil {
			return ""
		}
		for _, f := range work.Files {
			files[f.Path] = true
		}
		if last == "" {
			last = m.Commit
		}
	}
	if len(files) == 0 {
		return ""
	}
	text := countOf(len(files), "file is", "files are")
	if all := ws.Work; all.Has(croft.AspectFiles) && all.Changed >= len(files) {
		text = fmt.Sprintf("%d of %s", len(files), countOf(all.Changed, "file is", "files are"))
	}
	text += " in " + ws.Target + " already, whole or in part, as " + shortCommit(last)
	if ws.State == croft.Trashed {
		return text
	}
	return text + "; croft review " + shellWord(ws.Name) + " shows the rest"
}
