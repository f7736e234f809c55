package servicetest

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

type trashUpkeepScenarios struct{}

func gc(t *testing.T, f *fixture) *croft.GCResult {
	t.Helper()
	res, err := f.GC(t.Context(), croft.GCRequest{})
	must(t, err)
	return res
}

func trash(t *testing.T, f *fixture) []croft.TrashItem {
	t.Helper()
	items, err := f.Trash(t.Context(), croft.TrashRequest{})
	must(t, err)
	return items.Items
}

// trashOf returns the only item of the trash.
func trashOf(t *testing.T, f *fixture) croft.TrashItem {
	t.Helper()
	items := trash(t, f)
	if len(items) != 1 {
		t.Fatalf("trash %+v, want one item", items)
	}
	return items[0]
}

// inTrash returns the directory of a removed workspace.
func (f *fixture) inTrash(id croft.ID) string {
	return filepath.Join(filepath.Dir(f.Dir), filepath.Base(f.Dir)+".croft", ".trash", string(id))
}

// wantNoDebris fails if the trash has a file that belongs to no item.
func wantNoDebris(t *testing.T, f *fixture) {
	t.Helper()
	want := map[string]bool{}
	for _, item := range trash(t, f) {
		want[string(item.ID)] = item.Left == croft.LeftDirectory
	}
	for _, entry := range f.Match(filepath.Dir(f.inTrash("x")), "*") {
		if !want[filepath.Base(entry)] {
			t.Errorf("in the trash: %s", entry)
		}
	}
}

func (f *fixture) removeForced(names ...string) {
	f.t.Helper()
	f.remove(croft.RemoveRequest{Workspaces: names, Mode: croft.RemoveForce})
}

const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55\n"

// littered is a removed workspace with directories of every kind. It returns the
// regenerable ones, and files that have to stay.
func littered(t *testing.T, f *fixture) (w croft.Workspace, again, stay []string) {
	t.Helper()
	f.Write(".gitignore", "node_modules/\ntarget/\n/dist/\n/data/\nkept/build/\n*.log\n")
	f.Write("kept/build/tracked.txt", "tracked although ignored\n")
	f.Git("add", "--force", "kept/build/tracked.txt")
	f.Commit("rules")
	w = f.create(croft.CreateRequest{Name: "a"})
	again = []string{"node_modules", "web/node_modules", "target", "cache", "data/cache"}
	for _, dir := range again {
		f.WriteFile(filepath.Join(w.Path, dir, "deep", "x.js"), strings.Repeat("x", 10_000))
	}
	f.WriteFile(filepath.Join(w.Path, "cache", "CACHEDIR.TAG"), cacheTag)
	f.WriteFile(filepath.Join(w.Path, "cache", ".gitignore"), "*\n") // as tools that make a cache do
	f.WriteFile(filepath.Join(w.Path, "data", "cache", "CACHEDIR.TAG"), cacheTag)
	stay = []string{
		"build/out.txt",            // the usual name, but git does not ignore it
		"kept/build/x.log",         // beside a tracked file
		"data/build/results.txt",   // ignored for another reason
		"fake/CACHEDIR.TAG",        // without the signature
		"data/repo/.git/HEAD",      // not a directory of a usual name
		"tagged/.git/HEAD",         // a repository of its own
		"data/repo/draft/work.txt", // tagged, in a repository of its own
		"draft/work.txt",           // tagged, but git does not ignore it
		"draft/deep/work.txt",
		"sub/dist/not-ignored.txt", // ignored at the top only
		"README.md",
	}
	for _, name := range stay {
		f.WriteFile(filepath.Join(w.Path, name), "stays\n")
	}
	for _, dir := range []string{"tagged", "draft", "data/repo/draft"} {
		f.WriteFile(filepath.Join(w.Path, dir, "CACHEDIR.TAG"), cacheTag)
	}
	f.removeForced("a")
	return w, again, stay
}

