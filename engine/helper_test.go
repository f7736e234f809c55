package engine_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
)

// The test binary is also a program that uses the engine, so that tests can kill it, run
// many of it, and run it as another user.
const helperVariable = "CROFT_TEST_HELPER"

func TestMain(m *testing.M) {
	task := os.Getenv(helperVariable)
	if task == "" {
		os.Exit(m.Run())
	}
	if err := help(task); err != nil {
		fmt.Println(croft.AsError("help", err).Code, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// task says what a helper process does, in the directory that it is started in.
type task struct {
	Create   *croft.CreateAllRequest `json:"create,omitempty"`
	Remove   *croft.RemoveRequest    `json:"remove,omitempty"`
	Restore  *croft.RestoreRequest   `json:"restore,omitempty"`
	Undo     *croft.UndoRequest      `json:"undo,omitempty"`
	Snapshot *croft.SnapshotRequest  `json:"snapshot,omitempty"`
	Merge    []croft.MergeRequest    `json:"merge,omitempty"`
	Revert   *croft.RevertRequest    `json:"revert,omitempty"`
	Finish   *croft.FinishRequest    `json:"finish,omitempty"`
	Discard  *croft.DiscardRequest   `json:"discard,omitempty"`
	Queue    bool                    `json:"queue,omitempty"` // run the lanes
	Resolve  *croft.MergeRequest     `json:"resolve,omitempty"`
	Review   *croft.ReviewRequest    `json:"review,omitempty"`
	Apply    *croft.ApplyRequest     `json:"apply,omitempty"`
	Accept   *croft.AcceptRequest    `json:"accept,omitempty"`
	Lock     *croft.LockRequest      `json:"lock,omitempty"`
	Forecast bool                    `json:"forecast,omitempty"`
	Round    *croft.RoundRequest     `json:"round,omitempty"`
	EndRound croft.ID                `json:"endRound,omitempty"`
	Present  *croft.PresentRequest   `json:"present,omitempty"`
	EndAll   croft.ID                `json:"endAll,omitempty"` // the ID of a session
	Hold     croft.ID                `json:"hold,omitempty"`
	Lease    *croft.LeaseRequest     `json:"lease,omitempty"`
	GC       bool                    `json:"gc,omitempty"`
	Serve    int                     `json:"serve,omitempty"` // a port to listen at
	Read     bool                    `json:"read,omitempty"`  // make every call that only reads
	Call     string                  `json:"call,omitempty"`  // the name of a method, which is called with Request
	Request  json.RawMessage         `json:"request,omitempty"`
	Dir      string                  `json:"dir,omitempty"`
	Wait     bool                    `json:"wait,omitempty"` // until it is killed, or its stdin ends
}

// readings are the calls that only read and that can be made for a repository which Croft
// does not know.
func readings(ctx context.Context, e *engine.Engine) map[string]func() error {
	return map[string]func() error{
		"repo":      func() error { _, err := e.Repo(ctx, croft.RepoRequest{}); return err },
		"check":     func() error { _, err := e.CheckRepo(ctx, croft.RepoRequest{}); return err },
		"branch":    func() error { _, err := e.Branch(ctx, croft.BranchRequest{Branch: "main"}); return err },
		"list":      func() error { _, err := e.Workspaces(ctx, croft.WorkspacesRequest{}); return err },
		"worktrees": func() error { _, err := e.Worktrees(ctx, croft.WorktreesRequest{}); return err },
		"active":    func() error { _, err := e.CountActive(ctx, croft.CountRequest{}); return err },
		"show":      func() error { _, err := e.Workspace(ctx, croft.WorkspaceRequest{Ref: "a"}); return err },
		"diff":      func() error { _, err := e.Diff(ctx, croft.DiffRequest{Workspace: "a"}); return err },
		"conflicts": func() error { _, err := e.Conflicts(ctx, croft.ConflictsRequest{}); return err },
		"merges":    func() error { _, err := e.Merges(ctx, croft.MergesRequest{}); return err },
		"trash":     func() error { _, err := e.Trash(ctx, croft.TrashRequest{}); return err },
		"snapshots": func() error { _, err := e.Snapshots(ctx, croft.SnapshotsRequest{}); return err },
		"history":   func() error { _, err := e.History(ctx, croft.HistoryRequest{}); return err },
		"sessions":  func() error { _, err := e.Sessions(ctx, croft.SessionsRequest{}); return err },
		"checks":    func() error { _, err := e.Checks(ctx, croft.ChecksRequest{}); return err },
		"clean":     func() error { _, err := e.Clean(ctx, croft.CleanRequest{DryRun: croft.DryRunOn}); return err },
		"reap":      func() error { _, err := e.Reap(ctx, croft.ReapRequest{DryRun: croft.DryRunOn}); return err },
		"doctor":    func() error { _, err := e.Doctor(ctx, croft.DoctorRequest{}); return err },
	}
}

func help(text string) error {
	var job task
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		return err
	}
	ctx := context.Background()
	e, err := engine.Open(ctx, job.Dir, nil)
	if err != nil {
		return err
	}
	if job.Read {
		for name, call := range readings(ctx, e) {
			if err := call(); err != nil && croft.AsError(name, err).Code != croft.WorktreeNotFound {
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Println("read", name)
		}
	}
	if job.Create != nil {
		list, err := e.CreateAll(ctx, *job.Create)
		if err != nil {
			return err
		}
		for _, w := range list.Workspaces {
			fmt.Println("created", w.ID)
		}
	}
	if job.Remove != nil {
		res, err := e.Remove(ctx, *job.Remove)
		if err != nil {
			return err
		}
		for _, k := range res.Kept {
			return k.Reason
		}
		fmt.Println("removed", len(res.Removed))
	}
	if err := job.restoreOrSave(ctx, e); err != nil {
		return err
	}
	if err := marked(job.bringBack(ctx, e)); err != nil {
		return err
	}
	if _, err := job.call(ctx, e); err != nil {
		return marked(err)
	}
	if job.GC {
		if _, err := e.GC(ctx, croft.GCRequest{}); err != nil {
			return err
		}
	}
	if job.Hold != "" {
		if _, err := croft.Hold(ctx, e, croft.LeaseRequest{Workspace: string(job.Hold)}); err != nil {
			return err
		}
	}
	if job.Serve != 0 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", job.Serve))
		if err != nil {
			return err
		}
		defer l.Close()
	}
	if job.Wait {
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return nil
	}
	return e.Close()
}

// call calls the method that a task names, and returns its answer as JSON.
func (job task) call(ctx context.Context, e croft.Service) (string, error) {
	if job.Call == "" {
		return "", nil
	}
	method := reflect.ValueOf(e).MethodByName(job.Call)
	req := reflect.New(method.Type().In(1))
	if err := json.Unmarshal(job.Request, req.Interface()); err != nil {
		return "", err
	}
	out := method.Call([]reflect.Value{reflect.ValueOf(ctx), req.Elem()})
	if err, _ := reflect.TypeAssert[error](out[1]); err != nil {
		return "", err
	}
	b, err := json.Marshal(out[0].Interface())
	return string(b), err
}

// restoreOrSave does the parts of a task that restore a state or save one.
func (job task) restoreOrSave(ctx context.Context, e croft.Service) error {
	var err error
	switch {
	case job.Restore != nil:
		_, err = e.Restore(ctx, *job.Restore)
	case job.Undo != nil:
		_, err = e.Undo(ctx, *job.Undo)
	case job.Snapshot != nil:
		_, err = e.TakeSnapshot(ctx, *job.Snapshot)
	case job.Review != nil:
		_, err = e.CreateReview(ctx, *job.Review)
	case job.Apply != nil:
		_, err = croft.Apply(ctx, e, *job.Apply)
	case job.Accept != nil:
		_, err = e.AcceptTarget(ctx, *job.Accept)
	case job.Lock != nil:
		_, err = e.Lock(ctx, *job.Lock)
	case job.Forecast:
		var f *croft.Forecast
		if f, err = e.Conflicts(ctx, croft.ConflictsRequest{}); err == nil && len(f.Skipped) > 0 {
			err = f.Skipped[0].Reason
		}
	case job.Lease != nil:
		_, err = e.TakeLease(ctx, *job.Lease)
	case job.Resolve != nil:
		_, err = e.Resolve(ctx, *job.Resolve)
	}
	return marked(cmp.Or(err, job.playRound(ctx, e)))
}

// playRound does the parts of a task that belong to a round.
func (job task) playRound(ctx context.Context, e croft.Service) error {
	var err error
	switch {
	case job.Round != nil:
		_, err = e.StartRound(ctx, *job.Round)
	case job.EndRound != "":
		var round *croft.Round
		if round, err = e.EndRound(ctx, croft.EndRoundRequest{Round: job.EndRound}); err == nil && len(round.Failed) > 0 {
			err = round.Failed[0].Reason
		}
	case job.Present != nil:
		_, err = e.Present(ctx, *job.Present)
	case job.EndAll != "":
		_, err = e.EndSession(ctx, croft.EndSessionRequest{Session: croft.ByID(job.EndAll)})
	}
	return err
}

// marked puts untyped before an error that has no code.
func marked(err error) error {
	if _, typed := errors.AsType[*croft.Error](err); err != nil && !typed {
		return fmt.Errorf("%s: %T: %w", untyped, err, err)
	}
	return err
}

// untyped is the prefix by which a test recognises an error without a code in a helper's
// output.
const untyped = "UNTYPED"

// helper prepares a process that does a task.
func helper(t testing.TB, r *gittest.Repo, job task, env ...string) *exec.Cmd {
	t.Helper()
	if job.Dir == "" {
		job.Dir = r.Dir
	}
	b, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Dir = job.Dir
	cmd.Env = append(append(slices.Clone(r.Env), helperVariable+"="+string(b)), env...)
	return cmd
}

// start starts a helper that waits, and returns when it is ready. stop kills the helper, as
// kill -9 does, and may be called more than once.
func start(t testing.TB, cmd *exec.Cmd) (stop func()) {
	t.Helper()
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(stop)
	for lines := bufio.NewScanner(out); ; {
		if !lines.Scan() {
			t.Fatalf("the helper ended before it was ready: %v", lines.Err())
		}
		if lines.Text() == "ready" {
			return stop
		}
	}
}

// run runs a helper to its end and returns what it printed.
func run(t testing.TB, cmd *exec.Cmd) (string, error) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// engineIn opens an engine in a repository's environment, with a clock that is ahead by
// later.
func engineIn(t testing.TB, r *gittest.Repo, later time.Duration, settings ...string) *engine.Engine {
	t.Helper()
	opts := &engine.Options{Environ: r.Env, Settings: map[string]string{}}
	if later != 0 {
		opts.Now = func() time.Time { return time.Now().Add(later) }
	}
	for i := 0; i+1 < len(settings); i += 2 {
		opts.Settings[settings[i]] = settings[i+1]
	}
	return open(t, r.Dir, opts)
}

// create makes a workspace or ends the test.
func create(t testing.TB, e croft.Service, req croft.CreateRequest) croft.Workspace {
	t.Helper()
	w, err := e.Create(t.Context(), req)
	if err != nil {
		t.Fatalf("Create(%+v): %v", req, err)
	}
	return *w
}

// eachMode runs a test with a fresh workspace named a, once per mode.
func eachMode(t *testing.T, test func(t *testing.T, r *gittest.Repo, e *engine.Engine, w croft.Workspace)) {
	t.Helper()
	for _, mode := range []croft.Mode{croft.ModeWorktree, croft.ModeIsolated} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			test(t, r, e, create(t, e, croft.CreateRequest{Name: "a", Mode: mode}))
		})
	}
}

