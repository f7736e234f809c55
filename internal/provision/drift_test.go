package provision

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
)

// pair is a project and a workspace with copies of its files.
type pair struct {
	t                  *testing.T
	project, workspace string
	*Copier
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t: t, project: t.TempDir(), workspace: t.TempDir()}
	p.Copier = &Copier{From: fsx.OpenTree(p.project), To: fsx.OpenTree(p.workspace)}
	t.Cleanup(func() { p.From.Release(); p.To.Release() })
	return p
}

// write writes a file with a time of its own.
func (p *pair) write(dir, name, text string, age time.Duration) {
	p.t.Helper()
	file, at := filepath.Join(dir, name), time.Unix(1_700_000_000, 0).Add(-age)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, at, at)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pair) copied(name string) Copy {
	p.t.Helper()
	c, err := p.Copy(name, fsx.ContentCopied)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func TestDrift(t *testing.T) {
	for name, test := range map[string]struct {
		change func(p *pair)
		want   croft.DriftState
	}{
		"as it was":           {func(*pair) {}, ""},
		"written again":       {func(p *pair) { p.write(p.workspace, "d/f", "text", time.Hour) }, ""},
		"the project's":       {func(p *pair) { p.write(p.project, "d/f", "new!", time.Hour) }, croft.DriftStale},
		"the workspace's":     {func(p *pair) { p.write(p.workspace, "d/f", "new!", time.Hour) }, croft.DriftEdited},
		"both":                {func(p *pair) { p.write(p.workspace, "d/f", "a", 0); p.write(p.project, "d/f", "b", 0) }, croft.DriftDiverged},
		"gone":                {func(p *pair) { _ = os.Remove(filepath.Join(p.workspace, "d/f")) }, croft.DriftMissing},
		"gone in the project": {func(p *pair) { _ = os.Remove(filepath.Join(p.project, "d/f")) }, ""},
		"its mode":            {func(p *pair) { _ = os.Chmod(filepath.Join(p.workspace, "d/f"), 0o644) }, croft.DriftEdited},
		"its directory linked": {func(p *pair) {
			_ = os.RemoveAll(filepath.Join(p.workspace, "d"))
			_ = os.Symlink(p.project+"/d", p.workspace+"/d")
		}, croft.DriftMissing},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.write(p.project, "d/f", "text", 0)
			c := p.copied("d/f")
			test.change(p)
			p.From.Close()
			p.To.Close()
			if got := Drift(c, p.From, p.To); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	p := newPair(t)
	p.write(p.project, "f", "text", 0)
	if err := os.Symlink("f", filepath.Join(p.project, "l")); err != nil {
		t.Fatal(err)
	}
	c := p.copied("l")
	if err := errors.Join(os.Remove(filepath.Join(p.workspace, "l")), os.Symlink("g", filepath.Join(p.workspace, "l"))); err != nil {
		t.Fatal(err)
	}
	if got := Drift(c, p.From, p.To); got != croft.DriftMoved {
		t.Errorf("a link: %q", got)
	}
}

// TestRenew: a copy is replaced only if its content is what was copied. Size and time are not believed: an agent
// sets them as it likes.
func TestRenew(t *testing.T) {
	p := newPair(t)
	p.write(p.project, "f", "text", 0)
	old := p.copied("f")
	p.write(p.project, "f", "newer", 0)
	fresh, err := p.Renew(old, fsx.ContentCopied)
	if err != nil || p.text("f") != "newer" || fresh.Size != 5 {
		t.Errorf("%+v, %v: %q", fresh, err, p.text("f"))
	}
	p.write(p.workspace, "f", "other", 0)
	p.write(p.project, "f", "newest", 0)
	if _, err := p.Renew(fresh, fsx.ContentCopied); err == nil || p.text("f") != "other" {
		t.Errorf("an edited copy with the old size and time: %v: %q", err, p.text("f"))
	}
	p.write(p.workspace, ".croft-old-f", "an agent's", 0)
	p.write(p.workspace, "f", "newer", 0)
	if _, err := p.Renew(fresh, fsx.ContentCopied); err == nil || p.text("f") != "newer" || p.text(".croft-old-f") != "an agent's" {
		t.Errorf("with something aside: %v: %q", err, p.text("f"))
	}
	p.wantFiles(2)
}

// TestRenewOnlyWhatCanBeCompared: without a digest nobody knows whether a copy was edited.
func TestRenewOnlyWhatCanBeCompared(t *testing.T) {
	p := newPair(t)
	p.write(p.project, "f", "text", 0)
	old := p.copied("f")
	old.Sum = ""
	p.write(p.project, "f", "newer", 0)
	if _, err := p.Renew(old, fsx.ContentCopied); err == nil || p.text("f") != "text" {
		t.Errorf("%v: %q", err, p.text("f"))
	}
}

// TestAsRenewed: a copy with the project's new content is one that a process renewed before it died; any other
// content is an edit.
func TestAsRenewed(t *testing.T) {
	p := newPair(t)
	p.write(p.project, "f", "text", 0)
	old := p.copied("f")
	p.write(p.project, "f", "newer", 0)
	if _, is := p.AsRenewed(old); is {
		t.Error("the old content")
	}
	p.write(p.workspace, "f", "edits", 0)
	if _, is := p.AsRenewed(old); is {
		t.Error("an edit")
	}
	p.write(p.workspace, "f", "newer", 0)
	if now, is := p.AsRenewed(old); !is || Drift(now, p.From, p.To) != "" {
		t.Errorf("%+v, %t", now, is)
	}
}

// TestRecover: what a process that died has left aside goes back, or is deleted if another one is there;
// what is no copy stays.
func TestRecover(t *testing.T) {
	p := newPair(t)
	p.write(p.project, "f", "text", 0)
	old := p.copied("f")
	if err := p.To.Rename("f", ".croft-old-f"); err != nil {
		t.Fatal(err)
	}
	if err := p.Recover(old); err != nil || p.text("f") != "text" {
		t.Errorf("%v: %q", err, p.text("f"))
	}
	p.wantFiles(1)
	p.write(p.workspace, ".croft-old-f", "text", 0)
	p.write(p.workspace, "f", "agent", 0)
	if err := p.Recover(old); err != nil || p.text("f") != "agent" {
		t.Errorf("%v: %q", err, p.text("f"))
	}
	p.wantFiles(1)
	p.write(p.workspace, ".croft-old-f", "else", 0)
	if err := p.Recover(old); err != nil {
		t.Error(err)
	}
	p.wantFiles(2)
}

// wantFiles expects a number of files in the workspace.
func (p *pair) wantFiles(n int) {
	p.t.Helper()
	if entries, err := os.ReadDir(p.workspace); err != nil || len(entries) != n {
		p.t.Errorf("%v, %v", entries, err)
	}
}

func (p *pair) text(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.workspace, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}
