package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
)

// TestWorktreeAbsentWhileRead: a snapshot detects that its worktree was absent while it was
// read: files that it took for deleted exist, and were not made since. A file that really
// was deleted, or was made in between, is no sign of that.
func TestWorktreeAbsentWhileRead(t *testing.T) {
	root := t.TempDir()
	file, dir := filepath.Join(root, "file"), filepath.Join(root, "dir")
	if err := errors.Join(os.WriteFile(file, nil, 0o644), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	is, err := fsx.IdentityOf(root)
	if err != nil {
		t.Fatal(err)
	}
	later, before := time.Now().Add(5*time.Second), time.Now().Add(-time.Minute)
	for name, c := range map[string]struct {
		deleted, vanished string
		began             time.Time
		is                fsx.Identity
		want              error
	}{
		"nothing is missing":         {began: later, is: is},
		"a file was deleted":         {deleted: "gone", began: later, is: is},
		"a file became a directory":  {deleted: "dir", began: later, is: is},
		"a directory was deleted":    {vanished: "gone", began: later, is: is},
		"a file was made":            {deleted: "file", began: before, is: is},
		"a file is there again":      {deleted: "file", began: later, is: is, want: ErrChanging},
		"a directory is there again": {vanished: "dir", began: later, is: is, want: ErrChanging},
		"another directory is there": {began: later, is: "1@2", want: ErrChanging},
	} {
		t.Run(name, func(t *testing.T) {
			s := &saver{root: root, is: c.is, began: c.began, linked: map[string]bool{}, deleted: map[string]bool{}}
			if c.deleted != "" {
				s.deleted[c.deleted] = true
			}
			if c.vanished != "" {
				s.vanished = []string{c.vanished}
			}
			if err := s.requirePresent(); !errors.Is(err, c.want) {
				t.Errorf("requirePresent = %v, want %v", err, c.want)
			}
		})
	}
}
