package review

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/shellword"
)

// maxPart is how many bytes of a file one call returns.
const maxPart = 1 << 20

// ReadFile returns a part of a file on one side of work. It reads git objects only: files
// of a workspace become objects as a commit of its work would have them, so that links are
// not followed and files that a commit would not have are not read.
func (svc *Reviews) ReadFile(ctx context.Context, req croft.FileRequest) (*croft.FileContent, error) {
	if req.Offset < 0 || req.Limit < 0 {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "a file has no part before its beginning"}
	}
	path, err := gitdir.UnquotePath(req.Path)
	if err != nil || path == "" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%q is no path of a file", req.Path)}
	}
	c, err := svc.open(ctx, source{repo: req.Repo, workspace: req.Workspace, review: req.Review, merge: req.Merge, target: req.Target})
	if err != nil {
		return nil, err
	}
	defer c.attempts.Close()
	entry, err := c.find(ctx, path, req.Side)
	if err != nil {
		return nil, err
	}
	if req.Object != "" && req.Object != entry.OID {
		return nil, &croft.Error{
			Code: croft.WorkChanged, Workspace: c.WorkspaceName, Message: fmt.Sprintf("%q is another file than before", merge.PathText(path)),
			Details: "Nothing was changed. The file can be read again from its beginning.", Fields: map[string]string{"object": entry.OID},
		}
	}
	out := &croft.FileContent{
		Workspace: c.Workspace, WorkspaceName: c.WorkspaceName, Path: merge.PathText(path), Mode: entry.Mode, Object: entry.OID, Offset: req.Offset, Next: req.Offset,
	}
	if entry.Mode == submoduleMode {
		return out, nil
	}
	part := partWriter{skip: req.Offset, limit: maxPart}
	if req.Limit > 0 {
		part.limit = min(req.Limit, maxPart)
	}
	blob, err := c.attempts.Copy(ctx, &part, entry.OID)
	if err != nil {
		return nil, err
	}
	out.Size, out.IsBinary, out.Data, out.Next = blob.Size, part.isBinary, part.data, req.Offset+int64(len(part.data))
	return out, nil
}

const (
	treeMode      = "40000"
	submoduleMode = "160000"
)

// find returns the entry of a file on one side of the work.
func (c *comparison) find(ctx context.Context, path string, side croft.Side) (object.TreeEntry, error) {
	text := merge.PathText(path)
	fields := map[string]string{"path": text}
	commit := c.Head
	switch side {
	case croft.SideBase:
		commit, fields["side"] = c.Base, string(side)
	case croft.SideTarget:
		commit, fields["side"] = c.TargetCommit, string(side)
	default:
		if slices.ContainsFunc(c.HeldBack, func(held string) bool { return held == text || isBelow(text, held) }) {
			return object.TreeEntry{}, &croft.Error{
				Code: croft.FileHeldBack, Workspace: c.WorkspaceName, Message: fmt.Sprintf("%q is held back: it is not part of the work", text), Fields: fields,
				Hint: "croft diff " + shellword.Quote(c.WorkspaceName),
			}
		}
	}
	missing := &croft.Error{
		Code: croft.FileNotFound, Workspace: c.WorkspaceName, Message: fmt.Sprintf("there is no file %q", text), Fields: fields,
		Hint: "croft diff --name-only " + shellword.Quote(c.WorkspaceName),
	}
	if commit == "" {
		return object.TreeEntry{}, missing
	}
	at, err := c.attempts.ReadCommit(ctx, commit)
	if err != nil {
		return object.TreeEntry{}, err
	}
	entry, err := c.attempts.Entry(ctx, at.Tree, path)
	if err == nil && (entry.Mode == "" || entry.Mode == treeMode) {
		if entry.Mode == treeMode {
			missing.Message = fmt.Sprintf("%q is a directory", text)
		}
		err = missing
	}
	return entry, err
}

// isBelow reports whether a path lies in a directory, whose name ends in a slash.
func isBelow(path, dir string) bool {
	return strings.HasSuffix(dir, "/") && (strings.HasPrefix(path, dir) || path+"/" == dir)
}

// partWriter keeps a part of what is written to it.
type partWriter struct {
	skip     int64 // how many bytes come before the part
	limit    int   // how many bytes the part has
	data     []byte
	looked   int // how many bytes were looked at for isBinary
	isBinary bool
}

// binaryBytes is at how many bytes git looks to tell whether a file is text.
const binaryBytes = 8000

func (p *partWriter) Write(b []byte) (int, error) {
	n := len(b)
	if head := b[:min(n, binaryBytes-p.looked)]; len(head) > 0 {
		p.looked += len(head)
		p.isBinary = p.isBinary || bytes.IndexByte(head, 0) >= 0
	}
	skipped := min(p.skip, int64(n))
	p.skip -= skipped
	b = b[skipped:]
	p.data = append(p.data, b[:min(len(b), p.limit-len(p.data))]...)
	return n, nil
}
