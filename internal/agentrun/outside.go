package agentrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/run"
)

// outside is a project outside of a workspace, as it was seen.
type outside struct {
	Head     string            `json:"head,omitempty"` // the branch of the project's own checkout; empty if it is detached
	At       string            `json:"at,omitempty"`   // the commit of a detached HEAD
	Branches map[string]string `json:"branches,omitempty"`
	Files    map[string]string `json:"files,omitempty"` // those that differ from HEAD, and how
	LookedAt time.Time         `json:"lookedAt,omitzero"`
	Took     time.Duration     `json:"took,omitempty"` // for the files
	HasFiles bool              `json:"hasFiles,omitempty"`
}

// maxFiles is how many differing files of a project's own checkout are compared.
const maxFiles = 10_000

const (
	// leastPause is how often the files of the project's checkout are looked at, at most.
	leastPause = 2 * time.Second
	// share is which part of the time looking at files may take.
	share = 50
)

// rememberBefore writes down how the project is when a run begins.
func (svc *Runs) rememberBefore(ctx context.Context, r *project.Project, rec journal.Record, run croft.Run) error {
	if !canIntrude(r, rec) {
		return nil
	}
	before, err := look(ctx, r, nil, inTime)
	if err != nil {
		return err
	}
	return write(run, before)
}

// canIntrude reports whether a run has something outside that can be seen.
func canIntrude(r *project.Project, rec journal.Record) bool {
	return r.Git != nil && rec.Workspace.Mode != croft.ModeLegacy
}

func write(run croft.Run, o *outside) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return fsx.WriteDurable(filepath.Join(run.Dir, beforeFile), text)
}

// haste says whether the files are looked at now, or when enough time has passed.
type haste bool

const (
	inTime haste = false
	atOnce haste = true
)

// look looks at a project. The files are looked at only if was is nil, or enough time has passed
// since, or there is haste.
func look(ctx context.Context, r *project.Project, was *outside, haste haste) (*outside, error) {
	now := &outside{Branches: map[string]string{}}
	refs, err := r.Git.Refs(ctx, "refs/heads/", "refs/tags/")
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		now.Branches[ref.Name] = ref.OID
	}
	if r.Git.Root == "" { // bare
		return now, nil
	}
	if now.Head, now.At, err = headOf(ctx, r); err != nil {
		return nil, err
	}
	if was != nil && haste == inTime && time.Since(was.LookedAt) < max(leastPause, share*was.Took) {
		now.Files, now.HasFiles, now.LookedAt, now.Took = was.Files, was.HasFiles, was.LookedAt, was.Took
		return now, nil
	}
	begun := time.Now()
	now.Files, now.HasFiles = filesOf(ctx, r)
	now.LookedAt, now.Took = time.Now(), time.Since(begun)
	return now, ctx.Err()
}

func headOf(ctx context.Context, r *project.Project) (branch, at string, err error) {
	if r.Git.HasNativeRefs() {
		branch, at, err = r.Git.RefSnapshot().Head(r.CommonDir)
	} else {
		branch, at, err = r.Git.HeadByGit(ctx, r.CommonDir)
	}
	if branch != "" {
		at = "" // the branch says it
	}
	return branch, at, err
}

// filesOf returns the files of the project's own checkout that differ from its HEAD, with how they
// differ. It reports false if they cannot be told.
func filesOf(ctx context.Context, r *project.Project) (map[string]string, bool) {
	files := map[string]string{}
	for e, err := range r.Git.Main().Status(ctx, git.UntrackedNormal, git.RefreshNothing) {
		if err != nil || len(files) >= maxFiles {
			return nil, false
		}
		how := string([]byte{e.Index, e.Work})
		if info, err := os.Lstat(filepath.Join(r.Path, filepath.FromSlash(e.Path))); err == nil && !info.IsDir() {
			how += fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
		}
		files[e.Path] = how
	}
	return files, true
}

// lookAround compares the project with how it was, records what has changed, and tells of it. What
// cannot be seen is no failure of the run.
func (svc *Runs) lookAround(ctx context.Context, r *project.Project, rec journal.Record, haste haste) (*croft.Run, error) {
	if !canIntrude(r, rec) {
		return rec.Run, nil
	}
	var was outside
	text, err := fsx.ReadFile(filepath.Join(rec.Run.Dir, beforeFile), 64<<20)
	if err != nil || json.Unmarshal(text, &was) != nil {
		return rec.Run, ctx.Err()
	}
	is, err := look(ctx, r, &was, haste)
	if err != nil {
		return rec.Run, ctx.Err()
	}
	if is.LookedAt.Equal(was.LookedAt) && is.Head == was.Head && is.At == was.At && maps.Equal(is.Branches, was.Branches) {
		return rec.Run, nil
	}
	found, err := svc.compare(ctx, r, rec, was, *is)
	if err != nil {
		return nil, err
	}
	last := rec.Run
	if len(found) > 0 {
		last, err = svc.change(ctx, rec, croft.EventRunIntruded, func(run *croft.Run) { addIntrusions(run, found) })
		if err != nil {
			return nil, err
		}
	}
	_ = write(*last, is) // if it cannot be, the same is seen again
	return last, nil
}

