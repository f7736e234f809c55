package dashboard

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
)

// maxPicks is how many files and hunks a form may choose.
const maxPicks = 5000

// reviewData is the page of a review: work that was frozen, to choose from.
type reviewData struct {
	Review  *croft.Review
	Repo    string
	Path    string // of the page, and where its form goes
	WSPath  string
	Dirs    []pickDir
	Files   []pickFile
	Pager   pager
	Drift   drift
	Applied *croft.Merge // what was applied last
	Queue   string
	Message string
}

// pickDir has the files of a directory, in the list beside the diff.
type pickDir struct {
	Name  string
	Files []*pickFile
}

// pickFile is a file of a review. Its path is encoded in the fields of the form: it may have
// characters that a page must not.
type pickFile struct {
	diffFile
	Value     string // of the fields
	HasMoved  bool   // the target changed it since the review
	IsTaken   bool   // its hunks are, unless the person says otherwise
	IsWhole   bool   // only all of it can be chosen here
	IsPartial bool   // not all of its hunks are on the page
}

// reviewPath is the address of a review.
func reviewPath(repo, review croft.ID) string {
	return repoPath(repo, "review/"+url.PathEscape(string(review)))
}

// createReview freezes the work of a workspace, and shows that.
func (d *dashboard) createReview(r *request) (string, error) {
	id := croft.ID(r.PathValue("ws"))
	req := croft.ReviewRequest{Repo: r.ref(), Workspace: croft.ByID(id), Applied: croft.AppliedHidden, Detail: croft.DetailStat, Key: r.key()}
	ws, err := d.workspaceOf(r)
	if err != nil {
		return "", err
	}
	if ws.Target == "" {
		req.Target = r.Repo.Branch // those of rounds have none
	}
	review, err := d.svc.CreateReview(r.Context(), req)
	if err != nil {
		return "", err
	}
	return reviewPath(r.Repo.ID, review.ID), nil
}

// reviewPage shows a review with a box for each file and hunk.
func (d *dashboard) reviewPage(r *request) (*page, error) {
	id := croft.ID(r.PathValue("review"))
	after := r.URL.Query().Get("after")
	req := croft.DiffRequest{Repo: r.ref(), Review: id, Detail: croft.DetailStat, Page: croft.Page{Limit: filesPerPage, After: after}}
	review, err := d.svc.Diff(r.Context(), req)
	if err != nil {
		return nil, err
	}
	data := &reviewData{
		Review: review, Repo: r.Repo.Name, Path: reviewPath(r.Repo.ID, id), WSPath: workspacePath(r.Repo.ID, review.Workspace, ""),
		Queue: queuePath(r.Repo.ID, review.Target),
	}
	files := make([]diffFile, 0, len(review.Files))
	for i, f := range review.Files {
		files = append(files, diffFile{ReviewFile: f, Number: i + 1, Letter: letterOf(f.Status), Path: f.Path, Show: data.Path + "/file?path=" + url.QueryEscape(f.Path)})
	}
	if err := d.openFiles(r, req, files); err != nil {
		return nil, err
	}
	data.Drift = d.driftOf(r, review)
	for _, f := range files {
		data.Files = append(data.Files, pickFileOf(f, data.Drift.has(f.Path)))
	}
	data.group()
	if review.Next != "" {
		data.Pager = pager{Text: "The first " + strconv.Itoa(len(files)) + " of " + countText(review.Total.Files, "file"), Next: data.Path + "?after=" + url.QueryEscape(review.Next)}
	}
	if after != "" {
		data.Pager.Text, data.Pager.Prev = "Further files", data.Path
	}
	if applied := r.URL.Query().Get("applied"); applied != "" {
		m, err := d.svc.Merge(r.Context(), croft.GetRequest{Repo: r.ref(), Ref: croft.ByID(croft.ID(applied))})
		if err != nil {
			return nil, err
		}
		data.Applied = m
	}
	p := &page{Template: "review", Title: "Review of " + review.WorkspaceName, Data: data, Live: []region{{Template: "applied", Data: data}}}
	p.watchDrift(r, data.Drift, data.Applied)
	return p, nil
}

// watchDrift has a page of a review say that it is old when its target has moved: what a person has
// chosen is not changed.
func (p *page) watchDrift(r *request, d drift, applied *croft.Merge) {
	p.Shape, p.OnShape = d.Now, shapeIsOld
	repo := r.Repo.ID
	p.Watch = func(e *croft.Event) bool {
		if applied != nil && e.Merge == applied.ID {
			return true
		}
		return e.Repo == repo && (e.Kind == croft.EventMergeMerged || e.Kind == croft.EventMergeReverted || e.Kind == croft.EventTargetMoved)
	}
}

// pickFileOf is a file with its boxes. What the page shows is chosen at first; what it does not show, and
// what the target has changed since, is not.
func pickFileOf(f diffFile, hasMoved bool) pickFile {
	out := pickFile{diffFile: f, Value: pathValue(f.Path), HasMoved: hasMoved}
	out.IsWhole = f.IsBinary || f.IsSubmodule || len(f.Hunks) == 0
	out.IsPartial = f.IsCut || !f.IsOpen
	out.IsTaken = !hasMoved && f.IsOpen && !f.IsCut
	return out
}

