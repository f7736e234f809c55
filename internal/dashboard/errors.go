package dashboard

import (
	"errors"
	"net/http"
	"strings"

	"github.com/croft-sh/croft"
)

// refusal is a failure of the dashboard itself.
type refusal struct {
	status                      int
	title, happened, left, next string
}

func (r *refusal) Error() string { return r.title }

// errNoPage is for a stream of a page that there is not.
var errNoPage = &refusal{
	status: http.StatusNotFound, title: "There is no such page", happened: "Updates were asked for of a page that there is not.",
	left: "Nothing was changed.", next: "Load the page again.",
}

// errorData is what the page of an error shows.
type errorData struct {
	Code     croft.Code
	Status   int
	Title    string
	Happened string
	Details  string
	Left     string
	Next     string
	Command  string
	Back     string // the page that the form was on
	Inbox    string
	Open     string // the address of what was meant
	Restore  string // the action that brings the workspace back
	Undo     string // the address of the question before its merge is taken back
}

// fail writes the page of an error.
func (d *dashboard) fail(w http.ResponseWriter, r *request, err error) {
	data := describe(err)
	if data.Status >= http.StatusInternalServerError {
		d.log.ErrorContext(r.Context(), "page", "path", r.URL.Path, "error", err)
	}
	data.Inbox = r.path("")
	if data.Code == croft.WorktreeNotFound && r.Repo != nil && r.PathValue("ws") != "" {
		d.describeGone(r, &data)
	}
	if r.Method == http.MethodPost {
		data.Back = localPath(r.FormValue("back"))
	}
	d.failAs(w, r, data)
}

// failAs writes the page of an error that was described, with the navigation for a caller who may see it. The page
// stands alone if the projects cannot be read.
func (d *dashboard) failAs(w http.ResponseWriter, r *request, data errorData) {
	if !r.maySee() || r.Repos == nil && r.findRepos() != nil {
		d.failAlone(w, r, data)
		return
	}
	d.show(w, r, &page{Template: "error", Title: data.Title, Status: data.Status, Data: &data, IsStill: true})
}

// failAlone writes the page of an error without the navigation.
func (d *dashboard) failAlone(w http.ResponseWriter, r *request, data errorData) {
	f := d.bareFrame(r)
	f.Title = data.Title
	d.writeAlone(w, r, data.Status, "error", f, data)
}

// describe turns an error into what its page says. What state a failure of the Service left is in
// its message, where the code does not say it.
func describe(err error) errorData {
	if own, ok := errors.AsType[*refusal](err); ok {
		return errorData{Status: own.status, Title: own.title, Happened: own.happened, Left: own.left, Next: own.next}
	}
	e := croft.AsError("show", err)
	data := errorData{Code: e.Code, Status: e.Code.HTTPStatus(), Title: titles[e.Code], Happened: e.Message, Details: e.Details, Left: leftBy(e.Code)}
	if data.Title == "" {
		data.Title = "That was not done"
	}
	if e.Workspace != "" {
		data.Happened = e.Workspace + ": " + e.Message
	}
	data.Command = e.Hint
	data.Next = "Go back and look at what is there now."
	if e.Hint != "" {
		data.Next = "In a terminal:"
	}
	return data
}

// titles say in a line what a code means to the person who pressed a button.
var titles = map[croft.Code]string{
	croft.WorktreeNotFound:  "There is no such workspace now",
	croft.WorkspaceBusy:     "A process is at work in it",
	croft.WorkspaceDirty:    "It holds uncommitted work",
	croft.WorkspaceLocked:   "A person locked it",
	croft.WorkspaceBroken:   "The workspace is not as Croft left it",
	croft.WorkChanged:       "The work has changed since you saw it",
	croft.RevisionChanged:   "It has changed since you saw it",
	croft.TargetMoved:       "The target has moved since you saw it",
	croft.TargetNotFound:    "The target branch is not there",
	croft.MergeNotFound:     "There is no such merge now",
	croft.NotMerged:         "It is not in its target",
	croft.SnapshotNotFound:  "There is no such snapshot now",
	croft.OperationNotFound: "There is no such act in the history",
	croft.CheckNotFound:     "There is no such output now",
	croft.RunNotFound:       "Croft has started no such agent",
	croft.FileNotFound:      "The work has no such file",
	croft.FileHeldBack:      "The file is held back",
	croft.CursorExpired:     "The list has changed",
	croft.Conflict:          "Two sides changed the same place",
	croft.InProgress:        "The workspace is in the middle of something",
	croft.NoSpace:           "The disk is full",
	croft.NotARepo:          "The project is not where it was",
	croft.StateUnavailable:  "Croft's own state cannot be read",
	croft.Closed:            "Croft is being stopped",
	croft.Canceled:          "It took too long",
	croft.Unauthenticated:   "You are not signed in",
	croft.AccessDenied:      "This request is not let in",
	croft.LimitReached:      "That is too many for now",
	croft.ReviewNotFound:    "There is no such review now",
	croft.BaseMoved:         "The target changed these files since the review",
	croft.SessionNotFound:   "There is no such session now",
	croft.RoundNotFound:     "There is no such round now",
	croft.RoundBusy:         "The round is not over",
	croft.ChecksUntrusted:   "These are not the checks that you saw",
	croft.ConfigChanged:     "The configuration is not the one that you saw",
	croft.TokenNotFound:     "There is no such token now",
	croft.InvalidName:       "That name cannot be used",
	croft.InvalidRequest:    "That cannot be done",
	croft.Unsupported:       "Croft cannot do that yet",
	croft.Internal:          "A defect in Croft",
}

// leftBy says what state a failure with the code left.
func leftBy(code croft.Code) string {
	switch code {
	case croft.GitFailed, croft.CleanupFailed, croft.DiskError, croft.Internal, croft.GitTimeout:
		return "What had been begun was rolled back, or is finished by the next call. The history says which."
	case croft.Canceled:
		return "What had been begun was rolled back, or the message says what goes on."
	}
	return "Everything is as it was. Nothing was moved or deleted."
}

// localPath is a path of this dashboard, or nothing: no form sends a browser elsewhere.
func localPath(to string) string {
	isOdd := func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsFunc(to, isOdd) {
		return ""
	}
	return to
}
