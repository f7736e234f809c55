package gittest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Aged is a repository whose files changed a little in many commits, so that a
// gc makes chains of deltas of them.
func Aged(t testing.TB, format string) *Repo {
	t.Helper()
	r := Empty(t)
	if err := os.RemoveAll(filepath.Join(r.Dir, ".git")); err != nil {
		t.Fatal(err)
	}
	r.Git("init", "--quiet", "--initial-branch=main", "--object-format="+format)
	for n := range 12 {
		for i := range 6 {
			var text strings.Builder
			for line := range 300 {
				fmt.Fprintf(&text, "file %d line %d of %d\n", i, line, n*(line%7/6))
			}
			r.Write(fmt.Sprintf("d%d/e/f%d", i%3, i), text.String())
		}
		r.Commit(fmt.Sprint("commit ", n))
	}
	return r
}
