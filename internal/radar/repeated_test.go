package radar

import (
	"slices"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestWithoutTargets: work that conflicts with the target is not said to collide with
// workspaces that only began after the target had changed.
func TestWithoutTargets(t *testing.T) {
	r := gittest.New(t)
	r.Write("a", "0\n")
	r.Write("dir/b", "0\n")
	commit := func(branch, from string, files ...string) string {
		t.Helper()
		r.Git("checkout", "-q", "-b", branch, from)
		for i := 0; i < len(files); i += 2 {
			r.Write(files[i], files[i+1])
		}
		r.Git("add", "-A")
		r.Git("commit", "-q", "-m", branch)
		return r.Git("rev-parse", "HEAD")
	}
	root := commit("root", "HEAD", "c", "0\n")
	target := commit("target", root, "a", "target\n", "dir/b", "target\n")
	old := commit("old", root, "a", "old\n", "dir/b", "old\n")
	heads := map[string]string{
		"apart":   commit("apart", target, "c", "1\n"),               // touches nothing of old's
		"same":    commit("same", target, "a", "same\n"),             // touches what old touched, and the target
		"below":   commit("below", target, "dir/b", "below\n"),       // the same, in a directory
		"older":   commit("older", root, "c", "2\n", "dir/b", "2\n"), // conflicts with the target itself
		"another": commit("another", target, "c", "3\n", "d", "1\n"), // collides with apart only
	}
	s := Scanner{Attempts: attemptsIn(t, r), Workers: 2}
	in := Input{Target: target, Heads: []string{old, heads["apart"], heads["same"], heads["below"], heads["older"], heads["another"]}}
	res, err := s.Scan(t.Context(), in, ScanResult{})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := s.withoutTargets(t.Context(), res)
	if err != nil {
		t.Fatal(err)
	}
	has := func(list []Collision, a, b string) bool {
		return slices.ContainsFunc(list, func(c Collision) bool { return c.A == a && c.B == b || c.A == b && c.B == a })
	}
	for _, w := range []struct {
		a, b    string
		isShown bool
	}{
		{old, target, true},
		{heads["older"], target, true},
		{old, heads["apart"], false},
		{old, heads["another"], false},
		{old, heads["same"], true},
		{old, heads["below"], true},
		{old, heads["older"], true},
		{heads["older"], heads["apart"], true}, // on c, too
		{heads["apart"], heads["another"], true},
		{heads["older"], heads["same"], false},
	} {
		if !has(res.Collisions, w.a, w.b) {
			t.Errorf("%s and %s do not collide at all", w.a, w.b)
		}
		if has(shown, w.a, w.b) != w.isShown {
			t.Errorf("%s and %s: shown %v", w.a, w.b, !w.isShown)
		}
	}
}
