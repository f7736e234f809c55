package dashboard

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
)

// entry is one sentence of what happened to a workspace. Actor, Quote and Names are not Croft's
// words.
type entry struct {
	At         time.Time
	Icon, Tone string
	Actor      string // who; the sentence begins with it
	Text       string
	Code       string // a commit
	Title      string // of a commit
	Quote      string
	More       string
	Names      []string // others that it concerns, after "together with"
	Show       string   // the address of a page that has more
	Undo       string   // the address of the question before it is undone
	IsGone     bool     // it does not hold any more

	act     croft.ID
	isFinal bool // further events of the same merge do not change it
}

// story tells what happened to a workspace. What belongs together is one entry: all events of a
// merge, a lock and its end, a lease and its end, and a removal with what it came from.
type story struct {
	ws      *croft.Workspace
	path    string
	acts    map[croft.ID]croft.Operation
	told    map[croft.ID]bool // the acts of which an entry tells
	entries []*entry
	merges  map[croft.ID]*entry
	open    map[string]*entry   // locks, leases and holds that have not ended
	over    map[croft.ID]*entry // what an act ended with: a removal in it is told there
}

// tellers say how an event is told.
var tellers = map[string]func(*story, *croft.Event){
	croft.EventWorkspaceCreated:  (*story).created,
	croft.EventWorkspaceRemoved:  (*story).removed,
	croft.EventWorkspaceReaped:   (*story).removed,
	croft.EventWorkspaceRestored: (*story).restored,
	croft.EventWorkspaceSaved:    (*story).saved,
	croft.EventWorkspaceFinished: (*story).finished,
	croft.EventWorkspaceLocked:   (*story).locked,
	croft.EventWorkspaceUnlocked: func(s *story, e *croft.Event) { s.end("lock", e, "unlocked it") },
	croft.EventLeaseTaken:        (*story).leased,
	croft.EventLeaseReleased:     func(s *story, e *croft.Event) { s.end("lease "+string(e.Lease), e, "") },
	croft.EventReviewCreated:     (*story).reviewed,
	croft.EventMergeHeld:         (*story).held,
	croft.EventMergeReleased:     (*story).released,
	croft.EventMergeQueued:       (*story).merged,
	croft.EventMergeStarted:      (*story).merged,
	croft.EventMergeChecking:     (*story).merged,
	croft.EventMergeChanged:      (*story).merged,
	croft.EventMergePending:      (*story).merged,
	croft.EventMergeMerged:       (*story).merged,
	croft.EventMergeReverted:     (*story).merged,
	croft.EventMergeDiscarded:    (*story).merged,
	croft.EventMergeCanceled:     (*story).merged,
	croft.EventWorkspaceMoved:    plainTeller("folder", "Its record followed its directory, which was moved"),
	croft.EventWorkspaceAdopted:  plainTeller("history", "Somebody else had made its worktree, and Croft adopted it"),
	croft.EventWorkspaceRebuilt:  plainTeller("history", "The doctor made its record again"),
	croft.EventTrashStripped:     plainTeller("trash", "What can be made again was deleted from its directory in the trash"),
	croft.EventTrashAnnounced:    plainTeller("trash", "What is left of it is going to be deleted"),
	croft.EventTrashReduced:      plainTeller("trash", "Its directory was deleted from the trash; commits and a snapshot are left"),
	croft.EventTrashPurged:       plainTeller("trash", "It cannot be restored any more"),
}

// plainTeller tells what Croft did by itself.
func plainTeller(icon, text string) func(*story, *croft.Event) {
	return func(s *story, e *croft.Event) { s.put(&entry{At: e.Time, Icon: icon, Text: text, act: e.Operation}) }
}

// toldKinds are the kinds of events that are told, in the order of the contract.
func toldKinds() []string {
	return slices.DeleteFunc(croft.EventKinds(), func(kind string) bool { return tellers[kind] == nil })
}

func (s *story) add(e *croft.Event) {
	if tell := tellers[e.Kind]; tell != nil {
		tell(s, e)
		if e.Operation != "" {
			s.told[e.Operation] = true
		}
	}
}

func (s *story) put(e *entry) *entry {
	s.entries = append(s.entries, e)
	return e
}

// by is an entry of what an actor did.
func (s *story) by(e *croft.Event, icon, text string) *entry {
	return s.put(&entry{At: e.Time, Icon: icon, Actor: e.Actor, Text: text, act: e.Operation})
}

func (s *story) created(e *croft.Event) {
	from := shortCommit(s.ws.Base)
	if s.ws.BaseRef != "" && s.ws.BaseRef != s.ws.Base {
		from = s.ws.BaseRef + "@" + from
	}
	it := s.by(e, "plus", "made it")
	if from != "" {
		it.Text, it.Code = "made it from", from
	}
	for name := range strings.FieldsSeq(s.acts[e.Operation].WorkspaceName) {
		if name != s.ws.Name {
			it.Names = append(it.Names, name)
		}
	}
}

// removed tells of a removal; one that a merge or a discarding led to is told with it.
func (s *story) removed(e *croft.Event) {
	if it := s.over[e.Operation]; e.Operation != "" && it != nil {
		it.More += ", and its directory went to the trash"
		return
	}
	text := "moved it to the trash"
	if e.Kind == croft.EventWorkspaceReaped {
		text = "moved it to the trash: its agent was gone"
	}
	s.by(e, "trash", text)
}

