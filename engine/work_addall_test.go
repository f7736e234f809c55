package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestFinishIsAddAll: over random checkouts, the tree that Croft commits is the one that
// "git add --all" stages, minus the files that Croft reports as held back.
func TestFinishIsAddAll(t *testing.T) {
	t.Parallel()
	cases := 100
	if os.Getenv("CROFT_LONG") == "1" {
		cases = 2000
	}
	const perRepo = 20 // a workspace is cheap, a repository with its history is not
	for group := range cases / perRepo {
		t.Run(fmt.Sprint(group), func(t *testing.T) {
			t.Parallel()
			g := newAddAll(t, uint64(group))
			for i := range perRepo {
				g.try(fmt.Sprintf("w%d", i))
				if t.Failed() {
					t.Fatalf("seed %d, case %d", group, i)
				}
			}
		})
	}
}

// addAll makes checkouts with random changes.
type addAll struct {
	*gittest.Repo
	*engine.Engine

	t    *testing.T
	rnd  *rand.Rand
	lib  *gittest.Repo // what submodules and nested repositories are clones of
	dir  string        // the checkout that is being changed
	acts []string
}

func newAddAll(t *testing.T, seed uint64) *addAll {
	g := &addAll{Repo: gittest.New(t), t: t, rnd: rand.New(rand.NewPCG(seed, 12)), lib: gittest.New(t)}
	g.Write(".gitignore", "*.log\nignored/\n")
	for i := range 12 {
		g.Write(g.name(i), fmt.Sprintln("base", i))
	}
	g.Write("secret.key", "committed\n")
	g.Write("kept.log", "ignored and committed\n")
	if err := os.Symlink("README.md", filepath.Join(g.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	g.Git("add", "--all", "--force")
	g.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", g.lib.Dir, "sub")
	g.Commit("base")
	g.Engine = open(t, g.Dir, &engine.Options{Environ: g.Env})
	return g
}

// name returns one of a few paths, so that changes meet: files at the top, below, and where
// others have directories.
func (g *addAll) name(i int) string {
	return []string{"a", "b", "d/a", "d/b", "d/e/a", "d/e/b", "e/a", "e/f/g", "x.txt", "y z", "ü", "d/z.sh"}[i%12]
}

func (g *addAll) any() string {
	others := []string{"new", "d", "d/e", "e", "link", "n/m", ".env", "d/prod.pem", "secret.key", "run.log", "ignored/x", "kept.log", ".gitignore", "-dash", "a/b"}
	if n := g.rnd.IntN(12 + len(others)); n >= 12 {
		return others[n-12]
	}
	return g.name(g.rnd.IntN(12))
}

func (g *addAll) in(name string) string { return filepath.Join(g.dir, filepath.FromSlash(name)) }

// put makes a file, link or directory at a path, in place of what is there.
func (g *addAll) put(name string, write func(file string) error) {
	file := g.in(name)
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := os.Lstat(g.in(dir)); err == nil && !info.IsDir() {
			_ = os.Remove(g.in(dir))
		}
	}
	if name == "sub" || os.RemoveAll(file) != nil || os.MkdirAll(filepath.Dir(file), 0o755) != nil {
		return
	}
	if err := write(file); err != nil {
		g.t.Fatal(err)
	}
}

func (g *addAll) text(file string) error {
	return os.WriteFile(file, fmt.Appendln(nil, "text", g.rnd.IntN(1000)), 0o644)
}

// act makes one change, as an editor or git would.
func (g *addAll) act() string {
	name := g.any()
	git := func(args ...string) string {
		_, err := g.TryGit(g.dir, args...)
		return fmt.Sprintf("git %s (%v)", strings.Join(args, " "), err == nil)
	}
	switch g.rnd.IntN(17) {
	case 0, 1, 2:
		g.put(name, g.text)
		return "write " + name
	case 3:
		g.put(name, func(file string) error { return os.Symlink("d", file) })
		return "link " + name
	case 4:
		g.put(name, func(file string) error {
			if err := os.Mkdir(file, 0o755); err != nil {
				return err
			}
			return g.text(filepath.Join(file, "in"))
		})
		return "directory " + name
	case 5:
		if name != "sub" {
			_ = os.RemoveAll(g.in(name))
		}
		return "remove " + name
	case 6:
		if info, err := os.Lstat(g.in(name)); err == nil && info.Mode().IsRegular() {
			_ = os.Chmod(g.in(name), info.Mode().Perm()^0o111)
		}
		return "mode " + name
	case 7:
		return git("add", "--", name)
	case 8:
		return git("add", "--force", "--", name)
	case 9:
		return git("add", "--intent-to-add", "--", name)
	case 10:
		return git("rm", "--quiet", "-r", "--cached", "--", name)
	case 11:
		return git("rm", "--quiet", "-r", "--force", "--", name)
	case 12:
		return git("update-index", "--assume-unchanged", "--", name)
	case 13:
		return git("update-index", "--skip-worktree", "--", name)
	case 14:
		g.put(name, func(file string) error {
			g.GitIn(g.dir, "clone", "--quiet", g.lib.Dir, file)
			return nil
		})
		return "nested " + name
	case 15:
		if g.rnd.IntN(2) == 0 {
			return git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
		}
		if _, err := os.Stat(g.in("sub/README.md")); err != nil {
			return "no submodule"
		}
		if g.rnd.IntN(2) == 0 {
			g.GitIn(g.in("sub"), "commit", "--quiet", "--allow-empty", "-m", "more")
			return "submodule moves"
		}
		_ = os.WriteFile(g.in("sub/dirty"), nil, 0o644)
		return "submodule is dirty"
	default:
		g.put(".gitignore", func(file string) error {
			return os.WriteFile(file, fmt.Appendf(nil, "*.log\nignored/\n%s\n", name), 0o644)
		})
		return "ignore " + name
	}
}

// try makes a checkout, changes it, and compares the trees.
func (g *addAll) try(name string) {
	g.t.Helper()
	made, err := g.CreateAll(g.t.Context(), croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: name}}})
	if err != nil {
		g.t.Fatal(err)
	}
	g.dir, g.acts = made.Workspaces[0].Path, nil
	for range 1 + g.rnd.IntN(14) {
		g.acts = append(g.acts, g.act())
	}
	status := g.GitIn(g.dir, "status", "--porcelain")
	staged := g.staged()
	m, err := g.Finish(g.t.Context(), croft.FinishRequest{Workspace: name})
	if err != nil {
		g.t.Fatalf("%v\n%s", err, strings.Join(g.acts, "\n"))
	}
	got := g.tree(m.Head)
	for _, held := range m.HeldBack {
		held = strings.TrimSuffix(held, "/")
		// Another file or directory may have taken its place, as with git.
		replaced := got[held] == "" && staged.tree[held] == ""
		if got[held] != staged.before[held] && !replaced {
			g.t.Errorf("%s is held back, and committed as %q instead of %q", held, got[held], staged.before[held])
		}
		delete(got, held)
		delete(staged.tree, held)
	}
	for _, file := range keysOf(got, staged.tree) {
		if got[file] != staged.tree[file] {
			g.t.Errorf("%s is committed as %q, git add --all stages %q", file, got[file], staged.tree[file])
		}
	}
	for file := range staged.edited {
		if !slices.Contains(m.HeldBack, file) {
			g.t.Errorf("%s was hidden and edited, and nothing is said of it", file)
		}
	}
	if g.t.Failed() {
		g.t.Logf("held back: %q\n%s\n\nstatus before:\n%s", m.HeldBack, strings.Join(g.acts, "\n"), status)
	}
}

