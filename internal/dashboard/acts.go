package dashboard

import (
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
)

// historyDay has the acts of one day.
type historyDay struct {
	Name string
	Acts []historyAct
}

// historyAct is an act as a line of the history.
type historyAct struct {
	croft.Operation
	Icon, Verb string
	Names      []actName
	Repo       string
	Undo       string // the address of its confirmation; empty: it cannot be undone
	IsUndone   bool
	Times      int // how often in a row; one or none: once
}

// actName is a workspace that an act concerns.
type actName struct {
	Name, Path string
}

// verbs say what an act of a kind did, and icons show it.
var verbs = map[string]struct{ verb, icon string }{
	"create": {"made", "plus"}, "remove": {"removed", "trash"}, "restore": {"restored", "rounds"}, "undo": {"undid an act on", "undo"},
	"merge": {"merged", "merged"}, "revert": {"took back", "undo"}, "discard": {"discarded", "trash"}, "reap": {"reaped", "trash"},
	"clean": {"cleaned up", "trash"}, "rewind": {"put back", "camera"}, "snapshot": {"saved a snapshot of", "camera"}, "lock": {"locked", "lock"},
	"unlock": {"unlocked", "lock"}, "resolve": {"brought the target into", "branch"}, "apply": {"applied a part of", "merged"},
	"finish": {"finished", "ready"}, "save": {"committed the work of", "ready"}, "queue hold": {"held the merge of", "held"}, "queue release": {"released the merge of", "arrow"},
	"queue cancel": {"canceled the merge of", "x"}, "queue first": {"put first", "queued"}, "trust": {"allowed checks", "shield"}, "withdraw trust": {"withdrew checks", "shield"},
	"accept": {"accepted a change", "shield"}, "role": {"copied a role into", "agent"}, "update": {"changed", "settings"}, "ports": {"moved the ports of", "settings"},
}

// daysOf sorts acts by day, the last first.
func daysOf(ops []croft.Operation, now time.Time, repos []croft.Repo) []historyDay {
	var days []historyDay
	for _, op := range ops {
		name := dayName(op.StartedAt, now)
		if n := len(days); n == 0 || days[n-1].Name != name {
			days = append(days, historyDay{Name: name})
		}
		day := &days[len(days)-1]
		if n := len(day.Acts); n > 0 && isRepeated(day.Acts[n-1].Operation, op) {
			day.Acts[n-1].Times = max(1, day.Acts[n-1].Times) + 1
			continue
		}
		day.Acts = append(day.Acts, actOf(op, repos))
	}
	return days
}

// isRepeated reports whether two acts, one after the other, are told in one line: the same was done
// by the same actor, to the same workspaces, and neither can be undone. An approval that is given again
// is such an act.
func isRepeated(a, b croft.Operation) bool {
	return a.Kind == b.Kind && a.Actor == b.Actor && a.RepoID == b.RepoID && a.WorkspaceName == b.WorkspaceName && slices.Equal(a.Workspaces, b.Workspaces) &&
		a.State == b.State && !a.IsUndoable && !b.IsUndoable && a.StartedAt.Sub(b.StartedAt) < time.Hour
}

func actOf(op croft.Operation, repos []croft.Repo) historyAct {
	a := historyAct{Operation: op, Icon: "history", Verb: op.Kind, Repo: repoName(repos, op.RepoID), IsUndone: op.State == "undone"}
	if v, ok := verbs[op.Kind]; ok {
		a.Verb, a.Icon = v.verb, v.icon
	}
	ids := op.Workspaces
	if len(ids) == 0 && op.Workspace != "" {
		ids = []croft.ID{op.Workspace}
	}
	names := strings.Fields(op.WorkspaceName)
	for i, name := range names {
		n := actName{Name: name}
		if len(ids) == len(names) {
			n.Path = workspacePath(op.RepoID, ids[i], "")
		}
		a.Names = append(a.Names, n)
	}
	if op.IsUndoable {
		a.Undo = repoPath(op.RepoID, "undo/"+string(op.ID))
	}
	return a
}

// dayName is Today, Yesterday or a date.
func dayName(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	switch day := t.Format(time.DateOnly); day {
	case now.Format(time.DateOnly):
		return "Today"
	case now.AddDate(0, 0, -1).Format(time.DateOnly):
		return "Yesterday"
	}
	if t.Year() != now.Year() {
		return t.Format("2 Jan 2006")
	}
	return t.Format("2 Jan")
}
