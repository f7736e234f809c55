package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/croft-sh/croft/internal/proc"
)

// refSession is a long-lived `git update-ref --stdin`, for refs that are no
// files. It ends when a transaction fails; the next one starts another.
type refSession struct {
	repo *Repository
	mu   sync.Mutex
	p    *proc.Process
	out  *bufio.Reader
	mark *mark
	uses int
	idle expiry
}

// refUses is how many transactions one process carries out. It keeps some memory
// of each until it ends.
const refUses = 200

var updateRefArgs = []string{"update-ref", "-m", "croft", "--stdin", "-z", "--no-deref"}

// transaction is one change of refs.
type transaction struct {
	script    string
	locks     []string
	meanwhile func() error // called while the refs are locked
}

// moveByGit moves refs that are no files.
func (r *Repository) moveByGit(ctx context.Context, meanwhile func() error, updates []RefUpdate) error {
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
	return r.refs.transact(ctx, transaction{script: b.String(), locks: locksOf(updates), meanwhile: meanwhile})
}

func (s *refSession) transact(ctx context.Context, t transaction) error {
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
	if err := s.mark.writeBusy(t.locks); err != nil {
		return err
	}
	err := s.applyTransaction(ctx, t)
	if s.mark != nil { // git is still there
		s.mark.writeIdle()
		if s.uses++; s.uses == refUses {
			_ = s.end()
		}
	}
	return err
}

// warm starts the process ahead of the first transaction.
func (s *refSession) warm(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.expire()
	if s.p == nil {
		_ = s.start(ctx)
	}
}

func (s *refSession) expire() {
	s.idle.after(s.repo.git.idleTime(), &s.mu, func() { _ = s.end() })
}

func (s *refSession) applyTransaction(ctx context.Context, t transaction) error {
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

func (s *refSession) exchange(ctx context.Context, script string, answers ...string) error {
	watched, end := s.repo.git.watchDeadline(context.WithoutCancel(ctx), door{repo: s.repo}, call{args: updateRefArgs})
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

func (s *refSession) start(ctx context.Context) error {
	m, err := s.repo.mark()
	if err != nil {
		return err
	}
	// The session outlives this call, and a transaction that was sent is not
	// torn apart: its context is not the caller's.
	p, err := s.repo.git.start(context.WithoutCancel(ctx), door{repo: s.repo},
		call{args: updateRefArgs, session: true, inherit: []*os.File{m.lock.File()}})
	if err != nil {
		m.end()
		return err
	}
	s.p, s.out, s.mark, s.uses = p, bufio.NewReader(p.Stdout), m, 0
	return nil
}

func (s *refSession) fail(ctx context.Context, cause error) error {
	p, m := s.p, s.mark
	s.p, s.out, s.mark = nil, nil, nil
	_ = p.Stdin.Close()
	_, _ = io.Copy(io.Discard, p.Stdout)
	err := p.Wait()
	if wasKilled(err) {
		m.endKilled(ctx)
	} else {
		m.end()
	}
	if err != nil && !isStopped(cause) {
		return s.repo.git.wrap(updateRefArgs, s.repo.CommonDir, err)
	}
	return s.repo.git.wrap(updateRefArgs, s.repo.CommonDir, fmt.Errorf("unexpected end: %w", cause))
}

func (s *refSession) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle.stop()
	return s.end()
}

// end ends the process, if there is one.
func (s *refSession) end() error {
	if s.p == nil {
		return nil
	}
	p, m := s.p, s.mark
	s.p, s.out, s.mark = nil, nil, nil
	_ = p.Stdin.Close()
	_, _ = io.Copy(io.Discard, p.Stdout)
	err := p.Wait()
	m.end()
	return err
}
