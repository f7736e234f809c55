package odb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
)

// ErrNoCommit says that a revision resolves to no commit.
var ErrNoCommit = errors.New("names no commit")

// ResolveCommit returns the commit that a revision names.
func (r *Repository) ResolveCommit(ctx context.Context, rev string) (string, error) {
	if !gitdir.IsRevision(rev) {
		return "", fmt.Errorf("%q: %w", rev, ErrNoCommit)
	}
	info, err := r.Info(ctx, rev+"^{commit}")
	// If a branch has no upstream, git does not report a missing object but dies.
	if errors.Is(err, object.ErrMissing) || strings.Contains(rev, "@{") && gitcmd.ExitCode(err) == gitcmd.Fatal {
		return "", fmt.Errorf("%q: %w", rev, ErrNoCommit)
	}
	return info.OID, err
}

// ResolveCommitAt is ResolveCommit for a revision that may name HEAD: that of the given
// git directory.
func (r *Repository) ResolveCommitAt(ctx context.Context, gitDir, rev string) (string, error) {
	if gitDir == r.CommonDir || !gitdir.IsRevision(rev) {
		return r.ResolveCommit(ctx, rev)
	}
	out, err := r.Git.Run(ctx, gitcmd.Target{Repo: r.Core(), GitDir: gitDir}, gitcmd.Call{
		Args: []string{"rev-parse", "--quiet", "--verify", "--end-of-options", rev + "^{commit}"},
	})
	if gitcmd.ExitCode(err) > 0 {
		return "", fmt.Errorf("%q: %w", rev, ErrNoCommit)
	}
	oid := strings.TrimSpace(string(out))
	if err == nil && !object.IsOID(oid) { // a revision that excludes commits
		return "", fmt.Errorf("%q: %w", rev, ErrNoCommit)
	}
	return oid, err
}

// ReadCommit reads a commit.
func (r *Repository) ReadCommit(ctx context.Context, name string) (object.Commit, error) {
	o, err := r.Read(ctx, name)
	if err != nil {
		return object.Commit{}, err
	}
	return object.ParseCommit(o)
}

// LogEntry is a commit for display.
type LogEntry struct{ Commit, Author, Subject string }

// Log lists the commits that are reachable from commit and not from not, newest first, at
// most limit of them.
func (r *Repository) Log(ctx context.Context, not, commit string, limit int) ([]LogEntry, error) {
	if err := AllHex(not, commit); err != nil {
		return nil, err
	}
	out, err := r.RunGit(ctx, "-c", "log.showSignature=false", "log", "-z", "--no-color", "--no-decorate", "--no-notes", "--no-patch",
		"--max-count="+strconv.Itoa(limit), "--format=%H%x01%an%x01%s", "^"+not, commit, "--")
	if err != nil {
		return nil, err
	}
	var list []LogEntry
	for _, line := range gitdir.SplitNUL(out) {
		f := strings.SplitN(line, "\x01", 3)
		if len(f) != 3 || !object.IsOID(f[0]) {
			return nil, fmt.Errorf("not an answer of log: %.80q", line)
		}
		list = append(list, LogEntry{f[0], f[1], f[2]})
	}
	return list, nil
}

// Heading returns the first line of a commit's message, and when it was committed.
func (r *Repository) Heading(ctx context.Context, commit string) (subject string, at time.Time, err error) {
	if err := AllHex(commit); err != nil {
		return "", time.Time{}, err
	}
	out, err := r.RunGit(ctx, "-c", "log.showSignature=false", "log", "--no-color", "--no-decorate", "--no-notes", "--no-patch", "--max-count=1", "--format=%ct %s", commit, "--")
	if err != nil {
		return "", time.Time{}, err
	}
	seconds, subject, _ := strings.Cut(strings.TrimRight(string(out), "\n"), " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("not an answer of log: %.80q", out)
	}
	return strings.ToValidUTF8(subject, "\uFFFD"), time.Unix(n, 0).UTC(), nil
}

// AllHex fails unless all names are full object names.
func AllHex(names ...string) error {
	for _, n := range names {
		if !object.IsOID(n) {
			return fmt.Errorf("not the name of a commit: %q", n)
		}
	}
	return nil
}

// Span is the range from one commit to another.
type Span struct{ From, To string }
