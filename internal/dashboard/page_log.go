package dashboard

import (
	"bytes"
	"net/url"
	"strconv"

	"github.com/croft-sh/croft"
)

// logData is the page with the output of a check.
type logData struct {
	Log   *croft.CheckLog
	Merge *croft.Merge
	State state
	Text  string
	Back  string
	Pager pager
	Live  bool
}

// logPage shows a part of the output of a check: the end, unless the address says where.
func (d *dashboard) logPage(r *request) (*page, error) {
	merge, check := croft.ID(r.PathValue("merge")), croft.ID(r.URL.Query().Get("check"))
	m, err := d.svc.Merge(r.Context(), croft.GetRequest{Repo: r.ref(), Ref: croft.ByID(merge)})
	if err != nil {
		return nil, err
	}
	if m.RepoID != r.Repo.ID {
		return nil, &croft.Error{Code: croft.MergeNotFound, Op: "show", Message: "no merge of this project has the ID"}
	}
	req := croft.CheckLogRequest{Merge: merge, Check: check, Limit: 1}
	log, err := d.svc.CheckLog(r.Context(), req)
	if err != nil {
		return nil, err
	}
	req.Check, req.Limit, req.Offset = log.Check.ID, logPart, max(0, log.Size-logPart)
	if from, err := strconv.ParseInt(r.URL.Query().Get("from"), 10, 64); err == nil && from >= 0 {
		req.Offset = from
	}
	if log, err = d.svc.CheckLog(r.Context(), req); err != nil {
		return nil, err
	}
	data := &logData{Log: log, Merge: m, State: checkState(log.Check), Back: repoPath(r.Repo.ID, "queue") + "?target=" + url.QueryEscape(m.Target)}
	if m.Workspace != "" {
		data.Back = workspacePath(r.Repo.ID, m.Workspace, "checks")
	}
	bytes := log.Data
	data.Live = log.Check.State == croft.TryRunning && log.Next >= log.Size
	if data.Live {
		bytes = wholeLines(bytes)
	}
	data.Text = plain(bytes)
	address := logAddress(r, merge, req.Check)
	data.Pager.Text = sizeText(log.Offset) + " to " + sizeText(log.Next) + " of " + sizeText(log.Size)
	if log.Offset > 0 {
		data.Pager.Prev = address + "&from=" + strconv.FormatInt(max(0, log.Offset-logPart), 10)
	}
	if log.Next < log.Size {
		data.Pager.Next = address + "&from=" + strconv.FormatInt(log.Next, 10)
	}
	p := &page{Template: "log", Title: "Output of " + log.Check.Command, Data: data}
	if data.Live {
		p.Output = &output{Merge: merge, Check: req.Check, Offset: log.Offset + int64(len(bytes))}
		p.Live, p.Shape = []region{{Template: "log-head", Data: data}}, "running"
		p.Watch = func(e *croft.Event) bool { return e.Merge == merge || e.Check == req.Check }
	}
	return p, nil
}

// wholeLines cuts a line off that has not ended, if there is another one.
func wholeLines(data []byte) []byte {
	if i := bytes.LastIndexByte(data, '\n'); i >= 0 {
		return data[:i+1]
	}
	return data
}