// pathValue encodes a path for a field of a form; an ordinary one stays as it is.
func pathValue(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// group sorts the files into directories.
func (data *reviewData) group() {
	for i := range data.Files {
		f := &data.Files[i]
		dir := strings.TrimSuffix(f.Path[:len(f.Path)-len(baseName(f.Path))], "/")
		if n := len(data.Dirs); n == 0 || data.Dirs[n-1].Name != dir {
			data.Dirs = append(data.Dirs, pickDir{Name: dir})
		}
		last := &data.Dirs[len(data.Dirs)-1]
		last.Files = append(last.Files, f)
	}
}

// reviewFileData is the page of one file of a review.
type reviewFileData struct {
	Review *croft.Review
	Repo   string
	Path   string
	WSPath string
	File   pickFile
	Pager  pager
	Drift  drift
}

// reviewFilePage shows one file of a review, by pages, with its own form. With part=1 it is only the lines, for
// the script, which puts them into the page of the review.
func (d *dashboard) reviewFilePage(r *request) (*page, error) {
	id, query := croft.ID(r.PathValue("review")), r.URL.Query()
	path := query.Get("path")
	review, err := d.svc.Diff(r.Context(), croft.DiffRequest{Repo: r.ref(), Review: id, Paths: []string{path}, Page: croft.Page{Limit: 1}})
	if err != nil {
		return nil, err
	}
	if len(review.Files) == 0 || review.Files[0].Path != path {
		return nil, &croft.Error{Code: croft.FileNotFound, Op: "review", Workspace: review.WorkspaceName, Message: "the review does not have this file"}
	}
	f := review.Files[0]
	from, _ := strconv.Atoi(query.Get("from"))
	from = max(from, 0)
	hunks, total := cutLines(hunksOf(f.Hunks), from, linesPerPage)
	data := &reviewFileData{Review: review, Repo: r.Repo.Name, Path: reviewPath(r.Repo.ID, id), WSPath: workspacePath(r.Repo.ID, review.Workspace, "")}
	address := data.Path + "/file?path=" + url.QueryEscape(path)
	to := min(from+linesPerPage, total)
	data.Pager.Text = "Lines " + numberText(from+1) + " to " + numberText(to) + " of " + numberText(total)
	if from > 0 {
		data.Pager.Prev = address + "&from=" + strconv.Itoa(max(0, from-linesPerPage))
	}
	if to < total {
		data.Pager.Next = address + "&from=" + strconv.Itoa(to)
	}
	data.Drift = d.driftOf(r, review)
	data.File = pickFileOf(diffFile{ReviewFile: f, Number: 1, Letter: letterOf(f.Status), Path: path, Show: address, Hunks: hunks, IsOpen: true}, data.Drift.has(path))
	data.File.IsPartial = data.File.IsPartial || from > 0 || to < total
	data.File.IsTaken = false // the person came to choose
	p := &page{Template: "reviewfile", Title: path + " · review of " + review.WorkspaceName, Data: data}
	p.watchDrift(r, data.Drift, nil)
	if query.Get("part") == "1" {
		p.Part = "pick-part"
	}
	return p, nil
}

// applyReview submits what was chosen of a review. A checked file means all of it, whatever its hunks say.
func (d *dashboard) applyReview(r *request) (string, error) {
	req := croft.ApplyRequest{Repo: r.ref(), Review: croft.ID(r.PathValue("review")), Message: strings.TrimSpace(r.PostFormValue("message")), Key: r.key()}
	if len(r.PostForm["path"])+len(r.PostForm["hunk"]) > maxPicks {
		return "", pickError("the form chooses too much at once: at most " + numberText(maxPicks) + " files and hunks")
	}
	whole := map[string]bool{}
	for _, value := range r.PostForm["path"] {
		path, err := url.PathUnescape(value)
		if err != nil {
			return "", pickError("the form names a file that cannot be")
		}
		whole[path] = true
		req.Paths = append(req.Paths, path)
	}
	for _, value := range r.PostForm["hunk"] {
		path, n, err := hunkOf(value)
		if err != nil {
			return "", err
		}
		if whole[path] {
			continue
		}
		if req.Hunks == nil {
			req.Hunks = map[string][]int{}
		}
		req.Hunks[path] = append(req.Hunks[path], n)
	}
	m, err := d.svc.SubmitApply(r.Context(), req)
	if err != nil {
		return "", err
	}
	return reviewPath(r.Repo.ID, req.Review) + "?applied=" + url.QueryEscape(string(m.ID)), nil
}

// hunkOf reads path:n.
func hunkOf(value string) (string, int, error) {
	i := strings.LastIndexByte(value, ':')
	if i < 0 {
		return "", 0, pickError("the form names a hunk that cannot be")
	}
	path, err := url.PathUnescape(value[:i])
	n, bad := strconv.Atoi(value[i+1:])
	if err != nil || bad != nil {
		return "", 0, pickError("the form names a hunk that cannot be")
	}
	return path, n, nil
}

func pickError(message string) error {
	return &croft.Error{Code: croft.InvalidRequest, Op: "apply", Message: message}
}
