package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/radar"
)

// uncommittedLines are the lines of a workspace whose work is not committed, by all that they follow from.
type uncommittedLines struct {
	Key                     string `json:",omitempty"`
	Added, Deleted, Changed int    `json:",omitempty"`
}

// changedLines counts the lines of workspaces with uncommitted work, of all together.
type changedLines struct {
	*looker
	statuses *git.Statuses

	mu    sync.Mutex
	spans []odb.Span
	of    []int
	keys  []string
}

// find finds the lines of a workspace, or notes what they have to be counted of.
func (c *changedLines) find(ctx context.Context, i int) {
	work, err := radar.ReadUncommitted(ctx, c.r, c.session, c.records[i], c.statuses)
	if err != nil {
		return
	}
	s := &c.sights[i]
	heads := c.r.Trees.At(project.SpecOf(c.records[i])).MergeHeads()
	key := c.keyOf(work.Stamp(ctx), s, heads)
	if was, known := c.recallLines(i, key); known {
		s.work.Added, s.work.Deleted, s.work.Changed = was.Added, was.Deleted, was.Changed
		return
	}
	commit, err := work.Commit(ctx)
	if err != nil {
		return
	}
	from, err := c.countedFrom(ctx, i, heads)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans, c.of, c.keys = append(c.spans, odb.Span{From: from, To: commit}), append(c.of, i), append(c.keys, key)
}

// countedFrom returns the commit that uncommitted work is compared with. While a commit of the target is being merged into
// the workspace, that is it: what came from there is no work of the workspace. Of a MERGE_HEAD that git cannot compare, which
// an agent may have written, it is not known that the target has it.
func (c *changedLines) countedFrom(ctx context.Context, i int, mergeHeads []string) (string, error) {
	tip, err := c.refs.Ref("refs/heads/" + c.list[i].Target)
	if err != nil || len(mergeHeads) != 1 || !object.IsOID(mergeHeads[0]) {
		return c.comparedFrom(ctx, i), nil
	}
	isOfTarget, err := c.session.IsAncestor(ctx, mergeHeads[0], tip)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil || !isOfTarget {
		return c.comparedFrom(ctx, i), nil
	}
	return mergeHeads[0], nil
}

// count counts the lines of what was found. If it fails, the lines of what is committed stay.
func (c *changedLines) count(ctx context.Context) {
	counts, err := c.session.CountChanges(ctx, c.spans)
	if err != nil {
		return
	}
	for k, i := range c.of {
		c.sights[i].setLines(counts[k])
		c.keepLines(i, c.keys[k], counts[k])
	}
}

// keyOf returns the key of the lines of work with a stamp, or "".
func (c *changedLines) keyOf(stamp string, s *sight, mergeHeads []string) string {
	if stamp == "" || c.under() == "" || c.compared.file == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "4 %q %q %q %q %q %q\n", c.under(), c.compared.rules, s.fork, s.reverts, stamp, mergeHeads))
	return hex.EncodeToString(sum[:])
}

func (c *changedLines) recallLines(i int, key string) (uncommittedLines, bool) {
	c.compared.mu.Lock()
	defer c.compared.mu.Unlock()
	was := c.compared.known[c.list[i].ID].Uncommitted
	return was, key != "" && was.Key == key
}

func (c *changedLines) keepLines(i int, key string, found mergetree.Changes) {
	m, id := c.compared, c.list[i].ID
	if key == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.known[id]
	was.Uncommitted = uncommittedLines{Key: key, Added: found.Added, Deleted: found.Deleted, Changed: found.Files}
	m.known[id], m.isNew = was, true
}
