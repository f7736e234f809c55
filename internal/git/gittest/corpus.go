package gittest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/proc"
)

// Corpus describes a repository full of work that collides in every way that
// git knows: renamed files and directories, files in the place of directories,
// modes, links, binary files, submodules, and histories that cross.
type Corpus struct {
	Files  int    // how many there are besides those that are fought over
	Agents int    // branches, forked from main at different points
	Heat   int    // how many of a hundred changes are where others change things too
	Seed   uint64 // the same seed gives the same corpus
}

// file is a file of a commit; of a submodule, text is the commit.
type file struct{ mode, text string }

type files map[string]file

// grower writes a history as git fast-import reads it.
type grower struct {
	Corpus
	rnd   *rand.Rand
	out   bytes.Buffer
	marks int
}

// point is a commit that others can be put on.
type point struct {
	mark  int
	files files
}

// Branch is the branch of an agent.
func (c Corpus) Branch(i int) string { return fmt.Sprintf("agent/%03d", i) }

// Grow returns a repository with a corpus in it.
func Grow(t testing.TB, c Corpus) *Repo {
	t.Helper()
	r := Empty(t)
	var in bytes.Buffer
	if _, err := c.WriteTo(&in); err != nil {
		t.Fatal(err)
	}
	_, err := proc.Run(t.Context(), proc.Command{Path: "git", Args: []string{"fast-import", "--quiet", "--force"}, Env: r.Env, Dir: r.Dir, Stdin: &in})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// WriteTo writes the corpus in the language of git fast-import: a branch main
// and one for each agent.
func (c Corpus) WriteTo(w io.Writer) (int64, error) {
	g := &grower{Corpus: c, rnd: rand.New(rand.NewPCG(c.Seed, 77))}
	trunk := g.trunk()
	tips := make([]point, 0, c.Agents)
	for i := range c.Agents {
		from := trunk[g.rnd.IntN(len(trunk))]
		branch := c.Branch(i)
		tip := g.work(branch, from, 1+g.rnd.IntN(3))
		switch chance := g.rnd.IntN(100); {
		case chance < 12 && i > 0: // two agents that took over each other's work
			j := g.rnd.IntN(i)
			other := tips[j]
			mine := g.commit(branch, g.blend(tip, other), tip, other)
			theirs := g.commit(c.Branch(j), g.blend(other, tip), other, tip)
			tips[j] = g.work(c.Branch(j), theirs, 1)
			tip = g.work(branch, mine, 1)
		case chance < 24: // one that took over main meanwhile
			main := trunk[g.rnd.IntN(len(trunk))]
			tip = g.work(branch, g.commit(branch, g.blend(tip, main), tip, main), 1)
		case chance < 32 && i > 0: // one that goes on where another is
			tip = g.work(branch, tips[g.rnd.IntN(i)], 1)
		}
		tips = append(tips, tip)
	}
	g.out.WriteString("done\n")
	n, err := w.Write(g.out.Bytes())
	return int64(n), err
}

// trunk makes main, and returns its commits.
func (g *grower) trunk() []point {
	first := files{}
	for i := range g.Files {
		path := g.coldPath(i)
		first[path] = file{"100644", g.text(path)}
	}
	for _, dir := range []string{"hot/a", "hot/b", "hot/b/c", "hot/d"} {
		for _, name := range []string{"one", "two", "three"} {
			first[dir+"/"+name] = file{"100644", g.text(dir + name)}
		}
	}
	first["hot/image"] = file{"100644", "\x00\x01" + g.text("image")}
	first["hot/module"] = g.module()
	list := []point{g.commit("main", first)}
	for range 4 + g.Agents/4 {
		list = append(list, g.work("main", list[len(list)-1], 1))
	}
	return list
}

// work puts commits of random changes on a point.
func (g *grower) work(branch string, on point, commits int) point {
	for range commits {
		now := maps.Clone(on.files)
		for range 1 + g.rnd.IntN(3) {
			g.change(now)
		}
		on = g.commit(branch, now, on)
	}
	return on
}

// blend returns the files of a possible merge of two points: those of a, some of them in
// the version of b.
func (g *grower) blend(a, b point) files {
	now := maps.Clone(a.files)
	for _, path := range differing(now, b.files) {
		f, there := b.files[path]
		if _, here := now[path]; there && here && g.rnd.IntN(2) == 0 {
			now[path] = f
		}
	}
	return now
}

// change does one random thing.
func (g *grower) change(now files) {
	path := g.pick(now)
	was, dir := now[path], dirOf(path)
	switch what := g.rnd.IntN(14); {
	case what < 4 || !strings.Contains(dir, "/"): // what is at the top stays
		now[path] = g.edited(was)
	case what == 4:
		g.put(now, g.newPath(), file{"100644", g.text("new")})
	case what == 5:
		delete(now, path)
	case what < 8:
		to := g.newPath()
		delete(now, path)
		if g.rnd.IntN(2) == 0 {
			was = g.edited(was)
		}
		g.put(now, to, was)
	case what == 8:
		g.renameDirectory(now, dir)
	case what == 9: // a file in the place of a directory
		maps.DeleteFunc(now, func(p string, _ file) bool { return strings.HasPrefix(p, dir+"/") })
		g.put(now, dir, file{"100644", g.text("file")})
	case what == 10: // a directory in the place of a file
		delete(now, path)
		g.put(now, path+"/inner", was)
	case what == 11:
		if was.mode == "100644" {
			was.mode = "100755"
			now[path] = was
		}
	case what == 12:
		g.put(now, g.newPath(), g.module())
		if g.isHot() {
			g.put(now, "hot/module", g.module())
		}
	default:
		g.put(now, g.newPath(), file{"120000", "target" + fmt.Sprint(g.rnd.IntN(3))})
	}
}

func (g *grower) renameDirectory(now files, dir string) {
	to := fmt.Sprintf("%s-%d", dir, g.rnd.IntN(1000))
	if strings.HasPrefix(dir, "hot") {
		to = fmt.Sprintf("hot/%c", 'a'+rune(g.rnd.IntN(8)))
	}
	if to == dir || strings.HasPrefix(to, dir+"/") {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(now)) {
		if rest, ok := strings.CutPrefix(p, dir+"/"); ok {
			f := now[p]
			delete(now, p)
			g.put(now, to+"/"+rest, f)
		}
	}
}

// put adds a file, unless something is in its way.
func (g *grower) put(now files, path string, f file) {
	if !isBlocked(now, path) {
		now[path] = f
	}
}

// isBlocked reports whether a file lies where a directory above the path should
// be, or a directory where the path should.
func isBlocked(now files, path string) bool {
	for dir := dirOf(path); dir != ""; dir = dirOf(dir) {
		if _, ok := now[dir]; ok {
			return true
		}
	}
	for p := range now {
		if strings.HasPrefix(p, path+"/") {
			return true
		}
	}
	return false
}

func dirOf(path string) string {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)]
}

