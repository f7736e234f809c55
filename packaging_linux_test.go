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
	"slices"
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
		"croft": "#!/bin/sh\n[ \"$1\" != --version ] || echo croft 9.8.7\n", "man/man1/croft.1": "manual", "completions/croft.bash": "bash", "completions/croft.fish": "fish",
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
		from    string // curl, wget, plain, plain wget or directory
		spoil   func(t *testing.T, dir, archive string)
		refused string // a part of what it says
	}{
		"by curl":             {from: "curl"},
		"by wget":             {from: "wget"},
		"plain, by wget":      {from: "plain wget", refused: "cannot get"},
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

// installing is a run of install.sh with a release in a directory.
type installing struct {
	t                  *testing.T
	home, script, from string
	env                []string
}

func newInstalling(t *testing.T) *installing {
	t.Helper()
	text, err := os.ReadFile("packaging/install.sh")
	if err != nil {
		t.Fatal(err)
	}
	in := &installing{t: t, home: t.TempDir(), from: t.TempDir()}
	releaseFiles(t, in.from)
	in.script = filepath.Join(in.home, "install.sh")
	writeText(t, in.script, strings.ReplaceAll(string(text), "@VERSION@", "9.8.7"))
	in.env = append(placeOf(t, "directory", in.from), "HOME="+in.home)
	return in
}

// run runs install.sh in the home directory.
func (in *installing) run(args ...string) (string, error) {
	in.t.Helper()
	cmd := exec.CommandContext(in.t.Context(), "sh", append([]string{in.script}, args...)...)
	cmd.Dir, cmd.Env = in.home, in.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// tools is the directory with the programs that install.sh finds.
func (in *installing) tools() string { return strings.TrimPrefix(in.env[0], "PATH=") }

// TestInstallFullDisk: a program that cannot be written whole, or that is not the one that was meant, is not installed, and
// install.sh says so.
func TestInstallFullDisk(t *testing.T) {
	for name, cp := range map[string]string{
		"full disk":       "#!/bin/sh\ncase $2 in */bin/*) echo half >\"$2\"; echo 'No space left on device' >&2; exit 1 ;; esac\nexec /bin/cp \"$@\"\n",
		"another program": "#!/bin/sh\ncase $2 in */bin/*) printf '#!/bin/sh\\necho croft 9.8.70\\n' >\"$2\"; exit 0 ;; esac\nexec /bin/cp \"$@\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			in := newInstalling(t)
			before := filepath.Join(in.home, "bin", "croft")
			writeText(t, before, "the version before")
			if err := os.Remove(filepath.Join(in.tools(), "cp")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(in.tools(), "cp"), []byte(cp), 0o755); err != nil {
				t.Fatal(err)
			}
			out, err := in.run(filepath.Dir(before))
			got, readErr := os.ReadFile(before)
			left, globErr := filepath.Glob(filepath.Join(in.home, "bin", ".*"))
			if err == nil || string(got) != "the version before" || len(left) > 0 || readErr != nil || globErr != nil {
				t.Errorf("%v, %v, %v: %q is there, and %q\n%s", err, readErr, globErr, got, left, out)
			}
		})
	}
}

