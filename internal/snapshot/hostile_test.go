//go:build unix

package snapshot_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/snapshot"
	"github.com/croft-sh/croft/internal/snapshot/restore"
)

// TestHostileArchive: an archive in a forged commit writes nothing outside the directory
// that it is unpacked in.
func TestHostileArchive(t *testing.T) {
	b := newBench(t)
	b.open()
	outside := filepath.Join(b.Home, "outside")
	must(t, os.MkdirAll(outside, 0o755))
	for name, headers := range map[string][]tar.Header{
		"absolute":     {{Name: outside + "/x", Typeflag: tar.TypeReg, Mode: 0o644}},
		"up":           {{Name: "../../outside/x", Typeflag: tar.TypeReg, Mode: 0o644}},
		"through link": {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: outside}, {Name: "l/x", Typeflag: tar.TypeReg, Mode: 0o644}},
		"pipe by link": {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: outside}, {Name: "l/x", Typeflag: tar.TypeFifo, Mode: 0o644}},
		"up directory": {{Name: "../../outside/x/", Typeflag: tar.TypeDir, Mode: 0o755}},
	} {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		for _, h := range headers {
			must(t, w.WriteHeader(&h))
		}
		must(t, w.Close())
		commit := b.fake(map[string][]byte{"admin.tar": archive.Bytes()})
		into := filepath.Join(b.Home, "a", "b")
		must(t, os.RemoveAll(into))
		must(t, os.MkdirAll(into, 0o755))
		if err := restore.WriteAdmin(context.Background(), b.repo, commit, into); err == nil {
			t.Errorf("%s: it was unpacked", name)
		}
		if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
			t.Fatalf("%s: outside there is %v, %v", name, list, err)
		}
	}
}

// TestHostileSecrets: the name of a private file may not be a path.
func TestHostileSecrets(t *testing.T) {
	b := newBench(t)
	b.open()
	b.file("../home/private", "not yours\n")
	for _, name := range []string{"../private", "..", "", ".", filepath.Join(b.Home, "private")} {
		text, err := json.Marshal(map[string]any{"version": 1, "secrets": map[string][]byte{name: []byte("stolen")}})
		must(t, err)
		commit := b.fake(map[string][]byte{"meta.json": text})
		secrets := filepath.Join(b.Home, "secrets")
		must(t, os.MkdirAll(secrets, 0o700))
		err = restore.Restore(context.Background(), commit, restore.Files{Worktree: b.tree, SecretsDir: secrets})
		if !errors.Is(err, snapshot.ErrFormat) {
			t.Errorf("%q: %v, want ErrFormat", name, err)
		}
		if _, err := os.Lstat(filepath.Join(b.tree.Path, "stolen")); err == nil {
			t.Errorf("%q was brought into the worktree", name)
		}
	}
}

// fake makes a commit with some files.
func (b *bench) fake(files map[string][]byte) string {
	b.t.Helper()
	var entries []object.TreeEntry
	for name, data := range files {
		oid, err := b.repo.WriteBlob(data)
		must(b.t, err)
		entries = append(entries, object.TreeEntry{Mode: "100644", Name: name, OID: oid})
	}
	tree, err := b.repo.WriteTree(entries)
	must(b.t, err)
	commit, err := b.repo.WriteCommit(object.Commit{Tree: tree, Signature: "A <a@example.com> 1 +0000", Message: "made up"})
	must(b.t, err)
	return commit
}

// TestChangingFile: a process rewrites a file all the time. A snapshot has one of its
// versions, or fails.
func TestChangingFile(t *testing.T) {
	b := newBench(t)
	b.open()
	const size = 1 << 20
	path := filepath.Join(b.tree.Path, "changing")
	b.file("changing", strings.Repeat("a", size))
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = f.WriteString(strings.Repeat(string(rune('a'+i%26)), size))
			_ = f.Close()
		}
	})
	for range 5 {
		saved, err := snapshot.Save(context.Background(), b.tree, snapshot.Selection{})
		if err != nil {
			if !errors.Is(err, snapshot.ErrChanging) {
				t.Errorf("%v, want ErrChanging", err)
			}
			continue
		}
		o, err := b.repo.Read(context.Background(), saved.Commit+":files/=changing")
		if err != nil || len(o.Data) != size {
			t.Fatalf("%d bytes, %v", len(o.Data), err)
		}
		turns := 0 // a writer that is halfway leaves its temporary file
		for i := 1; i < size; i++ {
			if o.Data[i] != o.Data[i-1] {
				turns++
			}
		}
		if turns > 1 {
			t.Errorf("the stored file is put together from %d versions", turns+1)
		}
	}
	close(done)
	wg.Wait()
}

// TestUnborn saves a worktree whose branch has no commit yet.
func TestUnborn(t *testing.T) {
	b := newBench(t)
	b.open()
	b.git("checkout", "--quiet", "--orphan", "fresh")
	b.file("new.txt", "new\n")
	saved := b.roundTrip(snapshot.Selection{})
	// HEAD's reflog still names commits, although none is checked out.
	if head, err := snapshot.HeadOf(t.Context(), b.repo, saved.Commit); err != nil || head != (snapshot.Head{Branch: "fresh"}) {
		t.Errorf("HeadOf = %+v, %v; want the branch fresh without a commit", head, err)
	}
}
