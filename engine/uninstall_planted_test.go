package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestUninstallOfPlantedRefs: an agent has made very many refs that are named after its
// workspace. They are deleted with the others, in less than quadratic time. Some have names
// that git would not let exist together.
func TestUninstallOfPlantedRefs(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	r.Git("pack-refs", "--all")
	packed := filepath.Join(r.Dir, ".git", "packed-refs")
	text, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := bytes.Cut(text, []byte("refs/croft/ws/"))
	line := head[bytes.LastIndexByte(head, '\n')+1:]
	var all bytes.Buffer
	all.Write(head[:len(head)-len(line)])
	for i := range 20_000 {
		fmt.Fprintf(&all, "%srefs/croft/archive/%s/planted%05d\n", line, w.ID, i/2*2)
		if i%2 == 1 {
			all.Truncate(all.Len() - 1)
			all.WriteString("/below\n")
		}
	}
	all.Write(line)
	all.WriteString("refs/croft/ws/")
	all.Write(rest)
	if err := os.WriteFile(packed, all.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // under the race detector it takes more than one
	defer cancel()
	done, err := e.Uninstall(ctx, croft.UninstallRequest{})
	if err != nil || len(done.Repos) != 1 || len(done.Repos[0].Refs) < 20_000 {
		t.Fatalf("Uninstall: %v", err)
	}
	if refs := r.Git("for-each-ref", "refs/croft/"); refs != "" {
		t.Errorf("left are refs %.300s", refs)
	}
}
