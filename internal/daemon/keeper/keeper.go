// Package keeper does by itself what a user would otherwise have to ask for: it drives the
// queues of all projects, tries again what waited for the user's checkout, asks what became of pull
// requests, finishes runs of agents that nobody waits for any more, has the checkouts in stock filled, and once an hour
// removes orphans and collects garbage, in one project after the other. It knows a Service only,
// and waits for events: while nothing happens it does next to nothing.
package keeper

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/daemon/metrics"
)

// Service is what the keeper calls.
type Service interface {
	Repos(ctx context.Context, req croft.ReposRequest) (*croft.List[croft.Repo], error)
	Merges(ctx context.Context, req croft.MergesRequest) (*croft.List[croft.Merge], error)
	DriveLanes(ctx context.Context, req croft.DriveRequest) (*croft.QueueResult, error)
	Reap(ctx context.Context, req croft.ReapRequest) (*croft.CleanResult, error)
	GC(ctx context.Context, req croft.GCRequest) (*croft.GCResult, error)
	Workspaces(ctx context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error)
	RefreshPush(ctx context.Context, req croft.RefreshPushRequest) (*croft.Pushed, error)
	croft.Events
}

// Times are the keeper's intervals. The zero value has the usual ones.
type Times struct {
	Look   time.Duration // between two looks at the list of projects; default 10 minutes
	Retry  time.Duration // before a merge that waits for the user is tried again; default 1 minute, doubled up to 16
	Upkeep time.Duration // between two upkeeps of a project; default 1 hour
	Again  time.Duration // after a failure, doubled up to 5 minutes; default 1 second
	Follow time.Duration // between two looks at pull requests and runs; default 5 minutes
	// Restock is the time before the checkouts in stock are seen to after an event, doubled up to 16 times; default 2 seconds.
	Restock time.Duration
}

// Options are what a keeper needs. All but Service may be left out.
type Options struct {
	Service Service
	Log     *slog.Logger
	Metrics *metrics.Set
	Times   Times
	// IsUpkeepDue says whether this process is to do the upkeep of a project now: the user may
	// have turned it off, or another process may have done it. Default: it is.
	IsUpkeepDue func(repo croft.Repo) bool
	// Settle does what is left to do at the end of an agent's run. Default: nothing.
	Settle func(ctx context.Context, ws croft.Workspace) error
	// Restock begins to fill the checkouts in stock of a project, if the machine has nothing else to do. Default: nothing.
	Restock func(repo croft.Repo) error
}

// Keeper keeps the projects of a Service.
type Keeper struct {
	o Options

	mu      sync.Mutex
	repos   map[croft.ID]*kept
	running sync.WaitGroup
	closed  context.CancelFunc // ends Run: the Service was closed
	look    chan struct{}      // a project that is not known has an event
	work    chan struct{}      // something is due at another time than before
}

// kept is a project that the keeper looks after.
type kept struct {
	repo    croft.Repo
	stop    context.CancelFunc
	upkeep  time.Time // when it is due
	waiting waiting   // the merges that wait for the user
	stock   restocking
	atOnce  bool // the user has allowed something: merges are tried again now
	trying  bool
}

// New returns a keeper that does nothing yet.
func New(o Options) *Keeper {
	t := &o.Times
	for value, usual := range map[*time.Duration]time.Duration{
		&t.Look: 10 * time.Minute, &t.Retry: time.Minute, &t.Upkeep: time.Hour, &t.Again: time.Second, &t.Follow: 5 * time.Minute, &t.Restock: 2 * time.Second,
	} {
		if *value <= 0 {
			*value = usual
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.New()
	}
	if o.IsUpkeepDue == nil {
		o.IsUpkeepDue = func(croft.Repo) bool { return true }
	}
	k := &Keeper{o: o, repos: map[croft.ID]*kept{}, look: make(chan struct{}, 1), work: make(chan struct{}, 1)}
	o.Metrics.Ask(k.gauges)
	return k
}

func (k *Keeper) gauges() []metrics.Gauge {
	k.mu.Lock()
	defer k.mu.Unlock()
	return []metrics.Gauge{{Name: "croft_keeper_projects", Help: "projects whose queues are driven", Value: float64(len(k.repos))}}
}

// Run keeps house until the context ends or the Service is closed, and returns when all that it
// began has ended.
func (k *Keeper) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k.closed = cancel
	k.running.Go(func() { k.follow(ctx) })
	k.running.Go(func() { k.keepHouse(ctx) })
	k.running.Go(func() { k.followWork(ctx) })
	again := k.o.Times.Again
	for ctx.Err() == nil {
		wait := k.o.Times.Look
		if err := k.lookForRepos(ctx); err != nil && ctx.Err() == nil {
			k.fail("projects", "", err)
			wait, again = again, min(2*again, maxAgain)
		} else {
			again = k.o.Times.Again
			k.seekWaiting(ctx)
			signal(k.work)
		}
		select {
		case <-ctx.Done():
		case <-k.look:
		case <-time.After(wait):
		}
	}
	k.running.Wait()
}

