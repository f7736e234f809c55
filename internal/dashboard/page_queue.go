package dashboard

import (
	"slices"
	"strconv"
	"time"

	"github.com/croft-sh/croft"
)

// endedShown is how many merges that have ended are on a page.
const endedShown = 40

// queueData is the page of one queue.
type queueData struct {
	Row     queueRow
	Others  []queueRow // of the project
	Queued  []queueItem
	Merging []queueItem
	Trains  []train
	Merged  []queueItem // the last few
	Checks  int         // how many are being checked
	Ended   []queueItem
	Median  time.Duration
	Bars    []bar
	Pager   pager
	Live    *liveCheck
	Tries   *try // that which runs
	Steps   []string
	Path    string
}

// queueItem is a merge in the queue, or one that has left it.
type queueItem struct {
	croft.Merge
	Shown  state
	Path   string // of its workspace
	Action string // of its forms
	Place  int
	Took   time.Duration
	Width  int // of its bar
	Undo   string
	Why    string // it was refused
}

// train is a batch of merges that are checked together.
type train struct {
	Size  int
	Items []queueItem
}

// bar is the duration of a merge in the figure.
type bar struct {
	X, Y, Height int
	Class        string
}

// queuePage shows the queue of a target, or the list of queues if the address names none and
// the project has several.
func (d *dashboard) queuePage(r *request) (*page, error) {
	if r.Repo == nil {
		return d.queuesPage(r)
	}
	rows, err := d.queues(r)
	if err != nil {
		return nil, err
	}
	target := r.URL.Query().Get("target")
	if target == "" && len(rows) == 1 {
		target = rows[0].Target
	}
	if target == "" {
		return d.queuesPage(r)
	}
	data := &queueData{Others: rows, Path: queuePath(r.Repo.ID, target)}
	i := slices.IndexFunc(rows, func(q queueRow) bool { return q.Target == target })
	if i < 0 {
		return nil, &croft.Error{Code: croft.TargetNotFound, Op: "queue", Message: "no queue of this project has the target " + strconv.Quote(target)}
	}
	data.Row = rows[i]
	if err := d.fillQueue(r, data, target); err != nil {
		return nil, err
	}
	p := &page{Template: "queue", Title: "Queue of " + target, Data: data, Live: []region{{Template: "queue-top", Data: data}, {Template: "waiting", Data: data}, {Template: "ended", Data: data}}}
	if data.Live != nil {
		p.Output = &output{Merge: data.Live.Merge, Check: data.Live.ID, Offset: data.Live.Offset}
		p.Live = append(p.Live, region{Template: "output", Data: data.Live, Key: string(data.Live.ID)}, region{Template: "tried", Data: data})
		p.Shape = "checking"
	}
	return p, nil
}

// fillQueue reads the merges of a target, and puts each where it belongs.
func (d *dashboard) fillQueue(r *request, data *queueData, target string) error {
	list, err := d.svc.Merges(r.Context(), croft.MergesRequest{Repo: r.ref(), Target: target, Scope: croft.ScopeAll, Page: croft.Page{Limit: endedShown + data.Row.Waiting, After: r.URL.Query().Get("after")}})
	if err != nil {
		return err
	}
	waiting, err := d.lists.waiting(r) // in the order of the queue
	if err != nil {
		return err
	}
	waiting = slices.DeleteFunc(slices.Clone(waiting), func(m croft.Merge) bool { return m.RepoID != r.Repo.ID || m.Target != target })
	data.addEnded(r, list.Items, waiting)
	for i := range waiting {
		m := &waiting[i]
		switch item := itemOf(r, m); m.State {
		case croft.MergeQueued:
			item.Place = len(data.Queued) + 1
			data.Queued = append(data.Queued, item)
		case croft.MergeMerging:
			data.Merging = append(data.Merging, item)
		case croft.MergeChecking:
			data.addToTrain(item)
		case croft.MergeDone: // it is tried again by itself
			data.Queued = append(data.Queued, item)
		}
	}
	if data.Trains != nil {
		d.fillChecking(r, data)
	}
	data.measure()
	if list.Next != "" {
		data.Pager.Next = addQuery(data.Path, "after", list.Next)
	}
	if r.URL.Query().Get("after") != "" {
		data.Pager.Prev = data.Path
	}
	return nil
}

