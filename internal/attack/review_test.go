//go:build unix

package attack

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const unreviewed = "EVIL NOT REVIEWED"

// landed returns the content of a file on main, or in the project where it has no git.
func (h *host) landed(name string) string {
	h.t.Helper()
	if h.mode == plain {
		return read(h.t, filepath.Join(h.dir, name))
	}
	return h.git(h.dir, "show", "main:"+name)
}

// mustNotHaveLanded fails if text that was not shown is on main.
func (h *host) mustNotHaveLanded(r result) {
	h.t.Helper()
	if strings.Contains(h.landed("f1.txt")+h.landed("src/m.txt"), unreviewed) {
		h.t.Errorf("text landed that nobody reviewed: %v", r)
	}
}

// reviewed makes a workspace with work and a review of it.
func (h *host) reviewed() (a *agent, review string) {
	h.t.Helper()
	a = h.agent("a1")
	add(h.t, filepath.Join(a.dir, "f1.txt"), "good\n")
	return a, idOf(h.t, h.mustCroft("review", "--json", "a1"), "review")
}

// TestReviewSwapped: after the review of a person, [C] makes one of its own, of other text,
// and moves the refs of the person's review to it. An apply must bring what was reviewed,
// or nothing. In the other modes the agent writes the text after the review [W].
func TestReviewSwapped(t *testing.T) {
	inModes(t, everyMode, func(t *testing.T, h *host) {
		a, id := h.reviewed()
		add(t, filepath.Join(a.dir, "f1.txt"), unreviewed+"\n")
		if h.mode == worktree {
			second := idOf(t, h.mustCroft("review", "--json", "a1"), "review")
			for _, ref := range h.refs("refs/croft/review/" + second) {
				a.git("update-ref", strings.Replace(ref, second, id, 1), a.git("rev-parse", ref))
			}
		}
		h.mustNotHaveLanded(h.croft("apply", "a1", "--review", id, "f1.txt"))
	})
}

// refs are the refs of the project below a name.
func (h *host) refs(below string) []string {
	h.t.Helper()
	return strings.Fields(h.git(h.dir, "for-each-ref", "--format=%(refname)", below))
}

// TestReviewForged: [C] rewrites the pin of a review: the new commit has the same form, but
// its file has other text, and its review.json claims that this was shown. It must not be
// applied.
func TestReviewForged(t *testing.T) {
	h := newHost(t, worktree)
	a, id := h.reviewed()
	base := h.main()
	blob := h.writeBlob(a.dir, "a\nb\nc\n"+unreviewed+"\n")
	tree := h.gitInput(a.dir, "100644 blob "+blob+"\tf1.txt\n", "mktree")
	for _, ref := range h.refs("refs/croft/review") {
		parents := strings.Fields(a.git("rev-list", "--parents", "--max-count=1", ref))[1:]
		if len(parents) == 0 {
			a.git("update-ref", ref, a.git("commit-tree", tree, "-p", base, "-m", "x"))
			continue
		}
		full := a.replaceFile(base, "f1.txt", blob)
		head := a.git("commit-tree", full, "-p", base, "-m", "x")
		args := []string{"commit-tree", a.forgedPin(ref, parents[0], head, blob), "-m", "x"}
		for _, p := range parents {
			args = append(args, "-p", strings.ReplaceAll(p, parents[0], head))
		}
		a.git("update-ref", ref, a.git(args...))
	}
	h.mustNotHaveLanded(h.croft("apply", "a1", "--review", id, "f1.txt"))
	h.mustNotHaveLanded(h.croft("apply", "a1", "--review", id, "--all"))
}

// replaceFile returns the tree of a commit with another blob at a name.
func (a *agent) replaceFile(commit, name, blob string) string {
	a.h.t.Helper()
	var entries strings.Builder
	for line := range strings.SplitSeq(a.git("ls-tree", commit), "\n") {
		if _, path, _ := strings.Cut(line, "\t"); path == name {
			line = "100644 blob " + blob + "\t" + name
		}
		fmt.Fprintln(&entries, line)
	}
	return a.h.gitInput(a.dir, entries.String(), "mktree")
}

