package provision_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/provision"
)

// includeCase is a case of testdata/include.json. Paths are written as in a URL where they have a space,
// a percent sign or a byte that is not printable. An entry is a kind, a path and an argument.
type includeCase struct {
	Case      string
	Files     map[string]string // (exclude), (user) and (config) are git's own
	Project   []string
	Workspace []string // what its commit has
	Copied    []string // PATH, PATH -> TARGET of a link, or PATH*NUMBER for so many files below it
	Skipped   []string // PATH REASON
}

// TestIncludeCases: what .worktreeinclude selects is what git would, and what is copied of it is decided by
// the rules of docs/provisioning.md.
func TestIncludeCases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/include.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []includeCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 91 {
		t.Fatalf("%d cases, want 91", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Case, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

func (c includeCase) run(t *testing.T) {
	r := gittest.Empty(t)
	ws := filepath.Join(filepath.Dir(r.Dir), "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	tracked := lay(t, r, r.Dir, c.Project)
	lay(t, r, ws, c.Workspace)
	for name, text := range c.Files {
		switch name {
		case "(exclude)":
			gittest.WriteFile(t, filepath.Join(r.Dir, ".git/info/exclude"), text)
		case "(user)":
			gittest.WriteFile(t, filepath.Join(r.Home, "ignore"), text)
			gittest.WriteFile(t, filepath.Join(r.Home, ".gitconfig"), "[core]\n\texcludesFile = "+filepath.Join(r.Home, "ignore")+"\n")
		case "(config)":
			for line := range strings.Lines(text) {
				r.Git(append([]string{"config"}, strings.Fields(line)...)...)
			}
		default:
			r.Write(name, text)
			if name != provision.IncludeFile {
				tracked = append(tracked, name)
			}
		}
	}
	if len(tracked) > 0 {
		r.Git(append([]string{"add", "-f", "--"}, tracked...)...)
	}
	r.Git("commit", "-q", "--allow-empty", "-m", "x")
	for _, e := range c.Project {
		if path, ok := strings.CutPrefix(e, "worktree "); ok {
			r.Git("worktree", "add", "-q", "--detach", filepath.Join(r.Dir, path))
		}
	}
	repo, err := git.Open(gitcmd.New(gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "git")}), r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repo.Close() })
	patterns, err := provision.ReadInclude(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	selected, err := provision.Include(t.Context(), repo.Main(), patterns, filepath.Join(r.Home, "own"))
	if err != nil {
		t.Fatal(err)
	}
	c.compare(t, r.Dir, ws, selected)
}

// compare copies what was selected, and compares that with the case.
func (c includeCase) compare(t *testing.T, from, to string, selected []string) {
	t.Helper()
	cp := provision.Copier{From: fsx.OpenTree(from), To: fsx.OpenTree(to)}
	defer cp.From.Release()
	defer cp.To.Release()
	copied, skipped := []string{}, []string{}
	for _, p := range selected {
		made, err := cp.Copy(p, fsx.ContentCopied)
		skip, isSkipped := errors.AsType[*provision.SkipError](err)
		switch {
		case isSkipped:
			skipped = append(skipped, encode(p)+" "+string(skip.Why))
		case err != nil:
			t.Fatal(err)
		case made.Link != "":
			copied = append(copied, encode(p)+" -> "+made.Link)
		default:
			copied = append(copied, encode(p))
			wantSame(t, filepath.Join(from, p), filepath.Join(to, p))
		}
	}
	for _, want := range c.Copied {
		m := regexp.MustCompile(`^(.+)\*(\d+)$`).FindStringSubmatch(want)
		if m == nil {
			continue
		}
		below := func(p string) bool { return strings.HasPrefix(p, m[1]) }
		n := len(copied)
		copied = slices.DeleteFunc(copied, below)
		if got := strconv.Itoa(n - len(copied)); got != m[2] {
			t.Errorf("%s files below %s, want %s", got, m[1], m[2])
		}
		c.Copied = slices.DeleteFunc(slices.Clone(c.Copied), func(p string) bool { return p == want })
	}
	slices.Sort(copied)
	want := slices.Sorted(slices.Values(c.Copied))
	if diff := cmp.Diff(want, copied, cmp.Transformer("list", func(l []string) string { return strings.Join(l, "\n") })); diff != "" {
		t.Errorf("copied:\n%s", diff)
	}
	if got, want := strings.Join(skipped, "\n"), strings.Join(c.Skipped, "\n"); got != want {
		t.Errorf("skipped %q, want %q", got, want)
	}
}

// wantSame fails unless a copy has the content, the permissions and the time of the original.
func wantSame(t *testing.T, from, to string) {
	t.Helper()
	a, err := os.Lstat(from)
	b, err2 := os.Lstat(to)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if a.Mode() != b.Mode() || !a.ModTime().Equal(b.ModTime()) || read(t, from) != read(t, to) {
		t.Errorf("%s: %v %v, copy %v %v", from, a.Mode(), a.ModTime(), b.Mode(), b.ModTime())
	}
}

// encode writes a path as the cases have it.
func encode(p string) string {
	var b strings.Builder
	for _, c := range []byte(p) {
		if c <= ' ' || c == '%' || c == 0x7f || c == 0xff {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// lay makes the entries of a case in a directory, and returns the paths of those that are to be tracked.
func lay(t *testing.T, r *gittest.Repo, dir string, entries []string) (tracked []string) {
	t.Helper()
	for _, e := range entries {
		f := strings.Fields(e)
		rel, err := url.PathUnescape(f[1])
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, rel)
		mode := os.FileMode(0o644)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		switch f[0] {
		case "worktree":
			continue
		case "tracked":
			tracked = append(tracked, rel)
		case "program":
			mode = 0o755
		case "private":
			mode = 0o600
		case "link":
			err = os.Symlink(f[2], path)
		case "directory":
			err = os.Mkdir(path, 0o755)
		case "pipe":
			_, err = proc.Run(t.Context(), proc.Command{Path: "mkfifo", Args: []string{path}, Env: r.Env})
		case "repository":
			r.Git("init", "-q", path)
			gittest.WriteFile(t, filepath.Join(path, "inner"), "")
			r.GitIn(path, "add", ".")
			r.GitIn(path, "commit", "-qm", "x")
		case "many":
			n, _ := strconv.Atoi(f[2])
			for i := range n {
				gittest.WriteFile(t, filepath.Join(path, fmt.Sprintf("%02d", i%50), fmt.Sprintf("%d.js", i)), "")
			}
		}
		if slices.Contains([]string{"file", "tracked", "program", "private"}, f[0]) {
			err = os.WriteFile(path, []byte(e), mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return tracked
}
