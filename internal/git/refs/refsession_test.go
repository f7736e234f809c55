package refs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/proc"
)

func RefsOf(t *testing.T, repo *Repository, prefix string) map[string]string {
	t.Helper()
	list, err := repo.Refs(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, r := range list {
		m[r.Name] = r.OID
	}
	return m
}

func TestUpdateRefs(t *testing.T) {
	r := gittest.New(t)
	one := r.Git("rev-parse", "HEAD")
	r.Write("two", "")
	two := r.Commit("two")
	repo := open(t, r)
	ref := func(n int) string { return "refs/croft/" + strconv.Itoa(n) }
	for _, step := range []struct {
		name    string
		updates []Update
		stale   bool
		want    map[string]string
	}{
		{"nothing", nil, false, map[string]string{}},
		{"create two", []Update{{ref(1), one, ""}, {ref(2), one, ""}}, false, map[string]string{ref(1): one, ref(2): one}},
		{"create one that is there", []Update{{ref(3), one, ""}, {ref(1), two, ""}}, true, map[string]string{ref(1): one, ref(2): one}},
		{
			"one stale of three",
			[]Update{{ref(1), two, one}, {ref(2), one, two}, {ref(3), two, ""}},
			true,
			map[string]string{ref(1): one, ref(2): one},
		},
		{"the session is usable afterwards", []Update{{ref(1), two, one}}, false, map[string]string{ref(1): two, ref(2): one}},
		{"move one that is not there", []Update{{ref(9), two, one}}, true, map[string]string{ref(1): two, ref(2): one}},
		{"delete from another value", []Update{{ref(1), "", one}}, true, map[string]string{ref(1): two, ref(2): one}},
		{"delete one that is not there", []Update{{ref(9), "", one}}, true, map[string]string{ref(1): two, ref(2): one}},
		{"expect none where one is", []Update{{ref(1), "", ""}}, true, map[string]string{ref(1): two, ref(2): one}},
		{"expect none where none is", []Update{{ref(9), "", ""}, {ref(2), two, one}}, false, map[string]string{ref(1): two, ref(2): two}},
		{"below another", []Update{{ref(1) + "/x", one, ""}}, true, map[string]string{ref(1): two, ref(2): two}},
		{"all at once", []Update{{ref(1), "", two}, {ref(2), one, two}, {ref(3), two, ""}}, false, map[string]string{ref(2): one, ref(3): two}},
	} {
		err := repo.UpdateRefs(t.Context(), step.updates...)
		if (err != nil) != step.stale || errors.Is(err, gitcmd.KindRefStale) != step.stale {
			t.Errorf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, RefsOf(t, repo, "refs/croft/")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestUpdateRefsRefusesWhatIsNoRef(t *testing.T) {
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	repo := open(t, r)
	before := RefsOf(t, repo, "refs/")
	for _, u := range []Update{
		{"HEAD", head, ""},
		{"main", head, ""},
		{"", head, ""},
		{"refs/../x", head, ""},
		{"refs/heads/a..b", head, ""},
		{"refs/heads/new\x00update refs/heads/other", head, ""},
		{"refs/heads/new\nline", head, ""},
		{"refs/heads/x", "HEAD", ""},
		{"refs/heads/x", head + "\x00create refs/heads/y\x00" + head, ""},
		{"refs/heads/x", head, "main"},
		{"refs/heads/x", head[:20], ""},
		{"refs/heads/x", strings.Repeat("1", 40), ""}, // no such object
		{"refs/heads/x", strings.Repeat("1", 64), ""},
	} {
		if err := repo.UpdateRefs(t.Context(), u); err == nil || errors.Is(err, gitcmd.KindRefStale) {
			t.Errorf("%q: %v", u, err)
		}
	}
	if diff := cmp.Diff(before, RefsOf(t, repo, "refs/")); diff != "" {
		t.Errorf("refs moved (-before +after):\n%s", diff)
	}
}

// TestUpdateRefsByMany: of many callers that move one ref from the same value, exactly one
// succeeds.
func TestUpdateRefsByMany(t *testing.T) {
	const many = 200
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	repos := []*Repository{open(t, r), open(t, r)} // as in two processes
	var wg sync.WaitGroup
	errs := make([]error, many)
	for i := range many {
		wg.Go(func() {
			errs[i] = repos[i%2].UpdateRefs(t.Context(),
				Update{Ref: fmt.Sprintf("refs/croft/own/%d", i), New: head}, Update{Ref: fmt.Sprintf("refs/croft/shared/%d", i/10), New: head})
		})
	}
	wg.Wait()
	won := 0
	for i, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, gitcmd.KindRefStale):
			t.Errorf("%d: %v, want KindRefStale", i, err)
		}
	}
	refs := RefsOf(t, repos[0], "refs/croft/")
	if won != many/10 || len(refs) != 2*won {
		t.Errorf("%d of %d went through and made %d refs, want %d and %d", won, many, len(refs), many/10, many/5)
	}
}

func TestSessionsSurviveAKilledProcess(t *testing.T) {
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	repo := open(t, r)
	update := func(n int) error {
		return repo.UpdateByGit(t.Context(), nil, []Update{{Ref: fmt.Sprintf("refs/croft/%d", n), New: head}})
	}
	if err := update(1); err != nil {
		t.Fatal(err)
	}
	repo.RefProcess().Kill()
	if err := update(2); err == nil {
		t.Error("a transaction on a killed git succeeded")
	} else if _, ok := errors.AsType[*gitcmd.Error](err); !ok {
		t.Errorf("%v is no *Error", err)
	}
	if err := update(3); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if refs := RefsOf(t, repo, "refs/croft/"); len(refs) != 2 {
		t.Errorf("refs: %v, want 1 and 3", refs)
	}

	if _, err := repo.Read(t.Context(), "HEAD"); err != nil {
		t.Fatal(err)
	}
	repo.ObjectProcess().Kill()
	if o, err := repo.Read(t.Context(), "HEAD"); err != nil || o.OID != head {
		t.Errorf("reading after a kill: %v, %v", o.OID, err)
	}
}

func TestClosedSessionsOpenAgain(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	for range 2 {
		if _, err := repo.Info(t.Context(), "HEAD"); err != nil {
			t.Fatal(err)
		}
		if err := repo.UpdateRefs(t.Context(), Update{Ref: "refs/none"}); err != nil {
			t.Fatal(err)
		}
		if err := repo.UpdateByGit(t.Context(), nil, []Update{{Ref: "refs/none"}}); err != nil {
			t.Fatal(err)
		}
		if err := repo.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSessionsEndAfterManyUses: a git process is replaced after many uses, and no caller
// gets an error.
func TestSessionsEndAfterManyUses(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	head := r.Git("rev-parse", "HEAD")
	updaters, readers := map[*proc.Process]bool{}, map[*proc.Process]bool{}
	for i := range refUses + 1 {
		if err := repo.UpdateByGit(t.Context(), nil, []Update{{fmt.Sprint("refs/croft/", i), head, ""}}); err != nil {
			t.Fatal(err)
		}
		if p := repo.RefProcess(); p != nil {
			updaters[p] = true
		}
	}
	for range odb.ObjectUses + 1 {
		if _, err := repo.Info(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		readers[repo.ObjectProcess()] = true
	}
	if len(updaters) != 2 || len(readers) != 2 {
		t.Errorf("%d and %d processes, want two each", len(updaters), len(readers))
	}
	if got := len(RefsOf(t, repo, "refs/croft/")); got != refUses+1 {
		t.Errorf("there are %d refs", got)
	}
}
