package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
)

// TestPins: the pins of a state are those that its journal records. Croft leaves other refs
// with names like those of pins, and does not read a pin's object from its ref.
func TestPins(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	e, err := Open(t.Context(), g.Dir, &Options{Environ: g.Env})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := e.projects.LocateGit(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	oid, other := g.Git("rev-parse", "HEAD"), g.Git("commit-tree", "-m", "other", "HEAD^{tree}")
	const own, foreign = "refs/croft/snapshot/own", "refs/croft/snapshot/foreign"
	g.Git("update-ref", foreign, other)
	if got, err := e.projects.Pinned(t.Context(), s.Project, foreign); !errors.Is(err, refs.ErrNoRef) {
		t.Errorf("another one's ref counts as a pin of %s, %v", got, err)
	}
	if err := e.projects.Pin(t.Context(), s.Project, journal.Pin{Ref: own, OID: oid}); err != nil {
		t.Fatal(err)
	}
	g.Git("update-ref", own, other)
	if got, err := e.projects.Pinned(t.Context(), s.Project, own); err != nil || got != oid {
		t.Errorf("once somebody moved the ref the pin is %s, %v, want %s", got, err, oid)
	}
	if err := e.projects.Unpin(t.Context(), s.Project, own, foreign); err != nil {
		t.Error(err)
	}
	if got := g.Git("for-each-ref", "--format=%(refname) %(objectname)", "refs/croft/snapshot"); got != foreign+" "+other {
		t.Errorf("left is %q, want what is another one's", got)
	}
	gone := strings.Repeat("1", len(oid))
	if err := e.projects.Pin(t.Context(), s.Project, journal.Pin{Ref: own, OID: gone}); err == nil {
		t.Error("an object that is not there was pinned")
	}
	if got, err := e.projects.Pinned(t.Context(), s.Project, own); !errors.Is(err, refs.ErrNoRef) {
		t.Errorf("what could not be pinned counts as a pin of %s, %v", got, err)
	}
}
