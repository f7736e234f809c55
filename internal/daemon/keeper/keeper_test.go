package keeper

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// fake is a Service whose projects, events and failures the test chooses.
type fake struct {
	mu      sync.Mutex
	repos   []croft.Repo
	drives  map[croft.Ref]int // until stopped
	retries map[croft.Ref]int // until empty
	gcs     map[croft.Ref]int
	reaps   map[croft.Ref]int
	running int // upkeeps at this moment
	most    int
	fails   error // of DriveLanes
	events  chan croft.Event
	breaks  chan error            // end a stream of events
	asked   []croft.EventsRequest // the streams that were begun
	waiting []croft.Merge

	workspaces []croft.Workspace
	refreshed  map[croft.Ref]int
	refuses    error // of RefreshPush
}

func (f *fake) Workspaces(_ context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if req.Repos != croft.ScopeAll {
		return nil, errors.New("not all projects")
	}
	return &croft.List[croft.Workspace]{Items: f.workspaces}, nil
}

func (f *fake) RefreshPush(_ context.Context, req croft.RefreshPushRequest) (*croft.Pushed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refreshed[req.Workspace]++
	return nil, f.refuses
}

func newFake(ids ...croft.ID) *fake {
	f := &fake{
		drives: map[croft.Ref]int{}, retries: map[croft.Ref]int{}, gcs: map[croft.Ref]int{}, reaps: map[croft.Ref]int{}, refreshed: map[croft.Ref]int{}, events: make(chan croft.Event, 100), breaks: make(chan error),
	}
	for _, id := range ids {
		f.repos = append(f.repos, croft.Repo{ID: id})
	}
	return f
}

func (f *fake) Repos(_ context.Context, req croft.ReposRequest) (*croft.List[croft.Repo], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if req.After == "" && len(f.repos) > 1 {
		return &croft.List[croft.Repo]{Items: f.repos[:1], Next: "x"}, nil
	}
	if req.After == "x" {
		return &croft.List[croft.Repo]{Items: f.repos[1:]}, nil
	}
	return &croft.List[croft.Repo]{Items: f.repos}, nil
}

// Merges lists one merge a page.
func (f *fake) Merges(_ context.Context, req croft.MergesRequest) (*croft.List[croft.Merge], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := len(req.After)
	if at >= len(f.waiting) {
		return &croft.List[croft.Merge]{}, nil
	}
	list := &croft.List[croft.Merge]{Items: f.waiting[at : at+1]}
	if at+1 < len(f.waiting) {
		list.Next = req.After + "x"
	}
	return list, nil
}

func (f *fake) DriveLanes(ctx context.Context, req croft.DriveRequest) (*croft.QueueResult, error) {
	f.mu.Lock()
	err := f.fails
	if req.Until == croft.UntilStopped {
		f.drives[req.Repo]++
	} else {
		f.retries[req.Repo]++
	}
	f.mu.Unlock()
	if err != nil || req.Until != croft.UntilStopped {
		return &croft.QueueResult{}, err
	}
	<-ctx.Done()
	return &croft.QueueResult{}, nil
}

func (f *fake) Reap(_ context.Context, req croft.ReapRequest) (*croft.CleanResult, error) {
	f.mu.Lock()
	f.running++
	f.most = max(f.most, f.running)
	f.reaps[req.Repo]++
	f.mu.Unlock()
	time.Sleep(time.Millisecond)
	return &croft.CleanResult{}, errors.New("reaping fails and does not keep gc from running")
}

func (f *fake) GC(_ context.Context, req croft.GCRequest) (*croft.GCResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
	f.gcs[req.Repo]++
	return &croft.GCResult{}, nil
}

func (f *fake) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		f.mu.Lock()
		f.asked = append(f.asked, req)
		f.mu.Unlock()
		for {
			select {
			case <-ctx.Done():
				return
			case err := <-f.breaks:
				yield(croft.Event{}, err)
				return
			case e := <-f.events:
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

func (f *fake) count(m map[croft.Ref]int, ref croft.Ref) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return m[ref]
}

// run runs a keeper until the test ends, and sees that it ends.
func run(t *testing.T, o Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { New(o).Run(ctx); close(done) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("the keeper does not end")
		}
	})
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestQueuesOfAllProjectsAreDriven(t *testing.T) {
	f := newFake("a", "b", "c")
	f.repos[2].IsMissing = true
	run(t, Options{Service: f})
	eventually(t, "both are driven", func() bool { return f.count(f.drives, "id:a") == 1 && f.count(f.drives, "id:b") == 1 })
	if n := f.count(f.drives, "id:c"); n > 0 {
		t.Errorf("a project that is not there is driven")
	}
	// A project that comes later is found by its first event.
	f.mu.Lock()
	f.repos = append(f.repos, croft.Repo{ID: "d"})
	f.mu.Unlock()
	f.events <- croft.Event{Kind: croft.EventWorkspaceCreated, Subjects: croft.Subjects{Repo: "d"}}
	eventually(t, "the new one is driven", func() bool { return f.count(f.drives, "id:d") == 1 })
	if n := f.count(f.drives, "id:a"); n != 1 {
		t.Errorf("a is driven %d times", n)
	}
}

