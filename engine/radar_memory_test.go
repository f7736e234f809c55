package engine_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// A forecast that remembers equals one that does not, whatever happened in between: also if
// what it remembers is of an older day, or damaged.
func TestForecastThatRemembers(t *testing.T) {
	steps := 40
	if os.Getenv("CROFT_LONG") != "" {
		steps = 1000
	}
	h := newHistory(t)
	for step := range steps {
		if step%25 == 0 {
			h.start()
		}
		for range 1 + h.IntN(3) {
			h.edit()
		}
		h.compare(step)
	}
	t.Logf("%d pairs remembered, %d merged, %d collided, %d workspaces skipped", h.remembered, h.merged, h.collided, h.skipped)
	if h.remembered < steps/2 || h.merged == 0 || h.collided == 0 || h.skipped == 0 && steps > 100 {
		t.Error("the histories do not try what they should")
	}
}

// history makes random things happen in a project.
type history struct {
	*rand.Rand
	t    *testing.T
	r    *gittest.Repo
	e    *engine.Engine
	file string // the cache of the forecast
	old  []byte // what was in it once
	log  []string

	remembered, merged, collided, skipped int
}

func newHistory(t *testing.T) *history {
	return &history{t: t, Rand: rand.New(rand.NewPCG(18, 4))}
}

// historyNames are the names of files: some are in the way of others, or mislead.
var historyNames = []string{"README.md", "shared", "shared2", "dir/one", "dir/two", "dir", "x\ny", "\xff\xfe", "dir/\xff", "sp ace", "-n", "g~1"}

// start begins with a new project.
func (h *history) start() {
	h.r = gittest.New(h.t)
	h.r.Git("branch", "other")
	h.e = open(h.t, h.r.Dir, &engine.Options{Environ: h.r.Env})
	h.log, h.old = nil, nil
	for i := range 4 {
		h.create(i)
	}
	if _, err := h.e.Conflicts(h.t.Context(), croft.ConflictsRequest{}); err != nil {
		h.t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(h.r.Home, "state", "forecasts", "*"))
	if err != nil || len(files) != 1 {
		h.t.Fatalf("remembered in %q, %v", files, err)
	}
	h.file = files[0]
}

func (h *history) create(i int) {
	req := croft.CreateRequest{Name: fmt.Sprint("w", i)}
	if i == 3 {
		req.Base, req.Target = "other", "other"
	}
	_, err := h.e.Create(h.t.Context(), req)
	h.note("create %d: %v", i, err)
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *history) edit() {
	i := h.IntN(4)
	dir := filepath.Join(filepath.Dir(h.r.Dir), filepath.Base(h.r.Dir)+".croft", fmt.Sprint("w", i))
	name := historyNames[h.IntN(len(historyNames))]
	file := filepath.Join(dir, filepath.FromSlash(name))
	text := fmt.Sprintf("line %d\nof all\n", h.IntN(3))
	git := func(args ...string) {
		_, err := h.r.TryGit(dir, args...)
		h.note("w%d: git %q: %v", i, args, err != nil)
	}
	write := func() {
		_ = os.MkdirAll(filepath.Dir(file), 0o777)
		h.note("w%d: write %q %q: %v", i, name, text, os.WriteFile(file, []byte(text), 0o644))
	}
	switch what := h.IntN(24); what {
	case 0:
		git("add", "--all")
		git("commit", "--quiet", "--allow-empty", "--message", "more")
	case 1:
		git("commit", "--quiet", "--amend", "--all", "--allow-empty", "--message", "amended")
	case 2, 3: // in place, of the same size, at the same time
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			write()
			_ = os.Chtimes(file, info.ModTime(), info.ModTime())
		}
	case 4, 5:
		target := []string{"main", "other"}[h.IntN(2)]
		oid := h.r.Branch(fmt.Sprint("moved", len(h.log)), map[string]string{historyNames[h.IntN(5)]: fmt.Sprint(text, len(h.log))})
		h.r.Git("update-ref", "refs/heads/"+target, oid)
		h.note("%s moves to %s", target, oid)
	case 6:
		_, err := h.r.TryGit(h.r.Dir, "update-ref", "refs/heads/main", "main~1")
		h.note("main moves back: %v", err != nil)
	case 7:
		_, err := h.e.Remove(h.t.Context(), croft.RemoveRequest{Workspaces: []string{fmt.Sprint("w", i)}, Mode: croft.RemoveForce})
		h.note("remove %d: %v", i, err)
		h.create(i)
	case 8:
		write()
		git("add", "--", name)
	case 9:
		git("merge", "--quiet", "--no-commit", "--no-ff", "main")
	case 10:
		git("merge", "--abort")
	case 11:
		h.note("w%d: delete %q: %v", i, name, os.RemoveAll(file))
	case 12:
		h.note("w%d: chmod %q: %v", i, name, os.Chmod(file, 0o755))
	case 13:
		_ = os.RemoveAll(file)
		h.note("w%d: link %q: %v", i, name, os.Symlink("shared", file))
	case 14:
		text = strings.ReplaceAll(text, "\n", "\r\n")
		write()
		_ = os.WriteFile(filepath.Join(dir, ".gitattributes"), []byte([]string{"* text=auto\n", "* -text\n"}[h.IntN(2)]), 0o644)
	case 15:
		git("rm", "-r", "--quiet", "--cached", "--", name)
	case 16:
		git("config", "merge.renames", []string{"true", "false"}[h.IntN(2)])
	case 17:
		git("reset", "--quiet", "--soft", "HEAD~1")
	case 18:
		_ = os.Rename(file, file+".moved")
		h.note("w%d: rename %q", i, name)
	case 19:
		if h.IntN(4) == 0 {
			text = []string{"no commit\n", strings.Repeat("1", 40) + "\n"}[h.IntN(2)]
			admin := h.r.GitIn(dir, "rev-parse", "--git-dir")
			h.note("w%d: MERGE_HEAD %q: %v", i, text, os.WriteFile(filepath.Join(admin, "MERGE_HEAD"), []byte(text), 0o644))
		}
	default:
		write()
	}
}