// addEnded adds the merges that have ended, the one that ended last first, but for those that are tried again. One that was
// refused says what became of its work since: it asks for nothing any more. Work that was discarded is no merge.
func (data *queueData) addEnded(r *request, all, waiting []croft.Merge) {
	isWaiting := map[croft.ID]bool{}
	for i := range waiting {
		isWaiting[waiting[i].ID] = true
	}
	for i := range all {
		m := &all[i]
		if m.State == croft.MergeDone && !isWaiting[m.ID] && m.Status != croft.MergeDiscarded {
			data.Ended = append(data.Ended, itemOf(r, m))
		}
	}
	slices.SortStableFunc(data.Ended, func(a, b queueItem) int { return b.EndedAt.Compare(a.EndedAt) })
	for _, item := range data.Ended {
		if item.Status == croft.MergeMerged && len(data.Merged) < 3 {
			data.Merged = append(data.Merged, item)
		}
	}
}

func itemOf(r *request, m *croft.Merge) queueItem {
	item := queueItem{Merge: *m, Shown: mergeState(m), Action: repoPath(r.Repo.ID, "m/"+string(m.ID))}
	if m.Workspace != "" {
		item.Path = workspacePath(r.Repo.ID, m.Workspace, "")
	}
	if !m.EndedAt.IsZero() {
		item.Took = m.EndedAt.Sub(m.SubmittedAt)
	}
	if m.Status == croft.MergePending && m.State == croft.MergeDone {
		item.Why = m.Message
	}
	if m.Status == croft.MergeMerged && m.State == croft.MergeDone && m.Commit != "" {
		item.Undo = item.Action + "/revert"
	}
	return item
}

// BarClass is the colour of its bar.
func (q queueItem) BarClass() string {
	switch q.Shown.Tone {
	case "t-red", "t-amber":
		return "bad"
	case "t-grey":
		return "undo"
	}
	return ""
}

// addToTrain adds a merge to the others of its batch.
func (data *queueData) addToTrain(item queueItem) {
	data.Checks++
	if n := len(item.Attempts); n > 0 && item.Attempts[n-1].Size > 1 {
		batch := item.Attempts[n-1].Batch
		for i := range data.Trains {
			if a := data.Trains[i].Items[0].Attempts; len(a) > 0 && a[len(a)-1].Batch == batch {
				data.Trains[i].Items = append(data.Trains[i].Items, item)
				return
			}
		}
		data.Trains = append(data.Trains, train{item.Attempts[n-1].Size, []queueItem{item}})
		return
	}
	data.Trains = append(data.Trains, train{1, []queueItem{item}})
}

// fillChecking finds the check that runs, its output, and the steps of the bisection so far.
func (d *dashboard) fillChecking(r *request, data *queueData) {
	for _, t := range data.Trains {
		for i := range t.Items {
			m := &t.Items[i].Merge
			live := d.liveCheckOf(r, m)
			if live == nil {
				continue
			}
			tries := triesOf(r, m)
			data.Live, data.Tries = live, &tries[0]
			for _, a := range m.Attempts {
				if a.Size > 1 {
					data.Steps = append(data.Steps, attemptText(a)+": "+string(a.State))
				}
			}
			return
		}
	}
}

const (
	barHeight = 30
	barStep   = 6
	barsWidth = endedShown * barStep
	barWidth  = 80
)

// measure makes the figures of how long merges took. The median is that of those that landed: one that was refused or
// canceled ends at any time.
func (data *queueData) measure() {
	var landed []time.Duration
	longest := time.Duration(0)
	for _, e := range data.Ended {
		longest = max(longest, e.Took)
		if e.Commit != "" && e.Took > 0 {
			landed = append(landed, e.Took)
		}
	}
	if longest == 0 {
		return
	}
	data.Median = median(landed)
	for i := range data.Ended {
		e := &data.Ended[i]
		e.Width = max(1, int(e.Took*barWidth/longest))
		h := max(1, int(e.Took*barHeight/longest))
		data.Bars = append(data.Bars, bar{X: barsWidth - (i+1)*barStep, Y: 32 - h, Height: h, Class: e.BarClass()})
	}
}

// median returns the middle of durations, or the mean of the two in the middle; zero: there are none.
func median(of []time.Duration) time.Duration {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

// onMerge makes an action of a change of the merge of the path.
func (d *dashboard) onMerge(action croft.QueueAction) func(*request) (string, error) {
	return func(r *request) (string, error) {
		return r.back(), d.changeMerge(r, action, croft.ID(r.PathValue("merge")))
	}
}

// changeAll holds or releases all that wait for a target.
func (d *dashboard) changeAll(action croft.QueueAction) func(*request) (string, error) {
	return func(r *request) (string, error) {
		target := r.PostFormValue("target")
		_, err := d.svc.ChangeQueue(r.Context(), croft.QueueRequest{Repo: r.ref(), Action: action, Target: target, Reason: r.PostFormValue("reason"), Key: r.key()})
		return queuePath(r.Repo.ID, target), err
	}
}
