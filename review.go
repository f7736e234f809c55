package croft

import (
	"context"
	"time"
)

// FileStatus says what became of a file.
type FileStatus string

// The statuses of files.
const (
	FileAdded      FileStatus = "added"
	FileModified   FileStatus = "modified"
	FileDeleted    FileStatus = "deleted"
	FileRenamed    FileStatus = "renamed"    // and perhaps modified
	FileTypeChange FileStatus = "typechange" // a file became a link or a submodule, or the like
	FileMode       FileStatus = "mode"       // only its mode changed
)

// Review is the work of a workspace at one moment, uncommitted work included,
// measured from where it left its target. It is frozen: that the agent goes on
// working, or that the target moves, does not change it. It is kept as long as
// the trash.
type Review struct {
	ID            ID           `json:"id,omitempty"` // empty in the answer of Diff, which keeps nothing, unless it is of a review
	RepoID        ID           `json:"repoId,omitempty"`
	Workspace     ID           `json:"workspace"`
	WorkspaceName string       `json:"workspaceName"`
	Merge         ID           `json:"merge,omitempty"`    // in the answer of Diff: the merge whose work it is
	Left          TrashLeft    `json:"left,omitempty"`     // in the answer of Diff: what is left of a workspace that was removed; only of a directory, uncommitted work is shown
	Target        string       `json:"target"`             // a branch; empty: the workspace has none
	TargetCommit  string       `json:"targetCommit"`       // the commit that the target was at
	Base          string       `json:"base"`               // the commit that the work is measured from
	Head          string       `json:"head,omitempty"`     // a commit of the work; in the answer of Diff only if all of it is committed
	Files         []ReviewFile `json:"files"`              // by their paths; of a page, those on it
	Total         Changes      `json:"total"`              // of all pages
	Next          string       `json:"next,omitempty"`     // in the answer of Diff: for Page.After; empty: there is no further page
	HeldBack      []string     `json:"heldBack,omitempty"` // files that are left out, because they look like secrets, are large, are repositories, or git was told not to look at them
	CreatedAt     time.Time    `json:"createdAt"`
}

// Changes counts in how many files and lines work differs from its base.
type Changes struct {
	Files   int `json:"files"`
	Added   int `json:"added"` // lines
	Deleted int `json:"deleted"`
}

// ReviewFile is one file in which the work differs from its base.
//
// A path is as git has it, with slashes. One that is not UTF-8, or that begins
// with a double quote, is written as git quotes it: in double quotes, with
// octal numbers for bytes. So every path survives JSON.
type ReviewFile struct {
	Path        string     `json:"path"`
	OldPath     string     `json:"oldPath,omitempty"` // of a file that was renamed
	Status      FileStatus `json:"status"`
	OldMode     string     `json:"oldMode,omitempty"` // such as "100644"; empty where there was nothing
	NewMode     string     `json:"newMode,omitempty"`
	OldObject   string     `json:"oldObject,omitempty"` // the blob's name, or the commit of a submodule
	NewObject   string     `json:"newObject,omitempty"`
	IsBinary    bool       `json:"isBinary,omitempty"`
	NotShown    int64      `json:"notShown,omitempty"` // the bytes of a file that is too large for its lines to be compared; isBinary then, too
	IsSubmodule bool       `json:"isSubmodule,omitempty"`
	Added       int        `json:"added"` // lines
	Deleted     int        `json:"deleted"`
	Hunks       []Hunk     `json:"hunks,omitempty"` // none where the file changes only as a whole
	IsCut       bool       `json:"cut,omitempty"`   // hunks of it are without their lines, or left out: they do not fit on a page
}

// Hunk is one place in which a file changed. A range of no lines begins after
// the line that it names.
type Hunk struct {
	ID       int    `json:"id"`     // its number in the file, from 1
	Header   string `json:"header"` // as in a patch
	OldStart int    `json:"oldStart"`
	OldLines int    `json:"oldLines"`
	NewStart int    `json:"newStart"`
	NewLines int    `json:"newLines"`
	Text     string `json:"text,omitempty"` // the lines of the patch, as UTF-8
	Raw      []byte `json:"raw,omitempty"`  // the same as it is in the files, if that is not UTF-8
}

