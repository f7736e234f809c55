// Package explain turns the errors of all other packages into the one error type that
// leaves the module, *croft.Error: a code, what happened, what is left as it is, and
// what to run next.
//
// Each kind of failure has one rule, and the first rule that knows an error explains
// it. The package reads errors and knows the packages that make them; it touches
// nothing else. A part of the engine that refuses something by its own decision returns
// a *croft.Error, which passes unchanged.
package explain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/isolated"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/provision"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/snapshot"
)

// aboutError is an error with the name of the workspace that it is about.
type aboutError struct {
	workspace string
	error
}

func (e *aboutError) Unwrap() error { return e.error }

// WithWorkspace adds to an error the name of the workspace that it is about, for errors
// whose workspace the caller of Error does not know.
func WithWorkspace(workspace string, err error) error {
	if err == nil {
		return nil
	}
	return &aboutError{workspace, err}
}

// ClosedError returns the error of a call to a Service that was closed.
func ClosedError(op string) *croft.Error {
	return &croft.Error{Code: croft.Closed, Op: op, Message: "the service was closed", Hint: "open another one"}
}

// IsSystem reports whether an error comes from the operating system, such as a full
// disk or a missing permission.
func IsSystem(err error) bool { return explainSystem(&croft.Error{}, err) }

// Error turns any error into a *croft.Error. It is called where a call ends, and where
// the reason of a failure is recorded in the journal.
func Error(op, workspace string, err error) error {
	if err == nil {
		return nil
	}
	if a, ok := errors.AsType[*aboutError](err); ok {
		workspace = a.workspace
	}
	if known, ok := errors.AsType[*croft.Error](err); ok {
		out := *known
		if out.Op == "" || out.Op == "name" || out.Op == "role" {
			out.Op = op
		}
		if out.Workspace == "" {
			out.Workspace = workspace
		}
		return &out
	}
	e := &croft.Error{Code: croft.Internal, Op: op, Workspace: workspace, Message: "unexpected failure", Err: err}
	for _, rule := range []func(*croft.Error, error) bool{
		explainContext, explainIrregular, explainForged, explainMissing, explainUnrelated, explainSubmodule, explainEdited, explainConfig, explainSystem, explainGit, explainCheckout, explainJournal,
	} {
		if rule(e, err) {
			break
		}
	}
	return e
}

func explainContext(e *croft.Error, err error) bool {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	e.Code, e.Message = croft.Canceled, "canceled; the operation was rolled back"
	return true
}

// explainIrregular comes before the rules about git and its configuration, whose errors
// wrap fsx.ErrNotRegular too.
func explainIrregular(e *croft.Error, err error) bool {
	if !errors.Is(err, fsx.ErrNotRegular) {
		return false
	}
	e.Code, e.Message, e.Details = croft.FileIrregular, "a link, a pipe or a device lies where a file belongs", err.Error()
	if link, ok := errors.AsType[*fsx.LinkError](err); ok {
		e.Message = link.Error()
	} else if pipe, ok := errors.AsType[*gitcmd.PipeError](err); ok {
		e.Message = pipe.Error()
	}
	e.Hint, e.Err = "remove it, after a look at what it is", nil
	return true
}

// explainForged comes before explainGit in the rules, because git reports some forged
// objects as a *gitcmd.Error.
func explainForged(e *croft.Error, err error) bool {
	if !errors.Is(err, object.ErrForged) && !errors.Is(err, gitcmd.KindForged) {
		return false
	}
	e.Code, e.Message, e.Details = croft.ObjectForged, "an object in the repository is not what its name says; nothing of it was taken", err.Error()
	if forged, ok := errors.AsType[*object.ForgedError](err); ok && forged.Path != "" {
		e.Message = fmt.Sprintf("the object of %q in the repository is not what its name says; nothing of it was taken", forged.Path)
	}
	if failed, ok := errors.AsType[*gitcmd.Error](err); ok {
		e.Details = failed.Stderr
	}
	e.Hint, e.Err = "git fsck --full, in the project", nil
	return true
}

