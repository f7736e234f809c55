package snapshot

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
)

// Head is the branch and the commit that a snapshot had checked out.
type Head struct {
	Branch string `json:"branch,omitempty"` // without refs/heads/; empty when HEAD was detached
	OID    string `json:"oid,omitempty"`    // empty when the branch had no commit yet
}

// HeadOf reads the branch and the commit that a snapshot had checked out.
func HeadOf(ctx context.Context, r *git.Repository, commit string) (Head, error) {
	m, err := ReadMeta(ctx, r, commit)
	return m.Head, err
}

// ReadMeta reads the metadata of a snapshot, which its trees cannot hold.
func ReadMeta(ctx context.Context, r *git.Repository, commit string) (Meta, error) {
	o, err := r.Read(ctx, commit+":meta.json")
	if err != nil {
		return Meta{}, errors.Join(ErrFormat, err)
	}
	return decodeMeta(o.Data)
}

// Paths lists the paths that a snapshot can restore, each list sorted.
type Paths struct {
	Files   []string // with named pipes, and without private files
	Nested  []string // repositories in the worktree
	Empty   []string // directories
	Secrets []string // private files
	Modes   []string // paths with a mode that git does not set
}

// ReadPaths lists the paths that a snapshot can restore.
func ReadPaths(ctx context.Context, r *git.Repository, commit string) (Paths, error) {
	var p Paths
	m, err := ReadMeta(ctx, r, commit)
	if err != nil {
		return p, err
	}
	for _, dir := range []string{"files", "staged", "stages/1", "stages/2", "stages/3"} {
		entries, err := readDir(ctx, r, commit, dir)
		if err != nil {
			return p, err
		}
		for _, e := range entries {
			if e.Mode != "160000" { // a submodule's directory is among the nested ones, if it holds anything
				p.Files = append(p.Files, e.Name)
			}
		}
	}
	for _, s := range m.Special {
		p.Files = append(p.Files, string(s.Path))
	}
	for _, n := range m.Nested {
		p.Nested = append(p.Nested, string(n))
	}
	for _, e := range m.Empty {
		p.Empty = append(p.Empty, string(e))
	}
	for _, s := range m.Secrets {
		p.Secrets = append(p.Secrets, filepath.FromSlash(string(s)))
	}
	for _, d := range m.Modes {
		p.Modes = append(p.Modes, string(d.Path))
	}
	p.Sort()
	return p, nil
}

// Sort sorts the lists and removes duplicates from each.
func (p *Paths) Sort() {
	for _, list := range []*[]string{&p.Files, &p.Nested, &p.Empty, &p.Secrets, &p.Modes} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// StoredFiles lists the files that a snapshot has as they were on disk, by their paths.
func StoredFiles(ctx context.Context, r *git.Repository, commit string) ([]object.TreeEntry, error) {
	return readDir(ctx, r, commit, "files")
}

// readDir lists the files that a directory of a snapshot's tree holds, by their paths
// in the worktree. A directory that does not exist holds none.
func readDir(ctx context.Context, r *git.Repository, commit, dir string) ([]object.TreeEntry, error) {
	if _, err := r.Info(ctx, commit+":"+dir); errors.Is(err, object.ErrMissing) {
		return nil, nil
	}
	entries, err := r.ReadTree(ctx, commit+":"+dir)
	for i, e := range entries {
		if dir == "files" {
			e.Name = flatPath(e.Name)
		}
		entries[i].Name = filepath.FromSlash(e.Name)
	}
	return entries, err
}

// StaysInAdmin reports whether a file of the admin directory says where a worktree is,
// not what it holds, or is the lock of a git or Croft process that works there or waits
// for its turn: a waiting Croft process links its lock from a file called
// writers.IndexLockDraft.
func StaysInAdmin(name string) bool {
	isPlace := name == "gitdir" || name == "commondir" || name == "locked"
	return isPlace || strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, writers.IndexLockDraft)
}

// Described is the content of a snapshot's commit message. Files is Saved.Changed.
type Described struct {
	Message   string
	Files     int
	Bytes     int64
	CreatedAt time.Time
	Notes     map[string]string // the other lines, cut to maxNote bytes each
}

const maxNote = 250

// Describe reads the message of a snapshot's commit. It does not check that the commit
// is a snapshot: for another commit it returns the subject and zeros.
func Describe(ctx context.Context, r *git.Repository, commit string) (Described, error) {
	o, err := r.Read(ctx, commit)
	if err != nil {
		return Described{}, err
	}
	c, err := object.ParseCommit(o)
	if err != nil {
		return Described{}, errors.Join(ErrFormat, err)
	}
	message, body, _ := strings.Cut(c.Message, "\n")
	d := Described{Message: message, Notes: map[string]string{}}
	if f := strings.Fields(c.Signature); len(f) >= 2 {
		sec, _ := strconv.ParseInt(f[len(f)-2], 10, 64)
		d.CreatedAt = time.Unix(sec, 0).UTC()
	}
	for line := range strings.Lines(body) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Files":
			d.Files, _ = strconv.Atoi(value)
		case "Bytes":
			d.Bytes, _ = strconv.ParseInt(value, 10, 64)
		case "Cause", "Reason", "Actor":
			d.Notes[key] = value[:min(len(value), maxNote)]
		}
	}
	return d, nil
}
