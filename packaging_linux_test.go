package croft_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// releaseFiles makes what install.sh takes from a release, with a script for the program.
func releaseFiles(t *testing.T, dir string) (archive string) {
	t.Helper()
	name := "croft_9.8.7_linux_" + runtime.GOARCH
	archive = filepath.Join(dir, name+".tar.gz")
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zipped := gzip.NewWriter(file)
	packed := tar.NewWriter(zipped)
	for path, text := range map[string]string{
		"croft": "#!/bin/sh\necho croft 9.8.7\n", "man/man1/croft.1": "manual", "completions/croft.bash": "bash", "completions/croft.fish": "fish",
	} {
		err := packed.WriteHeader(&tar.Header{Name: name + "/" + path, Mode: 0o644, Size: int64(len(text))})
		if err == nil {
			_, err = packed.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	writeChecksums(t, dir, archive)
	return archive
}

func writeChecksums(t *testing.T, dir, archive string) {
	t.Helper()
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, "checksums.txt"), fmt.Sprintf("%x  %s\n", sha256.Sum256(data), filepath.Base(archive)))
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestInstall: install.sh takes an archive over HTTPS, by curl or by wget, or from a directory, and installs it if it
// is what checksums.txt says. If anything is wrong, nothing of the home directory is changed.
func TestInstall(t *testing.T) {
	script, err := os.ReadFile("packaging/install.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		from    string // curl, wget, plain or directory
		spoil   func(t *testing.T, dir, archive string)
		refused string // a part of what it says
	}{
		"by curl":             {from: "curl"},
		"by wget":             {from: "wget"},
		"from a directory":    {from: "directory"},
		"without encryption":  {from: "plain", refused: "cannot get"},
		"another archive":     {from: "curl", refused: "is not what checksums.txt says", spoil: func(t *testing.T, _, archive string) { writeText(t, archive, "something else") }},
		"no checksum":         {from: "curl", refused: "does not name", spoil: func(t *testing.T, dir, _ string) { writeText(t, filepath.Join(dir, "checksums.txt"), "") }},
		"checksum of another": {from: "directory", refused: "does not name", spoil: renameInChecksums},
		"no archive":          {from: "curl", refused: "cannot get", spoil: func(_ *testing.T, _, archive string) { _ = os.Remove(archive) }},
		"half of the archive": {from: "wget", refused: "is not what checksums.txt says", spoil: func(_ *testing.T, _, archive string) { _ = os.Truncate(archive, 100) }},
		"a page about an error": {from: "directory", refused: "does not name", spoil: func(t *testing.T, dir, _ string) {
			writeText(t, filepath.Join(dir, "checksums.txt"), "<html>404</html>")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, home := t.TempDir(), t.TempDir()
			archive := releaseFiles(t, dir)
			if tt.spoil != nil {
				tt.spoil(t, dir, archive)
			}
			before := filepath.Join(home, "bin", "croft")
			writeText(t, before, "the version before")
			file := filepath.Join(dir, "install.sh")
			writeText(t, file, strings.ReplaceAll(string(script), "@VERSION@", "9.8.7"))
			cmd := exec.CommandContext(t.Context(), "sh", file, filepath.Dir(before))
			cmd.Env = append(placeOf(t, tt.from, dir), "HOME="+home)
			out, err := cmd.CombinedOutput()
			got, readErr := os.ReadFile(before)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if tt.refused == "" {
				if err != nil || !strings.Contains(string(out), "croft 9.8.7") || !strings.Contains(string(got), "9.8.7") {
					t.Errorf("%v: %q is there\n%s", err, got, out)
				}
				for _, path := range []string{"bin/git-croft", ".local/share/man/man1/croft.1", ".local/share/bash-completion/completions/croft", ".local/share/fish/vendor_completions.d/croft.fish"} {
					if _, err := os.Stat(filepath.Join(home, path)); err != nil {
						t.Error(err)
					}
				}
				return
			}
			if err == nil || !strings.Contains(string(out), tt.refused) || string(got) != "the version before" {
				t.Errorf("%v: %q is there\n%s", err, got, out)
			}
			if _, err := os.Stat(filepath.Join(home, ".local")); err == nil {
				t.Error("something was installed")
			}
		})
	}
}

func renameInChecksums(t *testing.T, dir, archive string) {
	t.Helper()
	path := filepath.Join(dir, "checksums.txt")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, path, strings.ReplaceAll(string(text), filepath.Base(archive), "old-"+filepath.Base(archive)))
}

// placeOf serves a directory on the loopback interface, or names it, and returns the environment in which install.sh takes
// it from there by a program.
func placeOf(t *testing.T, from, dir string) []string {
	t.Helper()
	tools := t.TempDir()
	for _, name := range []string{"sh", "uname", "mktemp", "rm", "sed", "cut", "sha256sum", "tar", "gzip", "mkdir", "cp", "chmod", "mv", "ln", "git", "echo", "curl", "wget"} {
		path, err := exec.LookPath(name)
		if name == "curl" && from == "wget" || name == "wget" && from != "wget" {
			continue
		}
		if err != nil {
			if name == from && os.Getenv("CROFT_CI") == "" {
				t.Skip(err)
			}
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=" + tools}
	if from == "directory" {
		return append(env, "CROFT_RELEASE="+dir)
	}
	start := httptest.NewTLSServer
	if from == "plain" {
		start = httptest.NewServer
	}
	server := start(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	env = append(env, "CROFT_RELEASE="+server.URL)
	if from != "plain" {
		authority := filepath.Join(tools, "authority.pem")
		writeText(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
		settings := filepath.Join(tools, "wgetrc")
		writeText(t, settings, "ca_certificate = "+authority+"\n")
		env = append(env, "CURL_CA_BUNDLE="+authority, "WGETRC="+settings)
	}
	return env
}