// pick chooses a file, as often as the heat says one that many choose.
func (g *grower) pick(now files) string {
	if !g.isHot() {
		for range 20 { // most of them are still there
			if path := g.coldPath(g.rnd.IntN(g.Files)); now[path].mode != "" {
				return path
			}
		}
	}
	var paths []string
	for p := range now {
		if strings.HasPrefix(p, "hot/") {
			paths = append(paths, p)
		}
	}
	if len(paths) == 0 {
		delete(now, "hot") // which may be a file by now
		now["hot/again"] = file{"100644", g.text("again")}
		return "hot/again"
	}
	slices.Sort(paths)
	return paths[g.rnd.IntN(len(paths))]
}

// coldPath is the path of the i-th file outside of hot/, which few branches change.
func (g *grower) coldPath(i int) string { return fmt.Sprintf("d%02d/e%03d/f%d.txt", i/9/64, i/9, i%9) }

func (g *grower) isHot() bool { return g.rnd.IntN(100) < g.Heat }

// newPath is the path of a new file: in a directory that other branches use too, or far
// away.
func (g *grower) newPath() string {
	if !g.isHot() {
		i := g.rnd.IntN(g.Files)
		return fmt.Sprintf("d%02d/e%03d/n%d", i/9/64, i/9, g.rnd.IntN(1000))
	}
	dirs := []string{"hot", "hot/a", "hot/b", "hot/b/c", "hot/d", "hot/e", "hot/f"}
	return fmt.Sprintf("%s/%c", dirs[g.rnd.IntN(len(dirs))], 'a'+rune(g.rnd.IntN(12)))
}

func (g *grower) text(about string) string {
	var b strings.Builder
	for i := range 24 {
		fmt.Fprintf(&b, "%s %d %x\n", about, i, g.rnd.Uint32())
	}
	return b.String()
}

// edited changes a few lines of a file, or the whole of what has no lines.
func (g *grower) edited(f file) file {
	if f.mode == "160000" {
		return g.module()
	}
	lines := strings.SplitAfter(f.text, "\n")
	at := g.rnd.IntN(3) * (len(lines) - 1) / 3
	lines[at] = fmt.Sprintf("changed %x\n", g.rnd.Uint32())
	return file{f.mode, strings.Join(lines, "")}
}

func (g *grower) module() file { return file{"160000", fmt.Sprintf("%040x", 1+g.rnd.IntN(5))} }

// commit writes a commit with these files. The clocks of agents are not set
// alike.
func (g *grower) commit(branch string, now files, on ...point) point {
	g.marks++
	when := 1767323045 + g.marks*60
	if g.rnd.IntN(8) == 0 {
		when -= g.rnd.IntN(7200)
	}
	fmt.Fprintf(&g.out, "commit refs/heads/%s\nmark :%d\ncommitter Ada <ada@example.com> %d +0000\ndata 4\nwork\n", branch, g.marks, when)
	was := files{}
	for i, p := range on {
		word := "merge"
		if i == 0 {
			word, was = "from", p.files
		}
		fmt.Fprintf(&g.out, "%s :%d\n", word, p.mark)
	}
	changed := differing(was, now)
	for _, path := range changed { // what goes makes room for what comes
		if _, ok := now[path]; !ok {
			fmt.Fprintf(&g.out, "D %s\n", path)
		}
	}
	for _, path := range changed {
		switch f, ok := now[path]; {
		case !ok:
		case f.mode == "160000":
			fmt.Fprintf(&g.out, "M 160000 %s %s\n", f.text, path)
		default:
			fmt.Fprintf(&g.out, "M %s inline %s\ndata %d\n%s\n", f.mode, path, len(f.text), f.text)
		}
	}
	return point{g.marks, now}
}

// differing lists the paths in which two states differ, in order.
func differing(was, now files) []string {
	var list []string
	for path, f := range now {
		if was[path] != f {
			list = append(list, path)
		}
	}
	for path := range was {
		if _, ok := now[path]; !ok {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}