func keysOf(maps ...map[string]string) []string {
	var keys []string
	for _, m := range maps {
		for k := range m {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// tree lists a tree's files with their modes and objects.
func (g *addAll) tree(of string) map[string]string {
	files := map[string]string{}
	for line := range strings.SplitSeq(g.GitIn(g.dir, "ls-tree", "-r", "-z", of), "\x00") {
		if about, name, ok := strings.Cut(line, "\t"); ok {
			words := strings.Fields(about)
			files[name] = words[0] + " " + words[2]
		}
	}
	return files
}

// stagedBy is what plain git says about a checkout.
type stagedBy struct {
	tree   map[string]string // of "git add --all"
	before map[string]string // the staged files, without new ones, except for those that git was told not to look at
	edited map[string]bool   // the files that differ, and that git was told not to look at
}

// staged has plain git stage everything, in a copy of the index.
func (g *addAll) staged() stagedBy {
	g.t.Helper()
	index := filepath.Join(g.t.TempDir(), "index")
	own := g.GitIn(g.dir, "rev-parse", "--path-format=absolute", "--git-path", "index")
	copyIndex := func() {
		data, err := os.ReadFile(own)
		if err != nil {
			g.t.Fatal(err)
		}
		info, err := os.Stat(own)
		if err == nil {
			err = os.WriteFile(index, data, 0o644)
		}
		if err == nil {
			err = os.Chtimes(index, info.ModTime(), info.ModTime())
		}
		if err != nil {
			g.t.Fatal(err)
		}
	}
	env := g.Env
	defer func() { g.Env = env }()
	g.Env = append(slices.Clip(env), "GIT_INDEX_FILE="+index)
	out := stagedBy{before: map[string]string{}, edited: map[string]bool{}}
	copyIndex()
	head, index0 := g.tree("HEAD"), map[string]string{}
	for line := range strings.SplitSeq(g.GitIn(g.dir, "ls-files", "--stage", "-z"), "\x00") {
		if about, name, ok := strings.Cut(line, "\t"); ok {
			if strings.Contains(about, " e69de29bb2d1d643") { // only going to be added: none of the files is empty
				continue
			}
			index0[name] = strings.TrimSuffix(about, " 0")
			if head[name] != "" {
				out.before[name] = index0[name]
			}
		}
	}
	var names []string
	for line := range strings.SplitSeq(g.GitIn(g.dir, "ls-files", "-v", "-z"), "\x00") {
		if len(line) > 2 && (line[0] == 'S' || line[0] >= 'a' && line[0] <= 'z') {
			names = append(names, line[2:])
		}
	}
	g.GitIn(g.dir, "-c", "advice.addEmbeddedRepo=false", "add", "--all")
	out.tree = g.tree(g.GitIn(g.dir, "write-tree"))
	for _, name := range names {
		out.before[name] = index0[name]
	}
	copyIndex()
	for _, name := range names {
		for _, flag := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
			g.GitIn(g.dir, "update-index", flag, "--", name)
		}
		if _, err := os.Lstat(g.in(name)); err != nil {
			continue // whether that is a deletion depends on the flag
		}
		if g.GitIn(g.dir, "--literal-pathspecs", "diff", "--name-only", "--ignore-submodules=dirty", "--", name) != "" {
			out.edited[name] = true
		}
	}
	return out
}