// explainMissing comes before explainGit, because git reports some missing objects as a
// *gitcmd.Error.
func explainMissing(e *croft.Error, err error) bool {
	failed, isGits := errors.AsType[*gitcmd.Error](err)
	if !errors.Is(err, object.ErrMissing) && !errors.Is(err, gitcmd.KindMissing) || isGits && e.Op == "create" {
		return false // if git fails in a creation, the code is GIT_FAILED
	}
	e.Code, e.Message, e.Details = croft.ObjectMissing, "an object that a branch, a commit or the index names is not in the repository; nothing was taken", err.Error()
	if missing, ok := errors.AsType[*object.MissingError](err); ok && missing.Path != "" {
		e.Message = fmt.Sprintf("the object of %q is not in the repository; nothing was taken", missing.Path)
	}
	if isGits {
		e.Details = failed.Stderr
	}
	e.Hint, e.Err = "git fsck --full, in the project", nil
	return true
}

// explainUnrelated comes before explainSystem, because git ends in the middle of an
// answer then.
func explainUnrelated(e *croft.Error, err error) bool {
	if !errors.Is(err, gitcmd.KindUnrelated) {
		return false
	}
	e.Code, e.Message = croft.UnrelatedHistories, "the work and its target have no history in common, and git refuses to merge them"
	e.Hint, e.Err = "git merge --allow-unrelated-histories TARGET, in the workspace, if that is meant", nil
	return true
}

func explainSystem(e *croft.Error, err error) bool {
	switch {
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, gitcmd.KindNoSpace):
		e.Code, e.Message, e.Hint = croft.NoSpace, "the disk is full", "croft clean"
	case errors.Is(err, syscall.EIO) || errors.Is(err, gitcmd.KindIO):
		e.Code, e.Message, e.Hint = croft.DiskError, "the disk reports an error", "look at the system's log, then run the command again"
	case errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, gitcmd.KindDenied):
		e.Code, e.Message = croft.NotWritable, "no permission to write"
	case errors.Is(err, syscall.EBUSY) || errors.Is(err, gitcmd.KindBusy):
		e.Code, e.Message, e.Hint = croft.NotWritable, "the system uses the file: something is mounted there", "look at what is mounted (mount), then run the command again"
	default:
		return false
	}
	e.Details = err.Error()
	return true
}

// explainSubmodule explains that a submodule's commit would be lost, or is lost in
// part.
func explainSubmodule(e *croft.Error, err error) bool {
	if broken, ok := errors.AsType[*git.SubmoduleBrokenError](err); ok {
		e.Code, e.Details = croft.GitFailed, broken.Err.Error()
		e.Message = fmt.Sprintf("commit %.7s of the submodule %q is not whole in the workspace: files, trees or commits that it needs are missing or damaged", broken.Commit, broken.Path)
		e.Hint, e.Err = fmt.Sprintf("git fsck --full, in %s; then the same command again", shellword.Quote(broken.Work)), nil
		return true
	}
	local, ok := errors.AsType[*git.SubmoduleError](err)
	if !ok {
		return false
	}
	e.Code, e.Details = croft.SubmoduleLocal, local.Work
	e.Message = fmt.Sprintf("commit %.7s of the submodule %q is in the workspace alone, and the project has no copy of the submodule", local.Commit, local.Path)
	e.Hint, e.Err = fmt.Sprintf("git submodule update --init -- %s, in the project; or push it from %s; then the same command again", shellword.Quote(local.Path), shellword.Quote(local.Work)), nil
	return true
}

// explainEdited explains that a role's file was changed in the workspace.
func explainEdited(e *croft.Error, err error) bool {
	edited, ok := errors.AsType[*provision.EditedError](err)
	if !ok {
		return false
	}
	e.Code, e.Message, e.Details, e.Err = croft.WorkspaceDirty, edited.Error(), edited.Path, nil
	e.Hint = "croft role update --force " + quotedOr(e.Workspace, "NAME")
	return true
}

