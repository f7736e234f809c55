package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
)

// discardData is the question before workspaces are discarded.
type discardData struct {
	Items  []discardItem
	Action string // where the answer goes
	Back   string
	Ready  int // how many can be discarded
}

// discardItem is a workspace that would be discarded, or the reason why it would not.
type discardItem struct {
	WS      *croft.Workspace
	Refused *croft.Error
	Name    string
	Seen    string // the work that is shown, for the form
}

// seenWork is the work of a workspace that a question showed.
type seenWork struct {
	stamp              string // empty: the work could not be read
	ahead, uncommitted int
}

// field is the work as the form carries it; seenIn reads it.
func (s seenWork) field(id croft.ID) string {
	return fmt.Sprintf("%s %d %d %s", id, s.ahead, s.uncommitted, s.stamp)
}

func (s seenWork) String() string {
	if s.uncommitted == 0 {
		return countText(s.ahead, "commit") + " and nothing uncommitted"
	}
	return countText(s.ahead, "commit") + " and " + countText(s.uncommitted, "uncommitted file")
}

// seenIn is the work of a workspace that the form of a request was made for.
func seenIn(r *request, id croft.ID) (seenWork, error) {
	for _, field := range r.PostForm["seen"] {
		parts := strings.Split(field, " ")
		if len(parts) != 4 || parts[0] != string(id) {
			continue
		}
		seen := seenWork{stamp: parts[3]}
		seen.ahead, _ = strconv.Atoi(parts[1])
		seen.uncommitted, _ = strconv.Atoi(parts[2])
		return seen, nil
	}
	return seenWork{}, &croft.Error{Code: croft.InvalidRequest, Op: "discard", Message: "the form does not say which work it was made for"}
}

// seenNow is the work of a workspace as a page shows it, with the stamp that it had before it was read: what is
// written in between counts as not seen.
func seenNow(ws *croft.Workspace, before *croft.Status) seenWork {
	var seen seenWork
	if before != nil {
		seen.stamp = before.Stamp
	}
	if ws.Work != nil {
		seen.ahead, seen.uncommitted = ws.Work.Ahead, ws.Work.Uncommitted
	}
	return seen
}

// discardPage asks before one workspace is discarded.
func (d *dashboard) discardPage(r *request) (*page, error) {
	ws, err := d.workspaceOf(r)
	if err != nil {
		return nil, err
	}
	data := &discardData{Back: workspacePath(r.Repo.ID, ws.ID, "")}
	data.Action = data.Back + "/discard"
	if err := d.planDiscard(r, data, r.Repo.ID, ws.ID); err != nil {
		return nil, err
	}
	return &page{Template: "discard", Title: "Discard " + ws.Name, Data: data}, nil
}

// planDiscard adds a workspace with what would become of it.
func (d *dashboard) planDiscard(r *request, data *discardData, repo, id croft.ID) error {
	before, err := d.svc.Status(r.Context(), croft.StatusRequest{Workspace: id})
	if err != nil {
		before = nil // it is broken, or gone: the page says so
	}
	ws, err := d.svc.Workspace(r.Context(), croft.WorkspaceRequest{Repo: croft.ByID(repo), Ref: croft.ByID(id), Look: oneLook})
	if err != nil {
		return err
	}
	result, err := d.svc.Discard(r.Context(), croft.DiscardRequest{Repo: croft.ByID(repo), Workspaces: []croft.Ref{croft.ByID(id)}, DryRun: croft.DryRunOn})
	if err != nil {
		return err
	}
	item := discardItem{WS: ws, Name: ws.Name, Seen: seenNow(ws, before).field(id)}
	for i := range result.Merges {
		item.Refused = refusedBy(&result.Merges[i])
	}
	if item.Refused == nil {
		data.Ready++
	}
	data.Items = append(data.Items, item)
	return nil
}

// refusedBy is why a workspace was not discarded.
func refusedBy(m *croft.Merge) *croft.Error {
	if m.Status == croft.MergeDiscarded {
		return nil
	}
	return &croft.Error{Code: m.Reason, Op: "discard", Workspace: m.WorkspaceName, Message: m.Message, Details: m.Details, Hint: m.Hint}
}

// discardOne discards the workspace that the path names, as the person was shown it.
func (d *dashboard) discardOne(r *request) (string, error) {
	id := croft.ID(r.PathValue("ws"))
	err := d.discard(r, r.Repo.ID, id)
	if isOutdated(err) {
		return "", r.askAgain(d.discardPage, "Inbox", err, func(p *page) string { return changedWork(r, p) })
	}
	if err != nil {
		return "", err
	}
	return repoPath(r.Repo.ID, ""), nil
}

// changedWork says what has changed in the workspaces of a question since it was asked.
func changedWork(r *request, p *page) string {
	var text []string
	for _, item := range p.Data.(*discardData).Items {
		was, err := seenIn(r, item.WS.ID)
		now := seenNow(item.WS, nil)
		if err != nil || strings.HasSuffix(item.Seen, " "+was.stamp) {
			continue
		}
		line := item.Name + " had " + was.String() + ", and has " + now.String() + " now."
		if was.String() == now.String() {
			line = item.Name + " has " + now.String() + " as before, with other content."
		}
		text = append(text, line)
	}
	return strings.Join(text, " ")
}

