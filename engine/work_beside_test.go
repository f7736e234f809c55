package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// beside is one act of Croft's on a workspace q whose agent works in it with its own git at
// the same time.
type beside struct {
	name string
	jobs func(t *testing.T, b besideSetting, turn int) []task
}

type besideSetting struct {
	r    *gittest.Repo
	q    croft.Workspace
	snap croft.ID // of q, as it was at first
}

func finishQ() task { return task{Finish: &croft.FinishRequest{Workspace: "q"}} }

var besides = []beside{
	{"Finish", func(*testing.T, besideSetting, int) []task { return []task{finishQ(), finishQ(), finishQ()} }},
	{"MergeInto", func(t *testing.T, b besideSetting, turn int) []task {
		w := show(t, engineIn(t, b.r, 0), "p")
		gittest.WriteFile(t, filepath.Join(w.Path, fmt.Sprintf("merged-%d.txt", turn)), "merged\n")
		return []task{
			{Merge: []croft.MergeRequest{{Workspace: "p", Target: "croft/q", After: croft.AfterKeep}}}, finishQ(), finishQ(),
		}
	}},
	{"Snapshot", func(*testing.T, besideSetting, int) []task {
		job := task{Snapshot: &croft.SnapshotRequest{Workspace: "q"}}
		return []task{job, job, finishQ()}
	}},
	{"Rewind", func(_ *testing.T, b besideSetting, _ int) []task {
		job := task{Restore: &croft.RestoreRequest{Ref: string(b.snap)}}
		return []task{job, finishQ(), job}
	}},
	{"Resolve", func(t *testing.T, b besideSetting, turn int) []task {
		b.r.Write(fmt.Sprintf("on-main-%d.txt", turn), "main\n")
		b.r.Commit("main goes on")
		job := task{Resolve: &croft.MergeRequest{Workspace: "q"}}
		return []task{job, job, finishQ()}
	}},
	{"Remove", func(*testing.T, besideSetting, int) []task {
		job := task{Remove: &croft.RemoveRequest{Workspaces: []string{"q"}, Mode: croft.RemoveForce}}
		return []task{job, finishQ(), job}
	}},
}

// TestBesideTheAgentsGit has several processes of Croft act on a workspace while its agent
// stages and commits there. Every act that fails has a code and a message, no committed
// file shows as deleted, and no lock is left.
func TestBesideTheAgentsGit(t *testing.T) {
	turns := 3
	if os.Getenv("CROFT_LONG") != "" {
		turns = 20
	}
	for _, b := range besides {
		t.Run(b.name, func(t *testing.T) {
			for turn := range turns {
				s := setBeside(t)
				s.run(t, b.jobs(t, s, turn))
			}
		})
	}
}

func setBeside(t *testing.T) besideSetting {
	t.Helper()
	s := besideSetting{r: gittest.New(t)}
	s.r.Env = append(s.r.Env, "GIT_CONFIG_COUNT=0") // the agent's git packs objects whenever it wants to
	for i := range 40 {                             // so that an act takes its time
		s.r.Write(fmt.Sprintf("files/%d.txt", i), "file\n")
	}
	s.r.Commit("files")
	e := engineIn(t, s.r, 0)
	s.q = create(t, e, croft.CreateRequest{Name: "q"})
	create(t, e, croft.CreateRequest{Name: "p"})
	gittest.WriteFile(t, filepath.Join(s.q.Path, "work.txt"), "work\n")
	snap, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "q"})
	if err != nil {
		t.Fatal(err)
	}
	s.snap = snap.ID
	return s
}

// agent stages and commits one file after the other until it is stopped. Now and then it
// pauses: an agent that moves a target without a pause keeps a lane from landing anything
// on it.
func (s besideSetting) agent(stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		if i%3 == 2 {
			time.Sleep(400 * time.Millisecond)
		}
		name := fmt.Sprintf("agent-%d.txt", i)
		if os.WriteFile(filepath.Join(s.q.Path, name), []byte("agent\n"), 0o644) != nil {
			return // the workspace was removed
		}
		_, _ = s.r.TryGit(s.q.Path, "add", name)
		args := []string{"commit", "--quiet", "-m", "agent"}
		if i%2 == 0 {
			args = append(args, "-a")
		}
		_, _ = s.r.TryGit(s.q.Path, args...)
	}
}

func (s besideSetting) run(t *testing.T, jobs []task) {
	t.Helper()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		s.agent(stop)
	}()
	var wg sync.WaitGroup
	for _, job := range jobs {
		cmd := helper(t, s.r, job)
		wg.Go(func() {
			out, err := run(t, cmd)
			if err != nil && !isExplained(out) {
				t.Error(out)
			}
		})
	}
	wg.Wait()
	close(stop)
	<-ended
	gc(t, engineIn(t, s.r, 0))
	s.check(t)
}

// isExplained reports whether a helper ended with an error that a person can act on: one
// with a code, and not git's own message.
func isExplained(out string) bool {
	code, _, _ := strings.Cut(out[strings.LastIndexByte(out, '\n')+1:], " ")
	raw := []string{"", string(croft.Internal), string(croft.GitFailed), string(croft.CleanupFailed)}
	return code == strings.ToUpper(code) && !slices.Contains(raw, code) && !strings.Contains(out, untyped)
}

func (s besideSetting) check(t *testing.T) {
	t.Helper()
	if _, err := os.Lstat(s.q.Path); err == nil {
		for line := range strings.Lines(s.r.GitIn(s.q.Path, "status", "--porcelain")) {
			if strings.ContainsAny(line[:2], "D") {
				t.Errorf("a file that was committed shows as deleted: %s", line)
			}
		}
	}
	s.waitMaintenance(t)
	s.r.Git("fsck", "--strict", "--no-dangling")
	wantNoLocks(t, s.r)
}

// waitMaintenance waits until the git process that the agent's commits started in the
// background has packed the objects.
func (s besideSetting) waitMaintenance(t *testing.T) {
	t.Helper()
	lock := filepath.Join(s.r.Dir, ".git", "objects", "maintenance.lock")
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Lstat(lock); err != nil {
			return
		}
	}
	t.Error("the agent's git has been packing for 30 seconds")
}