func (s *story) restored(e *croft.Event) {
	text := "restored it from the trash"
	if e.Snapshot != "" {
		text = "put it back to a snapshot"
	}
	s.by(e, "rounds", text)
}

func (s *story) saved(e *croft.Event) {
	it := s.by(e, "camera", "saved it as a snapshot")
	it.Show = s.path + "/snapshots"
	if e.After == nil || e.After.Snapshot == nil {
		return
	}
	saved := e.After.Snapshot
	it.Quote = saved.Reason
	it.More = ", " + countText(saved.Files, "file") + ", " + sizeText(saved.Bytes)
	if saved.Cause != "" && saved.Cause != croft.SnapshotRequested {
		it.Actor, it.Text = "", "Saved as a snapshot before a "+string(saved.Cause)
	}
}

func (s *story) finished(e *croft.Event) {
	it := s.put(&entry{At: e.Time, Icon: "ready", Tone: "t-green", Text: "The agent has finished", act: e.Operation})
	if e.After == nil || e.After.Workspace == nil || e.After.Workspace.Finished == nil {
		return
	}
	switch e.After.Workspace.Finished.Outcome {
	case croft.Failed:
		it.Icon, it.Tone, it.Text = "failed", "t-amber", "The agent has failed"
	case croft.Killed:
		it.Icon, it.Tone, it.Text = "stopped", "t-amber", "The agent was killed"
	}
}

func (s *story) locked(e *croft.Event) {
	it := s.by(e, "lock", "locked it")
	if e.After != nil && e.After.Workspace != nil {
		it.Quote = e.After.Workspace.LockReason
	}
	s.open["lock"] = it
}

func (s *story) leased(e *croft.Event) {
	it := s.by(e, "working", "went to work")
	it.Tone = "t-run"
	if s.ws.Agent != "" {
		it.Actor = s.ws.Agent
	}
	if e.After != nil && e.After.Workspace != nil && e.After.Workspace.Lease != nil {
		it.Text += ", process " + strconv.Itoa(e.After.Workspace.Lease.Owner.PID)
	}
	s.open["lease "+string(e.Lease)] = it
}

func (s *story) held(e *croft.Event) {
	s.merged(e)
	it := s.by(e, "held", "held its merge")
	if e.After != nil && e.After.Merge != nil && e.After.Merge.Hold != nil {
		it.Quote, it.Actor = e.After.Merge.Hold.Reason, e.After.Merge.Hold.Actor
	}
	it.act = ""
	s.open["hold "+string(e.Merge)] = it
}

func (s *story) released(e *croft.Event) {
	s.merged(e)
	s.end("hold "+string(e.Merge), e, "released it")
}

func (s *story) reviewed(e *croft.Event) {
	it := s.by(e, "eye", "began a review of it")
	if e.Review != "" {
		it.Show = repoPath(s.ws.RepoID, "review/"+string(e.Review))
	}
}

// end tells with what has begun when it ended, and who ended it if that was another.
func (s *story) end(what string, e *croft.Event, did string) {
	it := s.open[what]
	delete(s.open, what)
	at := e.Time.Local().Format("15:04")
	switch {
	case it == nil && did != "":
		s.by(e, "lock", did)
	case it == nil:
	case did == "":
		it.More, it.Tone, it.Icon = ", until "+at, "", "stopped"
	case it.Actor == e.Actor:
		it.More = ", and " + did + " at " + at
	default:
		it.More = ", until it was " + strings.TrimSuffix(did, " it") + " at " + at
	}
}

// addAct tells of an act that no event tells of.
func (s *story) addAct(op croft.Operation, repos []croft.Repo) {
	if s.told[op.ID] || !slices.Contains([]string{"resolve", "role", "undo", "rewind", "restore", "update", "ports", "queue first"}, op.Kind) {
		return
	}
	a := actOf(op, repos)
	s.put(&entry{At: op.StartedAt, Icon: a.Icon, Actor: op.Actor, Text: a.Verb + " it", act: op.ID})
}

// addCommit tells of a commit. Its time is its author's; none is in the future.
func (s *story) addCommit(c croft.Commit, now time.Time) {
	at := c.CommittedAt
	if at.After(now) {
		at = now
	}
	if at.IsZero() {
		at = s.ws.CreatedAt
	}
	s.put(&entry{At: at, Icon: "commit", Text: "Committed", Code: shortCommit(c.Commit), Title: c.Title})
}

// ended returns all entries, the last first.
func (s *story) ended(mayAct bool) []entry {
	out := make([]entry, 0, len(s.entries))
	undo := map[croft.ID]bool{}
	for _, e := range slices.Backward(s.entries) {
		if e.Text == "" {
			continue // a merge that says nothing by itself
		}
		if op := s.acts[e.act]; mayAct && op.IsUndoable && !undo[op.ID] {
			undo[op.ID], e.Undo = true, repoPath(op.RepoID, "undo/"+string(op.ID))
		} else if op.State == "undone" {
			e.IsGone = true
		}
		if e.Tone == "" {
			e.Tone = "t-grey"
		}
		out = append(out, *e)
	}
	slices.SortStableFunc(out, func(a, b entry) int { return b.At.Compare(a.At) })
	return out
}
