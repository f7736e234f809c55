package mergetree

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/proc"
)

// Ancestor is a commit of a history, with its parents.
type Ancestor struct {
	Commit  string
	Parents []string
}

// History walks from commits to their ancestors, roughly the newest first. Each commit
// comes once, and after at least one of its children. A caller that stops early pays only
// for what it has seen.
func (a *Session) History(ctx context.Context, heads []string) iter.Seq2[Ancestor, error] {
	return func(yield func(Ancestor, error) bool) {
		if err := a.walk(ctx, heads, func(c Ancestor) bool { return yield(c, nil) }); err != nil {
			yield(Ancestor{}, err)
		}
	}
}

var historyArgs = []string{"rev-list", "--parents", "--stdin"}

func (a *Session) walk(ctx context.Context, heads []string, visit func(Ancestor) bool) error {
	if err := odb.AllHex(heads...); err != nil || len(heads) == 0 {
		return err
	}
	r := a.q.Repo
	p, err := r.Git.Start(ctx, gitcmd.Target{Repo: r.Core()}, gitcmd.Call{Args: historyArgs, Env: a.q.Env})
	if err != nil {
		return err
	}
	// If the process dies before it has read everything, Wait says why.
	_, _ = io.WriteString(p.Stdin, strings.Join(heads, "\n")+"\n")
	_ = p.Stdin.Close()
	out := bufio.NewReaderSize(p.Stdout, 1<<16)
	for {
		line, err := out.ReadString('\n')
		if err == io.EOF && line == "" {
			if err := p.Wait(); err != nil {
				return r.Git.Wrap(historyArgs, r.CommonDir, err)
			}
			return nil
		}
		f := strings.Fields(line)
		if err != nil || len(f) == 0 || odb.AllHex(f...) != nil {
			p.Kill()
			return r.Git.Wrap(historyArgs, r.CommonDir, errors.Join(p.Wait(), fmt.Errorf("not a commit: %q", line), err))
		}
		if !visit(Ancestor{Commit: f[0], Parents: f[1:]}) {
			p.Kill()
			_ = p.Wait() // the process was killed
			return nil
		}
	}
}