func (trashUpkeepScenarios) RegenerableGoFirst(t *testing.T, f *fixture) {
	f.Service = f.with("trash.regenerable_after", "0s")
	w, again, stay := littered(t, f)
	before := trashOf(t, f)
	res := gc(t, f)
	if !slices.Equal(res.Stripped, []croft.ID{w.ID}) || len(res.Purged) != 0 || res.Bytes < 50_000 || res.Inodes < 15 {
		t.Errorf("GC = %+v", res)
	}
	item := trashOf(t, f)
	if got := slices.Sorted(slices.Values(item.Stripped)); !slices.Equal(got, slices.Sorted(slices.Values(again))) {
		t.Errorf("stripped %q, want %q", got, again)
	}
	if item.Bytes != before.Bytes-res.Bytes || item.Inodes != before.Inodes-res.Inodes {
		t.Errorf("%+v was %+v, and %d bytes and %d inodes were freed", item, before, res.Bytes, res.Inodes)
	}
	wantNoDebris(t, f)
	if res := gc(t, f); len(res.Stripped) != 0 {
		t.Errorf("GC again = %+v", res)
	}
	back := f.restore("a")
	for _, dir := range again {
		if f.Exists(filepath.Join(w.Path, dir)) {
			t.Errorf("%s is there", dir)
		}
		if len(back.Notes) != 1 || !strings.Contains(back.Notes[0], dir) {
			t.Errorf("the notes %q do not say that %s is gone", back.Notes, dir)
		}
	}
	for _, name := range stay {
		if got, err := f.Host.Read(filepath.Join(w.Path, name)); err != nil || string(got) != "stays\n" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func (trashUpkeepScenarios) RegenerableStayForAnHour(t *testing.T, f *fixture) {
	w, again, _ := littered(t, f)
	if res := gc(t, f); len(res.Stripped) != 0 || len(res.Announced) != 0 {
		t.Errorf("GC = %+v", res)
	}
	back := f.restore("a")
	for _, dir := range again {
		if !f.Exists(filepath.Join(w.Path, dir)) {
			t.Errorf("%s is gone", dir)
		}
	}
	if len(back.Notes) != 0 {
		t.Errorf("notes %q", back.Notes)
	}
}

// crowd removes workspaces, each with a file of 50,000 bytes: two that are finished, one
// that has commits of its own and one that has uncommitted work. The order is not the one
// in which the budget has to delete them.
func crowd(t *testing.T, f *fixture) map[string]croft.ID {
	t.Helper()
	ids := map[string]croft.ID{}
	for _, name := range []string{"dirty", "ahead", "finished", "later"} {
		w := f.create(croft.CreateRequest{Name: name})
		ids[name] = w.ID
		if name == "dirty" {
			f.writeIn(w, "wip.bin", strings.Repeat(name, 50_000/len(name)))
		} else {
			f.commitIn(w.Path, name+".bin", strings.Repeat(name, 50_000/len(name)))
		}
		if name == "finished" || name == "later" {
			f.Git("merge", "--quiet", "--no-ff", "--message", "merge "+name, w.Branch)
		}
		f.removeForced(name)
	}
	return ids
}

// wantLeft compares the items of the trash, the first removed first.
func wantLeft(t *testing.T, f *fixture, want ...string) {
	t.Helper()
	var got []string
	for _, item := range slices.Backward(trash(t, f)) {
		if item.Left == croft.LeftDirectory {
			got = append(got, item.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("directories of %v are in the trash, want %v", got, want)
	}
	wantNoDebris(t, f)
}

func (trashUpkeepScenarios) ByteBudget(t *testing.T, f *fixture) {
	ids := crowd(t, f)
	var bytes int64
	for _, item := range trash(t, f) {
		bytes += item.Bytes
	}
	f.Service = f.with("trash.max_bytes", decimal(bytes-1))
	res := gc(t, f)
	if !slices.Equal(res.Purged, []croft.ID{ids["finished"]}) || len(res.Reduced)+len(res.Announced) != 0 || res.Bytes < 50_000 {
		t.Errorf("GC = %+v, want the first finished one gone", res)
	}
	wantLeft(t, f, "dirty", "ahead", "later")
	f.Service = f.with("trash.max_bytes", "0")
	res = gc(t, f)
	if !slices.Equal(res.Purged, []croft.ID{ids["later"]}) || len(res.Announced) != 2 || len(res.Reduced) != 0 {
		t.Errorf("GC = %+v, want the second finished one gone and the others announced", res)
	}
	wantLeft(t, f, "dirty", "ahead")
}

func (trashUpkeepScenarios) InodeBudget(t *testing.T, f *fixture) {
	ids := crowd(t, f)
	var inodes int64
	for _, item := range trash(t, f) {
		inodes += item.Inodes
	}
	f.Service = f.with("trash.max_inodes", decimal(inodes-1))
	if res := gc(t, f); !slices.Equal(res.Purged, []croft.ID{ids["finished"]}) || res.Inodes == 0 {
		t.Errorf("GC = %+v, want the first finished one gone", res)
	}
	wantLeft(t, f, "dirty", "ahead", "later")
}

func (trashUpkeepScenarios) WorkGoesLastAndAnnounced(t *testing.T, f *fixture) {
	ids := crowd(t, f)
	f.Service = f.with("trash.max_bytes", "0")
	res := gc(t, f)
	if len(res.Announced) != 2 || res.Announced[0].ID != ids["dirty"] || res.Announced[1].ID != ids["ahead"] {
		t.Fatalf("GC = %+v", res)
	}
	for _, a := range res.Announced {
		if notice := time.Until(a.At); a.Reason != croft.TrashOverBudget || a.Left != croft.LeftDirectory || notice < 23*time.Hour || notice > 25*time.Hour {
			t.Errorf("announced %+v", a)
		}
	}
	events := 0
	for ev, err := range f.Events(t.Context(), croft.EventsRequest{Kinds: []string{croft.EventTrashAnnounced}}) {
		must(t, err)
		if events++; ev.Workspace != ids["dirty"] && ev.Workspace != ids["ahead"] {
			t.Errorf("event %+v", ev)
		}
	}
	if events != 2 {
		t.Errorf("%d events, want 2", events)
	}
	for _, item := range trash(t, f) {
		if time.Until(item.PurgeAt) < 23*time.Hour {
			t.Errorf("the trash does not say when %s goes: %+v", item.Name, item)
		}
	}
	if res := gc(t, f); len(res.Announced)+len(res.Reduced)+len(res.Purged) != 0 {
		t.Errorf("GC again = %+v, want nothing before its time", res)
	}
	wantLeft(t, f, "dirty", "ahead")
}

func (trashUpkeepScenarios) AnnouncementWithdrawn(t *testing.T, f *fixture) {
	crowd(t, f)
	f.Service = f.with("trash.max_bytes", "0")
	if res := gc(t, f); len(res.Announced) != 2 {
		t.Fatalf("GC = %+v", res)
	}
	f.Service = f.with("trash.max_bytes", "")
	gc(t, f)
	for _, item := range trash(t, f) {
		if !item.PurgeAt.IsZero() {
			t.Errorf("still announced, although there is room: %+v", item)
		}
	}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
