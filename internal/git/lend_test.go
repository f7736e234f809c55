package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
)

// regularFiles lists the regular files below a directory.
func regularFiles(t *testing.T, top string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// shared lists the files below one directory that are the same inode as one below another.
func shared(t *testing.T, a, b string) []string {
	t.Helper()
	var there []fs.FileInfo
	for _, path := range regularFiles(t, a) {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		there = append(there, info)
	}
	var list []string
	for _, path := range regularFiles(t, b) {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(there, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
			list = append(list, path)
		}
	}
	return list
}

// packed returns a repository with a pack, loose objects, and a pack of another
// repository that it borrows from.
func packed(t *testing.T) (r *gittest.Repo, dir, origin string) {
	t.Helper()
	r = gittest.New(t)
	r.Git("gc", "--quiet")
	dir = r.Beside("borrowing")
	r.Git("clone", "--quiet", "--shared", r.Dir, dir)
	for _, text := range []string{"one\n", "two\n"} {
		gittest.WriteFile(t, filepath.Join(dir, "file.txt"), text)
		r.GitIn(dir, "add", "--all")
		r.GitIn(dir, "commit", "--quiet", "-m", text)
		if text == "one\n" {
			r.GitIn(dir, "repack", "-l", "-d", "--quiet")
		}
	}
	return r, dir, filepath.Join(r.Dir, ".git")
}

func openAt(t *testing.T, r *gittest.Repo, dir string, change ...func(*gitcmd.Options)) *Repository {
	t.Helper()
	opts := options(r)
	for _, c := range change {
		c(&opts)
	}
	repo, err := Open(gitcmd.New(opts), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repo.Close() })
	return repo
}

// objectsThrough lists the objects that a git sees which borrows from a store.
func objectsThrough(t *testing.T, r *gittest.Repo, store string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "through")
	r.Git("init", "--quiet", "--bare", dir)
	gittest.WriteFile(t, filepath.Join(dir, "objects", "info", "alternates"), store+"\n")
	return r.GitIn(dir, "cat-file", "--batch-all-objects", "--batch-check")
}

// TestStoreHasNoInodeOfTheProject: a store has all objects, and shares no file with the
// project or with what the project borrows from.
func TestStoreHasNoInodeOfTheProject(t *testing.T) {
	r, dir, origin := packed(t)
	repo := openAt(t, r, dir)
	store, err := repo.AssignStore(t.Context(), "croft-a")
	if err != nil {
		t.Fatal(err)
	}
	for _, project := range []string{repo.CommonDir, origin} {
		if got := shared(t, project, store); len(got) > 0 {
			t.Errorf("the same files as in %s: %s", project, got)
		}
	}
	want := r.GitIn(dir, "cat-file", "--batch-all-objects", "--batch-check")
	if got := objectsThrough(t, r, store); got != want || strings.Count(want, "\n") < 6 {
		t.Errorf("the store has\n%s\nwant\n%s", got, want)
	}
	for _, path := range regularFiles(t, store) {
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Perm() != 0o444 && filepath.Base(filepath.Dir(path)) != odb.StoreUsers {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
		}
	}
	if _, err := os.Lstat(filepath.Join(store, "info", "alternates")); err == nil {
		t.Error("the store leads to the objects of others")
	}
}

// TestStoreIsFilledOnce: a second checkout uses the existing files of the store, and adds
// only new ones.
func TestStoreIsFilledOnce(t *testing.T) {
	r, dir, _ := packed(t)
	repo := openAt(t, r, dir)
	if err := repo.PrepareStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	stores, err := filepath.Glob(filepath.Join(repo.StoresDir(), "*"))
	if err != nil || len(stores) != 1 {
		t.Fatal(stores, err)
	}
	before := regularFiles(t, stores[0])
	gittest.WriteFile(t, filepath.Join(dir, "file.txt"), "three\n")
	r.GitIn(dir, "commit", "--quiet", "--all", "-m", "three")
	store, err := repo.AssignStore(t.Context(), "croft-a")
	if err != nil || store != stores[0] {
		t.Fatalf("%s, %v, want %s", store, err, stores[0])
	}
	want := r.GitIn(dir, "cat-file", "--batch-all-objects", "--batch-check")
	if got := objectsThrough(t, r, store); got != want {
		t.Errorf("the store has\n%s\nwant\n%s", got, want)
	}
	if after := regularFiles(t, store); len(after) != len(before)+3+1 { // a commit, a tree, a blob; and the note of its user
		t.Errorf("%d files before, %d after", len(before), len(after))
	}
}

