package mergetree

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/git/object"
)

// Entry returns the entry at a path in a tree. Its Mode is empty if there is none.
func (a *Session) Entry(ctx context.Context, tree, path string) (object.TreeEntry, error) {
	parts := strings.Split(path, "/")
	for i, name := range parts {
		entries, err := a.ReadTree(ctx, tree)
		if err != nil {
			return object.TreeEntry{}, err
		}
		at := slices.IndexFunc(entries, func(e object.TreeEntry) bool { return e.Name == name })
		switch {
		case at < 0 || entries[at].Mode == "0":
			// Git (2.39 at least) gives a file that was moved out of the way of a renamed
			// directory neither a mode nor an object.
			return object.TreeEntry{}, nil
		case i == len(parts)-1:
			return entries[at], nil
		case entries[at].Mode != "40000":
			return object.TreeEntry{}, nil
		}
		tree = entries[at].OID
	}
	return object.TreeEntry{}, nil
}

// Copy writes the content of a blob of the repository or of this session to w, in parts. It
// fails with object.ErrForged, after the content was written, if that does not match the
// name. w must not read from the repository.
func (a *Session) Copy(ctx context.Context, w io.Writer, oid string) (object.Object, error) {
	o, err := a.q.OwnObjects().Copy(ctx, w, oid)
	if !errors.Is(err, os.ErrNotExist) {
		return o, err
	}
	if err := a.verify(ctx, oid); err != nil {
		return object.Object{}, err
	}
	if o, err = a.q.Repo.Info(ctx, oid); err != nil {
		return o, err
	}
	h := a.q.Repo.ObjectFormat().NewHash()
	_, _ = io.WriteString(h, o.Type+" "+strconv.FormatInt(o.Size, 10)+"\x00")
	if _, err := a.q.Repo.Copy(ctx, io.MultiWriter(h, w), oid); err != nil {
		return o, err
	}
	if hex.EncodeToString(h.Sum(nil)) != oid {
		return object.Object{}, &object.ForgedError{OID: oid, File: "the repository"}
	}
	return o, nil
}

// verify rehashes every copy of an object of the repository. Git waits for the rest of a
// forged loose object whose header names a size that its content does not have, and with it
// all other calls that read objects.
func (a *Session) verify(ctx context.Context, oid string) error {
	if a.q.Repo.Format.Partial { // git fetches what is missing
		return nil
	}
	files, err := a.q.Repo.OpenObjects()
	if err != nil {
		return err
	}
	defer files.Close()
	_, err = files.Verify(ctx, oid, object.KeepNothing)
	return err
}
