package radar

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/mergetree"
)

// agains says what merges of workspaces do, by their names. Those that it does not have fail.
type agains map[string]Again

var errUnmergeable = errors.New("git cannot merge it")

func (k agains) MergeAgain(_ context.Context, _ *mergetree.Session, w croft.Workspace, _, _ string) (Again, error) {
	is, known := k[w.Name]
	if !known {
		return is, errUnmergeable
	}
	return is, nil
}

// TestMergesAgain: what is known of work that has landed before goes into the pairs and into the order, and of work that
// cannot be merged only that pair is said to be so.
func TestMergesAgain(t *testing.T) {
	r := gittest.New(t)
	commit := func(branch, from, file string) string {
		r.Git("checkout", "-q", "-B", branch, from)
		r.Write(file, branch+"\n")
		return r.Commit(branch)
	}
	root := r.Git("rev-parse", "main")
	in := commit("in", root, "in") // the target has its commits
	r.Git("checkout", "-q", "main")
	r.Git("reset", "-q", "--hard", in)
	tip := commit("main", in, "f")
	out := commit("out", root, "f") // collides with the target, as git merges the two
	alone, together := commit("alone", root, "alone"), commit("together", root, "out")
	g := &targetGroup{target: "main", tip: tip}
	add := func(name, head, landed string) {
		w := croft.Workspace{ID: croft.ID("id-" + name), Name: name, Target: "main", MergeCommit: landed}
		g.candidates = append(g.candidates, Candidate{Workspace: w, Head: head, Commit: head})
	}
	add("back", in, tip)         // reverted: it has something to merge again, and collides
	add("broken", together, tip) // git fails to merge it
	add("clean", in, tip)        // reverted: it has something to merge, and collides with plain only
	add("has", out, tip)         // the target has its work
	add("new", out, "")          // nothing of it has landed
	add("over", out, tip)        // collides no more if its revert is taken back, too
	add("plain", alone, tip)     // git merges it as it is
	s := Scanner{Attempts: attemptsIn(t, r), Workers: 2}
	r.Git("checkout", "-q", "-B", "brought", tip)
	r.Write("alone", "brought\n")
	brought := r.Commit("brought") // the target with the work
	of := &Radar{Reverts: agains{
		"back": {Does: BringsBack, Paths: []string{"in"}}, "clean": {Does: BringsBack, Commit: brought}, "has": {Does: BringsNothing}, "over": {Does: BringsBack}, "plain": {},
	}}
	again, err := of.mergesAgain(t.Context(), s.Attempts, g)
	if err != nil {
		t.Fatal(err)
	}
	var heads []string
	for _, c := range g.candidates {
		heads = append(heads, c.Commit)
	}
	res, err := s.Scan(t.Context(), Input{Target: tip, Heads: heads}, ScanResult{})
	if err != nil {
		t.Fatal(err)
	}
	if res.Collisions, err = s.withoutTargets(t.Context(), res); err != nil {
		t.Fatal(err)
	}
	var forecast croft.Forecast
	g.report(res, again, &forecast)
	var pairs []string
	for _, p := range forecast.Pairs {
		pairs = append(pairs, p.A+" "+p.B+" "+string(p.Reason)+filepath.Join(p.Paths...))
	}
	if want := []string{"back main in", "broken main unmergeable", "clean plain alone", "new main f"}; !slices.Equal(pairs, want) {
		t.Errorf("pairs %q, want %q", pairs, want)
	}
	if want := []string{"over", "clean", "plain", "back", "broken", "new"}; !slices.Equal(forecast.Order, want) {
		t.Errorf("order %q, want %q", forecast.Order, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := of.mergesAgain(ctx, s.Attempts, g); !errors.Is(err, context.Canceled) {
		t.Errorf("when nobody waits for it: %v", err)
	}
}
