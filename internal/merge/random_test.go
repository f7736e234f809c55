package merge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// tally counts what happened, so that a test that does nothing is noticed.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) count(what string) {
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[what]++
}

func (c *tally) add(other *tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for what, n := range other.n {
		if c.n == nil {
			c.n = map[string]int{}
		}
		c.n[what] += n
	}
}

func (c *tally) counts() map[string]int {
	all := map[string]int{
		"merge no-ff": 0, "merge squash": 0, "again no-ff": 0, "again squash": 0,
		"revert": 0, "second revert": 0, "several taken back": 0, "conflict": 0, "nothing": 0,
	}
	maps.Copy(all, c.n)
	return all
}

// piece is one branch, and its outcome on either side: in the stack, and in the checkout in
// which plain git does the same.
type piece struct {
	name      string
	head      string
	inHistory bool // it was merged with two parents before: git has its commits
	reverts   int

	landed []landed // and not reverted
	taken  []taken  // and not brought back
}

// landed is a merge: ours, of what, and plain git's.
type landed struct{ commit, before, hand string }

// taken is a revert: ours, and plain git's.
type taken struct {
	Revert
	hand string
}

type history struct {
	*bench
	rnd     *rand.Rand
	tip     string        // ours
	by      *gittest.Repo // where plain git does the same
	pieces  []*piece
	tally   *tally
	written int
}

func newHistory(t *testing.T, seed uint64) *history {
	r := gittest.Empty(t)
	r.Env = append(r.Env, "GIT_MERGE_AUTOEDIT=no")
	h := &history{bench: newBench(t, r), rnd: rand.New(rand.NewPCG(seed, 7)), tally: &tally{}}
	for i := range 8 {
		var text strings.Builder
		for line := range 40 {
			fmt.Fprintf(&text, "file %d line %d\n", i, line)
		}
		h.Write(fmt.Sprintf("dir%d/file%d", i%3, i), text.String())
	}
	h.tip = h.Commit("base")
	by := *r
	h.by = &by
	by.Dir = filepath.Join(filepath.Dir(r.Dir), "hand")
	by.Env = append(slices.Clone(r.Env), "GIT_COMMITTER_DATE=2026-05-06T07:08:09Z") // so that a copy of a commit has another ID
	h.Git("worktree", "add", "--quiet", "--detach", by.Dir)
	for i := range 4 {
		p := &piece{name: fmt.Sprint("w", i), head: h.tip}
		h.pieces = append(h.pieces, p)
		h.more(p)
	}
	return h
}

// more adds commits to a piece of work.
func (h *history) more(p *piece) {
	h.Git("checkout", "--quiet", "-B", p.name, p.head)
	for range 1 + h.rnd.IntN(2) {
		h.edit()
		h.Git("add", "--all")
		h.Git("commit", "--quiet", "--allow-empty", "--author", []string{ann, bob}[h.rnd.IntN(2)], "--message", fmt.Sprint("change ", h.written))
	}
	p.head = h.Git("rev-parse", "HEAD")
}

// edit changes one file or two of the checkout.
func (h *history) edit() {
	for range 1 + h.rnd.IntN(2) {
		h.written++
		files := strings.Fields(h.Git("ls-files"))
		file := files[h.rnd.IntN(len(files))]
		b, err := os.ReadFile(filepath.Join(h.Dir, file))
		if err != nil {
			continue // it was removed or renamed just now
		}
		lines := strings.SplitAfter(string(b), "\n")
		switch h.rnd.IntN(10) {
		case 0:
			h.Write(fmt.Sprintf("new/%s-%d", filepath.Base(file), h.written), fmt.Sprintf("new %d\n", h.written))
		case 1:
			h.Git("rm", "--quiet", "-f", "--ignore-unmatch", file)
		case 2:
			if _, err := h.TryGit(h.Dir, "mv", file, fmt.Sprintf("%s.moved%d", file, h.written)); err != nil {
				continue
			}
		default:
			at := h.rnd.IntN(len(lines))
			lines[at] = fmt.Sprintf("changed %d\n", h.written)
			h.Write(file, strings.Join(lines, ""))
		}
	}
}

func (h *history) play() {
	h.revertAll(h.pieces[0])
	for range 9 {
		p := h.pieces[h.rnd.IntN(len(h.pieces))]
		switch {
		case len(p.landed) > 0 && h.rnd.IntN(5) > 1:
			h.revert(p)
		case len(p.landed) > 0:
			if h.rnd.IntN(2) == 0 { // otherwise there is nothing to merge
				h.more(p)
			}
			h.merge(p)
		default:
			if p.reverts > 0 && h.rnd.IntN(2) == 0 {
				h.more(p)
			}
			h.merge(p)
		}
		if h.t.Failed() {
			return
		}
	}
}

// revertAll merges a piece of work twice, reverts both merges and merges it again.
func (h *history) revertAll(p *piece) {
	h.merge(p)
	h.more(p)
	h.merge(p)
	for n := len(p.landed); n > 0 && !h.t.Failed(); n-- {
		h.revert(p)
	}
	h.merge(p)
}

