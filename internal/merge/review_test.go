package merge

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/writers"
)

// randomText is a file of lines that repeat, some of them empty or with a
// carriage return, with or without a newline at the end.
func randomText(rnd *rand.Rand) []string {
	words := []string{"", "a", "b", "{", "}", "return x", "\tindented", "caf\xe9", "--- a/x", "@@ -1 +1 @@", "diff --git a/x b/x"}
	var lines []string
	for range rnd.IntN(60) {
		line := words[rnd.IntN(len(words))]
		if rnd.IntN(8) == 0 {
			line += "\r"
		}
		lines = append(lines, line)
	}
	return lines
}

// fileOf makes a file of lines.
func fileOf(rnd *rand.Rand, lines []string) string {
	text := strings.Join(lines, "\n")
	if rnd.IntN(4) > 0 && len(lines) > 0 {
		text += "\n"
	}
	return text
}

// edited changes lines in a few places.
func edited(rnd *rand.Rand, lines []string) []string {
	lines = slices.Clone(lines)
	for range 1 + rnd.IntN(6) {
		at := rnd.IntN(len(lines) + 1)
		switch n := min(1+rnd.IntN(3), len(lines)-at); rnd.IntN(3) {
		case 0:
			lines = slices.Insert(lines, at, "new "+strconv.Itoa(rnd.IntN(100)))
		case 1:
			lines = slices.Delete(lines, at, at+n)
		default:
			for i := range n {
				lines[at+i] = "changed " + strconv.Itoa(rnd.IntN(100))
			}
		}
	}
	return lines
}

// randomHistory commits random files and then random changes of them.
func randomHistory(t *testing.T, r *gittest.Repo, rnd *rand.Rand) (base, head string) {
	t.Helper()
	r.Git("rm", "-r", "-f", "--quiet", "--ignore-unmatch", ".")
	names := []string{"plain.txt", "dir/one", "dir/two", "dir/deep/three", "with space", "quote\"d", "tab\tbed", "x.sh", "link", "bin"}
	if runtime.GOOS == "linux" {
		names = append(names, "caf\xe9/\xff.txt")
	}
	files := map[string][]string{}
	for _, name := range names {
		files[name] = randomText(rnd)
		r.Write(name, fileOf(rnd, files[name]))
	}
	r.Write("bin", "\x00"+strconv.Itoa(rnd.IntN(10)))
	r.Write("keep", "so that there is something\n")
	base = r.Commit("base")
	for _, name := range names {
		path := filepath.Join(r.Dir, name)
		switch rnd.IntN(8) {
		case 0: // unchanged
		case 1:
			must(t, os.Remove(path))
		case 2:
			r.Write(name+".moved", fileOf(rnd, edited(rnd, files[name])))
			must(t, os.Remove(path))
		case 3:
			must(t, os.Chmod(path, 0o755))
		case 4:
			must(t, os.Remove(path))
			must(t, os.Symlink("keep", path))
		default:
			r.Write(name, fileOf(rnd, edited(rnd, files[name])))
		}
	}
	r.Write("bin", "\x00"+strconv.Itoa(rnd.IntN(100)))
	r.Write("added/"+strconv.Itoa(rnd.IntN(100)), fileOf(rnd, randomText(rnd)))
	r.Write("empty"+strconv.Itoa(rnd.IntN(100)), "")
	r.Git("add", "--all")
	if rnd.IntN(2) == 0 {
		r.Git("update-index", "--add", "--cacheinfo", "160000,"+base+",sub")
	}
	r.Git("commit", "--quiet", "--allow-empty", "-m", "head")
	head = r.Git("rev-parse", "HEAD")
	r.Git("reset", "--quiet", "--hard")
	return base, head
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var header = regexp.MustCompile(`^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@`)

// partialPatch takes the chosen parts out of a patch that git made. The files of the review
// are in the patch's order; keep says which hunks of which file are wanted, or none for the
// whole.
func partialPatch(t *testing.T, patch string, files []croft.ReviewFile, keep map[string][]int) string {
	t.Helper()
	sections := regexp.MustCompile(`(?m)^diff --git `).Split(patch, -1)[1:]
	var out strings.Builder
	for _, f := range files {
		parts := 1
		if f.Status == croft.FileTypeChange {
			parts = 2
		}
		mine := sections[:parts]
		sections = sections[parts:]
		wanted, ok := keep[f.Path]
		if !ok {
			continue
		}
		for _, s := range mine {
			out.WriteString("diff --git " + partialSection(t, s, wanted))
		}
	}
	if len(sections) != 0 {
		t.Fatalf("%d sections of the patch are of no file", len(sections))
	}
	return out.String()
}

// partialSection leaves hunks out, and adjusts where the others begin on the new side.
func partialSection(t *testing.T, section string, wanted []int) string {
	t.Helper()
	if len(wanted) == 0 {
		return section
	}
	hunks := regexp.MustCompile(`(?m)^@@ `).Split(section, -1)
	out := hunks[0]
	shift := 0
	for i, h := range hunks[1:] {
		h = "@@ " + h
		m := header.FindStringSubmatch(h)
		if m == nil {
			t.Fatalf("not a hunk: %q", h)
		}
		delta := 0
		for line := range strings.Lines(h[len(m[0]):]) {
			switch line[0] {
			case '+':
				delta++
			case '-':
				delta--
			}
		}
		if !slices.Contains(wanted, i+1) {
			shift -= delta
			continue
		}
		start, err := strconv.Atoi(m[3])
		must(t, err)
		out += fmt.Sprintf("@@ -%s%s +%d%s @@\n", m[1], m[2], start+shift, m[4])
		_, text, _ := strings.Cut(h, "\n")
		out += text
	}
	return out
}

// TestPartsAreWhatGitApplies: for random changes, the tree of a random choice of files and
// hunks is the one that `git apply` makes of a patch with the same.
func TestPartsAreWhatGitApplies(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links, modes and names of files are not those of Windows")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	r := gittest.New(t)
	r.Git("config", "core.autocrlf", "false")
	repo, err := git.Open(gitcmd.New(gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "state", "git")}), r.Dir)
	must(t, err)
	t.Cleanup(func() { _ = repo.Close() })
	partly := 0
	for round := range 12 {
		base, head := randomHistory(t, r, rnd)
		a, err := repo.OpenMergeTree(writers.OnDisk)
		must(t, err)
		patches, err := a.Patch(t.Context(), base, head)
		must(t, err)
		files := ReviewFiles(patches)
		tree := r.Git("rev-parse", base+"^{tree}")
		all, err := Choose(files, []string{"."}, nil, nil)
		must(t, err)
		if got, err := PartTree(t.Context(), a, tree, all); err != nil || got != r.Git("rev-parse", head+"^{tree}") {
			t.Errorf("round %d: everything gives %s, %v; not the head's tree", round, got, err)
		}
		out := filepath.Join(r.Home, "patch")
		r.Git("diff", "--binary", "--full-index", "--find-renames", "--diff-algorithm=myers", "--output="+out, base, head)
		text, err := os.ReadFile(out)
		must(t, err)
		for range 3 {
			var paths []string
			hunks, keep := map[string][]int{}, map[string][]int{}
			for _, f := range files {
				switch n := len(f.Hunks); {
				case rnd.IntN(3) == 0:
				case n > 1 && rnd.IntN(3) > 0:
					chosen := rnd.Perm(n)[:1+rnd.IntN(n-1)]
					for i := range chosen {
						chosen[i]++
					}
					hunks[f.Path], keep[f.Path] = chosen, chosen
					partly++
				default:
					paths, keep[f.Path] = append(paths, f.Path), nil
				}
			}
			if len(keep) == 0 {
				continue
			}
			choices, err := Choose(files, paths, hunks, nil)
			must(t, err)
			got, err := PartTree(t.Context(), a, tree, choices)
			must(t, err)
			must(t, os.WriteFile(out, []byte(partialPatch(t, string(text), files, keep)), 0o600))
			r.Git("read-tree", base)
			r.Git("apply", "--cached", "--whitespace=nowarn", out)
			if want := r.Git("write-tree"); got != want {
				_, err := a.Keep(t.Context(), got)
				must(t, err)
				t.Fatalf("round %d of seed %d: %v and %v give another tree than git apply:\n%s", round, seed, paths, hunks, r.Git("diff", "--stat", want, got))
			}
		}
		a.Close()
		r.Git("read-tree", head)
	}
	if partly == 0 {
		t.Error("no file was ever taken in part")
	}
}

