package engine_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// victimOf makes a directory that an agent might want Croft to move, delete or write to. It
// has every file that Croft looks for by name.
func victimOf(t *testing.T, r *gittest.Repo, id croft.ID) string {
	t.Helper()
	top := filepath.Join(r.Home, "victim")
	for _, name := range []string{
		"precious", "a/f", "a/sub/f", ".trash/f", "tree/f", "admin/HEAD", "admin/gitdir", "admin/locked", "admin/index", "gitdir", "locked", "HEAD",
		".trash/" + string(id) + "/tree/f", ".trash/" + string(id) + "/admin/gitdir", string(id) + "/tree/f", string(id) + "/admin/HEAD",
		"croft-" + string(id) + "/gitdir", "croft-" + string(id) + "/locked", "staging/croft-" + string(id) + "/HEAD", "trash/f",
	} {
		gittest.WriteFile(t, filepath.Join(top, filepath.FromSlash(name)), "precious\n")
	}
	return top
}

// digestOf hashes a directory: names, kinds, modes and contents.
func digestOf(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		line := path + " " + d.Type().String()
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(b))
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// swapped lists the paths that an agent replaces by links: the workspace and its parent, the
// trash and its entries, Croft's directory in the repository, and the registration.
func swapped(r *gittest.Repo, id croft.ID) []string {
	beside, common := filepath.Join(filepath.Dir(r.Dir), "app.croft"), filepath.Join(r.Dir, ".git")
	return []string{
		filepath.Join(beside, "a"),
		filepath.Join(beside, ".trash"),
		filepath.Join(beside, ".trash", string(id)),
		filepath.Join(beside, ".trash", string(id), "tree"),
		filepath.Join(beside, ".trash", string(id), "admin"),
		beside,
		filepath.Join(common, "croft"),
		filepath.Join(common, "worktrees", "croft-"+string(id)),
	}
}

// registration is the index, in swapped, of the directory that git writes in, too: an agent
// that replaces it may damage its own registration, and nothing else.
const registration = 7

// swap replaces a path by a link to the victim. undo puts it back, and keeps files that
// Croft made there in between.
func swap(place, victim string) (undo func()) {
	aside := place + ".aside"
	moved := os.Rename(place, aside) == nil
	linked := os.Symlink(victim, place) == nil
	return func() {
		if target, err := os.Readlink(place); linked && err == nil && target == victim {
			_ = os.Remove(place)
		}
		if moved {
			_ = os.Rename(aside, place)
		}
	}
}

// TestRacesWithLinks removes, restores and purges workspaces while an agent replaces
// directories by links to a victim. The calls may fail; the victim must stay unchanged.
func TestRacesWithLinks(t *testing.T) {
	t.Parallel()
	races := 16
	if os.Getenv("CROFT_LONG") != "" {
		races = 1000
	}
	done, refused := 0, 0
	const each = 16 // in one repository
	for n := 0; n < races; n += each {
		r := gittest.New(t)
		for i := range min(each, races-n) {
			ok, bad := race(t, r, (n+i)%(registration+1))
			done, refused = done+ok, refused+bad
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d races: %d acts were done, %d refused", races, done, refused)
	if done == 0 || refused == 0 {
		t.Error("nothing was done, or nothing was in the way")
	}
}

func race(t *testing.T, r *gittest.Repo, which int) (done, refused int) {
	t.Helper()
	e := engineIn(t, r, 0, "trash.retention", "0s", "trash.notice", "0s", "trash.saved_for", "0s")
	w, err := e.Create(t.Context(), croft.CreateRequest{})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	gittest.WriteFile(t, filepath.Join(w.Path, "wip"), "wip\n")
	victim := victimOf(t, r, w.ID)
	gittest.WriteFile(t, filepath.Join(victim, filepath.Base(w.Path), "f"), "precious\n")
	before := digestOf(t, victim)
	places := swapped(r, w.ID)
	places[0] = w.Path
	var swapping sync.WaitGroup
	stop := make(chan bool)
	swapping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			undo := swap(places[which], victim)
			time.Sleep(time.Duration(i%7) * 300 * time.Microsecond)
			undo()
			time.Sleep(time.Duration(i%5) * 700 * time.Microsecond)
		}
	})
	count := func(err error) {
		if err == nil {
			done++
		} else {
			refused++
		}
	}
	for range 2 {
		res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{w.Name}, Mode: croft.RemoveForce})
		if err == nil && len(res.Kept) > 0 {
			err = res.Kept[0].Reason
		}
		count(err)
		_, err = e.Restore(t.Context(), croft.RestoreRequest{Ref: string(w.ID)})
		count(err)
	}
	_, _ = e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{w.Name}, Mode: croft.RemoveForce})
	_, err = e.GC(t.Context(), croft.GCRequest{})
	count(err)
	close(stop)
	swapping.Wait()
	defer func() {
		if t.Failed() {
			t.Logf("workspace %s, %s was exchanged; registrations:%s", w.ID, places[which], registrationsOf(r))
		}
	}()
	if after := digestOf(t, victim); after != before {
		t.Errorf("the victim changed when %s was exchanged:\n%s\nwas\n%s", places[which], after, before)
	}
	clearRace(t, r, e, w.Name, func() {
		if which == registration {
			_ = os.RemoveAll(places[which])
		}
	})
	return done, refused
}

// registrationsOf lists git's worktrees, and what each HEAD holds.
func registrationsOf(r *gittest.Repo) string {
	entries, err := os.ReadDir(filepath.Join(r.Dir, ".git", "worktrees"))
	list := fmt.Sprint(err)
	for _, entry := range entries {
		dir := filepath.Join(r.Dir, ".git", "worktrees", entry.Name())
		head, err := os.ReadFile(filepath.Join(dir, "HEAD"))
		target, _ := os.Readlink(dir)
		list += fmt.Sprintf("\n%s %s %s HEAD %q %v", entry.Type(), entry.Name(), target, head, err)
	}
	return list
}

// clearRace removes a workspace after the race. If another directory lies at its path, that
// stays. spoiled deletes what the agent has made of its own registration.
func clearRace(t *testing.T, r *gittest.Repo, e croft.Service, name string, spoiled func()) {
	t.Helper()
	res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{name}, Mode: croft.RemoveForce})
	if err != nil || len(res.Kept) > 0 && res.Kept[0].Reason.Code != croft.WorkspaceBroken {
		t.Errorf("once it is quiet: %+v, %v", res, err)
	}
	if _, err := e.GC(t.Context(), croft.GCRequest{}); err != nil && !errors.Is(err, croft.WorkspaceBroken) {
		t.Errorf("gc once it is quiet: %v", err)
	}
	spoiled() // also if the workspace is kept: the next ones use the same repository
	// A workspace that is kept may be half removed: its branch is in the archive.
	if err == nil && len(res.Kept) == 0 {
		if got := r.Git("fsck", "--no-dangling"); got != "" {
			t.Errorf("git fsck: %s", got)
		}
	}
}
