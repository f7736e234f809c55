// Package rules reads how a target wants work to be merged, and knows which of its
// checks a person has approved.
//
// The rules are those of the croft.toml at the target's own tip, over the user's file
// and the defaults; environment and flags do not count, but that they can protect a target. So the user's own checks hold
// where the target names none, and rules in a workspace do not count until they are
// merged. A croft.toml that cannot be read is an error, never the defaults; a merge
// that brings such a file is refused. A person approves commands by their hash, per
// project; a call from inside a workspace approves nothing.
//
// The package owns the approvals below the state directory.
package rules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// Rules reads the rules of all targets.
type Rules struct {
	*project.Projects
	Variables Variables // required

	remembered sync.Map // rememberedRules by laneKey
}

// Variables gives workspaces the variables that a person has approved. Package equip implements it.
type Variables interface {
	GiveVariables(ctx context.Context, r *project.Project, workspaces []croft.ID)
}

// rulesFile is the file in which a target says how work is merged into it.
const rulesFile = "croft.toml"

// laneKey names a lane.
type laneKey struct {
	project croft.ID
	target  string
}

// rememberedRules are the rules at the commit of a lane that was read last. The rules
// of a commit change only with the settings of the user, and the next merge begins where the last one ended.
type rememberedRules struct {
	commit   string
	settings *config.Set // of the user
	file     string      // the object that the rules are in, or empty
	rules    config.Merge
}

// MergeSettings returns the settings for merges that a target has at tip. It fails if
// the croft.toml is lost, cannot be read or has an unknown key.
func (svc *Rules) MergeSettings(ctx context.Context, r *project.Project, target, tip string) (config.Merge, error) {
	if err := svc.Settings.Refresh(); err != nil {
		return config.Merge{}, err // what the user wants to be checked is not known
	}
	settings := svc.Settings.Set()
	if last, ok := svc.remembered.Load(laneKey{r.ID, target}); ok && last.(rememberedRules).commit == tip && last.(rememberedRules).settings == settings {
		return last.(rememberedRules).rules, nil
	}
	o, err := r.Git.ReadFileAt(ctx, tip, rulesFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return config.Merge{}, err // that the file's object is lost does not mean that there is no file
	}
	set, err := settings.AtTarget(target+":"+rulesFile, o.Data)
	if err != nil {
		return config.Merge{}, err
	}
	svc.remembered.Store(laneKey{r.ID, target}, rememberedRules{tip, settings, o.OID, set.Config().Merge})
	return set.Config().Merge, nil
}

// RememberTarget records where a protected target is when work for it begins, if its lane does not know it: else whoever moves the
// target before its first merge, or makes it a symbolic ref to another branch, would choose its rules. A target that cannot be
// read hinders no workspace: its merges are refused.
func (svc *Rules) RememberTarget(ctx context.Context, r *project.Project, target string) error {
	if r.Git == nil || target == "" {
		return nil
	}
	if _, err := svc.Journal.LaneTip(ctx, r.ID, target); !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	if to, err := r.Git.BranchOf(ctx, target); err != nil || to != target {
		return ctx.Err()
	}
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+target)
	if err != nil {
		return ctx.Err()
	}
	if rules, err := svc.MergeSettings(ctx, r, target, tip); err != nil || !rules.Protect {
		return ctx.Err()
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		if _, err := tx.LaneTip(r.ID, target); !errors.Is(err, journal.ErrNotFound) {
			return err
		}
		return tx.PutLaneTip(r.ID, target, tip)
	})
}

// NoticeChecks tells the caller if the settings in force in the project's directory (its
// croft.toml on disk, the user's file, environment and flags) have other checks than
// the target has, which decides.
func (svc *Rules) NoticeChecks(ctx context.Context, r *project.Project, target string) {
	here := svc.Settings.ForRepo(r.Path)
	checks := here.Config().Merge.Checks
	if len(checks) == 0 {
		return
	}
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+target)
	if err != nil {
		return // the driver of the lane rejects the merge because of it
	}
	rules, err := svc.MergeSettings(ctx, r, target, tip)
	if err != nil || slices.Equal(checks, rules.Checks) {
		return
	}
	svc.NoticeCall(ctx, "merge.checks of %s do not run: they are not in the %s of %s yet, which decides; commit them to %s", here.Source("merge.checks"), rulesFile, target, target)
}

// Guard refuses, with ConfigInvalid, a merge whose result after has another croft.toml
// than before, the result below it, if that file cannot be read or is no regular file:
// no merge could follow it. A result that deletes the file, or has the same unreadable
// file as before, passes. changes says that the file is not the same: what lands after the
// result has other rules, and perhaps other checks, than the result itself.
func (svc *Rules) Guard(ctx context.Context, attempts *mergetree.Session, m journal.Merge, before, after string) (changes bool, err error) {
	old, err := rulesEntry(ctx, attempts, before)
	if err != nil {
		return false, err
	}
	file, err := rulesEntry(ctx, attempts, after)
	if err != nil || file == old || file.OID == "" {
		return file != old, err
	}
	if !file.IsFile() {
		return true, &croft.Error{
			Code: croft.ConfigInvalid, Message: rulesFile + " is not a regular file in the result",
			Hint: "make it one in the workspace, then croft merge " + shellword.Quote(m.WorkspaceName),
		}
	}
	o, err := attempts.Read(ctx, file.OID)
	if err != nil {
		return true, err
	}
	if _, err := svc.Settings.AtTarget(m.WorkspaceName+":"+rulesFile, o.Data); err != nil {
		why := *croft.AsError("merge", err)
		why.Details = why.Hint
		why.Hint = fmt.Sprintf("mend %s in the workspace, then croft merge %s", rulesFile, shellword.Quote(m.WorkspaceName))
		return true, &why
	}
	return true, nil
}

// rulesEntry returns the tree entry of the rules file at the top of a commit, or the zero
// entry if the commit has none.
func rulesEntry(ctx context.Context, attempts *mergetree.Session, commit string) (object.TreeEntry, error) {
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

// Follow saves the next MergeSettings a read: it remembers the rules of old for the
// published commit if both have the same croft.toml. Nothing depends on it.
func (svc *Rules) Follow(ctx context.Context, r *project.Project, attempts *mergetree.Session, target, old, published string) {
	file, err := rulesEntry(ctx, attempts, published)
	last, ok := svc.remembered.Load(laneKey{r.ID, target})
	if err != nil || !ok {
		return
	}
	if last := last.(rememberedRules); last.commit == old && last.file == file.OID {
		svc.remembered.Store(laneKey{r.ID, target}, rememberedRules{published, last.settings, file.OID, last.rules})
	}
}

// ApprovedNow returns why a target's checks do not stop a merge now, or the empty string if
// they do or that is unknown.
func (svc *Rules) ApprovedNow(ctx context.Context, r *project.Project, target string) string {
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+target)
	if err != nil {
		return ""
	}
	rules, err := svc.MergeSettings(ctx, r, target, tip)
	if err != nil {
		return ""
	}
	switch _, ok, err := svc.ChecksTrusted(ctx, r, rules.Checks); {
	case err != nil || !ok:
		return ""
	case len(rules.Checks) == 0:
		return "the target asks for no checks now"
	}
	return "the target's checks are approved now"
}
