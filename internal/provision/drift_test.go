package provision

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	if err := errors.Join(os.Remove(filepath.Join(p.workspace, "l")), os.Symlink("f", filepath.Join(p.workspace, "l")),
		os.Remove(filepath.Join(p.project, "l")), os.Symlink("g", filepath.Join(p.project, "l"))); err != nil {
		t.Fatal(err)
	}
	if got := Drift(c, p.From, p.To); got != croft.DriftStale {
		t.Errorf("a link of the project's: %q", got)
	}
	c = p.copied("f")
	c.Sum = "" // as of a clone
	p.write(p.workspace, "f", "mine", time.Hour)
	if got := Drift(c, p.From, p.To); got != croft.DriftEdited {
		t.Errorf("without a digest: %q", got)
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
	p.wantFiles(1)
}

// TestRenewPutsBack: a copy that cannot be renewed is where it was, and nothing is left aside.
func TestRenewPutsBack(t *testing.T) {
	p := newPair(t)
	p.write(p.project, "f", "text", 0)
	old := p.copied("f")
	if err := os.Remove(filepath.Join(p.project, "f")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Renew(old, fsx.ContentCopied); err == nil || p.text("f") != "text" {
		t.Errorf("%v: %q", err, p.text("f"))
	}
	p.wantFiles(1)
	p.write(p.project, "f", "newer", 0)
	if _, err := p.Renew(old, fsx.ContentCopied); err != nil {
		t.Error(err)
	}
	p.wantFiles(1)
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

// TestAsRenewedOfLargeFiles: the digest of a large file is of its beginning only, so it tells nothing of an edit.
func TestAsRenewedOfLargeFiles(t *testing.T) {
	p := newPair(t)
	p.write(p.project, "f", "text", 0)
	old := p.copied("f")
	large := strings.Repeat("x", smallFile+1)
	p.write(p.project, "f", large+"project", time.Hour)
	p.write(p.workspace, "f", large+"an edit", time.Hour*2)
	if now, is := p.AsRenewed(old); is {
		t.Errorf("%+v", now)
	}
}

// TestLimits: links count as files, what fits exactly is copied, and what there is no room for takes nothing of the limits.
func TestLimits(t *testing.T) {
	p := newPair(t)
	p.write(p.project, "a", "text", 0)
	p.write(p.project, "b", "text", 0)
	p.write(p.project, "large", strings.Repeat("x", smallFile+1), 0)
	for _, name := range []string{"l", "m"} {
		if err := os.Symlink("a", filepath.Join(p.project, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.Limits = Limits{Files: 3, Bytes: 8, Free: 1 << 60}
	for _, tt := range []struct {
		name string
		want croft.SkipReason
	}{{"a", ""}, {"large", croft.SkipTooLarge}, {"l", ""}, {"b", ""}, {"m", croft.SkipTooMany}} {
		p.wantSkipped(tt.name, tt.want)
	}
	p = newPair(t)
	p.write(p.project, "a", "text", 0)
	p.write(p.project, "large", strings.Repeat("x", smallFile+1), 0)
	p.Limits = Limits{Files: 1, Bytes: smallFile + 1, Free: 1 << 60}
	p.wantSkipped("large", croft.SkipNoRoom)
	p.wantSkipped("a", "")
}

// wantSkipped copies a file and expects that it is skipped for a reason, or copied if there is none.
func (p *pair) wantSkipped(name string, want croft.SkipReason) {
	p.t.Helper()
	_, err := p.Copy(name, fsx.ContentCopied)
	skip, _ := errors.AsType[*SkipError](err)
	if want == "" && err != nil || want != "" && (skip == nil || skip.Why != want) {
		p.t.Errorf("%s: %v, want %q", name, err, want)
	}
}

// wantFiles expects a number of files in the workspace.
func (p *pair) wantFiles(n int) {
	p.t.Helper()
	p.To.StageIn(StageDir)
	if _, err := p.To.ClearStage(); err != nil {
		p.t.Error(err)
	}
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

// TestLinkLeavesGitOut: no pattern links the project's git directory into a checkout.
func TestLinkLeavesGitOut(t *testing.T) {
	p := newPair(t)
	p.write(p.project, ".git/config", "", 0)
	p.write(p.project, "cache/a", "", 0)
	if linked, err := Link(p.project, p.workspace, []string{"*", ".git"}); err != nil || !slices.Equal(linked, []string{"cache"}) {
		t.Errorf("%q, %v", linked, err)
	}
}

// TestReadIncludeRefuses: what is no file of a reasonable size in the place of IncludeFile is told, and not followed.
func TestReadIncludeRefuses(t *testing.T) {
	for name, make := range map[string]func(file string) error{
		"link": func(file string) error {
			return errors.Join(os.WriteFile(file+".to", []byte(".env\n"), 0o600), os.Symlink(file+".to", file))
		},
		"directory": func(file string) error { return os.Mkdir(file, 0o700) },
		"long":      func(file string) error { return os.WriteFile(file, bytes.Repeat([]byte("a\n"), maxInclude), 0o600) },
	} {
		dir := t.TempDir()
		if err := make(filepath.Join(dir, IncludeFile)); err != nil {
			t.Fatal(err)
		}
		if text, err := ReadInclude(dir); !errors.Is(err, croft.ConfigInvalid) || text != nil {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
}
