package servicetest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/google/go-cmp/cmp"
)

// Scenarios that need a shared disk. No other file of the suite opens a path itself.
type (
	localAgentScenarios       struct{}
	localCreateScenarios      struct{}
	localListScenarios        struct{}
	localPlaceScenarios       struct{}
	localRemoveScenarios      struct{}
	localResolveScenarios     struct{}
	localRoundScenarios       struct{}
	localScratchScenarios     struct{}
	localSnapshotScenarios    struct{}
	localSwarmScenarios       struct{}
	localTrashUpkeepScenarios struct{}
)

// Links: heavy or secret untracked files are shared with the main checkout by links. The
// links are never committed, and their removal does not touch their targets.
func (localAgentScenarios) Links(t *testing.T, f *fixture) {
	f.commitIn(f.Dir, ".gitignore", "node_modules/\n.env*\n")
	f.Write("node_modules/dep/index.js", "x\n")
	f.Write(".env", "TOKEN=1\n")
	f.Write(".env.local", "TOKEN=2\n")
	f.Write("other/heavy", "x\n")
	w := f.create(agent("a1"))
	for name, want := range map[string]bool{"node_modules": true, ".env": true, ".env.local": true, "other": false} {
		to, err := os.Readlink(filepath.Join(w.Path, name))
		if got := err == nil && to == filepath.Join(f.Dir, name); got != want {
			t.Errorf("%s is linked: %v, want %v", name, got, want)
		}
	}
	f.WantClean(w.Path)
	f.writeIn(w, "work.txt", "work\n")
	m := f.mustMerge(croft.MergeRequest{Workspace: "a1"})
	if got := f.Git("ls-tree", "--name-only", m.Commit, "node_modules", ".env"); got != "" {
		t.Errorf("links were committed: %s", got)
	}
	if b, err := f.Host.Read(filepath.Join(f.Dir, "node_modules", "dep", "index.js")); err != nil || b != "x\n" {
		t.Errorf("what the link led to: %q, %v", b, err)
	}
	plain := f.create(croft.CreateRequest{Name: "plain"})
	if _, err := f.Host.Stat(filepath.Join(plain.Path, "node_modules")); err == nil {
		t.Error("the default layout links too")
	}
}

func (localCreateScenarios) RunsNoHook(t *testing.T, f *fixture) {
	mark := filepath.Join(f.Home, "hook-ran")
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
		path := filepath.Join(f.Dir, ".git", "hooks", hook)
		f.WriteFile(path, "#!/bin/sh\ntouch '"+mark+"'\n")
		must(t, os.Chmod(path, 0o755))
	}
	f.create(croft.CreateRequest{Name: "a"})
	f.removed("a")
	if f.Exists(mark) {
		t.Error("a hook of the repository ran")
	}
}

// MainIsUntouched compares the main checkout's files, index and HEAD, with their times,
// before and after several workspaces are created, used and removed.
func (localCreateScenarios) MainIsUntouched(t *testing.T, f *fixture) {
	f.Roles("worker")
	f.Commit("roles")
	stamp := func() []string {
		var out []string
		files := append(f.Tree(f.Dir, filepath.Join(f.Dir, ".git")), filepath.Join(f.Dir, ".git", "HEAD"), filepath.Join(f.Dir, ".git", "index"))
		for _, file := range files {
			info, err := os.Lstat(file)
			must(t, err)
			if !info.IsDir() {
				out = append(out, file+" "+info.ModTime().String()+" "+f.ReadFile(file))
			}
		}
		return out
	}
	before := stamp()
	for _, layout := range []string{"default", "sibling"} {
		w := f.create(croft.CreateRequest{Name: "a", Role: "worker", Layout: layout})
		f.commitIn(w.Path, "work.txt", "work\n")
		f.names()
		f.status(w.ID)
		f.removed("a")
	}
	must(t, errOf(f.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll})))
	must(t, errOf(f.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll})))
	if after := stamp(); !slices.Equal(before, after) {
		t.Errorf("the main checkout changed:\n%q\nwant\n%q", after, before)
	}
}

func (localCreateScenarios) GitTooOld(t *testing.T, f *fixture) {
	old := fakeGit(t, f, "#!/bin/sh\necho git version 2.30.2\n")
	_, err := f.at(f.Dir, "CROFT_GIT_PATH="+old).Create(t.Context(), croft.CreateRequest{Name: "a"})
	if e := wantCode(t, err, croft.GitTooOld); !strings.Contains(e.Message, "2.30.2") {
		t.Errorf("message %q does not name the version", e.Message)
	}
	f.wantNames()
}

// fakeGit writes a script that is used in place of git.
func fakeGit(t *testing.T, f *fixture, script string) string {
	t.Helper()
	path := filepath.Join(f.Home, "fake-git")
	f.WriteFile(path, script)
	must(t, os.Chmod(path, 0o755))
	return path
}

