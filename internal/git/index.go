package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// IndexEntry is one path in an index.
type IndexEntry struct {
	Path  string
	Mode  string // "100644", "100755", "120000" or "160000"
	OID   string
	Stage int  // 1 to 3 for the sides of a conflict
	Tag   byte // as git ls-files -v prints it: 'H', 'S' (skip-worktree), lower case (assume-unchanged)
}

// Hidden reports whether git does not look at the file on disk.
func (e IndexEntry) Hidden() bool { return e.Tag == 'S' || e.Tag >= 'a' && e.Tag <= 'z' }

// Index lists what the worktree's index holds.
func (w *Worktree) Index(ctx context.Context) ([]IndexEntry, error) {
	out, err := w.run(ctx, call{args: []string{"ls-files", "--stage", "-v", "-z"}})
	if err != nil {
		return nil, err
	}
	var list []IndexEntry
	for _, line := range splitNUL(out) {
		e, err := parseIndexEntry(line)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// parseIndexEntry reads "<tag> <mode> <oid> <stage>\t<path>".
func parseIndexEntry(line string) (IndexEntry, error) {
	head, path, ok := strings.Cut(line, "\t")
	f := strings.Fields(head)
	if !ok || path == "" || len(f) != 4 || len(f[0]) != 1 || !isHex(f[2]) {
		return IndexEntry{}, fmt.Errorf("ls-files: not an entry: %q", line)
	}
	stage, err := strconv.Atoi(f[3])
	if err != nil || stage < 0 || stage > 3 {
		return IndexEntry{}, fmt.Errorf("ls-files: not a stage: %q", line)
	}
	return IndexEntry{Path: path, Mode: f[1], OID: f[2], Stage: stage, Tag: f[0][0]}, nil
}

// IndexTree writes the tree that the index describes and returns its name.
// Paths in conflict are left out. The index itself is not touched: a copy in
// dir is used.
func (w *Worktree) IndexTree(ctx context.Context, dir string, conflicted []string) (string, error) {
	data, err := os.ReadFile(filepath.Join(w.Admin, "index"))
	if err != nil {
		return "", err
	}
	tmp := filepath.Join(dir, "index")
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return "", err
	}
	env := []string{"GIT_INDEX_FILE=" + tmp}
	if len(conflicted) > 0 {
		var b strings.Builder
		for _, p := range conflicted {
			b.WriteString("0 " + w.Repo.ZeroOID() + "\t" + p + "\x00")
		}
		if _, err := w.run(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: b.String(), env: env, locks: true}); err != nil {
			return "", err
		}
	}
	out, err := w.run(ctx, call{args: []string{"write-tree", "--missing-ok"}, env: env, locks: true})
	return strings.TrimSpace(string(out)), err
}

// Ignored lists the ignored files that match patterns, in .gitignore's syntax.
func (w *Worktree) Ignored(ctx context.Context, patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	args := []string{"ls-files", "-z", "--others", "--ignored"}
	for _, p := range patterns {
		args = append(args, "--exclude="+p)
	}
	out, err := w.run(ctx, call{args: args})
	return splitNUL(out), err
}

// CheckoutIndex writes every file of the index that is not there, with the
// filters and line endings that any checkout has. Paths in conflict are passed
// over. The index is not touched.
func (w *Worktree) CheckoutIndex(ctx context.Context, workers int) error {
	_, err := w.run(ctx, call{
		args: []string{"-c", "checkout.workers=" + strconv.Itoa(workers), "checkout-index", "--all", "--quiet"}, network: true,
	})
	return err
}
