package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/git"
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
	if err != nil && !errors.Is(err, git.ErrNoObject) {
		return config.Merge{}, err
	}
	set, err := e.set.AtTarget(target+":"+rulesFile, o.Data)
	if err != nil {
		return config.Merge{}, err
	}
	r.lastRules.set(target, tip, o.OID, set.Config().Merge)
	return set.Config().Merge, nil
}

// followRules remembers that what was published has the same rules, if it has.
func (r *repo) followRules(ctx context.Context, attempts *git.Attempts, pub publication) {
	at, err := attempts.ReadCommit(ctx, pub.New)
	if err != nil {
		return
	}
	entries, err := attempts.ReadTree(ctx, at.Tree)
	if err != nil {
		return
	}
	file := ""
	if i := slices.IndexFunc(entries, func(e git.TreeEntry) bool { return e.Name == rulesFile }); i >= 0 {
		file = entries[i].OID
	}
	r.lastRules.follow(pub.Target, pub.Old, pub.New, file)
}