// NoGitPerWorkspace lists with a git that fails at every command but its version.
func (localListScenarios) NoGitPerWorkspace(t *testing.T, f *fixture) {
	f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"})
	svc := f.at(f.Dir, "CROFT_GIT_PATH="+fakeGit(t, f, failingGit))
	list, err := svc.Workspaces(t.Context(), croft.WorkspacesRequest{})
	if err != nil || len(list.Items) != 2 || list.Items[0].State != croft.Ready || len(list.Items[0].Head) != 40 {
		t.Errorf("Workspaces without git = %+v, %v", list, err)
	}
}

// FailureIsAnError deviates from the specification: a listing that fails is not an empty list.
func (localListScenarios) FailureIsAnError(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	svc := f.at(f.Dir)
	registered := filepath.Join(f.Dir, ".git", "worktrees")
	must(t, errors.Join(os.Rename(registered, registered+".aside"), os.WriteFile(registered, nil, 0o644)))
	list, err := svc.Worktrees(t.Context(), croft.WorktreesRequest{})
	if e := wantCode(t, err, croft.FileIrregular); !strings.Contains(e.Details, registered) {
		t.Errorf("details %q, want the path", e.Details)
	}
	if list != nil {
		t.Errorf("a failed listing returned %v", list)
	}
	must(t, svc.Close())
	if list, err := svc.Workspaces(t.Context(), croft.WorkspacesRequest{}); err == nil {
		t.Errorf("a closed Service lists %v", list)
	}
}

func (localPlaceScenarios) SymlinkedPath(t *testing.T, f *fixture) {
	link := filepath.Join(f.Home, "link")
	must(t, os.Symlink(f.Dir, link))
	svc := f.at(link)
	w := lifecycle(t, f, svc, croft.CreateRequest{Name: "a"})
	if w.Repo != f.Dir || !strings.HasPrefix(w.Path, filepath.Dir(f.Dir)) {
		t.Errorf("repo %s, path %s: want them beside the real directory %s", w.Repo, w.Path, f.Dir)
	}
	one, err := svc.Repo(t.Context(), croft.RepoRequest{})
	two, err2 := f.Repo(t.Context(), croft.RepoRequest{})
	if err != nil || err2 != nil || one.ID != two.ID {
		t.Errorf("through the link the repository is %+v, %v, else %+v, %v", one, err, two, err2)
	}
}

func (localRemoveScenarios) PathIsALink(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	moved := filepath.Join(f.Home, "moved")
	must(t, os.Rename(w.Path, moved))
	must(t, os.Symlink(moved, w.Path))
	f.kept(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}, croft.WorkspaceBroken)
	if target, err := os.Readlink(w.Path); err != nil || target != moved {
		t.Errorf("the link, which Croft did not make, leads to %q, %v", target, err)
	}
	if !f.Exists(filepath.Join(moved, "README.md")) {
		t.Error("the removal went through the link")
	}
	// A directory that was moved away and back is still the workspace.
	must(t, errors.Join(os.Remove(w.Path), os.Rename(moved, w.Path)))
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}})
}

// StagedUnresolved: files that are staged as the merge left them are not resolved.
func (localResolveScenarios) StagedUnresolved(t *testing.T, f *fixture) {
	w := inConflict(t, f)
	f.GitIn(w.Path, "add", "--all")
	f.stillIn(allConflicts...)
	text, err := f.Host.Read(filepath.Join(w.Path, conflictWide))
	must(t, err)
	for _, name := range []string{conflictText, conflictBinary, conflictTheirs} {
		f.writeIn(w, name, "both\n")
	}
	f.writeIn(w, conflictWide, "more\n"+text)
	f.GitIn(w.Path, "add", "--all")
	f.stillIn(conflictMine, conflictWide)
	f.writeIn(w, conflictWide, "both\n")
	must(t, os.Chtimes(filepath.Join(w.Path, conflictMine), time.Time{}, time.Now().Add(time.Second)))
	m := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	if got := f.Git("ls-tree", "--name-only", m.Commit, conflictMine); got != conflictMine {
		t.Errorf("what was touched to be kept is gone: %q", got)
	}
}

// loseDatabase deletes the database. The next service that is opened rebuilds it from its
// second copy.
func (f *fixture) loseDatabase() {
	f.t.Helper()
	list, err := filepath.Glob(filepath.Join(f.Home, "state", "croft.db*"))
	if err != nil || len(list) == 0 {
		f.t.Fatalf("no database: %v, %v", list, err)
	}
	for _, path := range list {
		f.Delete(path)
	}
}

