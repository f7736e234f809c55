package mergetree

import (
	"context"
	"errors"
	"io"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/proc"
)

// Prestart starts one process each for the next TouchedPaths and the next MergeAll, while the
// caller still collects its questions. Close ends the processes that were not used.
func (a *Session) Prestart(ctx context.Context) {
	for _, args := range [][]string{touchedArgs, mergeTreeArgs} {
		ready := make(chan *proc.Process, 1)
		go func() {
			c := a.callFor(args)
			c.Session = true // the deadline applies to its questions, not to the wait for them
			p, err := a.q.Repo.Git.Start(ctx, gitcmd.Target{Repo: a.q.Repo.Core()}, c)
			if err != nil {
				p = nil // feed starts the process itself then, and returns the error
			}
			ready <- p
		}()
		a.prestartedMu.Lock()
		a.prestarted = append(a.prestarted, prestarted{args[0], ready})
		a.prestartedMu.Unlock()
	}
}

// prestarted is a process that was started before its questions are known.
type prestarted struct {
	verb  string
	ready chan *proc.Process // receives nil if the process could not be started
}

func (a *Session) callFor(args []string) gitcmd.Call {
	return gitcmd.Call{Args: args, Env: a.q.Env, Config: Unsynced}
}

// feed writes all questions to the input of a git process, and returns its output.
func (a *Session) feed(ctx context.Context, args []string, questions string) ([]byte, error) {
	g, d, c := a.q.Repo.Git, gitcmd.Target{Repo: a.q.Repo.Core()}, a.callFor(args)
	p := a.takePrestarted(args[0])
	if p == nil {
		c.Stdin = questions
		return g.Run(ctx, d, c)
	}
	ctx, end := g.WatchDeadline(ctx, d, c)
	defer end()
	stop := context.AfterFunc(ctx, p.Kill)
	defer stop()
	go func() {
		// If the process dies before it has read everything, Wait says why.
		_, _ = io.WriteString(p.Stdin, questions)
		_ = p.Stdin.Close()
	}()
	out, rerr := io.ReadAll(p.Stdout)
	if err := errors.Join(p.Wait(), rerr, context.Cause(ctx)); err != nil {
		return out, g.Wrap(args, d.Dir(), err)
	}
	return out, nil
}

// takePrestarted returns a process that Prestart started, or nil.
func (a *Session) takePrestarted(verb string) *proc.Process {
	a.prestartedMu.Lock()
	defer a.prestartedMu.Unlock()
	for i, w := range a.prestarted {
		if w.verb == verb {
			a.prestarted = append(a.prestarted[:i:i], a.prestarted[i+1:]...)
			return <-w.ready
		}
	}
	return nil
}

// endPrestarted ends the processes that were not used.
func (a *Session) endPrestarted() {
	a.prestartedMu.Lock()
	defer a.prestartedMu.Unlock()
	for _, w := range a.prestarted {
		if p := <-w.ready; p != nil {
			p.Kill()
			_ = p.Stdin.Close()
			_ = p.Wait()
		}
	}
	a.prestarted = nil
}
