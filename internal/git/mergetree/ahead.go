package mergetree

import (
	"context"
	"errors"
	"io"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/proc"
)

// Ahead starts a process each for the next TouchedPaths and the next MergeAll, while
// the caller still finds out what to ask. What is not asked ends with the
// attempts.
func (a *Session) Ahead(ctx context.Context) {
	for _, args := range [][]string{touchedArgs, mergeTreeArgs} {
		ready := make(chan *proc.Process, 1)
		go func() {
			c := a.question(args)
			c.Session = true // it waits for its questions; they have the deadline
			p, err := a.q.Repo.Git.Start(ctx, gitcmd.Target{Repo: a.q.Repo.Core()}, c)
			if err != nil {
				p = nil // whoever asks starts one, and is told what is wrong
			}
			ready <- p
		}()
		a.aheadMu.Lock()
		a.ahead = append(a.ahead, waiting{args[0], ready})
		a.aheadMu.Unlock()
	}
}

// waiting is a process that was started ahead of its questions.
type waiting struct {
	verb  string
	ready chan *proc.Process // nil: it could not be started
}

func (a *Session) question(args []string) gitcmd.Call {
	return gitcmd.Call{Args: args, Env: a.q.Env, Config: Unsynced}
}

// feed hands all questions to a git that reads them from its input, and returns
// all answers.
func (a *Session) feed(ctx context.Context, args []string, questions string) ([]byte, error) {
	g, d, c := a.q.Repo.Git, gitcmd.Target{Repo: a.q.Repo.Core()}, a.question(args)
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
		// If it dies before it has read all of it, waiting for it says why.
		_, _ = io.WriteString(p.Stdin, questions)
		_ = p.Stdin.Close()
	}()
	out, rerr := io.ReadAll(p.Stdout)
	if err := errors.Join(p.Wait(), rerr, context.Cause(ctx)); err != nil {
		return out, g.Wrap(args, d.Dir(), err)
	}
	return out, nil
}

// takePrestarted finds a process that was started ahead, or nil.
func (a *Session) takePrestarted(verb string) *proc.Process {
	a.aheadMu.Lock()
	defer a.aheadMu.Unlock()
	for i, w := range a.ahead {
		if w.verb == verb {
			a.ahead = append(a.ahead[:i:i], a.ahead[i+1:]...)
			return <-w.ready
		}
	}
	return nil
}

// endAhead ends the processes that nobody asked anything.
func (a *Session) endAhead() {
	a.aheadMu.Lock()
	defer a.aheadMu.Unlock()
	for _, w := range a.ahead {
		if p := <-w.ready; p != nil {
			p.Kill()
			_ = p.Stdin.Close()
			_ = p.Wait()
		}
	}
	a.ahead = nil
}
