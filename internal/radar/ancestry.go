package radar

import (
	"iter"
	"math/big"
	"math/bits"
	"slices"

	"github.com/croft-sh/croft/internal/git/mergetree"
)

// The results of ancestry.base that are no commit.
const (
	noBase      = -1 // they have no history in common
	severalBase = -2 // more than one commit is a best common ancestor
)

// ancestry knows the history of several commits, as far back as it takes to say
// where any two of them parted.
//
// It is told the history from the heads on, and needs no more of it as soon as
// every commit that it has heard of, but not been told, is an ancestor of all
// heads: whatever comes after is an ancestor of those.
type ancestry struct {
	heads  []string
	number []int    // of each commit that was asked for: its place in heads, -1 if it is none
	full   *big.Int // all heads

	index map[string]int
	nodes []node
	open  int // nodes that were not told and that not all heads have

	bases []int // of each pair of heads: a node, noBase or severalBase
}

// none is the empty set.
var none = new(big.Int)

// node is a commit of the history.
type node struct {
	commit  string
	parents []int
	heads   *big.Int // the set of heads that have it in their history; shared, never changed in place
	told    bool
	isHead  bool
	depth   int // an ancestor's is smaller
}

// newAncestry begins with the commits that are involved.
func newAncestry(all []string, involved []bool) *ancestry {
	k := &ancestry{index: map[string]int{}, number: make([]int, len(all))}
	for i, commit := range all {
		k.number[i] = -1
		if involved[i] {
			k.number[i] = len(k.heads)
			k.heads = append(k.heads, commit)
		}
	}
	k.full = new(big.Int)
	for i := range k.heads {
		k.full.SetBit(k.full, i, 1)
	}
	for i, commit := range k.heads {
		n := k.nodeOf(commit)
		k.nodes[n].isHead = true
		k.addHeads(n, new(big.Int).SetBit(new(big.Int), i, 1))
	}
	return k
}

// nodeOf is the place of a commit among the nodes.
func (k *ancestry) nodeOf(commit string) int {
	n, ok := k.index[commit]
	if !ok {
		n = len(k.nodes)
		k.index[commit] = n
		k.nodes = append(k.nodes, node{commit: commit, heads: none})
		k.open++
	}
	return n
}

// addHeads says that heads have a commit, and with it its ancestors.
func (k *ancestry) addHeads(n int, heads *big.Int) {
	type step struct {
		node  int
		heads *big.Int
	}
	for todo := []step{{n, heads}}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		at := &k.nodes[s.node]
		next := s.heads
		if at.heads != none {
			next = new(big.Int).Or(at.heads, s.heads)
		}
		if next.Cmp(at.heads) == 0 {
			continue
		}
		at.heads = next
		if !at.told {
			if next.Cmp(k.full) == 0 {
				k.open--
			}
			continue
		}
		// It was told before one of its children was, which is rare.
		for _, p := range at.parents {
			todo = append(todo, step{p, next})
		}
	}
}

// add tells a commit.
func (k *ancestry) add(c mergetree.Ancestor) {
	n := k.nodeOf(c.Commit)
	if k.nodes[n].told {
		return
	}
	if k.nodes[n].heads.Cmp(k.full) != 0 {
		k.open--
	}
	parents := make([]int, len(c.Parents))
	for i, p := range c.Parents {
		parents[i] = k.nodeOf(p)
	}
	k.nodes[n].told, k.nodes[n].parents = true, parents
	for _, p := range parents {
		k.addHeads(p, k.nodes[n].heads)
	}
}

// isSettled reports whether enough was told.
func (k *ancestry) isSettled() bool { return k.open == 0 }

// findBases finds the best common ancestors of all pairs of heads: a commit that
// both have, and of which no child is had by both.
func (k *ancestry) findBases() {
	children := make([][]int, len(k.nodes))
	for n := range k.nodes {
		for _, p := range k.nodes[n].parents {
			children[p] = append(children[p], n)
		}
	}
	k.measureDepths(children)
	k.bases = slices.Repeat([]int{noBase}, len(k.heads)*len(k.heads))
	for n, at := range k.nodes {
		sameAs := func(c int) bool { return k.nodes[c].heads.Cmp(at.heads) == 0 }
		if !at.isHead && slices.ContainsFunc(children[n], sameAs) {
			continue // every head that has it has that child
		}
		for i := range numbers(at.heads) {
			rest := at.heads
			for _, c := range children[n] {
				if k.nodes[c].heads.Bit(i) == 1 {
					rest = new(big.Int).AndNot(rest, k.nodes[c].heads)
				}
			}
			for j := range numbers(rest) {
				if i == j {
					continue
				}
				if b := &k.bases[i*len(k.heads)+j]; *b == noBase {
					*b = n
				} else {
					*b = severalBase
				}
			}
		}
	}
}

// measureDepths finds the depth of each node: one more than that of its deepest
// parent.
func (k *ancestry) measureDepths(children [][]int) {
	missing := make([]int, len(k.nodes)) // parents that are yet to be measured
	var ready []int
	for n := range k.nodes {
		missing[n] = len(k.nodes[n].parents)
		if missing[n] == 0 {
			ready = append(ready, n)
		}
	}
	for len(ready) > 0 {
		n := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, c := range children[n] {
			k.nodes[c].depth = max(k.nodes[c].depth, k.nodes[n].depth+1)
			if missing[c]--; missing[c] == 0 {
				ready = append(ready, c)
			}
		}
	}
}

// base is the node where two of the commits parted, or noBase, or severalBase.
func (k *ancestry) base(a, b int) int {
	return k.bases[k.number[a]*len(k.heads)+k.number[b]]
}

// isAncestor reports whether one commit is in the history of another.
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
