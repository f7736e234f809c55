//go:build unix

package battery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
)

// agentVariable makes the test binary an agent that opens Croft itself.
const agentVariable = "CROFT_BATTERY_AGENT"

// agent is what such a process does: cycles of new, write, snapshot, remove and restore.
type agent struct {
	Dir, Name string
	Cycles    int
}

func runAgent() int {
	var a agent
	if err := json.Unmarshal([]byte(os.Getenv(agentVariable)), &a); err != nil {
		fmt.Println(err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Hour)
	defer cancel()
	svc, err := connect.Open(ctx, a.Dir, &connect.Options{Actor: a.Name})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	code := 0
	for i := range a.Cycles {
		name := fmt.Sprintf("%s-%d", a.Name, i)
		if err := a.cycle(ctx, svc, name, i); err != nil {
			fmt.Printf("%s: %v\n", name, err)
			if e := croft.AsError("", err); e.Details != "" {
				fmt.Println(e.Details)
			}
			code = 1
		}
	}
	if err := svc.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

// cycle is the life of one workspace. Its files are compared after every restoration.
func (a agent) cycle(ctx context.Context, svc croft.Service, name string, i int) error {
	w, err := svc.Create(ctx, croft.CreateRequest{Name: name})
	if err != nil {
		return err
	}
	if err := work(w.Path, name, i); err != nil {
		return err
	}
	saved, err := look(w.Path)
	if err != nil {
		return err
	}
	snap, err := svc.TakeSnapshot(ctx, croft.SnapshotRequest{Workspace: string(w.ID)})
	if err != nil {
		return err
	}
	err = errors.Join(writeFile(filepath.Join(w.Path, "later.txt"), name), os.Remove(filepath.Join(w.Path, "README.md")))
	if err != nil {
		return err
	}
	removed, err := look(w.Path)
	if err == nil {
		err = remove(ctx, svc, w)
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(w.Path); err == nil {
		return errors.New("it is still there after it was removed")
	}
	if err := restore(ctx, svc, w, string(w.ID), removed); err != nil {
		return fmt.Errorf("restored from the trash: %w", err)
	}
	if err := restore(ctx, svc, w, string(snap.ID), saved); err != nil {
		return fmt.Errorf("restored from the snapshot: %w", err)
	}
	return remove(ctx, svc, w)
}

// work writes an agent's work: a file with the agent's name, changes, and now and then a
// commit or a staged file. Its git runs no maintenance in the background: that would be a
// process that works inside and keeps the workspace.
func work(dir, name string, i int) error {
	err := errors.Join(
		writeFile(filepath.Join(dir, "work.txt"), name),
		writeFile(filepath.Join(dir, "src", "main.txt"), strings.Repeat(name+"\n", 100)),
		os.Mkdir(filepath.Join(dir, "empty"), 0o755),
		os.Symlink("work.txt", filepath.Join(dir, "link")))
	run := func(args ...string) error {
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "gc.auto=0"}, args...)...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("git %v: %w: %s", args, err, out)
		}
		return err
	}
	switch {
	case err != nil:
		return err
	case i%4 == 0:
		return errors.Join(run("add", "--all"), run("commit", "--quiet", "--message", name))
	case i%4 == 1:
		return run("add", "src")
	}
	return nil
}

func remove(ctx context.Context, svc croft.Service, w *croft.Workspace) error {
	res, err := svc.Remove(ctx, croft.RemoveRequest{Workspaces: []string{string(w.ID)}, Mode: croft.RemoveForce})
	if err != nil {
		return err
	}
	for _, k := range res.Kept {
		return k.Reason
	}
	if len(res.Removed) != 1 {
		return fmt.Errorf("removed %+v", res)
	}
	return nil
}

func restore(ctx context.Context, svc croft.Service, w *croft.Workspace, ref string, want manifest) error {
	back, err := svc.Restore(ctx, croft.RestoreRequest{Ref: ref})
	if err != nil {
		return err
	}
	if back.ID != w.ID || back.Path != w.Path || back.State != croft.Ready {
		return fmt.Errorf("it is %+v", back)
	}
	got, err := look(w.Path)
	if diff := cmp.Diff(want, got); err == nil && diff != "" {
		err = fmt.Errorf("it is not what it was (-want +got):\n%s", diff)
	}
	return err
}

// look is a manifest of a checkout, made outside any test.
func look(root string) (manifest, error) {
	m := manifest{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != root {
			m[strings.TrimPrefix(path, root)], err = describe(path, d)
		}
		return err
	})
	return m, err
}

// TestCycles has many processes, each with an open engine, create, fill, save, remove and
// restore workspaces, while a doctor examines and mends at the same time. The doctor must
// find nothing, because nothing is wrong; in the end every workspace is in the trash, and
// no other file is left.
func TestCycles(t *testing.T) {
	agents, cycles := size(8, 64), size(5, 200)
	p := smallProject(t)
	start := time.Now()
	var stop atomic.Bool
	examined := make(chan []string)
	rounds := 0
	go func() {
		var found []string
		for !stop.Load() {
			rounds++
			args := []string{"doctor"}
			if rounds%2 == 0 {
				args = append(args, "--fix")
			}
			r := p.croft(args...)
			if r.code != 0 || r.err != nil || !strings.Contains(r.stdout, `"findings":[]`) {
				found = append(found, fmt.Sprintf("croft %v: %v", args, r))
			}
		}
		examined <- found
	}()
	failed := atOnce(agents, func(i int) string {
		task, err := json.Marshal(agent{Dir: p.dir, Name: fmt.Sprintf("a%02d", i), Cycles: cycles})
		if err != nil {
			return err.Error()
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(p.environ(), agentVariable+"="+string(task))
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Sprintf("%v\n%s", err, out)
		}
		return ""
	})
	took := time.Since(start)
	stop.Store(true)
	failures := <-examined
	for _, f := range failed {
		if f != "" {
			failures = append(failures, f)
		}
	}
	for _, f := range failures {
		t.Error(f)
	}
	leaks := p.leaks()
	for _, l := range leaks {
		t.Errorf("left behind: %s", l)
	}
	lost := p.lost(agents * cycles)
	fsck := p.run(p.dir, "git", "fsck", "--full", "--no-dangling", "--no-progress")
	if fsck.code != 0 || strings.Contains(fsck.stdout+fsck.stderr, "error") || strings.Contains(fsck.stdout, "missing") {
		t.Errorf("git fsck: %v", fsck)
	}
	report(t, "cycles", "%d processes × %d cycles of new, write, snapshot, remove, restore, beside %d rounds of the doctor: "+
		"%d failures, %d lost, %d leaks, fsck exit %d, %.0f s", agents, cycles, rounds, len(failures), lost, len(leaks), fsck.code, took.Seconds())
}

// lost counts the removed workspaces that are not in the trash as a whole.
func (p *project) lost(made int) int {
	p.t.Helper()
	items := p.census().trash
	lost := made - len(items)
	if lost != 0 {
		p.t.Errorf("the trash has %d workspaces, %d were removed", len(items), made)
	}
	for _, item := range items {
		f := strings.Fields(item)
		path := filepath.Join(p.workspaces(), ".trash", f[0], "tree", "work.txt")
		if b, err := os.ReadFile(path); err != nil || string(b) != f[1] {
			lost++
			p.t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	return lost
}