var touchedArgs = []string{"diff-tree", "--stdin", "--always", "-r", "-t", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff"}

// TouchedPaths lists, for each span, the paths on which a merge of its changes could
// conflict with other changes: files and submodules that differ between the two commits,
// and directories that To no longer has. A rename counts as a deletion and an addition.
func (a *Session) TouchedPaths(ctx context.Context, spans []odb.Span) ([][]string, error) {
	out, err := a.diffSpans(ctx, touchedArgs, spans)
	if err != nil || len(spans) == 0 {
		return nil, err
	}
	return parseTouched(out, spans)
}

// diffSpans returns what diff-tree prints for spans, in one process.
func (a *Session) diffSpans(ctx context.Context, args []string, spans []odb.Span) ([]byte, error) {
	var in strings.Builder
	for _, s := range spans {
		if err := odb.AllHex(s.From, s.To); err != nil {
			return nil, err
		}
		// diff-tree --stdin takes the second commit as the only parent of the first.
		in.WriteString(s.To + " " + s.From + "\n")
	}
	if len(spans) == 0 {
		return nil, nil
	}
	return a.feed(ctx, args, in.String())
}

// parseTouched reads the output for several spans: for each the commit, and its raw
// differences.
func parseTouched(out []byte, spans []odb.Span) ([][]string, error) {
	touched := make([][]string, len(spans))
	fields := gitdir.SplitNUL(out)
	at := -1
	for i := 0; i < len(fields); i++ {
		if !strings.HasPrefix(fields[i], ":") {
			at++
			if at == len(spans) || fields[i] != spans[at].To {
				return nil, fmt.Errorf("diff-tree: not an answer: %.200q", fields[i])
			}
			continue
		}
		f := strings.Fields(fields[i][1:])
		if at < 0 || len(f) != 5 || i+1 == len(fields) {
			return nil, fmt.Errorf("diff-tree: not a raw difference: %.200q", fields[i])
		}
		i++
		isTree := f[0] == odb.TreeMode || f[1] == odb.TreeMode
		if !isTree || f[1] == odb.NoMode {
			touched[at] = append(touched[at], fields[i])
		}
	}
	if at != len(spans)-1 {
		return nil, fmt.Errorf("diff-tree: %d answers to %d questions", at+1, len(spans))
	}
	return touched, nil
}

// MergeResult is the result of one merge among many. Some pairs make git itself fail by an
// assertion; Err says so, and the other results are not affected.
type MergeResult struct {
	Merged
	Err error
}

// MergeAll merges pairs of commits, ours and theirs, as a rule in one process. That is
// faster than a call of Merge for each, and does not wait for other calls.
func (a *Session) MergeAll(ctx context.Context, pairs [][2]string) ([]MergeResult, error) {
	var in strings.Builder
	for _, p := range pairs {
		if err := odb.AllHex(p[0], p[1]); err != nil {
			return nil, err
		}
		in.WriteString(p[0] + " " + p[1] + "\n")
	}
	if len(pairs) == 0 {
		return nil, nil
	}
	out, err := a.feed(ctx, mergeTreeArgs, in.String())
	list, unread := readMergeResults(out, len(pairs))
	if err == nil {
		return list, unread
	}
	if exit, ok := errors.AsType[*proc.ExitError](err); !ok || exit.Code != killed || ctx.Err() != nil {
		return nil, err
	}
	// One of the next pairs made git fail; git does not say which.
	rest := pairs[len(list):]
	if len(rest) == 1 {
		return append(list, MergeResult{Err: err}), nil
	}
	near := min((len(rest)+1)/2, bufferedResults)
	for _, part := range [][][2]string{rest[:near], rest[near:]} {
		more, err := a.MergeAll(ctx, part)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

const (
	// killed is the exit status of a process that a signal ended, as a failed assertion
	// does.
	killed = -1
	// bufferedResults is about how many results git buffers before it writes them.
	bufferedResults = 32
)

// readMergeResults reads the results that out has. If there are fewer than n, the error says what
// is wrong with the next one.
func readMergeResults(out []byte, n int) ([]MergeResult, error) {
	r := bufio.NewReader(bytes.NewReader(out))
	list := make([]MergeResult, 0, n)
	for len(list) < n {
		m, err := readMerged(r)
		if err != nil {
			return list, fmt.Errorf("merge-tree: answer %d of %d: %w", len(list)+1, n, err)
		}
		list = append(list, MergeResult{Merged: m})
	}
	return list, nil
}

// IsOnMainline reports whether commit, an ancestor of tip, is reachable from tip by first
// parents only, so that it was once the tip itself.
func (a *Session) IsOnMainline(ctx context.Context, commit, tip string) (bool, error) {
	if commit == tip {
		return true, nil
	}
	// rev-list stops at ancestors of commit, so its output is as long as what came since.
	out, err := a.q.run(ctx, "rev-list", "--first-parent", "--parents", tip, "^"+commit)
	if err != nil || out == "" {
		return false, err
	}
	oldest := strings.Fields(out[strings.LastIndexByte(out, '\n')+1:])
	return len(oldest) > 1 && oldest[1] == commit, nil
}

// Mainline lists the commits that came after commit on the line of first parents of tip, the oldest first. It is empty if
// commit is not on that line.
func (a *Session) Mainline(ctx context.Context, commit, tip string) ([]string, error) {
	is, err := a.IsOnMainline(ctx, commit, tip)
	if err != nil || !is {
		return nil, err
	}
	out, err := a.q.run(ctx, "rev-list", "--first-parent", "--reverse", tip, "^"+commit)
	return strings.Fields(out), err
}
