package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// Scratch is a checkout that belongs to no branch. It is made anew for every tree, so that
// nothing of an earlier use remains.
//
// It is no worktree of the repository, and git commands inside find a git directory that
// has HEAD and objects and nothing else of the repository. The index that Croft itself
// uses is outside of it.
type Scratch struct {
	repo  *Repository
	Path  string // the files
	index string

	// Inherit is passed to every process that writes here, so that a kernel lock on one of
	// these files is held until the last process has ended.
	Inherit []*os.File
}

// Scratch returns the checkout in dir, which belongs to it alone: existing content counts
// as left by an earlier one.
func (r *Repository) Scratch(dir, name string) *Scratch {
	return &Scratch{repo: r, Path: filepath.Join(dir, name), index: filepath.Join(dir, "index")}
}

// ScratchSpec is the content of a scratch checkout.
type ScratchSpec struct {
	Commit  string // HEAD of the git directory inside
	Tree    string // the files
	Objects string // a directory of objects that the repository does not have; see [mergetree.Session.Objects]
	Workers int    // how many processes write files
}

// ErrNotExact says that a checkout does not have exactly the files of its tree.
var ErrNotExact = errors.New("the checkout is not what it should be")

// Prepare makes the checkout hold exactly the files of a tree, and removes everything else
// first. Submodules are left empty. It fails with a *ForgedError if the content of an
// object does not match its name.
func (s *Scratch) Prepare(ctx context.Context, spec ScratchSpec) error {
	if !object.IsOID(spec.Commit) || !object.IsOID(spec.Tree) {
		return fmt.Errorf("not the names of a commit and a tree: %q, %q", spec.Commit, spec.Tree)
	}
	if err := s.Remove(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.Path, 0o777); err != nil {
		return err
	}
	if err := s.writeGitDir(spec); err != nil {
		return err
	}
	if _, err := s.run(ctx, spec, "read-tree", "--reset", "-u", spec.Tree); err != nil {
		return err
	}
	var g errgroup.Group
	g.Go(func() error { return s.rehash(ctx, spec) })
	g.Go(func() error { return s.verify(ctx, spec) })
	if err := g.Wait(); err != nil {
		return err
	}
	return s.copyIndex()
}

// Ignored returns those of the paths that git ignores in the checkout.
func (s *Scratch) Ignored(ctx context.Context, spec ScratchSpec, paths []string) ([]string, error) {
	var list strings.Builder
	for _, p := range paths {
		list.WriteString(p + "/\x00")
	}
	out, err := s.call(ctx, spec, list.String(), "check-ignore", "-z", "--stdin")
	if err != nil && gitcmd.ExitCode(err) != 1 {
		return nil, err
	}
	var ignored []string
	for _, p := range gitdir.SplitNUL(out) {
		ignored = append(ignored, strings.TrimSuffix(p, "/"))
	}
	return ignored, nil
}

// Remove deletes the checkout, including read-only directories.
func (s *Scratch) Remove() error {
	for _, lock := range []string{s.index, s.index + ".lock"} {
		if err := os.RemoveAll(lock); err != nil {
			return err
		}
	}
	return fsx.RemoveOwn(s.Path)
}

// run runs git on the files, with the repository's own configuration and with the index
// outside of the checkout.
func (s *Scratch) run(ctx context.Context, spec ScratchSpec, args ...string) ([]byte, error) {
	return s.call(ctx, spec, "", args...)
}

func (s *Scratch) call(ctx context.Context, spec ScratchSpec, stdin string, args ...string) ([]byte, error) {
	env := []string{"GIT_INDEX_FILE=" + s.index}
	if spec.Objects != "" {
		env = append(env, objectsEnv(spec.Objects, s.repo)...)
	}
	return s.repo.Git.Run(ctx, gitcmd.Target{Repo: s.repo.Core(), Work: s.Path}, gitcmd.Call{
		Args: args, Stdin: stdin, Env: env, Locks: true, Network: true, Inherit: s.Inherit,
		Config: [][2]string{
			{"core.fsync", "none"},
			{"core.splitIndex", "false"},
			{"core.sparseCheckout", "false"},
			{"core.sparseCheckoutCone", "false"},
			{"index.sparse", "false"},
			// Every change of a file changes its ctime.
			{"core.trustctime", "true"},
			{"core.checkStat", "default"},
			{"core.ignoreStat", "false"},
			{"core.untrackedCache", "false"},
			{"checkout.workers", strconv.Itoa(spec.Workers)},
		},
	})
}

func objectsEnv(dir string, r *Repository) []string {
	return []string{"GIT_OBJECT_DIRECTORY=" + dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + gitdir.QuoteInList(filepath.Join(r.CommonDir, "objects"))}
}

// verify fails with ErrNotExact if there are files that the tree does not have.
func (s *Scratch) verify(ctx context.Context, spec ScratchSpec) error {
	out, err := s.run(ctx, spec, "ls-files", "--others", "-z")
	if err == nil && len(out) > 0 {
		err = fmt.Errorf("%w: %q should not be there", ErrNotExact, gitdir.SplitNUL(out))
	}
	return err
}

// writeGitDir writes the git directory for commands inside the checkout. It shares the
// repository's objects and has no ref.
func (s *Scratch) writeGitDir(spec ScratchSpec) error {
	dir := filepath.Join(s.Path, ".git")
	if err := fsx.RemoveOwn(dir); err != nil {
		return err
	}
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(sub)), 0o777); err != nil {
			return err
		}
	}
	config, err := s.ownConfig()
	if err != nil {
		return err
	}
	alternates := gitdir.QuoteAlternate(filepath.Join(s.repo.CommonDir, "objects")) + "\n"
	if spec.Objects != "" {
		alternates += gitdir.QuoteAlternate(spec.Objects) + "\n"
	}
	for name, text := range map[string]string{
		"HEAD": spec.Commit + "\n", "config": config, "objects/info/alternates": alternates,
	} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// scratchKeys are the settings of a repository that decide how its files are written to
// disk.
var scratchKeys = []string{
	"core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.longpaths",
	"core.autocrlf", "core.eol", "core.protecthfs", "core.protectntfs",
}

func (s *Scratch) ownConfig() (string, error) {
	own, err := s.repo.fileConfig()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	for _, e := range own {
		gitconfig.Write(&b, e)
	}
	return b.String(), nil
}

// fileConfig returns the settings of a git directory for other files of the repository: its format, and scratchKeys.
func (r *Repository) fileConfig() ([]gitconfig.Entry, error) {
	h, err := r.EnsureHostDir()
	if err != nil {
		return nil, err
	}
	own := []gitconfig.Entry{{Key: "core.repositoryformatversion", Value: "0"}, {Key: "core.bare", Value: "false"}}
	if f := r.Format.ObjectFormat; f != "" && f != "sha1" {
		own[0].Value = "1"
		own = append(own, gitconfig.Entry{Key: "extensions.objectformat", Value: f})
	}
	for _, e := range h.Entries {
		if slices.Contains(scratchKeys, e.Key) && e.Class() == gitconfig.ClassData {
			own = append(own, e)
		}
	}
	return own, nil
}

// copyIndex copies the index, with its mtime, to the git directory inside.
func (s *Scratch) copyIndex() error {
	info, err := os.Stat(s.index)
	if err != nil {
		return err
	}
	inside := filepath.Join(s.Path, ".git", "index")
	return errors.Join(worktree.CopyIfExists(s.index, inside), os.Chtimes(inside, info.ModTime(), info.ModTime()))
}