// compare makes a forecast with what is remembered, and one without.
func (h *history) compare(step int) {
	h.t.Helper()
	warm := h.forecast()
	now, err := os.ReadFile(h.file)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := os.Remove(h.file); err != nil {
		h.t.Fatal(err)
	}
	cold := h.forecast()
	if cold.Effort.Remembered != 0 {
		h.t.Fatalf("step %d: %+v", step, cold.Effort)
	}
	h.remembered, h.merged = h.remembered+warm.Effort.Remembered, h.merged+warm.Effort.Merged
	h.collided, h.skipped = h.collided+len(cold.Pairs), h.skipped+len(cold.Skipped)
	if diff := cmp.Diff(seen(cold), seen(warm)); diff != "" {
		h.t.Fatalf("step %d: a forecast that remembers differs:\n%s\n%s", step, diff, strings.Join(h.log, "\n"))
	}
	switch h.IntN(6) {
	case 0: // the next one remembers an older day
		if h.old != nil {
			now = h.old
		}
	case 1:
		h.old = now
	case 2:
		now[h.IntN(len(now))] ^= byte(1 << h.IntN(8))
	case 3:
		return
	}
	if err := os.WriteFile(h.file, now, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) forecast() *croft.Forecast {
	h.t.Helper()
	f, err := h.e.Conflicts(h.t.Context(), croft.ConflictsRequest{})
	if err != nil {
		h.t.Fatalf("%v\n%s", err, strings.Join(h.log, "\n"))
	}
	return f
}

// seen is what a forecast says, as text: paths need not be in UTF-8.
func seen(f *croft.Forecast) []string {
	var list []string
	for _, c := range f.Pairs {
		list = append(list, fmt.Sprintf("%s %s %q %q", c.A, c.B, c.Paths, c.Reason))
	}
	for _, k := range f.Skipped {
		list = append(list, fmt.Sprintf("skipped %s: %s", k.Name, k.Reason.Code))
	}
	return append(list, f.Order...)
}

// Uncommitted work that was seen is not read again, until anything changes that its commit
// follows from, by whatever means.
func TestForecastReadsWhatChanged(t *testing.T) {
	type place struct {
		r   *gittest.Repo
		dir string
	}
	edits := map[string]func(t *testing.T, p place){
		"nothing": nil,
		"a file, in place, with its size and times": func(t *testing.T, p place) {
			file := filepath.Join(p.dir, "shared")
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			gittest.WriteFile(t, file, "c\n")
			if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		},
		"the index, where git does not compare it": func(t *testing.T, p place) {
			p.r.GitIn(p.dir, "update-index", "--cacheinfo", "100644,"+p.r.GitIn(p.dir, "hash-object", "-w", "shared")+",hidden")
			p.r.GitIn(p.dir, "update-index", "--skip-worktree", "hidden")
		},
		"a merge in progress": func(t *testing.T, p place) {
			admin := p.r.GitIn(p.dir, "rev-parse", "--absolute-git-dir")
			gittest.WriteFile(t, filepath.Join(admin, "MERGE_HEAD"), p.r.Git("rev-parse", "ahead")+"\n")
		},
		"attributes that are ignored": func(t *testing.T, p place) {
			gittest.WriteFile(t, filepath.Join(p.dir, ".gitattributes"), "* text=auto\n")
		},
		"the last commit": func(t *testing.T, p place) {
			p.r.GitIn(p.dir, "commit", "--quiet", "--amend", "--allow-empty", "--message", "amended")
		},
	}
	for what, edit := range edits {
		t.Run(what, func(t *testing.T) {
			r := gittest.New(t)
			gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "info", "exclude"), ".gitattributes\n")
			r.Write("hidden", "0\n")
			r.Commit("hidden")
			r.Git("branch", "ahead", r.Branch("ahead-too", map[string]string{"shared": "m\n"}))
			e := open(t, r.Dir, &engine.Options{Environ: r.Env})
			for _, name := range []string{"a", "b"} {
				dir := create(t, e, croft.CreateRequest{Name: name}).Path
				gittest.WriteFile(t, filepath.Join(dir, "shared"), name+"\n")
				gittest.WriteFile(t, filepath.Join(dir, "lines"), "of "+name+"\r\n")
				gittest.WriteFile(t, filepath.Join(dir, "hidden"), name+"\n")
				r.GitIn(dir, "add", "hidden")
				r.GitIn(dir, "update-index", "--skip-worktree", "hidden")
			}
			p := place{r, show(t, e, "a").Path}
			h := &history{t: t, e: e}
			if f := h.forecast(); len(f.Pairs) != 1 || len(f.Pairs[0].Paths) != 3 {
				t.Fatalf("%+v", f)
			}
			files, err := filepath.Glob(filepath.Join(r.Home, "state", "forecasts", "*"))
			if err != nil || len(files) != 1 {
				t.Fatalf("remembered in %q, %v", files, err)
			}
			h.file = files[0]
			// Work is not remembered until its files are old enough for any change to show.
			for start := time.Now(); !strings.Contains(read(t, h.file), string(show(t, e, "a").ID)+`":{"stamp"`); h.forecast() {
				if time.Since(start) > time.Minute {
					t.Fatal("the work is never remembered")
				}
			}
			h.forgetWork(r.GitIn(p.dir, "rev-parse", "HEAD"), show(t, e, "a").ID)
			if edit == nil {
				if f := h.forecast(); len(f.Pairs) != 0 {
					t.Errorf("what was seen is read again: %+v", f)
				}
				return
			}
			edit(t, p)
			time.Sleep(100 * time.Millisecond) // what is younger is read whatever its stamp says
			warm := h.forecast()
			if err := os.Remove(h.file); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(seen(h.forecast()), seen(warm)); diff != "" {
				t.Errorf("not seen:\n%s", diff)
			}
		})
	}
}

// forgetWork makes the memory say that a workspace has no work, with a digest as if that had
// been seen.
func (h *history) forgetWork(head string, id croft.ID) {
	h.t.Helper()
	text := read(h.t, h.file)
	lines := strings.SplitAfter(text, "\n")
	_, second, _ := strings.Cut(lines[1], " ")
	var known map[string]any
	if err := json.Unmarshal([]byte(second), &known); err != nil {
		h.t.Fatal(err)
	}
	work, ok := known["works"].(map[string]any)[string(id)].(map[string]any)
	if !ok {
		h.t.Fatalf("the work of %s is not remembered: %.300s", id, second)
	}
	work["commit"], work["parents"] = head, nil
	out, err := json.Marshal(known)
	if err != nil {
		h.t.Fatal(err)
	}
	lines[1] = "x " + string(out) + "\n"
	if err := os.WriteFile(h.file, []byte(sealed(strings.Join(lines, ""))), 0o600); err != nil {
		h.t.Fatal(err)
	}
}
