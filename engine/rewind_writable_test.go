//go:build unix

package engine_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// everythingIn describes all files below a directory: contents and modes.
func everythingIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[path] = info.Mode().String()
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			all[path] += " " + string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantAsWas(t *testing.T, want, got map[string]string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the workspace is not as it was (-want +got):\n%s", d)
	}
}

// TestRewindNotWritable: a directory in a workspace belongs to another user, so that no
// file can be moved out of it. The rewind's error says so, and all files are unchanged.
func TestRewindNotWritable(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs files of two users")
	}
	r := gittest.New(t)
	asUser := unprivileged(t, r)
	if out, err := run(t, asUser(helper(t, r, creation("a", "default")))); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	path := filepath.Join(filepath.Dir(r.Dir), "app.croft", "a")
	write := func(name, text string) {
		gittest.WriteFile(t, filepath.Join(path, name), text)
		give(t, path)
	}
	write("m/locked/file", "one\n")
	if out, err := run(t, asUser(helper(t, r, task{Snapshot: &croft.SnapshotRequest{Workspace: "a"}}))); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list, err := engineIn(t, r, 0).Snapshots(t.Context(), croft.SnapshotsRequest{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	give(t, filepath.Dir(r.Home))
	write("a/first", "two\n")
	write("m/locked/file", "two\n")
	write("z/last", "two\n")
	if err := os.Chown(filepath.Join(path, "m", "locked"), 0, 0); err != nil {
		t.Fatal(err)
	}
	want := everythingIn(t, path)
	out, err := run(t, asUser(helper(t, r, task{Restore: &croft.RestoreRequest{Ref: string(list.Items[0].ID)}})))
	if err == nil || !strings.HasPrefix(out, string(croft.NotWritable)+" ") {
		t.Errorf("%v, %q, want NOT_WRITABLE", err, out)
	}
	wantAsWas(t, want, everythingIn(t, path))
	if w := show(t, engineIn(t, r, 0), "a"); w.State != croft.Ready {
		t.Errorf("the workspace is %s", w.State)
	}
	give(t, filepath.Dir(r.Home))
	if out, err := run(t, asUser(helper(t, r, task{Restore: &croft.RestoreRequest{Ref: string(list.Items[0].ID)}}))); err != nil {
		t.Errorf("once it can: %v, %s", err, out)
	}
}
