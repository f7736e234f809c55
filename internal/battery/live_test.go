//go:build unix

package battery

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

// TestLive sets up everything that a process may be using, or that is not Croft's, with no
// other reason against its removal, and runs all kinds of upkeep. An unused workspace has
// to be removed every time; of everything else not a byte and not a time may change.
func TestLive(t *testing.T) {
	p := smallProject(t)
	live := p.furnish(t)
	upkeep := [][]string{
		{"reap", "--yes"},
		{"reap", "--yes", "--older-than", "1ns"},
		{"clean", "--yes"},
		{"gc"},
		{"gc", "--auto"},
		{"doctor"},
		{"doctor", "--fix"},
		{"reap", "--older-than", "1ns", "--force"},
		{"clean", "--all", "--yes"},
		{"doctor", "--fix"},
	}
	checks, all := 0, len(live)
	for _, args := range upkeep {
		// With force or --all, workspaces that have work in them are removed, too; those
		// that are in use or locked stay even then.
		switch {
		case slices.Contains(args, "--force"):
			live = without(live, "rebooted", "rebooted-dirty", "rebooted-leased", "emptied")
		case slices.Contains(args, "--all"):
			live = without(live, "expired", "elsewhere")
		}
		p.spare(t)
		before := p.everything(t, live)
		r := p.croft(args...)
		if r.err != nil || r.code < 0 {
			t.Fatalf("croft %v: %v", args, r)
		}
		if requireSame(t, "croft "+strings.Join(args, " "), before, p.everything(t, live)) {
			checks++
		}
		if a := p.mustCroft("list"); slices.ContainsFunc(a.Workspaces, func(w workspace) bool { return w.Name == "spare" }) {
			if args[0] == "clean" || args[0] == "reap" && slices.Contains(args, "--older-than") {
				t.Errorf("croft %v left the workspace that nobody needs: %v", args, r)
			}
			p.mustCroft("remove", "--force", "spare")
		}
	}
	report(t, "live", "%d things that are in use or not Croft's, %d runs of reap, clean, gc and doctor --fix: %d of them changed nothing of these",
		all, len(upkeep), checks)
}

// furnish makes what must not be touched, and returns the paths.
func (p *project) furnish(t *testing.T) (paths []string) {
	t.Helper()
	for _, name := range []string{
		"inside", "leased", "expired", "elsewhere", "locked", "gitlocked", "rebooted", "rebooted-dirty", "rebooted-leased", "emptied",
	} {
		p.finished(t, name)
		paths = append(paths, filepath.Join(p.workspaces(), name))
	}
	p.occupy(t, filepath.Join(p.workspaces(), "inside"))
	svc, err := connect.Open(t.Context(), p.dir, &connect.Options{Environ: p.environ()})
	mustDo(t, err)
	t.Cleanup(func() { mustDo(t, svc.Close()) })
	ids := map[string]croft.ID{}
	list, err := svc.Workspaces(t.Context(), croft.WorkspacesRequest{})
	mustDo(t, err)
	for _, w := range list.Items {
		ids[w.Name] = w.ID
	}
	_, err = croft.Hold(t.Context(), svc, croft.LeaseRequest{Workspace: string(ids["leased"])})
	mustDo(t, err)
	p.mustCroft("lock", "locked", "--reason", "mine")
	p.git(p.dir, "worktree", "lock", filepath.Join(p.workspaces(), "gitlocked"))
	p.rewrite(t, ids)
	// Not Croft's: a worktree elsewhere, one in the middle of Croft's own, a clone, and a
	// directory of notes.
	foreign := filepath.Join(p.work(), "foreign")
	byHand := filepath.Join(p.workspaces(), "by-hand")
	p.git(p.dir, "worktree", "add", "--quiet", "-b", "croft/foreign", foreign)
	p.git(p.dir, "worktree", "add", "--quiet", "-b", "croft/by-hand", byHand)
	p.git(p.work(), "clone", "--quiet", p.dir, filepath.Join(p.workspaces(), "clone"))
	gittest.WriteFile(t, filepath.Join(p.workspaces(), "notes", "todo.txt"), "do not forget")
	gittest.WriteFile(t, filepath.Join(byHand, "wip.txt"), "wip")
	return append(paths, foreign, byHand, filepath.Join(p.workspaces(), "clone"), filepath.Join(p.workspaces(), "notes"))
}