func TestChooseRefuses(t *testing.T) {
	files := []croft.ReviewFile{
		{Path: "a", Hunks: []croft.Hunk{{ID: 1}, {ID: 2, OldStart: 9}}},
		{Path: "new", OldPath: "old"},
		{Path: `"caf\351"`},
	}
	for _, tt := range []struct {
		paths []string
		hunks map[string][]int
		want  string
	}{
		{nil, nil, "nothing was chosen"},
		{[]string{""}, nil, "is not in the review"},
		{[]string{"b", "a"}, nil, "b is not in the review"},
		{[]string{"old"}, nil, "old was renamed to new"},
		{nil, map[string][]int{"a": {3}}, "a has no hunk 3: it has 2"},
		{nil, map[string][]int{"a": {0}}, "a has no hunk 0"},
		{nil, map[string][]int{"new": {1}}, "new has no hunk 1: it has 0"},
		{nil, map[string][]int{"b": {1}}, "b is not in the review"},
		{nil, map[string][]int{"a": {}}, "nothing was chosen"},
		{[]string{"a"}, map[string][]int{"a": {1}}, "a is chosen whole and by hunks"},
		{[]string{"."}, map[string][]int{"a": {1}}, "a is chosen whole and by hunks"},
	} {
		_, err := Choose(files, tt.paths, tt.hunks, nil)
		e := croft.AsError("", err)
		if e == nil || e.Code != croft.InvalidRequest || !strings.Contains(e.Message+"\n"+e.Details, tt.want) {
			t.Errorf("%v %v: %v %v, want %q", tt.paths, tt.hunks, err, e, tt.want)
		}
	}
	got, err := Choose(files, []string{"caf\xe9"}, map[string][]int{"a": {2, 2}}, nil)
	if err != nil || len(got) != 2 || len(got[0].Hunks) != 1 || got[0].Hunks[0].ID != 2 || got[1].File.Path != `"caf\351"` {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Choose(files, nil, map[string][]int{"a": {2, 1}}, nil); err != nil || len(got) != 1 || len(got[0].Hunks) != 0 {
		t.Errorf("all hunks are not the whole: %+v, %v", got, err)
	}
}

func TestSpliceRefusesWhatDoesNotFit(t *testing.T) {
	for _, h := range [][]croft.Hunk{
		{{ID: 1, OldStart: 3, OldLines: 1, NewStart: 1, NewLines: 1}},
		{{ID: 1, OldStart: 1, OldLines: 1, NewStart: 2, NewLines: 2}},
		{{ID: 2, OldStart: 2, OldLines: 1, NewStart: 1, NewLines: 1}, {ID: 1, OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1}},
	} {
		if got, err := Splice([]byte("a\nb\n"), []byte("x\ny"), h); err == nil {
			t.Errorf("%+v gave %q", h, got)
		}
	}
}

// A range of no lines begins after the line that it names.
func TestSpliceOfNoLines(t *testing.T) {
	for _, tt := range []struct {
		old, now string
		hunk     croft.Hunk
		want     string
	}{
		{"", "x\ny", croft.Hunk{NewStart: 1, NewLines: 2}, "x\ny"},
		{"a\nb\n", "a\nx\nb\n", croft.Hunk{OldStart: 1, NewStart: 2, NewLines: 1}, "a\nx\nb\n"},
		{"a\nb\nc", "a\nc", croft.Hunk{OldStart: 2, OldLines: 1, NewStart: 1}, "a\nc"},
	} {
		if got, err := Splice([]byte(tt.old), []byte(tt.now), []croft.Hunk{tt.hunk}); err != nil || string(got) != tt.want {
			t.Errorf("%q: %q, %v, want %q", tt.old, got, err, tt.want)
		}
	}
}

// TestReplace: lines of edits stand where the others were, also at the ends of a file and in one that has none; what does not fit is
// refused.
func TestReplace(t *testing.T) {
	for name, tt := range map[string]struct {
		old   string
		edits []croft.Edit
		want  string
	}{
		"one":            {"1\n2\n3\n", []croft.Edit{{OldStart: 2, OldLines: 1, Text: "two\nand\n"}}, "1\ntwo\nand\n3\n"},
		"two":            {"1\n2\n3\n", []croft.Edit{{OldStart: 1, OldLines: 1}, {OldStart: 3, OldLines: 1, Raw: []byte("\xff\n")}}, "2\n\xff\n"},
		"first":          {"1\n", []croft.Edit{{OldStart: 0, Text: "0\n"}}, "0\n1\n"},
		"last":           {"1\n", []croft.Edit{{OldStart: 1, Text: "2"}}, "1\n2"},
		"without an end": {"1\n2", []croft.Edit{{OldStart: 2, OldLines: 1, Text: "two\n"}}, "1\ntwo\n"},
		"new":            {"", []croft.Edit{{OldStart: 0, Text: "1\n"}}, "1\n"},
		"all":            {"1\n2\n", []croft.Edit{{OldStart: 1, OldLines: 2}}, ""},
	} {
		if got, err := Replace([]byte(tt.old), tt.edits); err != nil || string(got) != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tt.want)
		}
	}
	for name, edits := range map[string][]croft.Edit{
		"beyond": {{OldStart: 4, OldLines: 1}}, "too many": {{OldStart: 3, OldLines: 2}}, "far behind": {{OldStart: 4}}, "negative": {{OldStart: 1, OldLines: -1}}, "before": {{OldStart: -1}},
		"nothing": {{OldStart: 0, OldLines: 1}}, "overlap": {{OldStart: 1, OldLines: 2}, {OldStart: 2, OldLines: 1}}, "out of order": {{OldStart: 3, OldLines: 1}, {OldStart: 1, OldLines: 1}},
		"huge": {{OldStart: 1, OldLines: math.MaxInt}},
	} {
		if got, err := Replace([]byte("1\n2\n3\n"), edits); !errors.Is(err, croft.InvalidRequest) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	files := []croft.ReviewFile{{Path: "a", NewMode: "100644", Hunks: []croft.Hunk{{ID: 1}}}, {Path: "bin", NewMode: "100644", IsBinary: true}, {Path: "gone", Hunks: []croft.Hunk{{ID: 1}}}}
	edits := func(path string) map[string][]croft.Edit { return map[string][]croft.Edit{path: {{OldStart: 1}}} }
	if got, err := Choose(files, nil, nil, edits("a")); err != nil || len(got) != 1 || len(got[0].Edits) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, path := range []string{"bin", "gone", "other"} {
		if got, err := Choose(files, nil, nil, edits(path)); !errors.Is(err, croft.InvalidRequest) {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
	if got, err := Choose(files, []string{"a"}, nil, edits("a")); !errors.Is(err, croft.InvalidRequest) {
		t.Errorf("%+v, %v", got, err)
	}
}
