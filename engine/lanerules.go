package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
)

// rulesFile is where a target says how work is merged into it.
const rulesFile = "croft.toml"

// lastRules remember the rules of the commit that was looked at last. What a
// commit says never changes, and the next merge begins where the last one ended.
type lastRules struct {
	mu     sync.Mutex
	target string
	commit string
	file   string // the object that the rules are in, or empty
	rules  config.Merge
}

func (l *lastRules) of(target, commit string) (config.Merge, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rules, l.commit == commit && l.target == target
}

func (l *lastRules) set(target, commit, file string, rules config.Merge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target, l.commit, l.file, l.rules = target, commit, file, rules
}

// follow says that the target has another commit now, in which the rules are in
// an object.
func (l *lastRules) follow(target, from, to, file string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.target == target && l.commit == from && l.file == file {
		l.commit = to
	}
}

// rules are the target's own settings for merges.
func (e *Engine) rules(ctx context.Context, r *repo, target, tip string) (config.Merge, error) {
	if known, ok := r.lastRules.of(target, tip); ok {
		return known, nil
	}
	o, err := r.git.ReadFileAt(ctx, tip, rulesFile)
	if err != nil && !errors.Is(err, object.ErrMissing) {
		return config.Merge{}, err
	}
	set, err := e.set.AtTarget(target+":"+rulesFile, o.Data)
	if err != nil {
		return config.Merge{}, err
	}
	r.lastRules.set(target, tip, o.OID, set.Config().Merge)
	return set.Config().Merge, nil
}

// noticeChecks tells whoever set checks where they do not count.
func (e *Engine) noticeChecks(r *repo, target string, rules config.Merge) {
	here := e.set.ForRepo(r.path)
	checks := here.Config().Merge.Checks
	if len(checks) == 0 || slices.Equal(checks, rules.Checks) {
		return
	}
	at := here.Source("merge.checks")
	e.notice("merge.checks of %s did not run: those in %s as %s has it decide; commit them there", at, rulesFile, target)
}

// guardRules refuses a result whose rules cannot be read: no merge could follow
// it. before is the result below it.
func (e *Engine) guardRules(ctx context.Context, attempts *git.Attempts, m journal.Merge, before, after string) error {
	old, err := rulesIn(ctx, attempts, before)
	if err != nil {
		return err
	}
	file, err := rulesIn(ctx, attempts, after)
	if err != nil || file == old || file.OID == "" {
		return err
	}
	if !file.IsFile() {
		return &croft.Error{
			Code: croft.ConfigInvalid, Message: rulesFile + " is not a regular file in the result",
			Hint: "make it one in the workspace, then croft merge " + m.Workspace,
		}
	}
	o, err := attempts.Read(ctx, file.OID)
	if err != nil {
		return err
	}
	if _, err := e.set.AtTarget(m.Workspace+":"+rulesFile, o.Data); err != nil {
		why := *croft.AsError("merge", err)
		why.Details = why.Hint
		why.Hint = fmt.Sprintf("mend %s in the workspace, then croft merge %s", rulesFile, m.Workspace)
		return &why
	}
	return nil
}

// rulesIn is the entry of the rules at the top of a commit, if it has one.
func rulesIn(ctx context.Context, attempts *git.Attempts, commit string) (object.TreeEntry, error) {
	at, err := attempts.ReadCommit(ctx, commit)
	if err != nil {
		return object.TreeEntry{}, err
	}
	entries, err := attempts.ReadTree(ctx, at.Tree)
	if err != nil {
		return object.TreeEntry{}, err
	}
	if i := slices.IndexFunc(entries, func(e object.TreeEntry) bool { return e.Name == rulesFile }); i >= 0 {
		return entries[i], nil
	}
	return object.TreeEntry{}, nil
}

// followRules remembers that what was published has the same rules, if it has.
func (r *repo) followRules(ctx context.Context, attempts *git.Attempts, pub publication) {
	if file, err := rulesIn(ctx, attempts, pub.New); err == nil {
		r.lastRules.follow(pub.Target, pub.Old, pub.New, file.OID)
	}
}
