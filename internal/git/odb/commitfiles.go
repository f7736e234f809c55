package odb

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/object"
)

// CommitFiles reads files of one commit, and each tree once. It starts git only for an object that it cannot read itself.
// It is for one goroutine.
type CommitFiles struct {
	repo   *Repository
	commit string
	here   *object.Files // nil: not open
	isOpen bool
	top    string // the tree of the commit; "": not read yet
	trees  map[string][]object.TreeEntry
}

// FilesOf returns the files of a commit. The caller must close them.
func (r *Repository) FilesOf(commit string) *CommitFiles {
	return &CommitFiles{repo: r, commit: commit, trees: map[string][]object.TreeEntry{}}
}

// Close closes the packs.
func (f *CommitFiles) Close() {
	if f.here != nil {
		f.here.Close()
	}
	f.here, f.isOpen = nil, false
}

// Entry reads a file or directory of the commit as [Repository.ReadEntryAt] does.
func (f *CommitFiles) Entry(ctx context.Context, name string) (o object.Object, mode string, err error) {
	if f.top == "" {
		top, err := f.read(ctx, f.commit)
		if err != nil {
			return o, "", err
		}
		c, err := object.ParseCommit(top)
		if err != nil {
			return o, "", err
		}
		f.top = c.Tree
	}
	at := object.TreeEntry{OID: f.top}
	for part := range strings.SplitSeq(name, "/") {
		if at, err = f.entryOf(ctx, at.OID, part); err != nil {
			return o, "", fmt.Errorf("%s:%s: %w", f.commit, name, err)
		}
	}
	o, err = f.read(ctx, at.OID)
	return o, at.Mode, err
}

// entryOf returns the entry that a tree has under a name, or fails with fs.ErrNotExist.
func (f *CommitFiles) entryOf(ctx context.Context, tree, name string) (object.TreeEntry, error) {
	entries, isRead := f.trees[tree]
	if !isRead {
		o, err := f.read(ctx, tree)
		if err != nil {
			return object.TreeEntry{}, err
		}
		if o.Type != "tree" {
			return object.TreeEntry{}, fs.ErrNotExist
		}
		if entries, err = object.ParseTree(o.Data, f.repo.ObjectFormat().Size()); err != nil {
			return object.TreeEntry{}, err
		}
		f.trees[tree] = entries
	}
	i := slices.IndexFunc(entries, func(e object.TreeEntry) bool { return e.Name == name })
	if i < 0 || entries[i].Mode == LinkMode {
		return object.TreeEntry{}, fs.ErrNotExist
	}
	return entries[i], nil
}

// read reads an object, and verifies that its content matches its name: in this process if that is possible. A process
// takes longer to start than all of the reading.
func (f *CommitFiles) read(ctx context.Context, oid string) (object.Object, error) {
	if !f.isOpen {
		f.isOpen = true
		f.here, _ = f.repo.OpenObjects()
	}
	if f.here != nil {
		o, err := f.here.Verify(ctx, oid, object.KeepContents)
		if err == nil && int64(len(o.Data)) == o.Size { // the content of a large blob is not kept
			return o, nil
		}
	}
	return f.repo.ReadVerified(ctx, oid)
}

// TypeOf returns the type of an object. To read one takes a fraction of the time in which git starts.
func (r *Repository) TypeOf(ctx context.Context, oid string) (string, error) {
	if r.ObjectProcess() == nil {
		if here, err := r.OpenObjects(); err == nil {
			defer here.Close()
			if o, err := here.Verify(ctx, oid, object.KeepNothing); err == nil {
				return o.Type, nil
			}
		}
	}
	info, err := r.Info(ctx, oid)
	return info.Type, err
}
