//go:build unix

package battery

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// losses are the ways in which the database can be lost between two commands.
var losses = []struct {
	name  string
	spoil func(p *project, backup []byte) error
	aside bool // a file is left that is worth keeping
}{
	{"deleted", func(p *project, _ []byte) error { return os.Remove(p.database()) }, false},
	{"the state directory deleted", func(p *project, _ []byte) error { return os.RemoveAll(p.state()) }, false},
	{"truncated to nothing", func(p *project, _ []byte) error { return os.Truncate(p.database(), 0) }, false},
	{"truncated to half", func(p *project, _ []byte) error {
		info, err := os.Stat(p.database())
		if err != nil {
			return err
		}
		return os.Truncate(p.database(), info.Size()/2)
	}, true},
	{"filled with noise", func(p *project, _ []byte) error { return p.noise(0) }, true},
	{"noise after the first page", func(p *project, _ []byte) error { return p.noise(4096) }, true},
	{"noise in the last third", func(p *project, _ []byte) error {
		info, err := os.Stat(p.database())
		if err != nil {
			return err
		}
		return p.noise(int(info.Size()) * 2 / 3)
	}, true},
	{"replaced by an older copy", func(p *project, backup []byte) error { return os.WriteFile(p.database(), backup, 0o600) }, false},
}

func (p *project) database() string { return filepath.Join(p.state(), "croft.db") }

// noise overwrites the database with random bytes from an offset on.
func (p *project) noise(from int) error {
	b, err := os.ReadFile(p.database())
	if err != nil {
		return err
	}
	rnd := rand.NewChaCha8([32]byte{1, 2, 3})
	_, _ = rnd.Read(b[from:])
	return os.WriteFile(p.database(), b, 0o600)
}

// TestDatabaseLost loses the database of a hundred live workspaces, in every form. The next
// command, a listing by several processes at once, has to notice that by itself and know
// all of them again, with their paths and states, the entries of the trash, and workspaces
// that an older copy of the database does not have.
func TestDatabaseLost(t *testing.T) {
	const n = 101 // one of them is removed
	p := bigProject(t, 50)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("ws%03d", i)
	}
	p.mustCroft(append([]string{"new", "--key", "all"}, names[:n/2]...)...)
	p.mustCroft("remove", names[0])
	backup, err := os.ReadFile(p.database())
	mustDo(t, err)
	p.mustCroft(append([]string{"new"}, names[n/2:]...)...)
	p.mustCroft("restore", names[0])
	p.mustCroft("remove", names[1])
	for _, w := range p.mustCroft("list").Workspaces {
		mustDo(t, writeFile(filepath.Join(w.Path, "wip.txt"), w.Name))
	}
	want := p.census()
	if len(want.workspaces) != n-1 || len(want.trash) != 1 {
		t.Fatalf("%d workspaces and %d in the trash to begin with", len(want.workspaces), len(want.trash))
	}
	for _, loss := range losses {
		mustDo(t, loss.spoil(p, backup))
		before := manifestOf(t, p.workspaces(), nil)
		start := time.Now()
		results := atOnce(4, func(int) result { return p.croft("list") })
		took := time.Since(start)
		told := 0
		for _, r := range results {
			if r.code != 0 || r.err != nil {
				t.Errorf("%s: croft list: %v", loss.name, r)
				continue
			}
			if strings.Contains(r.stderr, "note: the state database") {
				told++
			}
			if got := p.answer(r).Workspaces; len(got) != len(want.workspaces) {
				t.Errorf("%s: a listing has %d workspaces, want %d", loss.name, len(got), len(want.workspaces))
			}
		}
		got := p.census()
		if !slices.Equal(got.workspaces, want.workspaces) || !slices.Equal(got.trash, want.trash) {
			t.Errorf("%s: the workspaces are not the same:\n%v\n%v", loss.name, got, want)
		}
		requireSame(t, loss.name, before, manifestOf(t, p.workspaces(), nil))
		again := p.croft("new", "--key", "all", names[0])
		if code := p.answer(again).code(); code != "KEY_CONFLICT" {
			t.Errorf("%s: a key that was used is forgotten: %v", loss.name, again)
		}
		doctor := p.croft("doctor")
		if doctor.code != 0 {
			t.Errorf("%s: something is left to fix: %v", loss.name, doctor)
		}
		aside, _ := filepath.Glob(p.database() + ".damaged-*[0-9]")
		if (len(aside) == 1) != loss.aside || loss.aside && !strings.Contains(doctor.stdout, aside[0]) {
			t.Errorf("%s: set aside %v; the doctor says %s", loss.name, aside, doctor.stdout)
		}
		if loss.aside && told != 1 {
			t.Errorf("%s: %d of the commands told of it, want the one that set it aside", loss.name, told)
		}
		for _, path := range aside {
			mustDo(t, os.Remove(path))
		}
		if took > 5*time.Second {
			t.Errorf("%s: known again after %.1f s, the bound is 5 s", loss.name, took.Seconds())
		}
		report(t, "database", "%s, %d live workspaces: noticed and rebuilt by 4 listings at once in %.2f s (a listing takes %s); 0 lost",
			loss.name, len(want.workspaces), took.Seconds(), ms(p.croft("list").took))
	}
}

// census is everything that is known about the workspaces of a project.
type census struct{ workspaces, trash []string }

func (p *project) census() (c census) {
	p.t.Helper()
	for _, w := range p.mustCroft("list").Workspaces {
		head := p.git(w.Path, "rev-parse", "HEAD")
		c.workspaces = append(c.workspaces, fmt.Sprintf("%s %s %s %s %s", w.Name, w.State, w.Path, w.Branch, head))
	}
	var list struct {
		Trash []struct {
			ID, Name, Branch string
		}
	}
	r := p.croft("trash")
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil {
		p.t.Fatalf("croft trash: %v: %v", err, r)
	}
	for _, item := range list.Trash {
		c.trash = append(c.trash, item.ID+" "+item.Name+" "+item.Branch)
	}
	return c
}