// TestLooseObjectsOfAHalfFilledStore: a store whose filling was interrupted by a crash is
// completed, however old it is by then.
func TestLooseObjectsOfAHalfFilledStore(t *testing.T) {
	r, dir, _ := packed(t)
	repo := openAt(t, r, dir)
	packs, err := repo.PackFiles()
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(repo.StoresDir(), repo.StoreName(packs))
	gittest.WriteFile(t, filepath.Join(store, "tmp", "0"), "half a copy")
	old := time.Now().Add(-time.Hour)
	loose, err := filepath.Glob(filepath.Join(repo.CommonDir, "objects", "[0-9a-f][0-9a-f]"))
	if err != nil || len(loose) < 3 {
		t.Fatal(loose, err)
	}
	for _, path := range loose {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(store, filepath.Base(path)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got, err := repo.AssignStore(t.Context(), "croft-a")
	if err != nil || got != store {
		t.Fatal(got, err)
	}
	want := r.GitIn(dir, "cat-file", "--batch-all-objects", "--batch-check")
	if got := objectsThrough(t, r, store); got != want {
		t.Errorf("the store has\n%s\nwant\n%s", got, want)
	}
	if _, err := os.Lstat(filepath.Join(store, "tmp")); err == nil {
		t.Error("half a copy is left")
	}
}

// TestStoreOfLinks: with LendLinks, a repository gets another store, which has hard links.
func TestStoreOfLinks(t *testing.T) {
	r, dir, _ := packed(t)
	copies, err := openAt(t, r, dir).AssignStore(t.Context(), "croft-a")
	if err != nil {
		t.Fatal(err)
	}
	repo := openAt(t, r, dir, func(o *gitcmd.Options) { o.Lending = gitcmd.LendLinks })
	links, err := repo.AssignStore(t.Context(), "croft-b")
	if err != nil || links == copies {
		t.Fatal(links, copies, err)
	}
	if got := shared(t, repo.CommonDir, links); len(got) == 0 {
		t.Error("nothing is shared")
	}
	want := r.GitIn(dir, "cat-file", "--batch-all-objects", "--batch-check")
	if got := objectsThrough(t, r, links); got != want {
		t.Errorf("the store has\n%s\nwant\n%s", got, want)
	}
}

// TestVerifyEmptyPack: git makes packs without objects, and they count as whole.
func TestVerifyEmptyPack(t *testing.T) {
	r := gittest.New(t)
	dir := filepath.Join(r.Dir, ".git", "objects", "pack")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	r.GitIn(dir, "pack-objects", "-q", "--stdin-packs", "pack") // of no packs
	packs, _ := filepath.Glob(filepath.Join(dir, "*.pack"))
	if len(packs) != 1 {
		t.Fatalf("packs %q", packs)
	}
	repo := open(t, r)
	if found, err := repo.VerifyObjects(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
	whole := readFile(t, packs[0])
	overwrite(t, packs[0], whole[:len(whole)-1])
	if found, err := repo.VerifyObjects(t.Context()); err != nil || len(found) == 0 {
		t.Errorf("cut off: found %v, %v", found, err)
	}
}

// TestVerifyObjects: one changed byte in any file of a pack, or in any loose object of a
// store, is found, and mended if the file is a copy.
func TestVerifyObjects(t *testing.T) {
	r := gittest.New(t)
	r.Git("gc", "--quiet")
	r.Write("loose.txt", "loose\n")
	r.Commit("loose")
	repo := open(t, r)
	store, err := repo.AssignStore(t.Context(), "croft-a")
	if err != nil {
		t.Fatal(err)
	}
	verify := func() []object.Damage {
		t.Helper()
		found, err := repo.VerifyObjects(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := verify(); len(found) != 0 {
		t.Fatalf("nothing is damaged: %v", found)
	}
	tried := map[string]bool{}
	for _, path := range append(regularFiles(t, store), regularFiles(t, filepath.Join(repo.CommonDir, "objects", "pack"))...) {
		if filepath.Base(filepath.Dir(path)) == odb.StoreUsers {
			continue
		}
		whole := readFile(t, path)
		for name, spoil := range map[string]string{
			"one byte":  whole[:len(whole)/2] + string([]byte{whole[len(whole)/2] ^ 1}) + whole[len(whole)/2+1:],
			"cut off":   whole[:len(whole)-1],
			"emptied":   "",
			"continued": whole + "x",
		} {
			if name == "continued" && filepath.Base(filepath.Dir(path)) != "pack" {
				continue // bytes after the end of a loose object are not read
			}
			overwrite(t, path, spoil)
			found := verify()
			if !slices.ContainsFunc(found, func(d object.Damage) bool {
				return d.File == path && (d.Store == store) == strings.HasPrefix(path, store)
			}) {
				t.Errorf("%s, %s: %v", path, name, found)
			}
			if d := (object.Damage{File: path, Store: store}); strings.HasPrefix(path, store) {
				if err := repo.RepairStore(t.Context(), d); err != nil {
					t.Errorf("mend %s: %v", path, err)
				}
				tried[filepath.Ext(path)] = true
			} else if err := repo.RepairStore(t.Context(), object.Damage{File: path}); err == nil {
				t.Errorf("%s is the project's own", path)
			} else {
				overwrite(t, path, whole)
			}
			if found := verify(); len(found) != 0 {
				t.Fatalf("%s, %s, mended: %v", path, name, found)
			}
		}
	}
	if len(tried) < 3 || len(shared(t, repo.CommonDir, store)) > 0 {
		t.Errorf("tried %v; shared with the project: %v", tried, shared(t, repo.CommonDir, store))
	}
}

// overwrite changes a file in place, as a process that can reach its inode can.
func overwrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestVerifyExchanged: files that are whole, but not the objects that they are named after,
// as an attacker leaves them who knows the checks.
func TestVerifyExchanged(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Git("repack", "--quiet", "-d")
	r.Write("second.txt", "second\n")
	r.Commit("second")
	r.Git("repack", "--quiet", "-d")
	r.Write("loose.txt", "loose\n")
	r.Commit("loose")
	repo := open(t, r)
	store, err := repo.AssignStore(t.Context(), "croft-a")
	if err != nil {
		t.Fatal(err)
	}
	own, inStore := filepath.Join(repo.CommonDir, "objects", "pack"), filepath.Join(store, "pack")
	packs, err := filepath.Glob(filepath.Join(own, "pack-*.pack"))
	if err != nil || len(packs) != 2 {
		t.Fatalf("%v, %v: two packs are needed", packs, err)
	}
	one, two := strings.TrimSuffix(filepath.Base(packs[0]), ".pack"), strings.TrimSuffix(filepath.Base(packs[1]), ".pack")
	var loose []string
	for _, path := range regularFiles(t, store) {
		if object.IsOID(filepath.Base(filepath.Dir(path)) + filepath.Base(path)) {
			loose = append(loose, path)
		}
	}
	if len(loose) < 2 {
		t.Fatalf("loose: %v", loose)
	}
	for name, c := range map[string]struct{ write, from []string }{
		"a loose object": {loose[:1], loose[1:2]},
		"a pack of the store with its index": {
			[]string{filepath.Join(inStore, one+".pack"), filepath.Join(inStore, one+".idx")},
			[]string{filepath.Join(inStore, two+".pack"), filepath.Join(inStore, two+".idx")},
		},
		"an index of the project": {[]string{filepath.Join(own, one+".idx")}, []string{filepath.Join(own, two+".idx")}},
	} {
		t.Run(name, func(t *testing.T) {
			var whole []string
			for i, path := range c.write {
				whole = append(whole, readFile(t, path))
				overwrite(t, path, readFile(t, c.from[i]))
			}
			found, err := repo.VerifyObjects(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, path := range c.write {
				if !slices.ContainsFunc(found, func(d object.Damage) bool { return d.File == path }) {
					t.Errorf("%s is another one, and found was %v", path, found)
				}
				overwrite(t, path, whole[i])
			}
			if found, err := repo.VerifyObjects(t.Context()); err != nil || len(found) != 0 {
				t.Errorf("put back: %v, %v", found, err)
			}
		})
	}
}

// TestVerifyRemembers: a file that was found whole is not read again until it is touched.
// Setting its mtime back hides no change.
func TestVerifyRemembers(t *testing.T) {
	r := gittest.New(t)
	r.Git("gc", "--quiet")
	repo := open(t, r)
	packs, err := filepath.Glob(filepath.Join(repo.CommonDir, "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	stamp, _, err := odb.StampFor(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	whole := readFile(t, packs[0])
	overwrite(t, packs[0], whole[:30]+"X"+whole[31:])
	if err := os.Chtimes(packs[0], info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, repo.VerifiedFile(), `{"`+packs[0]+`":"`+stamp+`"}`)
	found, err := repo.VerifyObjects(t.Context())
	if err != nil || len(found) != 1 || found[0].File != packs[0] {
		t.Errorf("a changed pack as old as before: %v, %v", found, err)
	}
	// The record is trusted: with the file's present stamp in it, the file is not read.
	stamp, _, err = odb.StampFor(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, repo.VerifiedFile(), `{"`+packs[0]+`":"`+stamp+`"}`)
	if found, err := repo.VerifyObjects(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("read again: %v, %v", found, err)
	}
}

// TestSweepKeepsBorrowedStores: a sweep keeps a store that a workspace borrows from, and
// deletes unused stores before and after it.
func TestSweepKeepsBorrowedStores(t *testing.T) {
	for _, live := range []string{"0000", "8888", "ffff"} {
		repo := open(t, gittest.New(t))
		for _, name := range []string{"0000", "8888", "ffff"} {
			gittest.WriteFile(t, filepath.Join(repo.StoresDir(), name, "pack", "x"), "")
			gittest.WriteFile(t, filepath.Join(repo.StoresDir(), name, odb.StoreUsers, "of-"+name), "")
		}
		if err := repo.SweepStores(t.Context(), func(admin string) bool { return admin == "of-"+live }); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"0000", "8888", "ffff"} {
			if exists(filepath.Join(repo.StoresDir(), name, "pack", "x")) != (name == live) {
				t.Errorf("%s is borrowed from, and %s is there: %v", live, name, name != live)
			}
		}
	}
}