// forgedPin returns the tree of a review's pin whose review.json names another commit and
// blob.
func (a *agent) forgedPin(ref, oldHead, head, blob string) string {
	a.h.t.Helper()
	r := a.h.run(a.dir, "git", "cat-file", "blob", ref+":review.json")
	if r.code != 0 {
		return a.git("rev-parse", head+"^{tree}")
	}
	var pin struct {
		Review struct {
			Files []struct {
				NewObject string `json:"newObject"`
			} `json:"files"`
		} `json:"review"`
	}
	must(a.h.t, json.Unmarshal([]byte(r.stdout), &pin))
	text := strings.ReplaceAll(r.stdout, oldHead, head)
	for _, f := range pin.Review.Files {
		text = strings.ReplaceAll(text, f.NewObject, blob)
	}
	return a.h.gitInput(a.dir, "100644 blob "+a.h.writeBlob(a.dir, text)+"\treview.json\n", "mktree")
}

// TestPinsMoved: [C] moves every ref below refs/croft between review and apply, snapshot
// and restore, remove and restore: to refs of the same kind that name text of its own, or
// to an unrelated commit. A restore must bring back what was recorded, or refuse.
func TestPinsMoved(t *testing.T) {
	for name, steps := range map[string]struct{ before, after []string }{
		"review":           {[]string{"review", "--json"}, []string{"apply", "--review", "ID", "NAME", "f1.txt"}},
		"snapshot":         {[]string{"snapshot", "--json"}, []string{"restore", "ID"}},
		"remove":           {[]string{"remove", "--force"}, []string{"restore", "NAME"}},
		"remove, no trash": {[]string{"remove", "--force"}, []string{"restore", "NAME"}},
	} {
		for _, to := range []string{"its like", "a commit"} {
			t.Run(name+" to "+to, func(t *testing.T) {
				h := newHost(t, worktree)
				if name == "remove, no trash" {
					h.set("CROFT_TRASH_RETENTION", "0s") // uncommitted work is kept as a snapshot
					h.set("CROFT_TRASH_NOTICE", "0s")
				}
				a, other := h.agent("a1"), h.agent("b1")
				add(t, filepath.Join(a.dir, "f1.txt"), "good\n")
				add(t, filepath.Join(other.dir, "f1.txt"), unreviewed+"\n")
				var refs [2][]string
				var r result
				for i, who := range []string{"a1", "b1"} {
					had := h.refs("refs/croft")
					if i == 1 && name == "snapshot" { // only a snapshot of the same workspace could be mistaken for it
						who = "a1"
						a.write("f1.txt", unreviewed+"\n")
					}
					made := h.mustCroft(append(steps.before, who)...)
					if name == "remove, no trash" {
						h.mustCroft("gc")
					}
					if i == 0 {
						r = made
					}
					refs[i] = slices.DeleteFunc(h.refs("refs/croft"), func(ref string) bool { return slices.Contains(had, ref) })
				}
				if len(refs[0]) == 0 || len(refs[0]) != len(refs[1]) {
					t.Fatalf("the refs are %v", refs)
				}
				id := ""
				if noun := steps.before[0]; noun != "remove" {
					id = idOf(t, r, noun)
					a.write("f1.txt", "later\n")
				}
				evil := h.git(h.dir, "commit-tree", h.git(h.dir, "rev-parse", "main^{tree}"), "-p", h.main(), "-m", "x")
				for i, ref := range refs[0] {
					if to == "its like" {
						evil = h.git(h.dir, "rev-parse", refs[1][i])
					}
					h.git(h.dir, "update-ref", ref, evil)
				}
				args := []string{}
				for _, word := range steps.after {
					args = append(args, strings.NewReplacer("ID", id, "NAME", "a1").Replace(word))
				}
				r = h.croft(args...)
				h.mustNotHaveLanded(r)
				if r.code != 0 && !answered(r) {
					t.Errorf("refused without a code: %v", r)
				}
				if r.code == 0 && name != "review" {
					if text := read(t, filepath.Join(a.dir, "f1.txt")); text != "a\nb\nc\ngood\n" {
						t.Errorf("what came back is not what was kept: f1.txt is %q: %v", text, r)
					}
				}
			})
		}
	}
}
