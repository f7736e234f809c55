package mergetree

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/odb"
)

func TestHistoryIsToldUntilItIsEnough(t *testing.T) {
	r := gittest.New(t)
	first := r.Git("rev-parse", "HEAD")
	a := r.Branch("a", map[string]string{"a": "a\n"})
	r.Git("merge", "--quiet", "--no-ff", "-m", "m", a)
	tip := r.Git("rev-parse", "HEAD")
	at := attempts(t, open(t, r))
	told := map[string][]string{}
	for c, err := range at.History(t.Context(), []string{tip}) {
		if err != nil {
			t.Fatal(err)
		}
		told[c.Commit] = c.Parents
	}
	if diff := cmp.Diff(map[string][]string{tip: {first, a}, a: {first}, first: {}}, told); diff != "" {
		t.Error(diff)
	}
	n := 0
	for _, err := range at.History(t.Context(), []string{tip}) {
		if n++; err != nil || n > 1 {
			t.Fatalf("told after it was enough: %v", err)
		}
		break
	}
	for _, heads := range [][]string{{"main"}, {strings.Repeat("1", 40)}} {
		n, failed := 0, false
		for _, err := range at.History(t.Context(), heads) {
			n, failed = n+1, err != nil
		}
		if n != 1 || !failed {
			t.Errorf("History(%v): %d answers, failed %v", heads, n, failed)
		}
	}
}

func TestTouchedIsWhatAMergeCanMeet(t *testing.T) {
	r := gittest.Empty(t)
	for path, text := range map[string]string{"edit": "1\n", "move": "move\n", "dir/sub/file": "1\n", "dir/two": "2\n", "file": "3\n", "mode": "4\n"} {
		r.Write(path, text)
	}
	base := r.Commit("base")
	r.Write("edit", "2\n")
	r.Git("mv", "move", "moved")
	r.Git("rm", "-r", "--quiet", "dir", "file")
	r.Write("dir", "a file now\n")
	r.Write("file/inner", "a directory now\n")
	r.Git("update-index", "--chmod=+x", "mode")
	r.Git("update-index", "--add", "--cacheinfo", "160000,"+base+",module")
	r.Git("add", "edit", "dir", "file")
	r.Git("commit", "--quiet", "-m", "all")
	tip := r.Git("rev-parse", "HEAD")
	at := attempts(t, open(t, r))
	spans := []odb.Span{{From: base, To: tip}, {From: tip, To: tip}, {From: tip, To: base}}
	got, err := at.TouchedPaths(t.Context(), spans)
	if err != nil {
		t.Fatal(err)
	}
	at.Prestart(t.Context())
	for range 2 { // once by a process that waits for input, once by one of its own
		again, err := at.TouchedPaths(t.Context(), spans)
		if diff := cmp.Diff(got, again); diff != "" || err != nil {
			t.Errorf("asked again: %v\n%s", err, diff)
		}
	}
	for i := range got {
		slices.Sort(got[i])
		got[i] = slices.Compact(got[i])
	}
	files := []string{"dir", "dir/sub/file", "dir/two", "edit", "file", "file/inner", "mode", "module", "move", "moved"}
	// "dir/sub" is deleted in one direction, and added in the other.
	there := slices.Sorted(slices.Values(append(slices.Clone(files), "dir/sub")))
	if diff := cmp.Diff([][]string{there, nil, files}, got); diff != "" {
		t.Error(diff)
	}
}

// git prints advice in the middle of its answer when submodules are in conflict.
func TestMergesWithSubmodulesInConflict(t *testing.T) {
	r := gittest.New(t)
	link := func(name, text string) string {
		r.Git("switch", "--quiet", "-c", name, "main")
		r.Git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat(text, 40)+",module")
		r.Git("commit", "--quiet", "-m", name)
		oid := r.Git("rev-parse", "HEAD")
		r.Git("switch", "--quiet", "main")
		return oid
	}
	r.Git("switch", "--quiet", "main")
	base := link("base", "1")
	r.Git("merge", "--quiet", base)
	a, b := link("a", "2"), link("b", "3")
	at := attempts(t, open(t, r))
	all, err := at.MergeAll(t.Context(), [][2]string{{a, b}, {base, a}, {b, a}})
	if err != nil {
		t.Fatal(err)
	}
	if len(all[0].Conflicts) != 1 || all[0].Conflicts[0].Path != "module" || !all[1].IsClean() || all[2].IsClean() {
		t.Errorf("MergeAll: %+v", all)
	}
	for range 2 { // one after the other in one session
		if m, err := at.Merge(t.Context(), a, b); err != nil || len(m.Conflicts) != 1 {
			t.Errorf("Merge: %+v, %v", m, err)
		}
	}
}

// A pair that makes git fail is reported, and the others are merged.
func TestMergeAllGoesOnAfterACrash(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell script takes the place of git")
	}
	r := gittest.New(t)
	var pairs [][2]string
	main := r.Git("rev-parse", "main")
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		pairs = append(pairs, [2]string{main, r.Branch(name, map[string]string{name: name})})
	}
	bad := pairs[3][1]
	crashing := script(t, filepath.Join(r.Home, "git"), `case "$*" in
*merge-tree*)
	in=$(cat)
	case "$in" in *`+bad+`*) kill -ABRT $$ ;; esac
	printf '%s\n' "$in" | exec git "$@" ;;
*) exec git "$@" ;;
esac`)
	repo := open(t, r, func(o *gitcmd.Options) { o.Path = crashing })
	at := attempts(t, repo)
	at.Prestart(t.Context())
	got, err := at.MergeAll(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range got {
		if isBad := pairs[i][1] == bad; isBad != (m.Err != nil) || !isBad && (m.Tree == "" || !m.IsClean()) {
			t.Errorf("pair %d: %+v", i, m)
		}
	}
	if _, err := at.MergeAll(t.Context(), [][2]string{{main, strings.Repeat("1", 40)}}); err == nil {
		t.Error("a commit that is not there was merged")
	}
}

// Prestarted processes end with their context, and when the session is closed.
func TestPrestartedProcessesEnd(t *testing.T) {
	r := gittest.New(t)
	at := attempts(t, open(t, r))
	ctx, cancel := context.WithCancel(t.Context())
	at.Prestart(ctx)
	cancel()
	head := r.Git("rev-parse", "HEAD")
	if got, err := at.MergeAll(ctx, [][2]string{{head, head}}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: %+v, %v", got, err)
	}
	at.Prestart(t.Context())
	at.Close() // waits for their end
	if len(at.prestarted) != 0 {
		t.Errorf("%d processes still wait", len(at.prestarted))
	}
}

// TestCountChangesOfARename: a rename is one file and none of its lines changed, and two paths, both of which
// the work touches.
func TestCountChangesOfARename(t *testing.T) {
	r := gittest.New(t)
	r.Write("old\tname", "1\n2\n3\n4\n5\n")
	r.Write("gone", "gone\n")
	base := r.Commit("base")
	r.Git("mv", "old\tname", "new")
	r.Write("new", "1\n2\n3\n4\n5\n6\n")
	r.Git("rm", "--quiet", "gone")
	moved := r.Commit("moved")
	r.Write("more", "more\n")
	more := r.Commit("more")
	got, err := attempts(t, open(t, r)).CountChanges(t.Context(), []odb.Span{{From: base, To: moved}, {From: moved, To: moved}, {From: moved, To: more}})
	want := []Changes{{Added: 1, Deleted: 1, Files: 2, Paths: []string{"gone", "old\tname", "new"}}, {}, {Added: 1, Files: 1, Paths: []string{"more"}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
