package restore

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// sparse is an archive of one sparse file.
func sparse(size int) []byte {
	block := func(name string, kind byte, size int) []byte {
		b := make([]byte, 512)
		copy(b, name)
		copy(b[100:], fmt.Sprintf("%07o\x00%07o\x00%07o\x00%011o\x00%011o\x00        %c", 0o644, 0, 0, size, 0, kind))
		copy(b[257:], "ustar\x0000")
		sum := 0
		for _, c := range b {
			sum += int(c)
		}
		copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
		return b
	}
	pad := func(text string) []byte { return append([]byte(text), make([]byte, 512-len(text))...) }
	var records string
	for _, record := range []string{"GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=hole", fmt.Sprintf("GNU.sparse.realsize=%d", size)} {
		records += fmt.Sprintf("%d %s\n", len(record)+4, record)
	}
	list := [][]byte{block("x", tar.TypeXHeader, len(records)), pad(records), block("hole", tar.TypeReg, 512), pad("0\n"), make([]byte, 1024)}
	return bytes.Join(list, nil)
}

// FuzzExtract: an agent may have written the archive from which an admin directory or a
// nested repository is restored. Nothing is written outside of the directory, and nothing
// that is many times as large as the archive.
func FuzzExtract(f *testing.F) {
	pack := func(headers ...*tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range headers {
			if h.Typeflag == tar.TypeReg {
				h.Size = 4
			}
			h.ModTime = time.Unix(0, 0)
			if err := w.WriteHeader(h); err != nil {
				f.Fatal(err)
			}
			if h.Typeflag == tar.TypeReg {
				if _, err := w.Write([]byte("text")); err != nil {
					f.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			f.Fatal(err)
		}
		return b.Bytes()
	}
	f.Add(pack(&tar.Header{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o755}, &tar.Header{Name: "d/f", Typeflag: tar.TypeReg, Mode: 0o644}))
	f.Add(pack(&tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, &tar.Header{Name: "l/beside", Typeflag: tar.TypeReg, Mode: 0o644}))
	f.Add(pack(&tar.Header{Name: "../beside", Typeflag: tar.TypeReg, Mode: 0o644}, &tar.Header{Name: "p", Typeflag: tar.TypeFifo}))
	f.Add(pack(&tar.Header{Name: "p", Typeflag: tar.TypeFifo, Mode: 0o644}, &tar.Header{Name: "p", Typeflag: tar.TypeReg, Mode: 0o644}))
	f.Add(sparse(4 << 20))
	f.Fuzz(func(t *testing.T, data []byte) {
		top := t.TempDir()
		dir := filepath.Join(top, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- extractArchive(bytes.NewReader(data), dir) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("it hangs")
		}
		_ = os.Chmod(dir, 0o700)
		if entries, err := os.ReadDir(top); err != nil || len(entries) != 1 {
			t.Fatalf("something lies beside the directory: %v, %v", entries, err)
		}
		size := int64(0)
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
				size += info.Size()
			}
			return nil
		})
		if size > int64(len(data))+1<<20 {
			t.Errorf("an archive of %d bytes became %d", len(data), size)
		}
	})
}
