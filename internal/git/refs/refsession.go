package refs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/proc"
)

// session is a long-lived `git update-ref --stdin`, for refs that are not files. The
// process ends when a transaction fails; the next transaction starts another.
type session struct {
	repo  *Repository
	mu    sync.Mutex
	p     *proc.Process
	out   *bufio.Reader
	lease *writers.Lease
	uses  int
	idle  gitcmd.Expiry
}

// RefProcess returns the git process that updates refs, or nil.
func (r *Repository) RefProcess() *proc.Process {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	return r.session.p
}

// refUses is how many transactions one process carries out: git keeps some memory of each
// until it ends.
const refUses = 200

var updateRefArgs = []string{"update-ref", "-m", "croft", "--stdin", "-z", "--no-deref"}

// transaction is one change of refs by the session.
type transaction struct {
	script    string
	locks     []string
	meanwhile func() error // called while the refs are locked
}

// UpdateByGit moves refs that are not files.
func (r *Repository) UpdateByGit(ctx context.Context, meanwhile func() error, updates []Update) error {
	var b strings.Builder
	b.WriteString("start\x00")
	for _, u := range updates {
		switch {
		case u.New == "" && u.Old == "":
			fmt.Fprintf(&b, "verify %s\x00%s\x00", u.Ref, r.ZeroOID())
		case u.New == "":
			fmt.Fprintf(&b, "delete %s\x00%s\x00", u.Ref, u.Old)
		case u.Old == "":
			fmt.Fprintf(&b, "create %s\x00%s\x00", u.Ref, u.New)
		default:
			fmt.Fprintf(&b, "update %s\x00%s\x00%s\x00", u.Ref, u.New, u.Old)
		}
	}
	b.WriteString("prepare\x00")
	return r.session.transact(ctx, transaction{script: b.String(), locks: locksOf(updates), meanwhile: meanwhile})
}

func (s *session) transact(ctx context.Context, t transaction) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.expire()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.p == nil {
		if err := s.start(ctx); err != nil {
			return err
		}
	}
	if err := s.lease.WriteBusy(t.locks); err != nil {
		return err
	}
	err := s.applyTransaction(ctx, t)
	if s.lease != nil { // the git process still runs
		s.lease.WriteIdle()
		if s.uses++; s.uses == refUses {
			_ = s.end()
		}
	}
	return err
}

// StartRefProcess starts the git process that updates refs before the first transaction needs it.
func (r *Repository) StartRefProcess(ctx context.Context) {
	s := &r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.expire()
	if s.p == nil {
		_ = s.start(ctx)
	}
}

func (s *session) expire() {
	s.idle.After(s.repo.Git.IdleTime(), &s.mu, func() { _ = s.end() })
}

func (s *session) applyTransaction(ctx context.Context, t transaction) error {
	if t.meanwhile == nil {
		return s.exchange(ctx, t.script+"commit\x00", "start: ok", "prepare: ok", "commit: ok")
	}
	if err := s.exchange(ctx, t.script, "start: ok", "prepare: ok"); err != nil {
		return err
	}
	if err := t.meanwhile(); err != nil {
		return errors.Join(err, s.exchange(ctx, "abort\x00", "abort: ok"))
	}
	return s.exchange(ctx, "commit\x00", "commit: ok")
}

func (s *session) exchange(ctx context.Context, script string, answers ...string) error {
	watched, end := s.repo.Git.WatchDeadline(context.WithoutCancel(ctx), gitcmd.Target{Repo: s.repo.Core()}, gitcmd.Call{Args: updateRefArgs})
	defer end()
	stop := context.AfterFunc(watched, s.p.Kill)
	defer stop()
	_, werr := io.WriteString(s.p.Stdin, script)
	for _, want := range answers {
		line, err := s.out.ReadString('\n')
		if err != nil || strings.TrimSpace(line) != want {
			return s.fail(ctx, errors.Join(context.Cause(watched), werr, err))
		}
	}
	return nil
}

func (s *session) start(ctx context.Context) error {
	m, err := s.repo.NewLease()
	if err != nil {
		return err
	}
	// The process outlives this call, and a transaction that was sent must not be
	// interrupted, so the caller's cancellation does not apply.
	p, err := s.repo.Git.Start(context.WithoutCancel(ctx), gitcmd.Target{Repo: s.repo.Core()},
		gitcmd.Call{Args: updateRefArgs, Session: true, Inherit: []*os.File{m.Lock.ForChild()}})
	if err != nil {
		m.End()
		return err
	}
	s.p, s.out, s.lease, s.uses = p, bufio.NewReader(p.Stdout), m, 0
	return nil
}

func (s *session) fail(ctx context.Context, cause error) error {
	p, m := s.p, s.lease
	s.p, s.out, s.lease = nil, nil, nil
	_ = p.Stdin.Close()
	_, _ = io.Copy(io.Discard, p.Stdout)
	err := p.Wait()
	if gitcmd.WasKilled(err) {
		m.EndKilled(ctx)
	} else {
		m.End()
	}
	if err != nil && !gitcmd.IsStopped(cause) {
		return s.repo.Git.Wrap(updateRefArgs, s.repo.CommonDir, err)
	}
	return s.repo.Git.Wrap(updateRefArgs, s.repo.CommonDir, fmt.Errorf("unexpected end: %w", cause))
}

func (s *session) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle.Stop()
	return s.end()
}

// end ends the process, if there is one.
func (s *session) end() error {
	if s.p == nil {
		return nil
	}
	p, m := s.p, s.lease
	s.p, s.out, s.lease = nil, nil, nil
	_ = p.Stdin.Close()
	_, _ = io.Copy(io.Discard, p.Stdout)
	err := p.Wait()
	m.End()
	return err
}
