package review

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/page"
)

// What an answer of ListCommits has at most.
const (
	mostCommits    = 5_000
	mostMerges     = 200 // the last ones
	commitsOnPage  = 100 // without a limit
	mostOnPage     = 500
	maxCommitSize  = 1 << 20 // larger ones are not read
	maxTitle       = 500
	maxMessage     = 4_000
	maxAuthor      = 200
	timeForCounts  = 5 * time.Second
	lastSecondJSON = 253402300799 // of the year 9999: encoding/json refuses later times
)

// ListCommits lists the commits of a workspace, and counts the work that no commit has. It fails
// as ShowDiff does.
func (svc *Reviews) ListCommits(ctx context.Context, req croft.CommitsRequest) (*croft.Commits, error) {
	c, err := svc.open(ctx, source{repo: req.Repo, workspace: req.Workspace, target: req.Target})
	if err != nil {
		return nil, err
	}
	defer c.attempts.Close()
	out := &croft.Commits{
		Workspace: c.Workspace, WorkspaceName: c.WorkspaceName, Left: c.Left, Target: c.Target, TargetCommit: c.TargetCommit,
		Base: c.began[0], Head: c.committed,
	}
	all, err := svc.ownCommits(ctx, c)
	if err != nil {
		return nil, err
	}
	if out.IsCut = len(all) > mostCommits; out.IsCut {
		all = all[:mostCommits]
	}
	out.Total = len(all)
	out.Unmerged = len(slices.DeleteFunc(slices.Clone(all), func(o ownCommit) bool { return o.merge != nil }))
	if req.Limit >= 0 {
		req.Limit = min(req.Limit, mostOnPage)
	}
	if req.Limit == 0 {
		req.Limit = commitsOnPage
	}
	list, err := page.Cut(all, req.Page, page.Listed, func(o ownCommit) page.Key { return page.Key{ID: o.oid} })
	if err != nil {
		return nil, err
	}
	out.Next = list.Next
	if out.Items, err = c.describe(ctx, list.Items); err != nil {
		return nil, err
	}
	if req.After == "" {
		out.Uncommitted, err = c.countUncommitted(ctx)
	}
	return out, err
}

// ownCommit is a commit of a workspace, and the merge that brought it to the target.
type ownCommit struct {
	oid   string
	merge *journal.Merge
}