func (localRoundScenarios) LostDatabase(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{Name: "fix"})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	f.writeIn(seatOf(t, r, "opus"), "x.txt", "x\n")
	f.loseDatabase()
	svc := f.at(f.Dir)
	same, err := svc.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Number: 1, Agents: []string{"opus", "codex"}})
	must(t, err)
	if diff := cmp.Diff(r, *same); diff != "" {
		t.Errorf("after the database was lost:\n%s", diff)
	}
	must(t, errOf(svc.EndRound(t.Context(), croft.EndRoundRequest{Round: r.ID})))
	if _, err := svc.EndSession(t.Context(), croft.EndSessionRequest{Session: croft.ByID(ses.ID)}); err != nil || len(f.branches()) != 0 {
		t.Errorf("%v, %v", err, f.branches())
	}
}

// ArchiveTimes: archived files have the time at which the round ended.
func (localScratchScenarios) ArchiveTimes(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	w := seatOf(t, r, "opus")
	f.writeIn(w, ".croft_scratch/eval/run.py", "run\n")
	done := f.endRound(r)
	for p := archived(w.Env["CROFT_HOME"], w, "eval/run.py"); p != w.Env["CROFT_HOME"]; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		must(t, err)
		if !info.ModTime().Equal(done.EndedAt) {
			t.Errorf("%s: %v, the round ended %v", p, info.ModTime(), done.EndedAt)
		}
	}
}

func (localSnapshotScenarios) DisturbsNothing(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.dirty(w)
	before := f.content(w.Path)
	admin := f.GitIn(w.Path, "rev-parse", "--absolute-git-dir")
	index, _ := os.Stat(filepath.Join(admin, "index"))
	branches, main := f.Git("for-each-ref", "refs/heads"), f.Git("status", "--porcelain")
	s := f.snapshot("a")
	f.same(w.Path, before)
	if now, err := os.Stat(filepath.Join(admin, "index")); err != nil || !os.SameFile(index, now) || !now.ModTime().Equal(index.ModTime()) {
		t.Errorf("the index was written: %v", err)
	}
	if f.Git("for-each-ref", "refs/heads") != branches || f.Git("status", "--porcelain") != main || f.Git("stash", "list") != "" {
		t.Error("branches, main's status or the stash changed")
	}
	if s.Workspace != w.ID || s.WorkspaceName != "a" || s.Files == 0 || s.Bytes == 0 || s.CreatedAt.IsZero() {
		t.Errorf("snapshot %+v", s)
	}
	if f.Git("rev-parse", "refs/croft/snapshot/"+string(w.ID)+"/"+string(s.ID)) != s.Commit {
		t.Error("its ref does not hold its commit")
	}
	list, err := f.Snapshots(t.Context(), croft.SnapshotsRequest{})
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != s.ID || list.Items[0].Commit != s.Commit || list.Items[0].Files != s.Files || list.Items[0].WorkspaceName != "a" {
		t.Errorf("listed %+v, %v; made %+v", list, err, s)
	}
	f.Git("fsck", "--no-dangling")
}

func (localSwarmScenarios) FullCleanupKeepsForeign(t *testing.T, f *fixture) {
	f.create(swarm("researcher", "1"))
	mine := filepath.Join(f.Dir, ".worktrees", "notes.txt")
	f.WriteFile(mine, "mine")
	// A worktree of the user's on a disk that is not mounted.
	disk := filepath.Join(f.Home, "disk")
	f.Git("worktree", "add", "--quiet", filepath.Join(disk, "own"))
	must(t, os.Rename(disk, disk+".away"))
	must(t, errOf(f.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll})))
	must(t, errOf(f.GC(t.Context(), croft.GCRequest{})))
	must(t, os.Rename(disk+".away", disk))
	if got := f.GitIn(filepath.Join(disk, "own"), "rev-parse", "--abbrev-ref", "HEAD"); got != "own" {
		t.Errorf("the user's worktree is on %q", got)
	}
	f.WantFile(mine, "mine")
}

func (localTrashUpkeepScenarios) Sizes(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.WriteFile(filepath.Join(w.Path, "wip", "large.bin"), strings.Repeat("x", 100_000))
	f.removeForced("a")
	var bytes, inodes int64
	for _, path := range f.Tree(f.inTrash(w.ID), "") {
		inodes++
		if mode, err := f.Host.Stat(path); err == nil && mode.IsRegular() {
			bytes += int64(len(f.ReadFile(path)))
		}
	}
	for range 2 { // the first time measured, the second time from the record
		if got := trashOf(t, f); got.Bytes != bytes || got.Inodes != inodes || got.Left != croft.LeftDirectory || bytes < 100_000 {
			t.Errorf("%d bytes and %d inodes, want %d and %d: %+v", got.Bytes, got.Inodes, bytes, inodes, got)
		}
	}
	// Another removal of the same workspace is measured again.
	f.restore("a")
	f.Delete(filepath.Join(w.Path, "wip"))
	f.removed("a")
	if got := trashOf(t, f); got.Bytes >= bytes || got.Inodes != inodes-2 {
		t.Errorf("after it had become smaller: %+v", got)
	}
}
