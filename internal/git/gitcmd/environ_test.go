package gitcmd

import (
	"slices"
	"testing"
)

func TestEnvironmentOfACall(t *testing.T) {
	g := New(Options{Environ: []string{
		"HOME=/h", "GIT_DIR=/x", "LC_ALL=C.UTF-8", "LANG=de_DE", "LC_COLLATE=fr_FR", "LANGUAGE=de", "PAGER=less", "GIT_SSH_COMMAND=ssh -i key",
	}})
	want := []string{"HOME=/h", "LANG=C.UTF-8", "LC_MESSAGES=C"}
	if got := g.baseEnv(); !slices.Equal(got, want) {
		t.Errorf("with LC_ALL: %q, want %q", got, want)
	}
	g = New(Options{Environ: []string{"LANG=de_DE", "LC_CTYPE=C.UTF-8", "LC_MESSAGES=de_DE"}})
	want = []string{"LANG=de_DE", "LC_CTYPE=C.UTF-8", "LC_MESSAGES=C"}
	if got := g.baseEnv(); !slices.Equal(got, want) {
		t.Errorf("without LC_ALL: %q, want %q", got, want)
	}
}
