package mergetree

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/odb"
)

// Ancestry is the history of several commits since an ancestor that all of them have.
type Ancestry struct {
	since   string // common to all, with its ancestors; "": nothing is
	parents map[string][]string
}

// ReadAncestry reads the history of commits, in a few processes however many they are.
// Objects that the repository lacks, or that are no commits, are left out: see
// [Ancestry.Has].
func (a *Session) ReadAncestry(ctx context.Context, commits []string) (*Ancestry, error) {
	if err := odb.AllHex(commits...); err != nil || len(commits) == 0 {
		return &Ancestry{}, err
	}
	k, err := a.readAncestry(ctx, commits)
	if err == nil || ctx.Err() != nil {
		return k, err
	}
	if commits, err = a.existingCommits(ctx, commits); err != nil || len(commits) == 0 {
		return &Ancestry{}, err
	}
	return a.readAncestry(ctx, commits)
}

func (a *Session) readAncestry(ctx context.Context, commits []string) (*Ancestry, error) {
	out, err := a.q.run(ctx, append([]string{"merge-base", "--octopus"}, commits...)...)
	if err != nil && gitcmd.ExitCode(err) != 1 {
		return nil, err
	}
	k := &Ancestry{since: strings.TrimSpace(out), parents: map[string][]string{}}
	heads := commits
	if k.since != "" {
		heads = append(slices.Clip(heads), "^"+k.since)
	}
	list, err := a.feed(ctx, []string{"rev-list", "--parents", "--stdin"}, strings.Join(heads, "\n")+"\n")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		if odb.AllHex(f...) != nil || len(f) == 0 {
			return nil, fmt.Errorf("rev-list: not a commit: %q", line)
		}
		k.parents[f[0]] = f[1:]
	}
	return k, nil
}

// existingCommits returns those of the objects that are commits, each once.
func (a *Session) existingCommits(ctx context.Context, oids []string) ([]string, error) {
	out, err := a.feed(ctx, []string{"cat-file", "--batch-check"}, strings.Join(oids, "\n")+"\n")
	if err != nil {
		return nil, err
	}
	var list []string
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 3 && f[1] == "commit" && !seen[f[0]] {
			seen[f[0]] = true
			list = append(list, f[0])
		}
	}
	return list, nil
}

// ancestors returns the commits since the common ancestor that a commit reaches, itself
// included.
func (k *Ancestry) ancestors(commit string) map[string]bool {
	found := map[string]bool{}
	for todo := []string{commit}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if parents, ok := k.parents[at]; ok && !found[at] {
			found[at] = true
			todo = append(todo, parents...)
		}
	}
	return found
}

// Line is the history of one commit, to compare others with.
type Line struct {
	k    *Ancestry
	tip  string
	part map[string]bool
}

// LineOf returns the history of a commit.
func (k *Ancestry) LineOf(tip string) *Line { return &Line{k, tip, k.ancestors(tip)} }

// Has reports whether the ancestry knows a commit.
func (k *Ancestry) Has(commit string) bool {
	_, ok := k.parents[commit]
	return ok || commit != "" && commit == k.since
}

// Commits returns the commits of the line since the ancestor that all have.
func (l *Line) Commits() []string {
	list := make([]string, 0, len(l.part))
	for c := range l.part {
		list = append(list, c)
	}
	return list
}

// Compare counts the commits that head has and the line lacks, and the reverse. bases are
// the commits of the line at which the history of head leaves it: if there is one, it is
// the merge base.
func (l *Line) Compare(head string) (ahead, behind int, bases []string) {
	isIn := func(c string) bool { // a commit that was not read is an ancestor of all
		_, isRead := l.k.parents[c]
		return l.part[c] || !isRead
	}
	own := l.k.ancestors(head)
	shared, at := 0, map[string]bool{}
	if isIn(head) {
		at[head] = true
	}
	for c := range own {
		if l.part[c] {
			shared++
			continue
		}
		ahead++
		for _, p := range l.k.parents[c] {
			if isIn(p) {
				at[p] = true
			}
		}
	}
	for c := range at {
		bases = append(bases, c)
	}
	return ahead, len(l.part) - shared, bases
}

// Changes is what one commit changed since another.
type Changes struct {
	Added, Deleted int      // lines; of binary files none
	Files          int      // a rename is one
	Paths          []string // a rename is two
}

// numstatArgs find renames as [Session.Patch] does, and give up on them where it does: after as many files as
// diff.renameLimit says.
var numstatArgs = []string{"diff-tree", "--stdin", "--always", "-r", "-z", "--numstat", "--find-renames", "--no-ext-diff", "--no-textconv"}

// CountChanges counts the changes of each span, in one process.
func (a *Session) CountChanges(ctx context.Context, spans []odb.Span) ([]Changes, error) {
	out, err := a.diffSpans(ctx, numstatArgs, spans)
	if err != nil || len(spans) == 0 {
		return nil, err
	}
	counts, at := make([]Changes, len(spans)), -1
	fields := gitdir.SplitNUL(out)
	for i := 0; i < len(fields); i++ {
		field := fields[i]
		if at+1 < len(spans) && strings.TrimSpace(field) == spans[at+1].To {
			at++
			continue
		}
		f := strings.SplitN(strings.TrimPrefix(field, "\n"), "\t", 3)
		if at < 0 || len(f) != 3 || f[2] == "" && i+2 >= len(fields) {
			return nil, fmt.Errorf("diff-tree: not a count: %.200q", field)
		}
		paths := f[2:]
		if f[2] == "" { // of a rename both paths come after it
			paths, i = fields[i+1:i+3], i+2
		}
		added, _ := strconv.Atoi(f[0]) // "-" for a binary file
		deleted, _ := strconv.Atoi(f[1])
		c := &counts[at]
		c.Added, c.Deleted, c.Files, c.Paths = c.Added+added, c.Deleted+deleted, c.Files+1, append(c.Paths, paths...)
	}
	if at != len(spans)-1 {
		return nil, fmt.Errorf("diff-tree: %d answers to %d questions", at+1, len(spans))
	}
	return counts, nil
}

var namesArgs = []string{"diff-tree", "--stdin", "-m", "--root", "-r", "-z", "--name-only", "--no-renames", "--no-commit-id", "--no-ext-diff"}

// PathsOf returns every path that one of the commits changed against one of its parents,
// in one process.
func (a *Session) PathsOf(ctx context.Context, commits []string) (map[string]bool, error) {
	if err := odb.AllHex(commits...); err != nil || len(commits) == 0 {
		return nil, err
	}
	out, err := a.feed(ctx, namesArgs, strings.Join(commits, "\n")+"\n")
	if err != nil {
		return nil, err
	}
	paths := map[string]bool{}
	for _, p := range gitdir.SplitNUL(out) {
		paths[p] = true
	}
	return paths, nil
}
