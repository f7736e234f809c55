package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/replica"
)

// past is one random history of acts in a repository.
type past struct {
	*rand.Rand
	t       *testing.T
	r       *gittest.Repo
	e       *engine.Engine
	held    []croft.ID // leases
	session croft.ID
	rounds  []croft.ID
	log     []string
}

// pick returns one of the names that workspaces have or had.
// newPast begins the nth random history of a kind, in a project with a check.
func newPast(t *testing.T, kind uint64, n int) *past {
	t.Helper()
	p := &past{Rand: rand.New(rand.NewPCG(kind, uint64(n))), t: t, r: gittest.New(t)}
	p.r.Write("croft.toml", "[merge]\nchecks = [\"test ! -e bad\"]\n")
	p.r.Commit("checks")
	p.e = engineIn(t, p.r, 0)
	checks, err := p.e.Checks(t.Context(), croft.ChecksRequest{})
	if err == nil {
		_, err = p.e.Approve(t.Context(), croft.ApproveRequest{Hash: checks.Hash})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *past) pick() string { return fmt.Sprint("w", p.IntN(6)) }

// act chooses the next call: the name of a method and its request.
func (p *past) act() (string, any) {
	acts := []func() (string, any){
		func() (string, any) { return "Create", croft.CreateRequest{Name: p.pick()} },
		func() (string, any) { return "Create", croft.CreateRequest{Name: p.pick(), Agent: "smith"} },
		func() (string, any) { return "SubmitMerge", croft.MergeRequest{Workspace: p.pick()} },
		func() (string, any) {
			return "SubmitMerge", croft.MergeRequest{Workspace: p.pick(), After: croft.AfterKeep}
		},
		func() (string, any) { return "DriveLanes", croft.DriveRequest{} },
		func() (string, any) { return "DriveLanes", croft.DriveRequest{} },
		func() (string, any) {
			return "Finish", croft.FinishRequest{Workspace: p.pick(), Policy: []croft.MergePolicy{croft.MergeAlways, croft.MergeNever}[p.IntN(2)]}
		},
		func() (string, any) {
			actions := []croft.QueueAction{croft.QueueHold, croft.QueueRelease, croft.QueueCancel, croft.QueueFirst}
			return "ChangeQueue", croft.QueueRequest{Action: actions[p.IntN(len(actions))]}
		},
		func() (string, any) { return "Discard", croft.DiscardRequest{Workspaces: []string{p.pick()}} },
		func() (string, any) { return "SubmitRevert", croft.RevertRequest{Ref: p.pick()} },
		func() (string, any) {
			return "Remove", croft.RemoveRequest{Workspaces: []string{p.pick(), p.pick()}, Mode: croft.RemoveForce}
		},
		func() (string, any) {
			return "Remove", croft.RemoveRequest{Workspaces: []string{p.pick()}, Branch: croft.BranchKeep}
		},
		func() (string, any) { return "Restore", croft.RestoreRequest{Ref: p.pick()} },
		func() (string, any) { return "Undo", croft.UndoRequest{Mode: croft.RemoveForce} },
		func() (string, any) { return "Lock", croft.LockRequest{Workspace: p.pick(), Reason: "mine"} },
		func() (string, any) { return "Unlock", croft.LockRequest{Workspace: p.pick()} },
		func() (string, any) { return "TakeSnapshot", croft.SnapshotRequest{Workspace: p.pick()} },
		func() (string, any) { return "CreateReview", croft.ReviewRequest{Workspace: p.pick()} },
		func() (string, any) { return "Resolve", croft.MergeRequest{Workspace: p.pick()} },
		func() (string, any) { return "GC", croft.GCRequest{} },
		func() (string, any) { return "Reap", croft.ReapRequest{} },
		func() (string, any) { return "Clean", croft.CleanRequest{} },
	}
	return acts[p.IntN(len(acts))]()
}

// step does one thing: an agent writes, a lease or a round begins or ends, or a call is
// made, here or in a process that may be killed.
func (p *past) step() {
	switch p.IntN(14) {
	case 0, 1, 2:
		p.write()
	case 3:
		p.lease()
	case 4:
		p.round()
	default:
		method, req := p.act()
		p.call(method, req)
	}
}

// call makes a call, here or in a process that may be killed.
func (p *past) call(method string, req any) {
	b, err := json.Marshal(req)
	if err != nil {
		p.t.Fatal(err)
	}
	job, how := task{Call: method, Request: b}, "here"
	if p.IntN(4) == 0 {
		how = "killed"
		cmd := helper(p.t, p.r, job)
		if err := cmd.Start(); err != nil {
			p.t.Fatal(err)
		}
		time.Sleep(time.Duration(20+p.IntN(250)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	} else if _, err = job.call(p.t.Context(), p.e); err != nil {
		how = string(croft.AsError("", err).Code)
	}
	p.log = append(p.log, fmt.Sprintf("%s %s: %s", method, b, how))
}

// write changes a file in a live workspace, so that merges conflict or fail their check now
// and then.
func (p *past) write() {
	for _, w := range p.list() {
		if p.IntN(2) == 0 && w.State == croft.Ready {
			name := filepath.Join(w.Path, []string{"shared", w.Name, "bad"}[min(p.IntN(8), 2)%3])
			if p.IntN(3) > 0 {
				name = filepath.Join(w.Path, w.Name)
			}
			_ = os.WriteFile(name, fmt.Appendf(nil, "%d\n", p.Int()), 0o644)
			p.log = append(p.log, "write "+name)
		}
	}
}

func (p *past) lease() {
	if len(p.held) > 0 && p.IntN(2) == 0 {
		_, err := p.e.Release(p.t.Context(), croft.ReleaseRequest{Lease: p.held[0]})
		p.held = p.held[1:]
		p.log = append(p.log, fmt.Sprint("release: ", err))
		return
	}
	if live := p.list(); len(live) > 0 {
		w := live[p.IntN(len(live))]
		l, err := p.e.TakeLease(p.t.Context(), croft.LeaseRequest{Workspace: string(w.ID)})
		if err == nil {
			p.held = append(p.held, l.ID)
		}
		p.log = append(p.log, fmt.Sprint("hold ", w.Name, ": ", err))
	}
}

func (p *past) round() {
	ctx := p.t.Context()
	switch {
	case p.session == "":
		s, err := p.e.StartSession(ctx, croft.SessionRequest{})
		if err != nil {
			p.t.Fatal(err)
		}
		p.session = s.ID
	case len(p.rounds) > 0 && p.IntN(2) == 0:
		_, err := p.e.EndRound(ctx, croft.EndRoundRequest{Round: p.rounds[0]})
		p.rounds = p.rounds[1:]
		p.log = append(p.log, fmt.Sprint("end of a round: ", err))
	case p.IntN(4) == 0:
		_, err := p.e.EndSession(ctx, croft.EndSessionRequest{Session: croft.ByID(p.session)})
		p.session, p.rounds = "", nil
		p.log = append(p.log, fmt.Sprint("end of the session: ", err))
	default:
		t, err := p.e.StartRound(ctx, croft.RoundRequest{Session: croft.ByID(p.session), Agents: []string{"x", "y"}})
		if err == nil {
			p.rounds = append(p.rounds, t.ID)
		}
		p.log = append(p.log, fmt.Sprint("round: ", err))
	}
}

func (p *past) list() []croft.Workspace {
	p.t.Helper()
	list, err := p.e.Workspaces(p.t.Context(), croft.WorkspacesRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	return list.Items
}

// lose loses the database: with its second copy, or without.
func (p *past) lose(isWhole bool) {
	p.t.Helper()
	if err := p.e.Close(); err != nil {
		p.t.Fatal(err)
	}
	p.held = nil
	lose(p.t, filepath.Join(stateDir(p.r), "croft.db*"))
	if isWhole {
		lose(p.t, filepath.Join(filepath.Dir(stateDir(p.r)), "*", "state", "*.log"))
	}
	p.e = engineIn(p.t, p.r, 0)
	p.session, p.rounds = "", nil
	p.log = append(p.log, fmt.Sprint("the state is lost, with its copy: ", isWhole))
}

// recorded returns workspaces by ID without the fields that are looked up when they are
// listed. A lease is left of which another process could see that it has ended.
func recorded(list []croft.Workspace) map[croft.ID]croft.Workspace {
	out := map[croft.ID]croft.Workspace{}
	for _, w := range list {
		if w.State == croft.Stopped || w.State == croft.Broken {
			w.State = croft.Ready
		}
		if w.Lease != nil {
			w.Lease = &croft.Lease{ID: w.Lease.ID, Workspace: w.Lease.Workspace, Owner: w.Lease.Owner, Term: w.Lease.Term}
		}
		w.Head, w.Env, w.Scratch, w.Collides, w.Next, w.Notes, w.IsRoundOver = "", nil, "", nil, nil, nil, false
		w.Status, w.Why, w.Forecast, w.Work = "", "", "", nil
		w.MergeReason, w.MergeMessage, w.Fault, w.FaultReason, w.MovedFrom = "", "", "", "", ""
		out[w.ID] = w
	}
	return out
}

// compare compares a reader of events with fresh lists.
func (p *past) compare(seen *replica.Replica) {
	p.t.Helper()
	ctx := p.t.Context()
	fresh, err := replica.Load(ctx, p.e, "")
	if err != nil {
		p.t.Fatal(err)
	}
	want, got := recorded(slices.Collect(maps.Values(fresh.Workspaces))), recorded(seen.Live())
	for id, w := range got { // a process that died holds no lease, and releases none
		if listed, ok := want[id]; ok && listed.Lease == nil {
			w.Lease = nil
			got[id] = w
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("workspaces (-listed +from events):\n%s", diff)
	}
	if diff := cmp.Diff(fresh.Merges, seen.Merges); diff != "" {
		p.t.Errorf("merges (-listed +from events):\n%s", diff)
	}
	if diff := cmp.Diff(fresh.Sessions, seen.Sessions); diff != "" {
		p.t.Errorf("sessions (-listed +from events):\n%s", diff)
	}
}

// follow applies the events since the reader was last here. A cursor that has expired is
// answered by a fresh list.
func (p *past) follow(seen *replica.Replica, mayExpire bool) *replica.Replica {
	p.t.Helper()
	ctx := p.t.Context()
	if _, err := p.e.Doctor(ctx, croft.DoctorRequest{}); err != nil { // what killed processes began is recovered
		p.t.Fatal(err)
	}
	repo, err := p.e.Repo(ctx, croft.RepoRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	for e, err := range p.e.Events(ctx, croft.EventsRequest{After: seen.Cursor, Repo: repo.ID}) {
		if errors.Is(err, croft.CursorExpired) && mayExpire {
			if seen, err = replica.Load(ctx, p.e, ""); err != nil {
				p.t.Fatal(err)
			}
			return seen
		}
		if err != nil {
			p.t.Fatal(err)
		}
		seen.Apply(e)
	}
	return seen
}

// TestEventsRebuildLists: a reader that saw only events has the same workspaces, merges and
// checks as a fresh list, over random histories in which processes are killed and the
// database is lost. CROFT_LONG=1 tries 1,000 histories.
func TestEventsRebuildLists(t *testing.T) {
	t.Parallel()
	histories := 25
	if os.Getenv("CROFT_LONG") != "" {
		histories = 1000
	}
	if testing.Short() {
		histories = 3
	}
	for n := range histories {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := newPast(t, 14, n)
			seen := replica.New()
			if n%2 == 1 {
				var err error
				if seen, err = replica.Load(t.Context(), p.e, ""); err != nil {
					t.Fatal(err)
				}
			}
			lost := 5 + p.IntN(40)
			for i := range 24 {
				p.step()
				isLost := i == lost
				if isLost {
					p.lose(p.IntN(2) == 0)
				}
				if i%6 == 5 || isLost {
					seen = p.follow(seen, isLost)
					p.compare(seen)
				}
				if t.Failed() {
					t.Fatalf("after:\n%s", strings.Join(p.log, "\n"))
				}
			}
		})
	}
}
