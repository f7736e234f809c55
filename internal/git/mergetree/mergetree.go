package mergetree

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/proc"
)

// Session computes merges without a checkout. Its objects are in a quarantine until they
// are kept, so a merge that fails leaves nothing in the repository. One long-lived git
// computes the merges of Merge and MergeOver, one after another; where git can have no
// terminal, one is started for each. The methods may be called concurrently.
type Session struct {
	q *Quarantine

	mu    sync.Mutex
	p     *proc.Process
	out   *bufio.Reader
	began startState // the repository when p was started

	reused bool // p was idle before this session, and was not used since

	prestartedMu sync.Mutex
	prestarted   []prestarted
}

// OpenMergeTree begins a session. One in memory reuses an idle session if there is one, and
// is on disk on a machine without a directory in memory. Close deletes the objects that were
// not kept.
func (r *Repository) OpenMergeTree(where writers.Placement) (*Session, error) {
	if where == writers.InMemory {
		if a := r.idle.takeReady(); a != nil {
			return a, nil
		}
	}
	q, err := r.NewQuarantine(where)
	if err != nil {
		return nil, err
	}
	return &Session{q: q}, nil
}

// Prepare reads the repository's configuration ahead of the first call that needs it.
func (a *Session) Prepare(ctx context.Context) error {
	_, err := a.q.Repo.SettingsOf(ctx, a.q.Repo.CommonDir)
	return err
}

// Placement says where the quarantine is: on disk or in memory.
func (a *Session) Placement() writers.Placement { return a.q.placement }

// Close ends the session, and keeps its process for the next one if possible.
func (a *Session) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endPrestarted()
	if a.emptyForReuse() {
		a.p, a.out = nil, nil
		return
	}
	a.discard()
}

func (a *Session) discard() {
	a.end()
	a.q.Discard()
}

func (a *Session) end() {
	if a.p == nil {
		return
	}
	a.p.Kill()
	_ = a.p.Stdin.Close()
	_ = a.p.Wait()
	a.p, a.out = nil, nil
}

// Merged is the result of a merge.
type Merged struct {
	Tree      string // files in conflict have conflict markers
	Conflicts []MergeConflict
}

// IsClean reports whether there was no conflict.
func (m Merged) IsClean() bool { return len(m.Conflicts) == 0 }

// MergeConflict is a path that could not be merged.
type MergeConflict struct {
	Path string
	Kind string // as git calls it: "contents", "modify/delete", "rename/rename", …
}

// Merge merges two commits over their merge base, which git finds.
func (a *Session) Merge(ctx context.Context, ours, theirs string) (Merged, error) {
	if !object.IsOID(ours) || !object.IsOID(theirs) {
		return Merged{}, fmt.Errorf("not the names of commits: %q, %q", ours, theirs)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Merged{}, err
	}
	if a.q.placement == writers.InMemory {
		if err := failpoint.Hit("attempts.memory"); err != nil {
			return Merged{}, err
		}
	}
	return a.ask(ctx, ours+" "+theirs+"\n")
}

var mergeTreeArgs = []string{"merge-tree", "--stdin"}

func (a *Session) ask(ctx context.Context, line string) (Merged, error) {
	r := a.q.Repo
	c := a.callFor(mergeTreeArgs)
	reused, err := a.checkReusable(ctx)
	if err != nil {
		return Merged{}, err
	}
	if a.p == nil {
		err := a.start(ctx)
		if errors.Is(err, errors.ErrUnsupported) {
			// One process per merge: without a terminal git buffers its output.
			c.Stdin = line
			out, err := r.Git.Run(ctx, gitcmd.Target{Repo: r.Core()}, c)
			if err != nil {
				return Merged{}, err
			}
			return readMerged(bufio.NewReader(bytes.NewReader(out)))
		}
		if err != nil {
			return Merged{}, err
		}
	}
	p := a.p
	ctx, end := r.Git.WatchDeadline(ctx, gitcmd.Target{Repo: r.Core()}, c)
	defer end()
	stop := context.AfterFunc(ctx, p.Kill)
	_, err = io.WriteString(p.Stdin, line)
	var m Merged
	if err == nil {
		m, err = readMerged(a.out)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		return m, nil
	}
	a.p, a.out = nil, nil
	p.Kill()
	_ = p.Stdin.Close()
	werr := p.Wait()
	if ctx.Err() != nil {
		return Merged{}, context.Cause(ctx)
	}
	if reused { // it may have died while it was idle
		return a.ask(ctx, line)
	}
	return Merged{}, r.Git.Wrap(c.Args, r.CommonDir, errors.Join(werr, err))
}

// start starts the git that computes merges.
func (a *Session) start(ctx context.Context) error {
	g, c := a.q.Repo.Git, a.callFor(mergeTreeArgs)
	cmd, err := g.Command(ctx, gitcmd.Target{Repo: a.q.Repo.Core()}, c)
	if err != nil {
		return err
	}
	p, err := proc.StartTerminal(context.WithoutCancel(ctx), cmd)
	if errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err != nil {
		return g.Wrap(c.Args, cmd.Dir, err)
	}
	a.p, a.out = p, bufio.NewReader(p.Stdout)
	return nil
}