func explainGit(e *croft.Error, err error) bool {
	var tooOld *gitdir.TooOldError
	var failed *gitcmd.Error
	var private *isolated.PrivateError
	var late *gitcmd.TimeoutError
	var ref *refs.Error
	switch {
	case errors.As(err, &late):
		e.Code, e.Message, e.Hint = croft.GitTimeout, late.Error(), "the same command again; git.timeout sets the time"
	case errors.Is(err, gitdir.ErrNotFound):
		e.Code, e.Message, e.Hint = croft.GitNotFound, "git is not installed or not in PATH", "install git "+gitdir.Floor.String()+" or later"
	case errors.As(err, &tooOld):
		e.Code, e.Message, e.Hint = croft.GitTooOld, tooOld.Error(), "upgrade git"
	case errors.Is(err, gitdir.ErrNoRepository):
		e.Code, e.Message, e.Hint = croft.NotARepo, "not in a git repository", "git init"
		if e.Op == "create" {
			e.Details = "croft new --mode isolated works on a copy of the directory"
		}
	case errors.Is(err, gitdir.ErrDeadWorktree):
		e.Code, e.Message = croft.NotARepo, "this directory was a worktree, but its repository does not know it any more"
		e.Hint = "croft doctor --fix --repo <the repository>"
	case errors.Is(err, gitcmd.KindOwner):
		e.Code, e.Message = croft.NotARepo, "git does not trust this repository, because it belongs to another user"
		e.Hint = "git config --global --add safe.directory <the repository>"
		if owner, ok := errors.AsType[*gitcmd.OwnerError](err); ok {
			e.Details, e.Hint = owner.Error(), "git config --global --add safe.directory "+shellword.Quote(owner.Top)
		}
	case errors.As(err, &private):
		e.Code, e.Message, e.Details = croft.WorkspaceBroken, "the workspace's own git directory is not as Croft made it", private.Error()
		e.Hint = "croft remove --force " + quotedOr(e.Workspace, "<the workspace>")
	case errors.Is(err, worktree.ErrIndexLocked):
		e.Code, e.Message, e.Details = croft.WorkspaceBusy, "a git is at work in the workspace", err.Error()
		e.Hint = "wait for it, or delete the lock if no git is running"
	case errors.Is(err, gitcmd.KindLocked):
		e.Code, e.Message, e.Details = croft.WorkspaceBusy, "another git holds a lock that this needs", err.Error()
		e.Hint = "wait for it, or delete the lock if no git is running"
	case errors.Is(err, gitcmd.ErrForeignAdmin):
		e.Code, e.Message, e.Details = croft.WorkspaceBroken, "the workspace's git directory was changed to belong to another repository", err.Error()
		e.Hint = "croft remove --force <the workspace>"
	case errors.Is(err, mergetree.ErrSigning):
		e.Code, e.Message = croft.SigningFailed, "the commit could not be signed, and is not made unsigned"
		e.Hint = "git config commit.gpgsign"
	case errors.Is(err, gitcmd.ErrNoIdentity):
		e.Code, e.Message = croft.IdentityUnknown, "git does not know who you are"
		e.Hint = `git config --global user.email "you@example.com"`
	case errors.Is(err, gitcmd.KindFilter):
		e.Code, e.Message = croft.FilterRefused, "a content filter that this repository requires did not run"
		e.Hint = "croft config accept, if you trust its command"
	case errors.As(err, &ref):
		e.Code, e.Message = croft.GitFailed, ref.Error()
	case errors.As(err, &failed):
		e.Code, e.Message, e.Details = croft.GitFailed, strings.TrimSuffix(failed.Error(), "."), failed.Stderr
		e.Err = nil
		return true
	default:
		return false
	}
	if errors.As(err, &failed) {
		e.Details = failed.Stderr
	}
	e.Err = nil
	return true
}

func explainCheckout(e *croft.Error, err error) bool {
	switch {
	case errors.Is(err, checkout.ErrExists):
		e.Code, e.Message = croft.WorktreeExists, "something is already at the path"
	case errors.Is(err, checkout.ErrOther) || errors.Is(err, fsx.ErrOther):
		e.Code, e.Message = croft.WorkspaceBroken, "what lies there is not what Croft made; it is left alone"
		e.Hint = "look at it and move it away, then run the command again"
	case errors.Is(err, fsx.ErrMount):
		e.Code, e.Message = croft.NotWritable, "another file system is mounted there"
		e.Hint = "look at what is mounted (mount), then run the command again"
	case errors.Is(err, fsx.ErrLink):
		e.Code, e.Message = croft.NotWritable, "a link, or another thing that does not belong there, is in the way"
		e.Hint = "look at it and move it away, then run the command again"
	case errors.Is(err, snapshot.ErrChanging):
		e.Code, e.Message = croft.WorkspaceBusy, "files of the workspace change while they are saved"
		e.Hint = "the same command again, when the agent is idle"
	case errors.Is(err, checkout.ErrDiffers):
		e.Code, e.Message = croft.GitFailed, "the checkout is not what the commit says"
	default:
		return false
	}
	e.Details, e.Err = err.Error(), nil
	return true
}

