package servicetest

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

type scratchScenarios struct{}

func (scratchScenarios) MadeAndExcluded(t *testing.T, f *fixture) {
	for name, dir := range map[string]string{"rounds": ".croft_scratch", "massgen": ".massgen_scratch"} {
		ses := f.session(croft.SessionRequest{Layout: name})
		w := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{name}}).Workspaces[0]
		if w.Scratch != filepath.Join(w.Path, dir) || !f.Exists(w.Scratch) {
			t.Errorf("scratch %q", w.Scratch)
		}
		f.writeIn(w, dir+"/notes.md", "notes\n")
		f.WantClean(w.Path)
		if got := f.ReadFile(filepath.Join(f.Dir, ".git", "info", "exclude")); !strings.Contains(got, "/"+dir+"/\n") {
			t.Errorf("the common exclude file says %q", got)
		}
		if st := f.status(w.ID); st.Dirty() {
			t.Errorf("%+v", st)
		}
	}
}

func (scratchScenarios) InvisibleToReview(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	w := seatOf(t, r, "opus")
	f.writeIn(w, ".croft_scratch/notes.md", "notes\n")
	f.writeIn(w, "work.txt", "work\n")
	d, err := f.Diff(t.Context(), croft.DiffRequest{Workspace: w.Name, Target: "main"})
	if err != nil || len(d.Files) != 1 || d.Files[0].Path != "work.txt" {
		t.Errorf("%+v, %v", d, err)
	}
	f.endRound(r)
	if got := f.Git("ls-tree", "-r", "--name-only", w.Branch); strings.Contains(got, "scratch") {
		t.Errorf("committed: %s", got)
	}
}

func (scratchScenarios) ExcludedOnce(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	for range 2 {
		f.endRound(f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)}))
	}
	if got := strings.Count(f.ReadFile(filepath.Join(f.Dir, ".git", "info", "exclude")), "_scratch"); got != 1 {
		t.Errorf("excluded %d times", got)
	}
}

func (scratchScenarios) Configured(t *testing.T, f *fixture) {
	f.commitIn(f.Dir, "croft.toml", "[checkout]\nscratch = \".lab\"\n")
	w := f.create(croft.CreateRequest{Name: "a"})
	if w.Scratch != filepath.Join(w.Path, ".lab") || !f.Exists(w.Scratch) {
		t.Errorf("scratch %q", w.Scratch)
	}
}

// archived returns the directory of a workspace's scratch in a home after its round.
func archived(home string, w croft.Workspace, name string) string {
	return filepath.Join(home, ".scratch_archive", w.Label, name)
}

func (scratchScenarios) ArchiveLabel(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	w := seatOf(t, r, "opus")
	f.writeIn(w, ".croft_scratch/eval/run.py", "run\n")
	f.endRound(r)
	if got := f.ReadFile(archived(w.Env["CROFT_HOME"], w, "eval/run.py")); got != "run\n" || !strings.HasPrefix(w.Label, "agent") {
		t.Errorf("label %s: %q", w.Label, got)
	}
}

func (scratchScenarios) ArchiveWithoutLabel(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Layout: "rounds", Home: filepath.Join(filepath.Dir(f.Dir), "home")})
	f.writeIn(w, ".croft_scratch/notes.md", "notes\n")
	a, err := f.ArchiveScratch(t.Context(), croft.ArchiveRequest{Workspace: w.Name})
	must(t, err)
	hex := strings.TrimPrefix(w.Branch, "croft/")
	if a.Label != hex || f.ReadFile(filepath.Join(filepath.Dir(f.Dir), "home", ".scratch_archive", hex, "notes.md")) != "notes\n" {
		t.Errorf("%+v", a)
	}
}

func (scratchScenarios) SharedWithAll(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	for _, w := range r.Workspaces {
		f.writeIn(w, ".croft_scratch/who", w.Agent+"\n")
	}
	f.endRound(r)
	for _, w := range r.Workspaces {
		for _, o := range r.Workspaces {
			if got := f.ReadFile(archived(w.Env["CROFT_HOME"], o, "who")); got != o.Agent+"\n" {
				t.Errorf("%s finds %q of %s", w.Agent, got, o.Agent)
			}
		}
	}
	// An agent that joins later gets them, too.
	late := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"late"}}).Workspaces[0]
	f.WantFile(archived(late.Env["CROFT_HOME"], r.Workspaces[0], "who"), r.Workspaces[0].Agent+"\n")
}

