package view

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/condition"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/parallel"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/work"
)

// sight is what a look at one workspace found. Its fields are about what was looked at;
// the rest of the workspace is in the view.
type sight struct {
	work croft.Work

	commits    condition.CommitFacts
	files      condition.FileFacts
	fork       string // the commit at which its history leaves the target's
	reverts    []merge.Revert
	isDue      bool // its commits and files can be looked at
	isCompared bool // its commits were compared with the target, or there is nothing to compare

	tip          string // of the target; empty: there is none, or the workspace is at it
	isRemembered bool   // the comparison of its commits is in the memory
	forecast     condition.Forecast
}

// isUnseen reports whether there was no time to look at a part of the workspace.
func (s *sight) isUnseen() bool {
	return s.isDue && (!s.isCompared || !s.work.Has(croft.AspectFiles) || s.needsForecast() && !s.forecast.IsKnown)
}

// looker looks at the workspaces of a list.
type looker struct {
	*view
	session *mergetree.Session
	records []journal.Record
	list    []croft.Workspace
	sights  []sight

	compared *commitMemory
	under    func() string // what merges depend on besides commits; empty: nothing may be remembered

	isHeldBack func(dir string, c checkout.Change) bool
	active     []time.Time // when each was last active; zero: not asked for yet
}

// The time for a look is for lists in which there is much to look at. A few workspaces get more of it, so that
// those who have three are not told, on a busy machine, to list them again.
const (
	fewToLookAt = 10
	graceOfFew  = 4
)

// lookAt looks at processes, commits and files of workspaces for a time: at the commits of
// all by a few processes, at the files of each by its own, those that were active last
// first. What could not be read or is late is not in the sights.
func (v *view) lookAt(ctx context.Context, records []journal.Record, list []croft.Workspace, within croft.Duration) []sight {
	l := &looker{
		view: v, records: records, list: list, sights: make([]sight, len(list)), active: make([]time.Time, len(list)),
		isHeldBack: work.HeldBack(v.r),
	}
	for i, w := range list {
		l.sights[i].isDue = v.isDue(w)
	}
	if within != croft.NoLimit {
		if len(list) <= fewToLookAt {
			within *= graceOfFew
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(within))
		defer cancel()
	}
	l.lookAtProcesses()
	if v.r.Git == nil {
		return l.sights
	}
	session, err := v.r.Git.OpenMergeTree(writers.OnDisk)
	if err != nil {
		return l.sights
	}
	defer session.Close()
	l.session = session
	l.pullIsolated(ctx)
	l.compared = l.readCommitMemory(ctx)
	l.under = sync.OnceValue(func() string {
		under, _ := l.r.Git.MergeConditions(context.WithoutCancel(ctx)) // if they are not known, nothing is remembered
		return under
	})
	l.lookAtCommits(ctx)
	l.recallForecasts()
	half, cancel := halfOf(ctx) // files are looked at each time, a merge is forecast once
	l.forecastTargets(half)
	cancel()
	l.lookAtFiles(ctx)
	l.forecastTargets(ctx)
	l.writeCommitMemory(l.compared)
	return l.sights
}

// isDue reports whether the commits and files of a workspace can be looked at.
func (v *view) isDue(w croft.Workspace) bool {
	return v.r.Git != nil && w.Mode != croft.ModeLegacy && (w.State == croft.Ready || w.State == croft.Stopped)
}

// lookAtProcesses finds the processes inside, before gits of this look are. Other gits are
// left out, too: they end in a moment, and whoever started one is inside as well.
func (l *looker) lookAtProcesses() {
	var dirs []string
	for i, w := range l.list {
		if l.sights[i].isDue {
			dirs = append(dirs, w.Path)
		}
	}
	found, known := proc.OccupantsOf(dirs)
	if !known {
		return
	}
	for i, w := range l.list {
		if s := &l.sights[i]; s.isDue {
			s.work.Seen = append(s.work.Seen, croft.AspectProcesses)
			for _, o := range found[w.Path] {
				if o.Name != "git" {
					s.work.Inside = append(s.work.Inside, o.Name)
				}
			}
		}
	}
}

// pullIsolated brings the commits of isolated workspaces to the project, where they can be
// compared.
func (l *looker) pullIsolated(ctx context.Context) {
	isolated := l.byActivity(func(i int) bool { return l.list[i].Mode == croft.ModeIsolated })
	if len(isolated) == 0 {
		return
	}
	l.inParallel(ctx, isolated, func(i int) {
		if _, head, err := l.r.Trees.At(project.SpecOf(l.records[i])).Head(ctx); err == nil {
			l.list[i].Head = head
		}
	})
	l.moment.Refs = l.r.Git.RefMoment() // their branches have moved
	l.refs = l.moment.Refs
}

