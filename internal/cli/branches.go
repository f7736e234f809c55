package cli

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

const (
	maxBranches    = 500     // that are offered
	maxPackedBytes = 4 << 20 // that are read of packed refs
)

// completeBranches completes names of branches: those of the repository, as its files have them.
func (a *app) completeBranches(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.complete(cmd, func(ctx context.Context, svc croft.Service) (offers []cobra.Completion, err error) {
		repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: a.dir()})
		if err != nil {
			return nil, err
		}
		names := append(looseBranches(repo.GitDir, word), packedBranches(repo.GitDir, word)...)
		if strings.HasPrefix(repo.Branch, word) && repo.Branch != "" {
			names = append(names, repo.Branch)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			text := ""
			if name == repo.Branch {
				text = "checked out here"
			}
			offers = append(offers, described(name, text))
		}
		return offers[:min(len(offers), maxBranches)], nil
	})
}

// looseBranches lists the branches that have a file of their own and begin with a word. No link is
// followed.
func looseBranches(gitDir, word string) (names []string) {
	heads := filepath.Join(gitDir, "refs", "heads")
	_ = filepath.WalkDir(heads, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || len(names) >= maxBranches {
			return fs.SkipAll
		}
		rel, err := filepath.Rel(heads, path)
		if name := filepath.ToSlash(rel); err == nil && entry.Type().IsRegular() && strings.HasPrefix(name, word) && !strings.HasSuffix(name, ".lock") {
			names = append(names, name)
		}
		return nil
	})
	return names
}

// packedBranches lists the branches that begin with a word in git's file of packed refs. What is no
// ordinary file is not opened: a pipe would make the shell wait.
func packedBranches(gitDir, word string) (names []string) {
	path := filepath.Join(gitDir, "packed-refs")
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	lines := bufio.NewScanner(io.LimitReader(file, maxPackedBytes))
	for lines.Scan() && len(names) < maxBranches {
		if _, name, ok := strings.Cut(lines.Text(), " refs/heads/"); ok && strings.HasPrefix(name, word) {
			names = append(names, name)
		}
	}
	return names
}