func explainJournal(e *croft.Error, err error) bool {
	if errors.Is(err, journal.ErrClosed) {
		*e = *ClosedError(e.Op)
		return true
	}
	if errors.Is(err, journal.ErrReadOnly) {
		e.Code, e.Message, e.Hint = croft.ReadOnly, "this process cannot write Croft's record", "run it outside of the sandbox"
		return true
	}
	if revision, ok := errors.AsType[*journal.RevisionError](err); ok {
		e.Code, e.Message, e.Err = croft.RevisionChanged, "it was changed since it was looked at: "+revision.Error(), nil
		e.Details, e.Hint = "Nothing was changed.", "croft show "+quotedOr(e.Workspace, "<the workspace>")
		e.Fields = map[string]string{"revision": strconv.Itoa(revision.Have), "wanted": strconv.Itoa(revision.Want)}
		return true
	}
	if row, ok := errors.AsType[*journal.RowError](err); ok {
		e.Code, e.Message, e.Hint = croft.StateUnavailable, row.Noun()+" cannot be read", "croft doctor"
		e.Details = fmt.Sprintf("It is the row with the key %s in the table %s of the state. All others can be read.", row.Key, row.Table)
		e.Err = nil
		return true
	}
	if !errors.Is(err, journal.ErrCorrupt) && !errors.Is(err, journal.ErrBusy) {
		return false
	}
	e.Code, e.Message, e.Hint = croft.StateUnavailable, "the state database cannot be used", "croft doctor"
	return true
}

// explainChanges says what is new in the repository's git configuration. A remote that was added since Croft
// first saw the repository is nothing bad; a person says once that it is meant.
func explainChanges(e *croft.Error, changes []gitcmd.ConfigChange) {
	e.Code, e.Message, e.Hint = croft.ConfigChanged, "the repository's git configuration is not the one that Croft knows", "croft config accept"
	isAdded := len(changes) > 0
	details, names := []string{}, []string{}
	for _, c := range changes {
		name, isRemote := gitconfig.Subsection(c.Key, "remote.")
		isAdded = isAdded && isRemote && len(c.Was) == 0
		if isRemote {
			c.Key = fmt.Sprintf("%s: %.300q", c.Key, c.Now)
			if len(c.Was) > 0 {
				c.Key += fmt.Sprintf(", was %.300q", c.Was)
			}
		}
		if details = append(details, c.Key); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if isAdded {
		e.Message = fmt.Sprintf("the remote %.100s is new: it was added after Croft first saw this repository", strings.Join(names, ", "))
		details = append(details, "Nothing was pushed or fetched. Agents can write the repository's configuration, so you say once that a remote is meant.")
	}
	e.Details = strings.Join(details, "\n")
}

// explainConfig explains errors about the repository's git configuration, and about an
// unsafe git.
func explainConfig(e *croft.Error, err error) bool {
	var changed *gitcmd.ConfigChangedError
	var extension *gitconfig.UnknownExtensionError
	switch {
	case errors.As(err, &changed):
		explainChanges(e, changed.Changes)
	case errors.As(err, &extension):
		e.Code, e.Message = croft.Unsupported, extension.Error()+", which Croft does not know"
	case errors.Is(err, gitcmd.ErrUnsafeGit):
		e.Code, e.Message, e.Details = croft.GitUnsafe, gitcmd.ErrUnsafeGit.Error(), err.Error()
		e.Hint = "use another version of git"
	case errors.Is(err, gitconfig.ErrConfig):
		e.Code, e.Message, e.Details = croft.GitFailed, gitconfig.ErrConfig.Error(), err.Error()
	default:
		return false
	}
	e.Err = nil
	return true
}

// quotedOr is a name as a word of a command, or what stands for it where none is known.
func quotedOr(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return shellword.Quote(name)
}
