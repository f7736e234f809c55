package mergetree

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/pattern"
)

// CommitsIn lists the commits that are reachable from head and from none of not, at most limit
// of them: each before its parents, and otherwise by their times, the newest first. Commits of
// not that the repository lacks are passed over.
func (a *Session) CommitsIn(ctx context.Context, head string, not []string, limit int) ([]string, error) {
	var in strings.Builder
	in.WriteString(head + "\n")
	for _, oid := range not {
		in.WriteString("^" + oid + "\n")
	}
	if err := odb.AllHex(append([]string{head}, not...)...); err != nil {
		return nil, err
	}
	out, err := a.runWith(ctx, in.String(), "rev-list", "--date-order", "--ignore-missing", "--max-count="+strconv.Itoa(limit), "--stdin")
	if err != nil {
		return nil, err
	}
	list := strings.Fields(string(out))
	return list, odb.AllHex(list...)
}

// runWith runs git in the session with an input.
func (a *Session) runWith(ctx context.Context, in string, args ...string) ([]byte, error) {
	c := a.callFor(args)
	c.Stdin = in
	return a.q.Repo.Git.Run(ctx, gitcmd.Target{Repo: a.q.Repo.Core()}, c)
}

// Count is how many files and lines differ. Binary files have no lines.
type Count struct{ Files, Added, Deleted int }

// CountEach counts the changes of each commit against its only parent, in one process that
// answers with two lines for each. A merge commit has none.
func (a *Session) CountEach(ctx context.Context, commits []string) ([]Count, error) {
	if err := odb.AllHex(commits...); err != nil || len(commits) == 0 {
		return nil, err
	}
	return a.countEach(ctx, strings.Join(commits, "\n")+"\n", commits)
}

// CountBetween counts in what two commits differ.
func (a *Session) CountBetween(ctx context.Context, old, now string) (Count, error) {
	if err := odb.AllHex(old, now); err != nil {
		return Count{}, err
	}
	counts, err := a.countEach(ctx, now+" "+old+"\n", []string{now})
	if err != nil {
		return Count{}, err
	}
	return counts[0], nil
}

func (a *Session) countEach(ctx context.Context, in string, commits []string) ([]Count, error) {
	out, err := a.runWith(ctx, in, "diff-tree", "--stdin", "--always", "--root", "-r", "--shortstat", "--no-renames", "--no-ext-diff", "--no-textconv")
	if err != nil {
		return nil, err
	}
	return parseCounts(string(out), commits)
}

var shortStat = pattern.New(`^ (\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?$`)

// parseCounts reads, for each commit in its order, its name and, if it changed something, the
// sums.
func parseCounts(out string, commits []string) ([]Count, error) {
	counts, at := make([]Count, len(commits)), -1
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if object.IsOID(line) && at+1 < len(commits) && line == commits[at+1] {
			at++
			continue
		}
		m := shortStat().FindStringSubmatch(line)
		if line != "" && (m == nil || at < 0) {
			return nil, fmt.Errorf("diff-tree: not a count: %.200q", line)
		}
		if m != nil {
			for i, n := range []*int{&counts[at].Files, &counts[at].Added, &counts[at].Deleted} {
				*n, _ = strconv.Atoi(m[i+1]) // "" where there is none
			}
		}
	}
	if at != len(commits)-1 {
		return nil, fmt.Errorf("diff-tree: %d answers to %d questions", at+1, len(commits))
	}
	return counts, nil
}
