package dashboard

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/croft-sh/croft"
)

const (
	filesPerPage = 100  // of a diff
	openLines    = 400  // a file with more changed lines is closed
	linesPerPage = 1500 // of all open files of a page, and of the page of one file
)

// changesData is the tab with the changes of a workspace.
type changesData struct {
	Review *croft.Review
	Dirs   []diffDir
	Files  []diffFile
	Pager  pager
}

// diffDir has the files of a directory, in the list beside the diff.
type diffDir struct {
	Name  string
	Files []*diffFile
}

// diffFile is a file of a diff.
type diffFile struct {
	croft.ReviewFile
	Number int    // on the page, for its id
	Letter string // A, M, D, R
	Path   string
	Show   string // the address of all of it
	Hunks  []diffHunk
	IsOpen bool
}

// workspacePage is the first tab of a workspace: its changes.
func (d *dashboard) workspacePage(r *request) (*page, error) {
	v, err := d.viewOf(r, "")
	if err != nil {
		return nil, err
	}
	p := v.pageOf("workspace", "")
	req := croft.DiffRequest{Repo: r.ref(), Workspace: croft.ByID(v.WS.ID), Detail: croft.DetailStat, Page: croft.Page{Limit: filesPerPage, After: r.URL.Query().Get("after")}}
	if v.isGone() && v.Merge != nil && v.Merge.Status == croft.MergeMerged {
		req.Workspace, req.Merge = "", v.Merge.ID
	}
	review, err := d.svc.Diff(r.Context(), req)
	if err != nil {
		v.Body = &changesData{}
		p.Template = "nochanges"
		v.Body = croft.AsError("diff", err)
		return p, nil
	}
	data := &changesData{Review: review}
	// What can be merged here is what the page shows: with other changes it is loaded again.
	p.Shape = fmt.Sprint(v.WS.Head, shapeOfDiff(review))
	for i, f := range review.Files {
		data.Files = append(data.Files, diffFile{ReviewFile: f, Number: i + 1, Letter: letterOf(f.Status), Path: f.Path, Show: v.Path + "/file?path=" + url.QueryEscape(f.Path)})
	}
	if err := d.openFiles(r, req, data.Files); err != nil {
		return nil, err
	}
	data.group()
	if review.Next != "" {
		data.Pager = pager{Text: "The first " + strconv.Itoa(len(review.Files)) + " of " + countText(review.Total.Files, "file"), Next: v.Path + "?after=" + url.QueryEscape(review.Next)}
	}
	if req.After != "" {
		data.Pager.Text, data.Pager.Prev = "Further files", v.Path
	}
	v.Body = data
	return p, nil
}

// shapeOfDiff stands for the changes that a page shows.
func shapeOfDiff(review *croft.Review) string {
	return fmt.Sprint(review.Head, review.Base, review.Total)
}

// openFiles reads the lines of files that are short enough, as many as fit on a page.
func (d *dashboard) openFiles(r *request, req croft.DiffRequest, files []diffFile) error {
	left := linesPerPage
	req.Paths, req.Detail, req.Page = nil, croft.DetailLines, croft.Page{Limit: filesPerPage}
	for i := range files {
		if f := &files[i]; !f.IsBinary && f.Added+f.Deleted <= min(openLines, left) {
			left -= f.Added + f.Deleted
			f.IsOpen = true
			req.Paths = append(req.Paths, f.Path)
		}
	}
	if len(req.Paths) == 0 {
		return nil
	}
	review, err := d.svc.Diff(r.Context(), req)
	if err != nil {
		return err
	}
	for _, f := range review.Files {
		if i := slices.IndexFunc(files, func(have diffFile) bool { return have.Path == f.Path }); i >= 0 {
			files[i].Hunks, files[i].IsCut = hunksOf(f.Hunks), f.IsCut
		}
	}
	return nil
}

// group sorts the files into directories.
func (data *changesData) group() {
	for i := range data.Files {
		f := &data.Files[i]
		dir := f.Path[:max(0, len(f.Path)-len(baseName(f.Path))-1)]
		if n := len(data.Dirs); n == 0 || data.Dirs[n-1].Name != dir {
			data.Dirs = append(data.Dirs, diffDir{Name: dir})
		}
		n := len(data.Dirs) - 1
		data.Dirs[n].Files = append(data.Dirs[n].Files, f)
	}
}

// fileData is the page of one file of a diff.
type fileData struct {
	File  diffFile
	Pager pager
}

// filePage shows the changes of one file, by pages. With part=1 it is only the lines, for the
// script, which puts them into the page of the workspace.
func (d *dashboard) filePage(r *request) (*page, error) {
	v, err := d.viewOf(r, "")
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	path := query.Get("path")
	req := croft.DiffRequest{Repo: r.ref(), Workspace: croft.ByID(v.WS.ID), Paths: []string{path}, Page: croft.Page{Limit: 1}}
	if v.isGone() && v.Merge != nil && v.Merge.Status == croft.MergeMerged {
		req.Workspace, req.Merge = "", v.Merge.ID
	}
	review, err := d.svc.Diff(r.Context(), req)
	if err != nil {
		return nil, err
	}
	if len(review.Files) == 0 || review.Files[0].Path != path {
		return nil, &croft.Error{Code: croft.FileNotFound, Op: "diff", Workspace: v.WS.Name, Message: "the work does not change this file now"}
	}
	f := review.Files[0]
	from, _ := strconv.Atoi(query.Get("from"))
	hunks, total := cutLines(hunksOf(f.Hunks), max(from, 0), linesPerPage)
	address := v.Path + "/file?path=" + url.QueryEscape(path)
	data := &fileData{File: diffFile{ReviewFile: f, Number: 1, Letter: letterOf(f.Status), Path: path, Show: address, Hunks: hunks, IsOpen: true}}
	to := min(from+linesPerPage, total)
	data.Pager.Text = "Lines " + numberText(from+1) + " to " + numberText(to) + " of " + numberText(total)
	if from > 0 {
		data.Pager.Prev = address + "&from=" + strconv.Itoa(max(0, from-linesPerPage))
	}
	if to < total {
		data.Pager.Next = address + "&from=" + strconv.Itoa(to)
	}
	v.Body = data
	p := &page{Template: "file", Title: path + " · " + v.WS.Name, Data: v, Shape: shapeOfDiff(review), OnShape: shapeIsOld}
	p.Watch = func(e *croft.Event) bool { return e.Workspace == v.WS.ID }
	if query.Get("part") == "1" {
		p.Part = "file-part"
	}
	return p, nil
}

// letterOf is the status of a file as a letter.
func letterOf(s croft.FileStatus) string {
	switch s {
	case croft.FileAdded:
		return "A"
	case croft.FileDeleted:
		return "D"
	case croft.FileRenamed:
		return "R"
	}
	return "M"
}