// ownCommits lists the commits of a workspace, the newest first, and one more than are shown if
// there are so many. A merge brought what its head has and the target before it had not; the
// head of an earlier one counts as well, because a squash leaves no other trace of it in the
// target.
func (svc *Reviews) ownCommits(ctx context.Context, c *comparison) ([]ownCommit, error) {
	var all []ownCommit
	seen := map[string]bool{}
	add := func(head string, not []string, m *journal.Merge) error {
		left := mostCommits + 1 - len(all)
		if left <= 0 {
			return nil
		}
		oids, err := c.attempts.CommitsIn(ctx, head, slices.Concat(c.began, not), left)
		for _, oid := range oids {
			if !seen[oid] {
				seen[oid], all = true, append(all, ownCommit{oid, m})
			}
		}
		return err
	}
	landed, err := svc.landedMerges(ctx, c)
	if err != nil {
		return nil, err
	}
	not := headsOf(landed)
	if c.TargetCommit != "" {
		not = append(not, c.TargetCommit)
	}
	if err := add(c.committed, not, nil); err != nil {
		return nil, err
	}
	for i := len(landed) - 1; i >= 0; i-- {
		commit, err := c.attempts.ReadCommit(ctx, landed[i].Commit)
		if errors.Is(err, object.ErrMissing) {
			continue // the target was rewritten, and git has deleted it
		}
		if err != nil {
			return nil, err
		}
		not := headsOf(landed[:i])
		if len(commit.Parents) > 0 {
			not = append(not, commit.Parents[0])
		}
		if err := add(landed[i].Head, not, &landed[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// landedMerges lists the merges of a workspace that brought its commits to the target, the first
// first.
func (svc *Reviews) landedMerges(ctx context.Context, c *comparison) ([]journal.Merge, error) {
	if c.Target == "" {
		return nil, nil
	}
	landed, err := svc.Journal.LandedOn(ctx, c.Workspace, c.Target)
	landed = slices.DeleteFunc(landed, func(m journal.Merge) bool { return m.Kind != croft.KindMerge || m.Head == "" || m.Commit == "" })
	return landed[max(0, len(landed)-mostMerges):], err
}

func headsOf(merges []journal.Merge) []string {
	heads := make([]string, len(merges))
	for i, m := range merges {
		heads[i] = m.Head
	}
	return heads
}

// describe reads commits, and counts what they changed.
func (c *comparison) describe(ctx context.Context, list []ownCommit) ([]croft.Commit, error) {
	out := make([]croft.Commit, len(list))
	var plain []string
	for i, own := range list {
		out[i].Commit = own.oid
		if m := own.merge; m != nil {
			out[i].Merge, out[i].MergeCommit, out[i].MergeStatus = m.ID, m.Commit, m.Status
		}
		if err := c.read(ctx, &out[i]); err != nil {
			return nil, err
		}
		if len(out[i].Parents) < 2 {
			plain = append(plain, own.oid)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeForCounts)
	defer cancel()
	counts, err := c.attempts.CountEach(ctx, plain)
	if err != nil {
		return out, nil //nolint:nilerr // the commits are known without the counts
	}
	at := 0
	for i := range out {
		if len(out[i].Parents) < 2 {
			out[i].Changes = &croft.Changes{Files: counts[at].Files, Added: counts[at].Added, Deleted: counts[at].Deleted}
			at++
		}
	}
	return out, nil
}

// read reads the message, the author and the times of a commit.
func (c *comparison) read(ctx context.Context, out *croft.Commit) error {
	info, err := c.project.Git.Info(ctx, out.Commit)
	if err != nil {
		return err
	}
	if info.Size > maxCommitSize {
		out.IsCut = true
		return nil
	}
	o, err := c.project.Git.ReadVerified(ctx, out.Commit)
	if err != nil {
		return err
	}
	commit, err := object.ParseCommit(o)
	if err != nil {
		return err
	}
	out.Parents = commit.Parents
	title, message, _ := strings.Cut(strings.TrimSpace(commit.Message), "\n")
	var isTitleCut, isMessageCut bool
	out.Title, isTitleCut = cutText(strings.TrimSpace(title), maxTitle)
	out.Message, isMessageCut = cutText(strings.TrimSpace(message), maxMessage)
	out.IsCut = isTitleCut || isMessageCut
	out.Author, out.AuthoredAt = parseSignature(commit.Author)
	_, out.CommittedAt = parseSignature(commit.Signature)
	return nil
}

// cutText returns a text as UTF-8, of at most so many bytes, and whether it was cut.
func cutText(text string, most int) (string, bool) {
	cut := text[:min(len(text), most)]
	for len(cut) < len(text) && len(cut) > 0 && text[len(cut)]&0xc0 == 0x80 {
		cut = cut[:len(cut)-1] // not within a character
	}
	return strings.ToValidUTF8(cut, "\uFFFD"), len(cut) < len(text)
}

// parseSignature reads "NAME <ADDRESS> SECONDS ZONE". What is missing, or no time, is empty.
func parseSignature(line string) (croft.Author, time.Time) {
	who, when, _ := strings.Cut(line, "> ")
	name, email, _ := strings.Cut(who, "<")
	var a croft.Author
	a.Name, _ = cutText(strings.TrimSpace(name), maxAuthor)
	a.Email, _ = cutText(strings.TrimSuffix(email, ">"), maxAuthor)
	seconds, _, _ := strings.Cut(when, " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 || n > lastSecondJSON {
		return a, time.Time{}
	}
	return a, time.Unix(n, 0).UTC()
}

// countUncommitted counts the work that no commit has, or returns nil if there is none.
func (c *comparison) countUncommitted(ctx context.Context) (*croft.Uncommitted, error) {
	if c.Head == c.committed && len(c.HeldBack) == 0 {
		return nil, nil
	}
	out := &croft.Uncommitted{HeldBack: c.HeldBack}
	if c.Head == c.committed {
		return out, nil
	}
	changes, err := c.attempts.Diff(ctx, c.committed, c.Head)
	if err != nil {
		return nil, err
	}
	for _, ch := range changes {
		switch {
		case ch.Adds():
			out.NewFiles++
		case ch.Deletes():
			out.DeletedFiles++
		}
	}
	counts, err := c.attempts.CountBetween(ctx, c.committed, c.Head)
	out.Changes = croft.Changes{Files: counts.Files, Added: counts.Added, Deleted: counts.Deleted}
	return out, err
}