// TestInstallRelative: a directory that was named relative to the current one is meant there, and nothing of the work is left.
func TestInstallRelative(t *testing.T) {
	in := newInstalling(t)
	if err := os.Mkdir(filepath.Join(in.home, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	in.env = append(in.env, "TMPDIR=tmp")
	out, err := in.run("bin")
	text, readErr := os.ReadFile(filepath.Join(in.home, "bin", "croft"))
	if err != nil || readErr != nil || !strings.Contains(string(text), "9.8.7") || !strings.Contains(out, in.home+"/bin:") {
		t.Errorf("%v, %v: %q is there\n%s", err, readErr, text, out)
	}
	if left, err := os.ReadDir(filepath.Join(in.home, "tmp")); err != nil || len(left) > 0 {
		t.Errorf("%v: left %v", err, left)
	}
}

// TestInstallThroughNoLink: who can write in the directory gets no file of the person's overwritten by a link.
func TestInstallThroughNoLink(t *testing.T) {
	in := newInstalling(t)
	victim := filepath.Join(in.home, "victim")
	writeText(t, victim, "precious")
	if err := os.Mkdir(filepath.Join(in.home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(in.home, "bin", ".croft-new")); err != nil {
		t.Fatal(err)
	}
	out, err := in.run(filepath.Join(in.home, "bin"))
	text, readErr := os.ReadFile(victim)
	info, statErr := os.Lstat(filepath.Join(in.home, "bin", "croft"))
	if err != nil || readErr != nil || statErr != nil || string(text) != "precious" || !info.Mode().IsRegular() {
		t.Errorf("%v, %v, %v: %q is there, the program is %v\n%s", err, readErr, statErr, text, info, out)
	}
}

// TestInstallQuotes: the lines that it prints do what they say for any directory.
func TestInstallQuotes(t *testing.T) {
	in := newInstalling(t)
	dir := filepath.Join(in.home, "it's $(touch pwned) `touch pwned` \"a\"")
	out, err := in.run(dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []struct{ begins, then string }{
		{"add it to your PATH: ", "croft --version"}, {"for croft cd, and completion in zsh: ", "true"},
	} {
		_, line, _ := strings.Cut(out, want.begins)
		line, _, _ = strings.Cut(line, "\n")
		line = strings.TrimSuffix(line, ", or zsh")
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "set -e\n"+line+"\n"+want.then)
		cmd.Dir, cmd.Env = in.home, in.env
		if got, err := cmd.CombinedOutput(); line == "" || err != nil || want.then != "true" && string(got) != "croft 9.8.7\n" {
			t.Errorf("%s: %v\n%s", line, err, got)
		}
	}
	if _, err := os.Stat(filepath.Join(in.home, "pwned")); err == nil {
		t.Error("a line that was printed ran a part of the directory's name")
	}
}

// TestInstallRedirected: curl and wget go on to another address by HTTPS only.
func TestInstallRedirected(t *testing.T) {
	for _, program := range []string{"curl", "wget"} {
		for _, isSafe := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s safe %v", program, isSafe), func(t *testing.T) {
				in := newInstalling(t)
				start := httptest.NewTLSServer
				if !isSafe {
					start = httptest.NewServer
				}
				other := start(http.FileServer(http.Dir(in.from)))
				t.Cleanup(other.Close)
				env := placeOf(t, program, in.from)
				at := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, "CROFT_RELEASE=") })
				first := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
				}))
				t.Cleanup(first.Close)
				env[at] = "CROFT_RELEASE=" + first.URL
				in.env = append(env, "HOME="+in.home)
				out, err := in.run(filepath.Join(in.home, "bin"))
				_, statErr := os.Stat(filepath.Join(in.home, "bin", "croft"))
				if isSafe && (err != nil || statErr != nil) || !isSafe && (err == nil || statErr == nil || !strings.Contains(out, "cannot get")) {
					t.Errorf("%v, %v\n%s", err, statErr, out)
				}
			})
		}
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
		if isWget := strings.HasSuffix(from, "wget"); name == "curl" && isWget || name == "wget" && !isWget {
			continue
		}
		if err != nil {
			if strings.HasSuffix(from, name) && os.Getenv("CROFT_CI") == "" {
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
	if strings.HasPrefix(from, "plain") {
		start = httptest.NewServer
	}
	server := start(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	env = append(env, "CROFT_RELEASE="+server.URL)
	if !strings.HasPrefix(from, "plain") {
		authority := filepath.Join(tools, "authority.pem")
		writeText(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
		settings := filepath.Join(tools, "wgetrc")
		writeText(t, settings, "ca_certificate = "+authority+"\n")
		env = append(env, "CURL_CA_BUNDLE="+authority, "WGETRC="+settings)
	}
	return env
}