func TestFailingQueueIsDrivenEverLessOften(t *testing.T) {
	f := newFake("a")
	f.fails = croft.NoSpace
	run(t, Options{Service: f, Times: Times{Again: 2 * time.Millisecond}})
	eventually(t, "it is tried again", func() bool { return f.count(f.drives, "id:a") >= 3 })
	before := f.count(f.drives, "id:a")
	time.Sleep(100 * time.Millisecond)
	if n := f.count(f.drives, "id:a") - before; n > 8 {
		t.Errorf("tried %d times in 100 ms", n)
	}
}

// TestClosedServiceEndsTheKeeper: there is nothing to keep any more.
func TestClosedServiceEndsTheKeeper(t *testing.T) {
	f := newFake("a")
	f.fails = croft.Closed
	done := make(chan struct{})
	go func() { New(Options{Service: f}).Run(t.Context()); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the keeper goes on")
	}
}

func TestWaitingMergeIsTriedAgain(t *testing.T) {
	f := newFake("a")
	run(t, Options{Service: f, Times: Times{Retry: 5 * time.Millisecond}})
	eventually(t, "it is driven", func() bool { return f.count(f.drives, "id:a") == 1 })
	pending := func(reason croft.Code) croft.Event {
		return croft.Event{
			Kind: croft.EventMergePending, Subjects: croft.Subjects{Repo: "a"},
			After: &croft.Nouns{Merge: &croft.Merge{ID: "m", RepoID: "a", State: croft.MergeDone, Reason: reason}},
		}
	}
	f.events <- pending(croft.Conflict)
	time.Sleep(30 * time.Millisecond)
	if n := f.count(f.retries, "id:a"); n > 0 {
		t.Errorf("a conflict was tried again")
	}
	f.events <- pending(croft.HostDirty)
	eventually(t, "it is tried again", func() bool { return f.count(f.retries, "id:a") == 1 })
	f.events <- pending(croft.HostDirty)
	eventually(t, "it is tried a third time", func() bool { return f.count(f.retries, "id:a") == 2 })
}

// TestApprovalIsActedUpon: a merge that waited for a person is tried again when the person has
// allowed what it needs.
func TestApprovalIsActedUpon(t *testing.T) {
	f := newFake("a")
	run(t, Options{Service: f})
	eventually(t, "it is driven", func() bool { return f.count(f.drives, "id:a") == 1 })
	f.events <- croft.Event{Kind: croft.EventApprovalGiven, Subjects: croft.Subjects{Repo: "a"}}
	eventually(t, "it is tried again", func() bool { return f.count(f.retries, "id:a") == 1 })
}

func TestUpkeepOneAfterTheOther(t *testing.T) {
	f := newFake("a", "b")
	run(t, Options{
		Service: f, Times: Times{Upkeep: 20 * time.Millisecond, Retry: time.Millisecond},
		IsUpkeepDue: func(repo croft.Repo) bool { return repo.ID != "off" },
	})
	f.mu.Lock()
	f.repos = append(f.repos, croft.Repo{ID: "off"})
	f.mu.Unlock()
	f.events <- croft.Event{Subjects: croft.Subjects{Repo: "off"}}
	for _, ref := range []croft.Ref{"id:a", "id:b"} {
		eventually(t, "garbage of "+ref, func() bool { return f.count(f.gcs, ref) >= 3 })
	}
	f.mu.Lock()
	most := f.most
	f.mu.Unlock()
	if most > 1 {
		t.Errorf("%d upkeeps at once", most)
	}
	if n := f.count(f.gcs, "id:off"); n > 0 {
		t.Errorf("upkeep that is off was done %d times", n)
	}
}

