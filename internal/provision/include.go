package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
)

// IncludeFile is the file at the top of a project that says which ignored files a workspace gets.
const IncludeFile = ".worktreeinclude"

// maxInclude bounds the size of an IncludeFile.
const maxInclude = 1 << 20

// HasInclude reports whether a project has something under the name of IncludeFile.
func HasInclude(project string) bool {
	_, err := os.Lstat(filepath.Join(project, IncludeFile))
	return err == nil
}

// ReadInclude returns the patterns of a project's IncludeFile, or nil if it has none. A link, a
// pipe, a directory or a file of more than 1 MiB in its place is an error, with ConfigInvalid.
func ReadInclude(project string) ([]byte, error) {
	tree := fsx.OpenTree(project)
	defer tree.Release()
	info, err := tree.Lstat(IncludeFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fsx.ErrNotRegular
	}
	var text []byte
	if err == nil {
		text, err = tree.ReadFile(IncludeFile, maxInclude)
	}
	if err != nil {
		return nil, &croft.Error{
			Code: croft.ConfigInvalid, Message: fmt.Sprintf("%s is not a file that can be read; no files were copied by it", IncludeFile), Details: err.Error(),
		}
	}
	return text, nil
}

// Include chooses the files that patterns select: those that are untracked in the main checkout, ignored
// there by the repository's or the user's exclude files, and match the patterns. git reads the patterns, so they mean what they mean in
// a .gitignore. A nested repository is one path that ends in a slash. own is a directory of Croft's,
// in which Include makes a file for git.
func Include(ctx context.Context, main *git.Worktree, patterns []byte, own string) ([]string, error) {
	if !hasPattern(patterns) {
		return nil, nil
	}
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(own, "include-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(patterns)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	var matching, ignored []string
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { matching, err = main.MatchingFile(gctx, file.Name()); return err })
	g.Go(func() (err error) { ignored, err = main.IgnoredUsually(gctx); return err })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	isIgnored := make(map[string]bool, len(ignored))
	for _, p := range ignored {
		isIgnored[p] = true
	}
	selected := slices.DeleteFunc(matching, func(p string) bool { return !isIgnored[p] })
	slices.Sort(selected)
	return slices.Compact(selected), nil
}

// hasPattern reports whether a line is neither empty nor a comment.
func hasPattern(text []byte) bool {
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		if line = strings.TrimRight(line, " \r\n"); line != "" && line[0] != '#' {
			return true
		}
	}
	return false
}