// readMerged reads one result of `git merge-tree --stdin`: whether it is clean, the tree,
// the paths in conflict by stage, and messages with their paths.
func readMerged(in *bufio.Reader) (Merged, error) {
	field := func() (string, error) {
		s, err := in.ReadString(0)
		return strings.TrimSuffix(s, "\x00"), err
	}
	clean, err := field()
	if err != nil {
		return Merged{}, err
	}
	var m Merged
	if m.Tree, err = field(); err != nil || !object.IsOID(m.Tree) || clean != "0" && clean != "1" {
		return Merged{}, fmt.Errorf("merge-tree: not an answer: %q, %q: %w", clean, m.Tree, err)
	}
	var paths []string
	for {
		f, err := field()
		if err != nil {
			return Merged{}, err
		}
		if f == "" {
			break
		}
		if _, path, ok := strings.Cut(f, "\t"); ok {
			paths = append(paths, path)
		}
	}
	if clean == "1" {
		return m, nil
	}
	kinds, err := readMessages(field)
	if err != nil {
		return Merged{}, err
	}
	m.Conflicts = conflictKinds(paths, kinds)
	return m, nil
}

// message is a message of merge-tree about paths.
type message struct {
	kind  string
	paths []string
}

const submoduleAdvice = "Recursive merging with submodules"

func readMessages(field func() (string, error)) ([]message, error) {
	var list []message
	for {
		count, err := field()
		if err != nil {
			return nil, err
		}
		// Git 2.38 and later print advice about submodules before the end of the result,
		// which is not a message.
		if count == "" || strings.HasPrefix(count, submoduleAdvice) {
			return list, nil
		}
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 || n > 1<<20 {
			return nil, fmt.Errorf("merge-tree: not a count: %q", count)
		}
		var m message
		for range n {
			p, err := field()
			if err != nil {
				return nil, err
			}
			m.paths = append(m.paths, p)
		}
		kind, err := field()
		if err != nil {
			return nil, err
		}
		if _, err := field(); err != nil { // the text, which is for people
			return nil, err
		}
		if inner, ok := strings.CutPrefix(kind, "CONFLICT ("); ok {
			m.kind = strings.TrimSuffix(inner, ")")
			list = append(list, m)
		}
	}
}

// conflictKinds returns the paths in conflict, each with git's name for the conflict. It
// adds paths that only a message names: a directory that two sides renamed differently has
// no entry in the index.
func conflictKinds(paths []string, messages []message) []MergeConflict {
	kinds := map[string]string{}
	for _, m := range messages {
		for i, p := range m.paths {
			if _, known := kinds[p]; !known && (i == 0 || slices.Contains(paths, p)) {
				kinds[p] = m.kind
			}
		}
		if len(m.paths) > 0 {
			paths = append(paths, m.paths[0])
		}
	}
	slices.Sort(paths)
	var list []MergeConflict
	for _, p := range slices.Compact(paths) {
		list = append(list, MergeConflict{Path: p, Kind: kinds[p]})
	}
	return list
}

// SyntheticAuthor is the author of commits that are made only to be merged.
const SyntheticAuthor = "Croft <croft@localhost> 0 +0000"

// MergeOver merges two commits over a base of the caller's choice: the changes from base
// to theirs are applied to ours. To revert, base is the commit to undo and theirs its
// parent; to cherry-pick, it is the other way round.
func (a *Session) MergeOver(ctx context.Context, base, ours, theirs string) (Merged, error) {
	var made [3]string
	for i, commit := range []string{base, ours, theirs} {
		c, err := a.ReadCommit(ctx, commit)
		if err != nil {
			return Merged{}, err
		}
		var parents []string
		if i > 0 {
			parents = []string{made[0]}
		}
		// Each gets its own message, so that two sides with the same tree are different
		// commits.
		made[i], err = a.q.OwnObjects().Write("commit", object.Commit{
			Tree: c.Tree, Parents: parents, Signature: SyntheticAuthor, Message: strconv.Itoa(i),
		}.Encode())
		if err != nil {
			return Merged{}, err
		}
	}
	return a.Merge(ctx, made[1], made[2])
}

// ReadCommit reads a commit of the repository or of this session.
func (a *Session) ReadCommit(ctx context.Context, oid string) (object.Commit, error) {
	o, err := a.q.read(ctx, oid)
	if err != nil {
		return object.Commit{}, err
	}
	return object.ParseCommit(o)
}

// ErrSigning says that a commit was to be signed and could not be.
var ErrSigning = errors.New("the commit could not be signed")

