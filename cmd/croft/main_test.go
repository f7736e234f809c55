package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/cli"
)

func TestProgram(t *testing.T) {
	for arg0, want := range map[string]string{
		"croft":               "croft",
		"/usr/bin/croft":      "croft",
		"git-croft":           "git croft",
		"/usr/bin/git-croft":  "git croft",
		"git-croft.exe":       "git croft",
		"/opt/croft-nightly":  "croft",
		"./croft.test.binary": "croft",
	} {
		if got := program(arg0); got != want {
			t.Errorf("program(%q) = %q, want %q", arg0, got, want)
		}
	}
}

func TestColorFor(t *testing.T) {
	for _, tt := range []struct {
		name       string
		environ    []string
		isTerminal bool
		want       cli.Color
	}{
		{"terminal", []string{"TERM=xterm"}, true, cli.ColorTerminal},
		{"pipe", []string{"TERM=xterm"}, false, cli.ColorNever},
		{"no color", []string{"TERM=xterm", "NO_COLOR=1"}, true, cli.ColorNever},
		{"empty no color", []string{"TERM=xterm", "NO_COLOR="}, true, cli.ColorTerminal},
		{"no color wins over force", []string{"NO_COLOR=1", "CLICOLOR_FORCE=1"}, true, cli.ColorNever},
		{"forced into a pipe", []string{"CLICOLOR_FORCE=1"}, false, cli.ColorTerminal},
		{"clicolor off", []string{"TERM=xterm", "CLICOLOR=0"}, true, cli.ColorNever},
		{"dumb", []string{"TERM=dumb"}, true, cli.ColorNever},
		{"no term", nil, true, cli.ColorNever},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := colorFor(tt.environ, tt.isTerminal); got != tt.want {
				t.Errorf("colorFor(%v, %v) = %v, want %v", tt.environ, tt.isTerminal, got, tt.want)
			}
		})
	}
}

// TestASCIIOnly: a locale without UTF-8 gets no other signs, and the first variable that is set says
// which locale it is.
func TestASCIIOnly(t *testing.T) {
	for environ, want := range map[string]bool{
		"LANG=en_US.UTF-8": false, "LANG=C.utf8": false, "LANG=C": true, "": runtime.GOOS != "windows",
		"LC_ALL=C LANG=en_US.UTF-8": true, "LC_ALL=de_DE.UTF-8@euro LANG=C": false, "LC_CTYPE=C.UTF-8 LANG=C": false,
		"LANG=en_US.UTF-8 CROFT_ASCII=1": true, "LANG=ja_JP.EUC-JP": true,
	} {
		if got := isASCIIOnly(strings.Fields(environ)); got != want {
			t.Errorf("%q: %v, want %v", environ, got, want)
		}
	}
}

func TestShellEnviron(t *testing.T) {
	got := shellEnviron(
		[]string{"HOME=/h", "GIT_DIR=/elsewhere/.git", "GIT_AUTHOR_NAME=a", "PWD=/old"},
		"/ws", []string{"CROFT_WORKSPACE=fix"},
	)
	want := []string{"HOME=/h", "GIT_AUTHOR_NAME=a", "PWD=/ws", "CROFT_WORKSPACE=fix"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestClaimHour(t *testing.T) {
	dir := t.TempDir()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	claim := func(root string, at time.Time, want bool) {
		t.Helper()
		if got := claimHour(dir, root, at); got != want {
			t.Errorf("claim of %s at %s = %v, want %v", root, at.Format(time.TimeOnly), got, want)
		}
	}
	claim("/a", noon, true)
	claim("/a", noon.Add(59*time.Minute), false)
	claim("/b", noon, true)
	claim("/a", noon.Add(time.Hour), true)
	claim("/a", noon.Add(time.Hour), false)

	left, err := filepath.Glob(filepath.Join(dir, upkeepStamp+"*"))
	if err != nil || len(left) != 1 {
		t.Errorf("stamps left: %v, %v; want only this hour's", left, err)
	}
	if claimHour(filepath.Join(dir, "missing"), "/a", noon) {
		t.Error("a claim succeeded without a state directory")
	}
	if _, err := os.Stat(filepath.Join(dir, "missing")); err == nil {
		t.Error("the claim made a state directory")
	}
}

func TestUpkeepIsOffByConfiguration(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	environ := []string{"HOME=" + dir, "CROFT_STATE_DIR=" + dir}
	if claimUpkeep(append(environ, "CROFT_GC_AUTO=false"), "", now) {
		t.Error("due although it is turned off")
	}
	if !claimUpkeep(environ, "", now) {
		t.Error("not due although it is on and never ran")
	}
}
