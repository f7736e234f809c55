package dashboard

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/croft-sh/croft"
)

// logPage is how many bytes of output one page has.
const logPart = 128 << 10

// checksData is the tab with the checks of a workspace's merge.
type checksData struct {
	Tries  []try
	Target string
	Plan   *croft.CheckPlan // what the target asks for, if nothing has run; nil: that is not known
	Trust  string           // where a person allows it
	Live   *liveCheck
}

// try is an attempt of the queue, or the checks of a merge without attempts.
type try struct {
	Title, Text string
	Took        croft.Duration
	Checks      []shownCheck
}

// shownCheck is a check of a try.
type shownCheck struct {
	croft.Check
	State   state
	Log     string // the address of its output
	IsLater bool   // it has not begun
}

// liveCheck is the check that runs, with the end of its output.
type liveCheck struct {
	shownCheck
	Merge    croft.ID
	Text     string
	Offset   int64
	Took     int // seconds
	UsualSec int
}

func (d *dashboard) checksPage(r *request) (*page, error) {
	v, err := d.viewOf(r, "checks")
	if err != nil {
		return nil, err
	}
	data := &checksData{Target: v.WS.Target}
	p := v.pageOf("checks", "Checks of ")
	if v.Merge != nil {
		data.Tries = triesOf(r, v.Merge)
		data.Live = d.liveCheckOf(r, v.Merge)
	}
	if len(data.Tries) == 0 && data.Target != "" {
		if plan, err := d.svc.Checks(r.Context(), croft.ChecksRequest{Repo: r.ref(), Target: data.Target}); err == nil {
			data.Plan, data.Trust = plan, repoPath(r.Repo.ID, "settings")+"#trust"
		}
	}
	v.Body = data
	p.Live = append(p.Live, region{Template: "tries", Data: v})
	p.watchOutput(v.Merge, data.Live)
	return p, nil
}

// watchOutput makes the output of a check that runs live.
func (p *page) watchOutput(m *croft.Merge, live *liveCheck) {
	if m == nil || live == nil {
		return
	}
	p.Shape = "running"
	p.Output = &output{Merge: m.ID, Check: live.ID, Offset: live.Offset}
	p.Live = append(p.Live, region{Template: "output", Data: live, Key: string(live.ID)})
}

// logAddress is where the output of a check is shown.
func logAddress(r *request, merge, check croft.ID) string {
	return repoPath(r.Repo.ID, "m/"+url.PathEscape(string(merge))+"/log?check="+url.QueryEscape(string(check)))
}

// triesOf are the attempts of a merge, the last first.
func triesOf(r *request, m *croft.Merge) []try {
	var tries []try
	for i, a := range slices.Backward(m.Attempts) {
		t := try{Title: "Try " + strconv.Itoa(i+1), Text: attemptText(a)}
		if !a.EndedAt.IsZero() {
			t.Took = croft.Duration(a.EndedAt.Sub(a.StartedAt))
		}
		for _, c := range a.Checks {
			// The output of a failure is with the merge.
			if j := slices.IndexFunc(m.Checks, func(o croft.Check) bool { return o.ID == c.ID }); j >= 0 {
				c.Tail = m.Checks[j].Tail
			}
			t.Checks = append(t.Checks, shownCheck{Check: c, State: checkState(c), Log: logAddress(r, m.ID, c.ID)})
		}
		for _, command := range a.Commands {
			if slices.ContainsFunc(a.Checks, func(c croft.Check) bool { return c.Command == command }) {
				continue
			}
			t.Checks = append(t.Checks, shownCheck{Check: croft.Check{Command: command}, State: state{"not run", "t-grey", "idle", false}, IsLater: true})
		}
		tries = append(tries, t)
	}
	if len(tries) == 0 && len(m.Checks) > 0 {
		t := try{Title: "The last try"}
		for _, c := range m.Checks {
			t.Checks = append(t.Checks, shownCheck{Check: c, State: checkState(c), Log: logAddress(r, m.ID, c.ID)})
		}
		tries = append(tries, t)
	}
	return tries
}

// attemptText says what an attempt was about.
func attemptText(a croft.Attempt) string {
	switch {
	case a.Merges == 0:
		return "the target alone, to see whether it was broken before"
	case a.Step > 0:
		return "step " + strconv.Itoa(a.Step) + " of a bisection: " + strconv.Itoa(a.Merges) + " of " + countText(a.Size, "merge") + ", tree " + shortCommit(a.Tree)
	case a.Size > 1:
		return "number " + strconv.Itoa(a.Position) + " of a batch of " + strconv.Itoa(a.Size) + ", tree " + shortCommit(a.Tree)
	}
	return "on tree " + shortCommit(a.Tree)
}

// checkState is how a check is shown.
func checkState(c croft.Check) state {
	switch {
	case c.State == croft.TryRunning:
		return state{"running", "t-run", "working", true}
	case c.State == croft.TryStopped:
		return state{"stopped", "t-grey", "stopped", false}
	case c.Passed && c.IsFlaky:
		return state{"passed the second time", "t-amber", "merged", false}
	case c.Passed:
		return state{"passed", "t-green", "merged", false}
	}
	return state{"failed", "t-red", "failed", false}
}

// liveCheckOf finds the check of a merge that runs, and the end of what it has printed.
func (d *dashboard) liveCheckOf(r *request, m *croft.Merge) *liveCheck {
	if m.State != croft.MergeChecking {
		return nil
	}
	for _, a := range slices.Backward(m.Attempts) {
		for _, c := range a.Checks {
			if c.State != croft.TryRunning {
				continue
			}
			live := &liveCheck{shownCheck: shownCheck{Check: c, State: checkState(c), Log: logAddress(r, m.ID, c.ID)}, Merge: m.ID}
			live.Took, live.UsualSec = int(d.now().Sub(c.StartedAt).Seconds()), seconds(c.Usual)
			live.Text, live.Offset = d.logEnd(r, m.ID, c.ID)
			return live
		}
	}
	return nil
}

// logEnd returns the end of the output of a check, and where it ends. What cannot be read is not
// shown.
func (d *dashboard) logEnd(r *request, merge, check croft.ID) (string, int64) {
	first, err := d.svc.CheckLog(r.Context(), croft.CheckLogRequest{Merge: merge, Check: check, Limit: 1})
	if err != nil {
		return "", 0
	}
	log, err := d.svc.CheckLog(r.Context(), croft.CheckLogRequest{Merge: merge, Check: check, Offset: max(0, first.Size-maxOutput), Limit: maxOutput})
	if err != nil {
		return "", 0
	}
	data := wholeLines(log.Data)
	return plain(data), log.Offset + int64(len(data))
}
