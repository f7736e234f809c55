package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// sessionOf starts a session with a round of one agent, and returns its
// workspace.
func sessionOf(t *testing.T, e *engine.Engine) (croft.ID, croft.ID, croft.Workspace) {
	t.Helper()
	ses, err := e.StartSession(t.Context(), croft.SessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	round, err := e.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"one"}})
	if err != nil {
		t.Fatal(err)
	}
	return ses.ID, round.ID, round.Workspaces[0]
}

// TestHomeOfAnEndedSession: gc deletes the home that Croft made for an agent some time
// after its session. A file or directory that has replaced it stays.
func TestHomeOfAnEndedSession(t *testing.T) {
	t.Parallel()
	for name, exchange := range map[string]func(home, victim string) error{
		"as it was": func(string, string) error { return nil },
		"a link": func(home, victim string) error {
			return errors.Join(os.Rename(home, home+".aside"), os.Symlink(victim, home))
		},
		"another directory": func(home, victim string) error {
			return errors.Join(os.Rename(home, home+".aside"), os.Rename(victim, home), os.Symlink(home, victim))
		},
		"behind a link": func(home, victim string) error {
			up := filepath.Dir(home)
			return errors.Join(os.Rename(up, up+".aside"), os.Rename(victim, filepath.Join(filepath.Dir(victim), filepath.Base(home))),
				os.Symlink(filepath.Dir(victim), up), os.Symlink(filepath.Base(home), victim))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			e := engineIn(t, r, 0)
			ses, round, w := sessionOf(t, e)
			home := filepath.Dir(filepath.Dir(w.Path)) // the checkout lies in a directory of its own in the home
			if _, err := e.EndRound(t.Context(), croft.EndRoundRequest{Round: round}); err != nil {
				t.Fatal(err)
			}
			if _, err := e.EndSession(t.Context(), croft.EndSessionRequest{Session: croft.ByID(ses)}); err != nil {
				t.Fatal(err)
			}
			gittest.WriteFile(t, filepath.Join(home, "left", "by", "the-agent"), "x")
			victim := filepath.Join(r.Home, "dir", "victim")
			gittest.WriteFile(t, filepath.Join(victim, "precious"), "precious\n")
			if err := exchange(home, victim); err != nil {
				t.Fatal(err)
			}
			if _, err := engineIn(t, r, 60*day).GC(t.Context(), croft.GCRequest{}); err != nil && name == "as it was" {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(filepath.Join(victim, "precious")); err != nil || string(b) != "precious\n" {
				t.Errorf("the victim's file: %q, %v", b, err)
			}
			if name == "as it was" && exists(home) {
				t.Error("the home is still there")
			}
		})
	}
}

// TestArchivesInAnExchangedHome: an agent replaces the directory of archives in its home by
// a link. Croft does not write through it.
func TestArchivesInAnExchangedHome(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	_, round, w := sessionOf(t, e)
	gittest.WriteFile(t, filepath.Join(w.Scratch, "notes.md"), "notes\n")
	victim := filepath.Join(r.Home, "victim")
	gittest.WriteFile(t, filepath.Join(victim, w.Label, "precious"), "precious\n")
	archives := filepath.Join(filepath.Dir(filepath.Dir(w.Path)), ".scratch_archive")
	if err := errors.Join(os.RemoveAll(archives), os.Symlink(victim, archives)); err != nil {
		t.Fatal(err)
	}
	before := digestOf(t, victim)
	if _, err := e.ArchiveScratch(t.Context(), croft.ArchiveRequest{Workspace: w.Name}); !errors.Is(err, croft.NotWritable) {
		t.Errorf("ArchiveScratch: %v", err)
	}
	_, _ = e.EndRound(t.Context(), croft.EndRoundRequest{Round: round})
	if after := digestOf(t, victim); after != before {
		t.Errorf("the victim changed:\n%s\nwas\n%s", after, before)
	}
}

// TestRoleIntoAnExchangedWorkspace: Croft writes role files into the directory that it
// made, and replaces links there instead of following them.
func TestRoleIntoAnExchangedWorkspace(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Roles("a")
	r.Commit("roles")
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	victim := filepath.Join(r.Home, "victim")
	gittest.WriteFile(t, filepath.Join(victim, "precious"), "precious\n")
	before := digestOf(t, victim)
	if err := errors.Join(os.Rename(w.Path, w.Path+".aside"), os.Symlink(victim, w.Path)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.CopyRole(t.Context(), croft.RoleRequest{Workspace: "a", Role: "a"}); err == nil {
		t.Error("the role was copied through a link")
	}
	if after := digestOf(t, victim); after != before {
		t.Errorf("the victim changed:\n%s\nwas\n%s", after, before)
	}
	if err := errors.Join(os.Remove(w.Path), os.Rename(w.Path+".aside", w.Path)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.CopyRole(t.Context(), croft.RoleRequest{Workspace: "a", Role: "a"}); err != nil {
		t.Errorf("once it is back: %v", err)
	}
}

// TestWorkspacesBehindALink: the directory for workspaces may be a link that the user made,
// but not one that a commit put into the project.
func TestWorkspacesBehindALink(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	far := filepath.Join(r.Home, "far")
	if err := errors.Join(os.Mkdir(far, 0o755), os.Symlink(far, filepath.Join(filepath.Dir(r.Dir), "app.croft")), os.Symlink(far, filepath.Join(r.Dir, ".worktrees"))); err != nil {
		t.Fatal(err)
	}
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	if filepath.Dir(w.Path) != far {
		t.Errorf("it lies at %s", w.Path)
	}
	if _, err := e.Create(t.Context(), croft.CreateRequest{Name: "b", Layout: "agents"}); !errors.Is(err, croft.NotWritable) {
		t.Errorf("inside the project: %v", err)
	}
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}}); err != nil || len(res.Removed) != 1 {
		t.Errorf("Remove = %+v, %v", res, err)
	}
}