// rewrite gives workspaces leases and boot IDs that no command can give them.
func (p *project) rewrite(t *testing.T, ids map[string]croft.ID) {
	t.Helper()
	me := proc.Self()
	alive := croft.Owner{Host: me.Host, Boot: me.Boot, Space: me.Space, PID: me.PID, Start: me.Start}
	unseen, gone := alive, alive
	unseen.Host, gone.Boot = "another machine", "an-earlier-start"
	gittest.WriteFile(t, filepath.Join(p.workspaces(), "rebooted-dirty", "wip.txt"), "wip")
	p.commit(t, "rebooted", "ahead.txt")
	p.commit(t, "rebooted-leased", "ahead.txt")
	// As a power cut leaves it: a deleted file is an uncommitted change, too.
	mustDo(t, writeFile(filepath.Join(p.workspaces(), "emptied", "src", "main.txt"), ""))
	j, err := journal.Open(t.Context(), p.state(), journal.Options{})
	mustDo(t, err)
	defer j.Close()
	past := time.Now().Add(-time.Hour)
	mustDo(t, j.Update(t.Context(), func(tx *journal.Tx) error {
		errs := []error{
			tx.PutLease(croft.Lease{ID: "expired", Workspace: ids["expired"], Owner: alive, ExpiresAt: past}),
			tx.PutLease(croft.Lease{ID: "elsewhere", Workspace: ids["elsewhere"], Owner: unseen, ExpiresAt: past}),
			tx.PutLease(croft.Lease{ID: "gone", Workspace: ids["rebooted-leased"], Owner: gone, ExpiresAt: past}),
		}
		for _, name := range []string{"rebooted", "rebooted-dirty", "rebooted-leased", "emptied"} {
			rec, err := tx.Record(ids[name])
			rec.Boot = gone.Boot
			errs = append(errs, err, tx.PutRecord(rec))
		}
		return errors.Join(errs...)
	}))
}

// without drops paths from a list by their last names.
func without(paths []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return slices.Contains(names, filepath.Base(path)) })
}

// finished creates a workspace whose work is in its target: every cleanup would remove it.
func (p *project) finished(t *testing.T, name string) {
	t.Helper()
	p.mustCroft("new", name)
	p.commit(t, name, name+".txt")
	p.git(p.dir, "merge", "--quiet", "croft/"+name)
}

// spare creates a workspace that no process uses.
func (p *project) spare(t *testing.T) {
	t.Helper()
	p.mustCroft("new", "spare")
	p.commit(t, "spare", fmt.Sprintf("spare-%d.txt", time.Now().UnixNano()))
	p.git(p.dir, "merge", "--quiet", "croft/spare")
}

func (p *project) commit(t *testing.T, name, file string) {
	t.Helper()
	path := filepath.Join(p.workspaces(), name)
	mustDo(t, writeFile(filepath.Join(path, file), name))
	p.git(path, "add", "--all")
	p.git(path, "commit", "--quiet", "--message", name)
}

// occupy starts a process that has a directory as its working directory and does nothing.
func (p *project) occupy(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "read x")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	mustDo(t, err)
	mustDo(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
}

// everything is a manifest, with times, of directories, of git's registrations of them, and
// of their branches.
func (p *project) everything(t *testing.T, paths []string) manifest {
	t.Helper()
	all := manifest{}
	for _, path := range paths {
		for rel, what := range exact(t, path, nil) {
			all[filepath.Join(path, rel)] = what
		}
	}
	for block := range strings.SplitSeq(p.git(p.dir, "worktree", "list", "--porcelain"), "\n\n") {
		path, rest, _ := strings.Cut(strings.TrimPrefix(block, "worktree "), "\n")
		if !slices.Contains(paths, path) {
			continue
		}
		all["worktree "+path] = rest
		admin := p.git(path, "rev-parse", "--absolute-git-dir")
		for rel, what := range exact(t, admin, nil) {
			all[filepath.Join(admin, rel)] = what
		}
	}
	for _, path := range paths {
		ref := "refs/heads/croft/" + filepath.Base(path)
		all[ref] = p.git(p.dir, "for-each-ref", "--format=%(objectname)", ref)
	}
	return all
}