// addIntrusions records what was seen, as much of each kind as is kept.
func addIntrusions(run *croft.Run, found []croft.Intrusion) {
	type kind struct {
		what   croft.IntrusionKind
		isMade bool
	}
	of := func(i croft.Intrusion) kind { return kind{i.What, i.What == croft.IntrusionBranch && i.Before == ""} }
	kept := map[kind]int{}
	for _, i := range run.Intrusions {
		kept[of(i)]++
	}
	for _, i := range found {
		if kept[of(i)] >= croft.MaxIntrusions {
			run.MoreIntrusions++
			continue
		}
		kept[of(i)]++
		run.Intrusions = append(run.Intrusions, i)
	}
}

// compare returns what has changed outside of a workspace, and is not Croft's doing.
func (svc *Runs) compare(ctx context.Context, r *project.Project, rec journal.Record, was, now outside) (found []croft.Intrusion, err error) {
	add := func(what croft.IntrusionKind, name, before, after, message string) {
		found = append(found, croft.Intrusion{What: what, Name: name, Before: before, After: after, Message: message, At: svc.Now()})
	}
	if was.Head != now.Head || was.At != now.At {
		add(croft.IntrusionHead, "HEAD", cmpHead(was), cmpHead(now), fmt.Sprintf("the project's checkout is at %s now, and was at %s", cmpHead(now), cmpHead(was)))
	}
	own, err := svc.branchesAtWork(ctx, r, rec)
	if err != nil {
		return nil, err
	}
	isMoved := false
	for _, ref := range slices.Sorted(maps.Keys(united(was.Branches, now.Branches))) {
		before, after := was.Branches[ref], now.Branches[ref]
		name := strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/")
		if before == after {
			continue
		}
		isMoved = isMoved || ref == "refs/heads/"+now.Head
		if own[ref] == anywhere || own[ref] == after && after != "" || svc.isByCroft(ctx, r, name, after) {
			continue
		}
		switch {
		case before == "":
			add(croft.IntrusionBranch, ref, "", after, fmt.Sprintf("%s was made, at %.8s", name, after))
		case after == "":
			add(croft.IntrusionBranch, ref, before, "", fmt.Sprintf("%s was deleted; it was at %.8s", name, before))
		default:
			add(croft.IntrusionBranch, ref, before, after, fmt.Sprintf("%s was moved from %.8s to %.8s", name, before, after))
		}
	}
	if was.HasFiles && !now.HasFiles {
		add(croft.IntrusionFile, "", "", "", "so much was changed in the project's checkout that its files are not compared any more")
	}
	if !was.HasFiles || !now.HasFiles {
		return found, nil
	}
	isMoved = isMoved || was.Head != now.Head || was.At != now.At
	for _, path := range slices.Sorted(maps.Keys(united(was.Files, now.Files))) {
		before, after := was.Files[path], now.Files[path]
		if isMoved && (before != "" || after == "") {
			continue // against another commit that says nothing
		}
		if before != after {
			verb := "changed"
			if after == "" {
				verb = "put back to its commit, or deleted"
			}
			add(croft.IntrusionFile, path, "", "", fmt.Sprintf("%s was %s in the project's checkout", path, verb))
		}
	}
	return found, nil
}

func cmpHead(o outside) string {
	if o.Head != "" {
		return o.Head
	}
	return fmt.Sprintf("%.8s", o.At)
}

func united[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return all
}

// isByCroft reports whether a branch is at the commit that Croft made by a merge into it.
func (svc *Runs) isByCroft(ctx context.Context, r *project.Project, branch, commit string) bool {
	if commit == "" {
		return false
	}
	m, err := svc.Journal.MergeByCommit(ctx, r.ID, commit)
	return err == nil && m.Target == branch
}

// anywhere stands for all commits.
const anywhere = "*"

// branchesAtWork returns the refs of workspaces with where they may be now: that of the workspace, and those of
// workspaces that were made or removed, or in which somebody is or was at work meanwhile, anywhere;
// others where an act of Croft's left them.
func (svc *Runs) branchesAtWork(ctx context.Context, r *project.Project, rec journal.Record) (map[string]string, error) {
	records, err := svc.Journal.Records(ctx, r.ID)
	leases, lerr := svc.Journal.Leases(ctx, r.ID)
	if err := errors.Join(err, lerr); err != nil {
		return nil, err
	}
	own := map[string]string{}
	for _, other := range records {
		w := other.Workspace
		isAtWork := len(leases[w.ID]) > 0 || other.Run != nil && (run.Lives(other.Run) || other.Run.EndedAt.After(rec.Run.StartedAt))
		if w.ID == rec.Workspace.ID || w.State == croft.Trashed || w.State == croft.Creating || isAtWork || w.CreatedAt.After(rec.Run.StartedAt) {
			own["refs/heads/"+w.Branch] = anywhere
		} else if w.Branch != "" {
			own["refs/heads/"+w.Branch] = other.Seen.Head
		}
	}
	return own, nil
}