// Commit makes a commit in the session. It is signed if the identity says so; if signing
// fails, it returns ErrSigning and no commit.
func (a *Session) Commit(ctx context.Context, c object.Commit, id gitcmd.Identity) (string, error) {
	if !id.Signs {
		return a.q.OwnObjects().Write("commit", c.Encode())
	}
	return a.q.Repo.CommitSigned(ctx, c, gitcmd.Call{Env: a.q.Env, Config: Unsynced})
}

// CommitSigned has git make a signed commit.
func (r *Repository) CommitSigned(ctx context.Context, c object.Commit, k gitcmd.Call) (string, error) {
	args := []string{"commit-tree", "-S", c.Tree}
	for _, p := range c.Parents {
		args = append(args, "-p", p)
	}
	k.Args, k.Stdin = append(args, "-F", "-"), strings.TrimSuffix(c.Message, "\n")+"\n"
	author := c.Author
	if author == "" {
		author = c.Signature
	}
	k.Env = append(slices.Concat(k.Env, IdentityEnv("AUTHOR", author)), IdentityEnv("COMMITTER", c.Signature)...)
	out, err := r.Git.Run(ctx, gitcmd.Target{Repo: r.Core()}, k)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrSigning, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// IdentityEnv turns an author or committer line of a commit into git's environment
// variables.
func IdentityEnv(role, line string) []string {
	who, when, _ := strings.Cut(line, "> ")
	name, email, _ := strings.Cut(who, " <")
	return []string{"GIT_" + role + "_NAME=" + name, "GIT_" + role + "_EMAIL=" + email, "GIT_" + role + "_DATE=" + when}
}

// WriteBlob writes a blob to the session's quarantine.
func (a *Session) WriteBlob(data []byte) (string, error) {
	return a.q.OwnObjects().Write("blob", data)
}

// WriteTree writes a tree to the session's quarantine.
func (a *Session) WriteTree(entries []object.TreeEntry) (string, error) {
	text, err := object.EncodeTree(entries)
	if err != nil {
		return "", err
	}
	return a.q.OwnObjects().Write("tree", text)
}

// Read reads an object of the repository or of this session.
func (a *Session) Read(ctx context.Context, oid string) (object.Object, error) {
	return a.q.read(ctx, oid)
}

// ReadTree reads the entries of one tree, without its subtrees.
func (a *Session) ReadTree(ctx context.Context, oid string) ([]object.TreeEntry, error) {
	o, err := a.q.read(ctx, oid)
	if err != nil {
		return nil, err
	}
	if o.Type != "tree" {
		return nil, fmt.Errorf("%s is a %s, not a tree", oid, o.Type)
	}
	return object.ParseTree(o.Data, a.q.Repo.ObjectFormat().Size())
}

// Keep copies commits of this session to the repository, with all objects that they need.
// They are on disk when it returns. The caller calls release once a ref names them, or if
// no ref is going to.
func (a *Session) Keep(ctx context.Context, commits ...string) (release func(), err error) {
	return a.q.KeepCommits(ctx, commits...)
}

// Merges says whether CommitsBetween lists merge commits.
type Merges string

// Whether merge commits are listed.
const (
	WithMerges  Merges = ""
	LeaveMerges Merges = "--no-merges"
)

// CommitsBetween lists the commits that are reachable from head and not from base, the
// oldest first.
func (a *Session) CommitsBetween(ctx context.Context, base, head string, m Merges) ([]string, error) {
	args := []string{"rev-list", "--reverse", "--topo-order", head, "^" + base}
	if m != WithMerges {
		args = append(args, string(m))
	}
	out, err := a.q.run(ctx, args...)
	return strings.Fields(out), err
}

// IsAncestor reports whether commit is an ancestor of the commit of. One that is gone is none.
func (a *Session) IsAncestor(ctx context.Context, commit, of string) (bool, error) {
	return gitcmd.AskAncestor(commit, of, func(args ...string) error {
		_, err := a.q.run(ctx, args...)
		return err
	})
}

// MergeBase returns a best common ancestor of two commits, or "".
func (a *Session) MergeBase(ctx context.Context, one, other string) (string, error) {
	out, err := a.q.run(ctx, "merge-base", one, other)
	if gitcmd.ExitCode(err) == 1 {
		return "", nil
	}
	return out, err
}

// LastChange returns the last commit between base and tip, by first parents, that changed
// a path, or "".
func (a *Session) LastChange(ctx context.Context, base, tip, path string) (string, error) {
	args := []string{"--literal-pathspecs", "rev-list", "--first-parent", "-n", "1", tip}
	if base != "" {
		args = append(args, "^"+base)
	}
	return a.q.run(ctx, append(args, "--", path)...)
}

// File returns the object at a path in a tree. Its Type is empty if there is none, or if the
// path is a submodule.
func (a *Session) File(ctx context.Context, tree, path string) (object.Object, error) {
	e, err := a.Entry(ctx, tree, path)
	if err != nil || e.Mode == "" || e.Mode == "160000" {
		return object.Object{}, err
	}
	return a.Read(ctx, e.OID)
}