// byActivity returns the indices of the workspaces to look at, those that were active last
// first.
func (l *looker) byActivity(wanted func(i int) bool) []int {
	var order []int
	for i := range l.list {
		if l.sights[i].isDue && wanted(i) {
			order = append(order, i)
		}
	}
	parallel.Each(len(order), func(k int) {
		if i := order[k]; l.active[i].IsZero() {
			l.active[i] = l.lastActive(i)
		}
	})
	slices.SortStableFunc(order, func(a, b int) int { return l.active[b].Compare(l.active[a]) })
	return order
}

// lastActive returns when the index, the log of HEAD or the top directory of a workspace
// was last written.
func (l *looker) lastActive(i int) time.Time {
	if s, ok := l.stands.Load(l.list[i].ID); ok && s.(standing).head != "" && s.(standing).head == l.list[i].Head {
		return s.(standing).active
	}
	tree := l.r.Trees.At(project.SpecOf(l.records[i]))
	return lastWritten(tree.Path, filepath.Join(tree.Admin, "index"), headLog(tree))
}

// inParallel calls f for each index, in order, until the time is over.
func (l *looker) inParallel(ctx context.Context, order []int, f func(i int)) {
	var mu sync.Mutex
	next := func() int {
		mu.Lock()
		defer mu.Unlock()
		if len(order) == 0 || ctx.Err() != nil {
			return -1
		}
		i := order[0]
		order = order[1:]
		return i
	}
	var wg sync.WaitGroup
	for range min(2*runtime.NumCPU(), len(order)) {
		wg.Go(func() {
			for i := next(); i >= 0; i = next() {
				f(i)
			}
		})
	}
	wg.Wait()
}

// lookAtFiles counts the uncommitted changes of each workspace, and then the lines of those
// that have some.
func (l *looker) lookAtFiles(ctx context.Context) {
	statuses := l.r.Git.RememberedStatusesAt(ctx, l.moment)
	defer statuses.Close()
	changed := changedLines{looker: l, statuses: statuses}
	l.inParallel(ctx, l.byActivity(func(int) bool { return true }), func(i int) {
		rec, s := l.records[i], &l.sights[i]
		changes, err := l.r.Trees.ChangesBy(ctx, statuses, project.SpecOf(rec))
		if err != nil {
			return
		}
		s.files, s.work.IdleSince = l.countChanges(rec, changes, l.active[i])
		s.work.Seen = append(s.work.Seen, croft.AspectFiles)
		s.files.Marked = l.countMarked(ctx, rec, changes)
		s.work.Uncommitted, s.work.HeldBack, s.work.Unmerged = s.files.Changed, len(s.files.HeldBack), s.files.Unmerged+s.files.Marked
		if s.files.Changed > 0 && s.files.Unmerged == 0 && s.fork != "" {
			changed.find(ctx, i)
		}
	})
	changed.count(ctx)
}

func (s *sight) setLines(c mergetree.Changes) {
	s.work.Added, s.work.Deleted, s.work.Changed = c.Added, c.Deleted, c.Files
}

// countMarked counts the files that a merge of the target left in conflict and that are staged or committed as it
// left them. Those that cannot be read are not counted.
func (l *looker) countMarked(ctx context.Context, rec journal.Record, changes []checkout.Change) int {
	unmerged := map[string]bool{}
	for _, c := range changes {
		if c.Kind == checkout.Conflicted {
			unmerged[c.Path] = true
		}
	}
	left, err := work.UnresolvedFiles(ctx, l.r.Trees.At(project.SpecOf(rec)), rec, unmerged)
	if err != nil {
		return 0
	}
	return len(left)
}

// countChanges counts the uncommitted paths of a workspace, without the files that Croft
// put there. It also returns the time of the last write to one of them, if that is later
// than last.
func (l *looker) countChanges(rec journal.Record, changes []checkout.Change, last time.Time) (condition.FileFacts, time.Time) {
	var f condition.FileFacts
	for _, c := range changes {
		if isOwn(rec, c) {
			continue
		}
		f.Changed++
		if l.isHeldBack(rec.Workspace.Path, c) {
			f.HeldBack = append(f.HeldBack, c.Path)
		}
		if c.Kind == checkout.Conflicted {
			f.Unmerged++
		}
		if info, err := os.Lstat(filepath.Join(rec.Workspace.Path, filepath.FromSlash(c.Path))); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	if last.After(l.now) { // an agent may set any time
		last = l.now
	}
	return f, last.UTC()
}