// discard discards a workspace. One that has work which the person was not shown is kept.
func (d *dashboard) discard(r *request, repo, id croft.ID) error {
	seen, err := seenIn(r, id)
	if err != nil {
		return err
	}
	agreed := &croft.Agreed{Workspaces: []croft.ID{id}, Stamps: map[croft.ID]string{id: seen.stamp}}
	if slices.Contains(r.PostForm["work"], string(id)) {
		agreed.WithWork = []croft.ID{id}
	}
	result, err := d.svc.Discard(r.Context(), croft.DiscardRequest{Repo: croft.ByID(repo), Workspaces: []croft.Ref{croft.ByID(id)}, Agreed: agreed, Key: r.key(string(id))})
	if err != nil {
		return err
	}
	for i := range result.Merges {
		if refused := refusedBy(&result.Merges[i]); refused != nil {
			return refused
		}
	}
	return nil
}

// discardSomePage asks before the workspaces that were selected in the list are discarded.
func (d *dashboard) discardSomePage(r *request) (*page, error) {
	chosen, err := chosenOf(r.URL.Query()["w"])
	if err != nil {
		return nil, err
	}
	data := &discardData{Action: "/discard", Back: "/"}
	for _, c := range chosen {
		if err := d.planDiscard(r, data, c.repo, c.id); err != nil {
			return nil, err
		}
	}
	return &page{Template: "discard", Title: "Discard " + countText(len(chosen), "workspace"), Data: data}, nil
}

// discardSome discards the workspaces that the question showed.
func (d *dashboard) discardSome(r *request) (string, error) {
	chosen, err := chosenOf(r.PostForm["w"])
	if err != nil {
		return "", err
	}
	for i, c := range chosen {
		err := d.discard(r, c.repo, c.id)
		if isOutdated(err) {
			return "", d.askAboutRest(r, chosen[i:], i, err)
		}
		if err != nil {
			return "", err
		}
	}
	return "/", nil
}

// askAboutRest asks again about the workspaces of a question that were not discarded, because the first of them
// has changed.
func (d *dashboard) askAboutRest(r *request, rest []chosenWorkspace, done int, refused error) error {
	query := url.Values{}
	for _, c := range rest {
		query.Add("w", string(c.repo)+"/"+string(c.id))
	}
	address := *r.URL
	address.RawQuery = query.Encode()
	r.URL = &address
	return r.askAgain(d.discardSomePage, "Inbox", refused, func(p *page) string {
		if done == 0 {
			return changedWork(r, p)
		}
		p.Notice.Title = "You are asked again about what is left"
		return countText(done, "workspace") + " went to the trash. " + changedWork(r, p)
	})
}

// chosenWorkspace is a workspace that was selected in a list, as REPO/ID.
type chosenWorkspace struct{ repo, id croft.ID }

const maxChosen = 200

func chosenOf(values []string) ([]chosenWorkspace, error) {
	var chosen []chosenWorkspace
	for _, v := range values {
		repo, id, ok := strings.Cut(v, "/")
		if !ok {
			continue
		}
		chosen = append(chosen, chosenWorkspace{croft.ID(repo), croft.ID(id)})
	}
	if len(chosen) == 0 || len(chosen) > maxChosen {
		return nil, &refusal{
			status: http.StatusBadRequest, title: "Nothing is selected", happened: "The form names no workspace, or too many.",
			left: "Nothing was changed.", next: "Go back and select some workspaces, at most " + numberText(maxChosen) + ".",
		}
	}
	return chosen, nil
}

// bulk does one thing to all selected workspaces, one after the other. The first that fails ends
// it, and its page says so; what was done before stays done, and is in the history.
func (d *dashboard) bulk(r *request) (string, error) {
	chosen, err := chosenOf(r.PostForm["w"])
	if err != nil {
		return "", err
	}
	do := r.PostFormValue("do")
	if do == "discard" {
		return "/discard?" + url.Values{"w": r.PostForm["w"]}.Encode(), nil
	}
	for i, c := range chosen {
		repo, ref := croft.ByID(c.repo), croft.ByID(c.id)
		switch do {
		case "merge":
			_, err = d.svc.SubmitMerge(r.Context(), croft.MergeRequest{Repo: repo, Workspace: ref, Key: r.key(string(c.id))})
		case "snapshot":
			_, err = d.svc.TakeSnapshot(r.Context(), croft.SnapshotRequest{Repo: repo, Workspace: ref, Key: r.key(string(c.id))})
		case "lock":
			_, err = d.svc.Lock(r.Context(), croft.LockRequest{Repo: repo, Workspace: ref, Key: r.key(string(c.id))})
		default:
			err = croft.InvalidRequest
		}
		if err != nil {
			e := *croft.AsError(do, err)
			if i > 0 {
				e.Message += "; it was done for the " + numberText(i) + " before it"
			}
			return "", &e
		}
	}
	if do == "merge" {
		return "/queue", nil
	}
	return r.back(), nil
}