func (scratchScenarios) EarlierRoundsAreKept(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	home := map[string]string{}
	for _, text := range []string{"one", "two", "three"} {
		for agent, labels := range map[string]map[string]string{"opus": nil, "codex": {"codex": "mine"}} {
			w := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{agent}, Labels: labels}).Workspaces[0]
			f.writeIn(w, ".croft_scratch/n", text)
			home[agent] = w.Env["CROFT_HOME"]
			f.endRound(croft.Round{ID: f.lastRound(ses)})
		}
	}
	for _, dir := range home {
		for label, want := range map[string]string{"agent1": "one", "agent2": "two", "agent3": "three", "mine": "three"} {
			if got := f.ReadFile(filepath.Join(dir, ".scratch_archive", label, "n")); got != want {
				t.Errorf("%s: %q", label, got)
			}
		}
		// If a label is used again, the earlier archives stay under their rounds.
		earlier := f.Match(dir, ".scratch_archive/mine-round*/n")
		if len(earlier) != 2 || f.ReadFile(earlier[0]) != "one" || f.ReadFile(earlier[1]) != "two" {
			t.Errorf("%v", earlier)
		}
	}
}

// lastRound returns the round of a session that started last.
func (f *fixture) lastRound(ses croft.Session) croft.ID {
	f.t.Helper()
	now, err := f.Session(f.t.Context(), croft.GetRequest{Ref: croft.Ref(ses.ID)})
	if err != nil || len(now.Rounds) == 0 {
		f.t.Fatalf("%+v, %v", now, err)
	}
	return now.Rounds[len(now.Rounds)-1].ID
}

func (scratchScenarios) ArchiveCall(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	w, o := seatOf(t, r, "opus"), seatOf(t, r, "codex")
	f.writeIn(w, ".croft_scratch/n", "n")
	a, err := f.ArchiveScratch(t.Context(), croft.ArchiveRequest{Workspace: w.Name})
	if err != nil || a.Label != w.Label || len(a.Paths) != 2 || f.ReadFile(archived(o.Env["CROFT_HOME"], w, "n")) != "n" {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = f.ArchiveScratch(t.Context(), croft.ArchiveRequest{Workspace: w.Name, Label: "mine"})
	if err != nil || a.Label != "mine" || !f.Exists(filepath.Join(w.Env["CROFT_HOME"], ".scratch_archive", "mine", "n")) {
		t.Errorf("%+v, %v", a, err)
	}
	wantCode(t, errOf(f.ArchiveScratch(t.Context(), croft.ArchiveRequest{Workspace: w.Name, Label: "../out"})), croft.InvalidName)
	plain := f.create(croft.CreateRequest{Name: "plain"})
	wantCode(t, errOf(f.ArchiveScratch(t.Context(), croft.ArchiveRequest{Workspace: plain.Name})), croft.InvalidRequest)
}

func (scratchScenarios) NothingToArchive(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	w := seatOf(t, r, "opus")
	a, err := f.ArchiveScratch(t.Context(), croft.ArchiveRequest{Workspace: w.Name})
	if err != nil || len(a.Paths) != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	done := f.endRound(r)
	if f.Exists(filepath.Join(w.Env["CROFT_HOME"], ".scratch_archive", w.Label)) || done.EndedAt.Before(time.Unix(1, 0)) {
		t.Error("an archive of nothing")
	}
}

func (scratchScenarios) LinksAreNotFollowed(t *testing.T, f *fixture) {
	secret := filepath.Join(f.Home, "secret")
	f.WriteFile(secret, "secret")
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	w := seatOf(t, r, "opus")
	f.writeIn(w, ".croft_scratch/n", "n")
	f.Link(w.Path, ".croft_scratch/out", secret)
	f.Link(w.Path, ".croft_scratch/dir", f.Home)
	f.endRound(r)
	for _, name := range []string{"out", "dir"} {
		mode, err := f.Host.Stat(archived(w.Env["CROFT_HOME"], w, name))
		if err != nil || mode.Type() != fs.ModeSymlink {
			t.Errorf("%s: %v, %v", name, mode, err)
		}
	}
	// A link that has replaced a scratch directory is not followed either.
	two := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	w = seatOf(t, two, "opus")
	f.Link(w.Path, ".croft_scratch", f.Home)
	f.endRound(two)
	if f.Exists(archived(w.Env["CROFT_HOME"], w, "secret")) {
		t.Error("the link was followed")
	}
}
