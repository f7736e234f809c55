package push

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/forge"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/work"
)

// request is a push whose commit is at the remote.
type request struct {
	croft.PushRequest
	to   destination
	head string
}

// openPull finds or opens the pull request of a branch that was pushed, records it, and adds
// to the answer what a person has to do by hand.
func (svc *Pushes) openPull(ctx context.Context, r *project.Project, rec *journal.Record, req request, out *croft.Pushed) error {
	base := rec.Workspace.Target
	if base == "" {
		return &croft.Error{Code: croft.TargetNotFound, Message: "the workspace has no target, so nobody knows where its pull request goes to", Details: "Its branch was pushed."}
	}
	host, ok := forge.HostOf(req.to.URL)
	if !ok {
		out.Remarks = append(out.Remarks, fmt.Sprintf("no pull request was opened: %s is at an address without pull requests, %s", req.to.Name, mask(req.to.URL)))
		return nil
	}
	tool, ok := svc.toolOf(ctx, r, host)
	if !ok {
		out.Compare = host.CompareURL(base, req.to.branch)
		remark := "the branch is pushed, but no pull request was opened: " + missingTool(host)
		if out.Compare != "" {
			remark += "; open it at " + out.Compare
		}
		out.Remarks = append(out.Remarks, remark)
		return nil
	}
	pull, err := svc.findOrOpen(ctx, r, *rec, tool, req)
	if err != nil {
		return svc.toolError(err)
	}
	if req.Queue == croft.QueueJoin && pull.State == forge.Open {
		if pull.Head != req.head || pull.Base != base {
			return errors.Join(svc.recordPull(ctx, r, rec, req.to, pull), &croft.Error{
				Code: croft.RemoteAdvanced, Message: fmt.Sprintf("the pull request is at %.12s into %s, and not at %.12s into %s: it was not given to the merge queue", pull.Head, oneLine(pull.Base), req.head, base),
				Hint: "croft push --status " + shellword.Quote(rec.Workspace.Name),
			})
		}
		if err := tool.Join(ctx, pull); err != nil {
			return errors.Join(svc.recordPull(ctx, r, rec, req.to, pull), svc.toolError(err))
		}
		out.Remarks = append(out.Remarks, fmt.Sprintf("%s merges it when its requirements are met", host.Name))
	}
	return svc.recordPull(ctx, r, rec, req.to, pull)
}

func missingTool(host forge.Host) string {
	if name := host.ToolName(); name != "" {
		return name + " is not in your PATH"
	}
	return "Croft knows no tool for the pull requests of " + host.Name
}

// findOrOpen returns the open pull request of a branch, or the one by which its commit was
// merged, or opens one.
func (svc *Pushes) findOrOpen(ctx context.Context, r *project.Project, rec journal.Record, tool forge.Tool, req request) (forge.Pull, error) {
	list, err := tool.Pulls(ctx, req.to.branch)
	if err != nil {
		return forge.Pull{}, err
	}
	given := forge.NewPull{Branch: req.to.branch, Base: rec.Workspace.Target, Title: titleText(req.Title), Body: bodyText(req.Body)}
	for _, p := range list {
		if p.State == forge.Open && (given.Title != "" || given.Body != "") {
			return tool.Change(ctx, p.Number, given)
		}
		if p.State == forge.Open || p.State == forge.Merged && p.Head == req.head {
			return p, nil
		}
	}
	title, body, err := svc.describe(ctx, r, rec, req.head)
	if err != nil {
		return forge.Pull{}, err
	}
	if given.Title == "" {
		given.Title = title
	}
	if given.Body == "" {
		given.Body = body
	}
	return tool.Open(ctx, given)
}

// toolOf finds the tool of a host, outside of the project and of all workspaces.
func (svc *Pushes) toolOf(ctx context.Context, r *project.Project, host forge.Host) (forge.Tool, bool) {
	dirs := []string{r.Path}
	if records, err := svc.Journal.Records(ctx, r.ID); err == nil {
		for _, rec := range records {
			dirs = append(dirs, rec.Workspace.Path, rec.BaseDir)
		}
	}
	return forge.FindTool(host, svc.Environ, func(path string) bool {
		for _, dir := range dirs {
			if dir == "" || dir == filepath.Dir(r.Path) { // a layout may keep workspaces beside the project
				continue
			}
			for _, d := range []string{dir, realPath(dir)} {
				if rel, err := filepath.Rel(d, path); err == nil && filepath.IsLocal(rel) {
					return true
				}
			}
		}
		return false
	})
}

func realPath(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// toolError explains the failure of a tool.
func (svc *Pushes) toolError(err error) error {
	failed, ok := errors.AsType[*forge.ToolError](err)
	if !ok {
		return err
	}
	return &croft.Error{
		Code: croft.HostRefused, Message: fmt.Sprintf("%s did not do what it was asked: %s", failed.Tool, oneLine(failed.Text)),
		Details: lines(failed.Text), Hint: failed.Tool + " auth status", Fields: map[string]string{"tool": failed.Tool},
	}
}

// The lengths of titles and descriptions.
const (
	maxTitle   = 250
	maxBody    = 60_000
	maxCommits = 50
)

// describe makes a title and a description of the work: of one commit its message, of several
// the name of the workspace and their subjects. Commits of what was left uncommitted, whose message is Croft's,
// say nothing.
func (svc *Pushes) describe(ctx context.Context, r *project.Project, rec journal.Record, head string) (title, body string, err error) {
	from := rec.Workspace.Base
	if tip, err := r.Git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Target); err == nil {
		from = tip
	}
	log, err := r.Git.Log(ctx, from, head, maxCommits)
	if err != nil {
		return "", "", err
	}
	own, _, _ := strings.Cut(work.DefaultMessage(r, rec), "\n")
	log = slices.DeleteFunc(log, func(c odb.LogEntry) bool { return c.Subject == strings.TrimSpace(own) })
	if len(log) == 1 {
		c, err := r.Git.ReadCommit(ctx, log[0].Commit)
		if err != nil {
			return "", "", err
		}
		subject, rest, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
		return titleText(subject), bodyText(withoutTrailers(rest)), nil
	}
	for i := range log {
		body += "- " + plain(log[len(log)-1-i].Subject) + "\n"
	}
	name := []rune(strings.NewReplacer("-", " ", "_", " ").Replace(rec.Workspace.Name))
	if len(name) > 0 {
		name[0] = unicode.ToUpper(name[0])
	}
	return titleText(string(name)), bodyText(body), nil
}

// withoutTrailers returns a message without Croft's own lines in it.
func withoutTrailers(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "Croft-") {
			out = append(out, line)
		}
	}
	return strings.TrimSpace(strings.Join(out, ""))
}

// titleText returns a title of one line.
func titleText(text string) string { return cut(plain(strings.ToValidUTF8(text, "?")), maxTitle) }

// bodyText returns a description without control characters.
func bodyText(text string) string {
	var out []string
	for line := range strings.Lines(strings.ToValidUTF8(text, "?")) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		out = append(out, indent+plain(line))
	}
	return cut(strings.TrimSpace(strings.Join(out, "\n")), maxBody)
}