// maxAgain is the longest wait after failures.
const maxAgain = 5 * time.Minute

// fail logs and counts a failure, and ends the keeper if the Service is closed. Names of projects are no labels: there may be many.
func (k *Keeper) fail(what string, repo croft.ID, err error) {
	if errors.Is(err, croft.Closed) {
		k.closed()
		return
	}
	e := croft.AsError(what, err)
	k.o.Metrics.Add("croft_keeper_failures_total", 1, "what", what, "code", string(e.Code))
	k.o.Log.Warn("upkeep failed", "what", what, "project", string(repo), "code", string(e.Code), "error", e.Error())
}

// lookForRepos begins to keep projects that are new, and forgets those that are gone.
func (k *Keeper) lookForRepos(ctx context.Context) error {
	there := map[croft.ID]croft.Repo{}
	for repo, err := range croft.All(croft.Page{}, func(page croft.Page) (*croft.List[croft.Repo], error) {
		return k.o.Service.Repos(ctx, croft.ReposRequest{Page: page})
	}) {
		if err != nil {
			return err
		}
		if !repo.IsMissing {
			there[repo.ID] = repo
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, one := range k.repos {
		if _, ok := there[id]; !ok {
			one.stop()
			delete(k.repos, id)
		}
	}
	for id, repo := range there {
		if one := k.repos[id]; one != nil {
			one.repo = repo
			continue
		}
		driving, stop := context.WithCancel(ctx)
		// The first upkeep comes at any time in the first interval, so that not all of many
		// come at once.
		k.repos[id] = &kept{repo: repo, stop: stop, upkeep: time.Now().Add(rand.N(k.o.Times.Upkeep) + 1), waiting: waiting{}}
		k.running.Go(func() { k.drive(driving, id) })
	}
	return nil
}

// drive drives the queues of a project until the context ends. A Service waits without
// looking for merges to come; what fails is tried again, ever less often.
func (k *Keeper) drive(ctx context.Context, id croft.ID) {
	wait := k.o.Times.Again
	for ctx.Err() == nil {
		begun := time.Now()
		_, err := k.o.Service.DriveLanes(ctx, croft.DriveRequest{Repo: croft.ByID(id), Until: croft.UntilStopped})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			k.fail("queue", id, err)
		}
		if time.Since(begun) > maxAgain {
			wait = k.o.Times.Again
		}
		sleep(ctx, wait)
		wait = min(2*wait, maxAgain)
	}
}

// follow reads the events of all projects, once for all of them.
func (k *Keeper) follow(ctx context.Context) {
	wait := k.o.Times.Again
	req := croft.EventsRequest{From: croft.FromNow, Follow: croft.FollowNew}
	for ctx.Err() == nil {
		for e, err := range k.o.Service.Events(ctx, req) {
			if err != nil {
				if ctx.Err() == nil {
					k.fail("events", "", err)
				}
				if errors.Is(err, croft.CursorExpired) {
					req.After, req.From = "", croft.FromNow
				}
				break
			}
			wait = k.o.Times.Again
			req.After, req.From = e.Cursor, "" // what is told between two streams is not lost
			k.notice(e)
		}
		sleep(ctx, wait)
		wait = min(2*wait, maxAgain)
		signal(k.look) // what was missed meanwhile may be of a new project
	}
}

// notice acts on an event: a project that is new is looked at, and a merge that waits for the
// user is going to be tried again, at once if the user has allowed something.
func (k *Keeper) notice(e croft.Event) {
	if e.Repo == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.repos[e.Repo]
	if one != nil && usesStock(e) {
		one.stock.arm(time.Now(), k.o.Times.Restock)
		signal(k.work)
	}
	switch {
	case one == nil:
		signal(k.look)
	case e.Kind == croft.EventApprovalGiven: // a merge may have waited for it
		one.atOnce = true
		signal(k.work)
	case e.Kind == croft.EventMergePending && e.After != nil && e.After.Merge != nil && isRetried(*e.After.Merge):
		one.waiting.arm(e.After.Merge.ID, k.o.Times.Retry)
		signal(k.work)
	}
}

// isRetried reports whether a merge is tried again by itself: its reason passes when the user
// has tidied up.
func isRetried(m croft.Merge) bool { return m.Reason == croft.HostDirty }

// signal wakes whoever waits at a channel, now or next.
func signal(at chan<- struct{}) {
	select {
	case at <- struct{}{}:
	default:
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