func (h *history) strategy() croft.Strategy {
	return []croft.Strategy{croft.StrategyNoFF, croft.StrategyNoFF, croft.StrategySquash}[h.rnd.IntN(3)]
}

// merge merges a piece of work on both sides.
func (h *history) merge(p *piece) {
	strategy := h.strategy()
	it := Item{Kind: croft.KindMerge, Strategy: strategy, Head: p.head, Message: "merge " + p.name}
	for _, taken := range p.taken {
		it.Reverts = append(it.Reverts, taken.Revert)
	}
	step := h.put(h.tip, it)
	before := h.hand("rev-parse", "HEAD")
	ok := true
	if p.inHistory {
		for _, taken := range slices.Backward(p.taken) {
			ok = ok && h.handRevert(taken.hand)
		}
	}
	if ok {
		ok = h.handMerge(strategy, before, p.head)
	}
	if !ok {
		h.hand("reset", "--quiet", "--hard", before)
	}
	if !h.same("merge "+p.name+" by "+string(strategy), step, ok) {
		return
	}
	if step.IsEmpty() {
		h.tally.count("nothing")
		return
	}
	what := "merge "
	if len(p.taken) > 0 {
		what = "again "
	}
	if len(p.taken) > 1 {
		h.tally.count("several taken back")
	}
	h.tally.count(what + string(strategy))
	p.landed = append(p.landed, landed{step.Commit, step.Parent, h.hand("rev-parse", "HEAD")})
	p.taken, p.inHistory, h.tip = nil, p.inHistory || strategy == croft.StrategyNoFF, step.Commit
}

// revert reverts a merge on both sides.
func (h *history) revert(p *piece) {
	at := h.rnd.IntN(len(p.landed))
	was := p.landed[at]
	step := h.put(h.tip, Item{Kind: croft.KindRevert, Head: was.commit, Base: was.before, Message: "revert " + p.name})
	before := h.hand("rev-parse", "HEAD")
	ok := h.handRevert(was.hand)
	if !ok {
		h.hand("reset", "--quiet", "--hard", before)
	}
	if !h.same("revert "+p.name, step, ok) {
		return
	}
	if step.IsEmpty() {
		h.tally.count("nothing")
		return
	}
	h.tally.count("revert")
	if p.reverts > 0 {
		h.tally.count("second revert")
	}
	h.tip = step.Commit
	p.reverts++
	p.landed = slices.Delete(p.landed, at, at+1)
	p.taken = append(p.taken, taken{Revert{Commit: step.Commit, Reverted: was.commit}, h.hand("rev-parse", "HEAD")})
}

// same compares both sides after a step.
func (h *history) same(what string, step Step, ok bool) bool {
	h.t.Helper()
	if clean := len(step.Conflicts) == 0; clean != ok {
		h.t.Errorf("%s: conflicts %+v, by hand it went well: %v", what, step.Conflicts, ok)
		return false
	}
	if want := h.hand("rev-parse", "HEAD^{tree}"); step.Tree != want {
		h.t.Errorf("%s: tree %s, by hand %s", what, step.Tree, want)
		return false
	}
	if !ok {
		h.tally.count("conflict")
	}
	return ok
}

func (h *history) hand(args ...string) string {
	h.t.Helper()
	return h.by.Git(args...)
}

func (h *history) try(args ...string) bool {
	_, err := h.by.TryGit(h.by.Dir, args...)
	return err == nil
}

// handCommit commits what is staged, if anything is.
func (h *history) handCommit(message string) {
	if !h.try("diff", "--cached", "--quiet") {
		h.hand("commit", "--quiet", "--message", message)
	}
}

// handMerge merges with plain git. Work that is merged again after a revert is one commit
// with the merge, as it is in the stack.
func (h *history) handMerge(strategy croft.Strategy, before, head string) bool {
	at := h.hand("rev-parse", "HEAD")
	switch strategy {
	case croft.StrategySquash:
		if !h.try("merge", "--quiet", "--squash", head) {
			return false
		}
		h.handCommit("squash")
	default:
		if !h.try("merge", "--quiet", "--no-ff", "--message", "merge", head) {
			return false
		}
	}
	if at == before || h.try("diff", "--quiet", before, "HEAD") {
		return true
	}
	parents := []string{"-p", before}
	if strategy == croft.StrategyNoFF {
		parents = append(parents, "-p", head)
	}
	one := h.hand(append([]string{"commit-tree", "HEAD^{tree}", "-m", "again"}, parents...)...)
	h.hand("reset", "--quiet", "--hard", one)
	return true
}

// handRevert reverts a commit, a merge or a range.
func (h *history) handRevert(what string) bool {
	args := []string{"revert", "--no-commit"}
	if !strings.Contains(what, "..") && len(strings.Fields(h.hand("rev-list", "--parents", "-n", "1", what))) > 2 {
		args = append(args, "-m", "1")
	}
	if !h.try(append(args, what)...) {
		h.hand("reset", "--quiet", "--hard")
		h.try("revert", "--quit")
		return false
	}
	h.handCommit("revert")
	h.try("revert", "--quit")
	return true
}