// names lists the live workspaces' names.
func names(t testing.TB, e croft.Service) []string {
	t.Helper()
	list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{})
	if err != nil {
		t.Fatalf("Workspaces: %v", err)
	}
	out := []string{}
	for _, w := range list.Items {
		out = append(out, w.Name)
	}
	return out
}

// show finds one workspace or ends the test.
func show(t testing.TB, e croft.Service, ref string) croft.Workspace {
	t.Helper()
	w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: ref})
	if err != nil {
		t.Fatalf("Workspace(%s): %v", ref, err)
	}
	return *w
}

// database opens the journal that the engines of a repository's environment
// write.
func database(t testing.TB, r *gittest.Repo) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), stateDir(r), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func stateDir(r *gittest.Repo) string {
	for _, kv := range r.Env {
		if dir, ok := strings.CutPrefix(kv, "CROFT_STATE_DIR="); ok {
			return dir
		}
	}
	return ""
}

// update writes to the journal or ends the test.
func update(t testing.TB, j *journal.Journal, f func(*journal.Tx) error) {
	t.Helper()
	if err := j.Update(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// wantCode ends the test unless err has the code.
func wantCode(t testing.TB, err error, want croft.Code) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error = %v, want %s", err, want)
	}
}

// wantKept fails unless exactly one workspace was examined, and was kept for this reason.
func wantKept(t testing.TB, what string, removed []croft.Removed, kept []croft.Kept, want croft.Code) {
	t.Helper()
	if len(removed) != 0 || len(kept) != 1 || !errors.Is(kept[0].Reason, want) {
		t.Errorf("%s: removed %+v, kept %+v; want it kept as %s", what, removed, kept, want)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// bringBack does the parts of a task about merges. A merge that stays pending is a failure
// here.
func (job task) bringBack(ctx context.Context, e croft.Service) error {
	var waiting []croft.ID
	for _, req := range job.Merge {
		m, err := e.SubmitMerge(ctx, req)
		if err != nil {
			return err
		}
		waiting = append(waiting, m.ID)
	}
	if job.Finish != nil {
		m, err := e.Finish(ctx, *job.Finish)
		if err != nil {
			return err
		}
		waiting = append(waiting, m.ID)
	}
	for _, id := range waiting {
		m, err := e.WaitMerge(ctx, croft.WaitRequest{Merge: id})
		if err != nil {
			return err
		}
		fmt.Println(m.WorkspaceName, m.Status, m.Reason, m.Message, m.Details)
	}
	if job.Revert != nil {
		m, err := croft.Revert(ctx, e, *job.Revert)
		if err != nil {
			return err
		}
		fmt.Println("revert", m.Status, m.Reason)
	}
	if job.Discard != nil {
		if _, err := e.Discard(ctx, *job.Discard); err != nil {
			return err
		}
	}
	if job.Queue {
		if _, err := e.DriveLanes(ctx, croft.DriveRequest{}); err != nil {
			return err
		}
	}
	return nil
}

// snapshotOf takes a snapshot of a workspace.
func snapshotOf(t *testing.T, e croft.Service, name string) *croft.Snapshot {
	t.Helper()
	snap, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: name})
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// wantNoLocks fails if one of git's lock files is left in the repository.
func wantNoLocks(t *testing.T, r *gittest.Repo) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(r.Dir, ".git"), func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") && !strings.HasPrefix(path, filepath.Join(r.Dir, ".git", "croft")) {
			t.Errorf("a lock is left: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func gc(t *testing.T, e *engine.Engine) {
	t.Helper()
	if _, err := e.GC(t.Context(), croft.GCRequest{}); err != nil {
		t.Fatalf("the next call: %v", err)
	}
}

// brief opens an engine for f, and closes it before it returns.
func brief(t *testing.T, r *gittest.Repo, f func(e *engine.Engine)) {
	t.Helper()
	e, err := engine.Open(t.Context(), r.Dir, &engine.Options{Environ: r.Env})
	if err != nil {
		t.Fatal(err)
	}
	f(e)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