// TestWaitingMergesHaveWaitsOfTheirOwn: each waits ever longer, also with others beside it, and
// no look at what there is puts a try off.
func TestWaitingMergesHaveWaitsOfTheirOwn(t *testing.T) {
	w := waiting{}
	const first, most = time.Minute, 16 * time.Minute
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 16} {
		for _, id := range []croft.ID{"m", "n"} {
			w.arm(id, first)
			if got := time.Until(w[id].at).Round(time.Second); got != want*time.Minute {
				t.Fatalf("%s waits %v, want %d minutes", id, got, want)
			}
		}
		if w.take(time.Now(), most) {
			t.Fatal("tried before its time")
		}
		if at := w.next(); !w.take(at.Add(time.Second), most) || !w.next().IsZero() {
			t.Fatalf("not tried at %v", at)
		}
	}
}

// TestWaitingMergeIsFound: merges that waited before the keeper began are tried, on whichever
// page they are, and those that are armed are not put off by the next look.
func TestWaitingMergeIsFound(t *testing.T) {
	f := newFake("a", "b")
	for _, m := range []croft.Merge{{ID: "m", RepoID: "a", Reason: croft.Conflict}, {ID: "n", RepoID: "b", Reason: croft.HostDirty}} {
		m.State = croft.MergeDone
		f.waiting = append(f.waiting, m)
	}
	run(t, Options{Service: f, Times: Times{Retry: 100 * time.Millisecond, Look: 5 * time.Millisecond}})
	eventually(t, "it is tried", func() bool { return f.count(f.retries, "id:b") >= 1 })
	if n := f.count(f.retries, "id:a"); n > 0 {
		t.Errorf("a conflict was tried again")
	}
}

// TestEventsBetweenTwoStreams: the keeper goes on where its stream ended, and begins anew only
// if that is not kept any more.
func TestEventsBetweenTwoStreams(t *testing.T) {
	f := newFake("a")
	run(t, Options{Service: f, Times: Times{Again: time.Millisecond}})
	f.events <- croft.Event{Cursor: "7", Kind: croft.EventWorkspaceCreated, Subjects: croft.Subjects{Repo: "a"}}
	last := func(n int) (req croft.EventsRequest) {
		eventually(t, "a stream is begun", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			if len(f.asked) != n {
				return false
			}
			req = f.asked[n-1]
			return true
		})
		return req
	}
	if req := last(1); req.From != croft.FromNow || req.After != "" {
		t.Errorf("it begins with %+v", req)
	}
	eventually(t, "the event is read", func() bool { return len(f.events) == 0 })
	f.breaks <- croft.NoSpace
	if req := last(2); req.From != "" || req.After != "7" {
		t.Errorf("it goes on with %+v", req)
	}
	f.breaks <- croft.CursorExpired
	if req := last(3); req.From != croft.FromNow || req.After != "" {
		t.Errorf("it begins anew with %+v", req)
	}
}

// TestStockIsFilled: a workspace that was made by whichever process has the checkouts in stock filled, again after a while, because
// the machine may have been busy, and not for ever.
func TestStockIsFilled(t *testing.T) {
	f := newFake("a", "b")
	var mu sync.Mutex
	filled := map[croft.ID]int{}
	count := func(id croft.ID) int {
		mu.Lock()
		defer mu.Unlock()
		return filled[id]
	}
	run(t, Options{
		Service: f, Times: Times{Restock: time.Millisecond},
		Restock: func(repo croft.Repo) error {
			mu.Lock()
			defer mu.Unlock()
			filled[repo.ID]++
			return nil
		},
	})
	eventually(t, "it is driven", func() bool { return f.count(f.drives, "id:a") == 1 && f.count(f.drives, "id:b") == 1 })
	f.events <- croft.Event{Kind: croft.EventWorkspaceLocked, Subjects: croft.Subjects{Repo: "b"}}
	f.events <- croft.Event{Kind: croft.EventWorkspaceCreated, Subjects: croft.Subjects{Repo: "a"}}
	eventually(t, "the last try", func() bool { return count("a") == 5 })
	time.Sleep(40 * time.Millisecond)
	if a, b := count("a"), count("b"); a != 5 || b != 0 {
		t.Errorf("filled %d times after a creation and %d times after none, want 5 and 0", a, b)
	}
	f.events <- croft.Event{Kind: croft.EventMergeMerged, Subjects: croft.Subjects{Repo: "a"}}
	eventually(t, "filled for a target that moved", func() bool { return count("a") > 5 })
}