// ReviewRequest names a workspace whose work is to be reviewed.
type ReviewRequest struct {
	Key       string `json:"key,omitempty"`
	Repo      Ref    `json:"repo,omitempty"`
	Workspace Ref    `json:"workspace,omitempty"`
	Target    string `json:"target,omitempty"`
	// Applied: AppliedHidden leaves out what was applied before and is still in the
	// target.
	Applied Applied `json:"applied,omitempty"`
	// Detail says how much of each file the answer has. Diff shows the rest.
	Detail Detail `json:"detail,omitempty"`
}

// Applied says whether a review has what was applied before and is still in the target.
type Applied string

const (
	// AppliedShown: the review has all of the work, so that a program that is run again
	// gets the same. It is the default.
	AppliedShown Applied = ""
	// AppliedHidden leaves it out, for a person who chooses from the rest.
	AppliedHidden Applied = "hidden"
)

// ApplyRequest chooses a part of a review: whole files by Paths, some hunks of
// others by Hunks. A renamed file is chosen under its new path and takes the
// old one away. Mode and name of a file come along with any of its hunks.
type ApplyRequest struct {
	Key       string            `json:"key,omitempty"`
	Repo      Ref               `json:"repo,omitempty"`
	Review    ID                `json:"review"`
	Workspace Ref               `json:"workspace,omitempty"` // if it is given, the review must be of it: a name or an ID
	Paths     []string          `json:"paths,omitempty"`     // files, or directories with all below; "." is everything
	Hunks     map[string][]int  `json:"hunks,omitempty"`     // by path
	Edits     map[string][]Edit `json:"edits,omitempty"`     // by path: lines in place of hunks, where a hunk was divided or written anew
	Message   string            `json:"message,omitempty"`   // of the commit; default: which workspace it came from
}

// Edit puts lines in the place of others of the old side of a file. Those of a file are in order.
type Edit struct {
	OldStart int    `json:"oldStart"`       // the first line that goes, from 1; if none goes, the line after which the others come
	OldLines int    `json:"oldLines"`       // how many lines go
	Text     string `json:"text,omitempty"` // the lines that come, as UTF-8
	Raw      []byte `json:"raw,omitempty"`  // the same, if that is not UTF-8
}

// Reviews is the part of Service that shows work and applies a part of it.
type Reviews interface {
	// Diff shows the work of a workspace, of a review or of a merge, and keeps nothing.
	//
	// With a Limit it answers with a page: at most that many files, and fewer if their
	// lines are more than 1 MiB. All pages are of one state: if the work, or the commit
	// that it is measured from, has changed since the page before, the request fails with
	// CursorExpired. A review does not change. Files in conflict are shown as they are.
	Diff(ctx context.Context, req DiffRequest) (*Review, error)

	// Commits lists the commits of a workspace, the newest first, and counts its uncommitted
	// work. What the workspace began with is taken from Croft's record, not from the
	// repository. Without a Limit a page has 100 commits, and at most 500. A commit that came
	// after the page before is not on the next one; if the last commit of the page before is not
	// one of the workspace any more, because the branch was rewritten, the request fails with
	// CursorExpired.
	Commits(ctx context.Context, req CommitsRequest) (*Commits, error)

	// File returns a part of a file as it is on one side of work, uncommitted work
	// included. Links are not followed, but for one that an agent puts in the place of a
	// directory while that is read (docs/security.md). Only files that a commit of the work
	// would have are read: others are FileNotFound, and those that are held back
	// FileHeldBack.
	File(ctx context.Context, req FileRequest) (*FileContent, error)

	// CreateReview freezes the work of a workspace without disturbing it. The review is
	// on disk when CreateReview returns. Repeated with its Key, it may leave out the
	// lines of a large review.
	CreateReview(ctx context.Context, req ReviewRequest) (*Review, error)

	// Review finds a review by its ID, without the lines of its hunks, or fails with
	// ReviewNotFound. Diff has the lines.
	Review(ctx context.Context, req GetRequest) (*Review, error)

	// SubmitApply submits the chosen part of a review to its target as one commit,
	// through the lane and its checks. It returns at once; WaitMerge waits. If the target
	// changed one of the chosen files since the review the result is pending
	// with the reason BaseMoved; if it changed others only, the message says
	// so. It fails with ReviewNotFound if the review is not kept any more, and
	// with InvalidRequest if nothing is chosen or the choice cannot be.
	SubmitApply(ctx context.Context, req ApplyRequest) (*Merge, error)
}
