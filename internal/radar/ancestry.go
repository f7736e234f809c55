package radar

import (
	"iter"
	"math/big"
	"math/bits"
	"slices"

	"github.com/croft-sh/croft/internal/git/mergetree"
)

// The results of ancestry.base that are no node.
const (
	noBase      = -1 // the two commits have no history in common
	severalBase = -2 // the two commits have several best common ancestors
)

// ancestry has the history of several commits, the heads, back to where any two of them
// parted.
type ancestry struct {
	heads  []string
	number []int // the index in heads of each commit in all, -1 if it is no head
	nodes  []node
	bases  []int // a node, noBase or severalBase: for each pair of heads, or, with a target, for each head and that
	target int   // the head that all others are compared with, and nothing else; -1: each is compared with each
}

// node is a commit of the history.
type node struct {
	commit            string
	parents, children []int
	heads             *big.Int // the heads that have the commit in their history; shared, never changed in place
	isRead            bool     // otherwise it is known only as a parent
	age               int      // less than that of its ancestors
}

// newAncestry returns an ancestry whose heads are the commits of pairs, by their numbers in all.
func newAncestry(all []string, pairs []pair) *ancestry {
	k := &ancestry{number: make([]int, len(all)), target: -1}
	involved := make([]bool, len(all))
	for _, p := range pairs {
		involved[p.a], involved[p.b] = true, true
	}
	for i, commit := range all {
		k.number[i] = -1
		if involved[i] {
			k.number[i] = len(k.heads)
			k.heads = append(k.heads, commit)
		}
	}
	if target, isOne := commonTarget(pairs); isOne {
		k.target = k.number[target]
	}
	return k
}

// commonTarget returns the second commit of all pairs, if that is one.
func commonTarget(pairs []pair) (target int, isOne bool) {
	for i, p := range pairs {
		if i > 0 && p.b != target {
			return 0, false
		}
		target = p.b
	}
	return target, len(pairs) > 0
}

// setCommits makes the nodes from the heads and the commits that were read so far.
func (k *ancestry) setCommits(commits []mergetree.Ancestor) {
	k.nodes = nil
	index := map[string]int{}
	nodeOf := func(commit string) int {
		n, ok := index[commit]
		if !ok {
			n = len(k.nodes)
			index[commit] = n
			k.nodes = append(k.nodes, node{commit: commit, heads: new(big.Int)})
		}
		return n
	}
	for i, commit := range k.heads {
		at := &k.nodes[nodeOf(commit)]
		at.heads = new(big.Int).SetBit(at.heads, i, 1)
	}
	for _, c := range commits {
		n := nodeOf(c.Commit)
		k.nodes[n].isRead = true
		for _, parent := range c.Parents {
			p := nodeOf(parent)
			k.nodes[n].parents = append(k.nodes[n].parents, p)
			k.nodes[p].children = append(k.nodes[p].children, n)
		}
	}
	k.passHeads()
}

// passHeads adds the heads of each commit to those of its parents, children first.
func (k *ancestry) passHeads() {
	var order []int
	missing := make([]int, len(k.nodes)) // the number of children that are not in order yet
	for n, at := range k.nodes {
		if missing[n] = len(at.children); missing[n] == 0 {
			order = append(order, n)
		}
	}
	for age := 0; age < len(order); age++ {
		at := &k.nodes[order[age]]
		at.age = age
		for _, p := range at.parents {
			if parent := &k.nodes[p]; parent.heads.Sign() == 0 {
				parent.heads = at.heads
			} else if parent.heads.Cmp(at.heads) != 0 {
				parent.heads = new(big.Int).Or(parent.heads, at.heads)
			}
			if missing[p]--; missing[p] == 0 {
				order = append(order, p)
			}
		}
	}
}

// isSettled reports whether enough commits were read: every commit that is known only as
// a parent is an ancestor of all heads, and so are all commits before it.
func (k *ancestry) isSettled() bool {
	full := new(big.Int).Lsh(big.NewInt(1), uint(len(k.heads)))
	full.Sub(full, big.NewInt(1))
	return !slices.ContainsFunc(k.nodes, func(n node) bool { return !n.isRead && n.heads.Cmp(full) != 0 })
}

// findBases finds the best common ancestors of each pair of heads: commits that both
// have, and no child of which both have.
func (k *ancestry) findBases() {
	if k.target >= 0 {
		k.findBasesWithTarget()
		return
	}
	k.bases = slices.Repeat([]int{noBase}, len(k.heads)*len(k.heads))
	for n, at := range k.nodes {
		sameAs := func(c int) bool { return k.nodes[c].heads.Cmp(at.heads) == 0 }
		if slices.ContainsFunc(at.children, sameAs) {
			continue // every head that has it has that child
		}
		for i := range numbers(at.heads) {
			rest := at.heads
			for _, c := range at.children {
				if k.nodes[c].heads.Bit(i) == 1 {
					rest = new(big.Int).AndNot(rest, k.nodes[c].heads)
				}
			}
			for j := range numbers(rest) {
				if i == j {
					continue
				}
				k.addBase(i*len(k.heads)+j, n)
			}
		}
	}
}

// findBasesWithTarget is findBases for the pairs of each head and the target: without a table of all pairs, which takes seconds and
// a gigabyte for ten thousand heads.
func (k *ancestry) findBasesWithTarget() {
	k.bases = slices.Repeat([]int{noBase}, len(k.heads))
	for n, at := range k.nodes {
		if at.heads.Bit(k.target) == 0 {
			continue
		}
		rest := new(big.Int).Set(at.heads)
		for _, c := range at.children {
			if heads := k.nodes[c].heads; heads.Bit(k.target) == 1 {
				rest.AndNot(rest, heads)
			}
		}
		for i := range numbers(rest) {
			if i != k.target {
				k.addBase(i, n)
			}
		}
	}
}

func (k *ancestry) addBase(at, n int) {
	if k.bases[at] == noBase {
		k.bases[at] = n
	} else {
		k.bases[at] = severalBase
	}
}

// base returns the node where two commits parted, or noBase, or severalBase.
func (k *ancestry) base(a, b int) int {
	if k.target >= 0 {
		return k.bases[k.number[a]]
	}
	return k.bases[k.number[a]*len(k.heads)+k.number[b]]
}

// isAncestor reports whether commit a is in the history of commit of.
func (k *ancestry) isAncestor(a, of int) bool {
	n := k.base(a, of)
	return n >= 0 && k.nodes[n].commit == k.heads[k.number[a]]
}

// numbers lists the members of a set of small numbers, in order.
func numbers(set *big.Int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for w, word := range set.Bits() {
			for ; word != 0; word &= word - 1 {
				if !yield(w*bits.UintSize + bits.TrailingZeros(uint(word))) {
					return
				}
			}
		}
	}
}
