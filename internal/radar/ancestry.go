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
//
// Commits are added from the heads backwards. No more are needed as soon as every
// commit that is known only as a parent is an ancestor of all heads: so are all commits
// before it.
type ancestry struct {
	heads  []string
	number []int    // the index in heads of each commit in all, -1 if it is no head
	full   *big.Int // the set of all heads

	index map[string]int
	nodes []node
	open  int // nodes that were not added and are not ancestors of all heads

	bases []int // for each pair of heads: a node, noBase or severalBase
}

// none is the empty set.
var none = new(big.Int)

// node is a commit of the history.
type node struct {
	commit  string
	parents []int
	heads   *big.Int // the heads that have the commit in their history; shared, never changed in place
	told    bool
	isHead  bool
	depth   int // greater than that of its ancestors
}

// newAncestry returns an ancestry whose heads are the involved commits of all.
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

// nodeOf returns the index of a commit in nodes, and makes a node if there is none.
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

// addHeads records that heads have a commit in their history, and so all its ancestors.
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
		// The commit was added before one of its children, which is rare.
		for _, p := range at.parents {
			todo = append(todo, step{p, next})
		}
	}
}

// addCommit adds a commit with its parents.
func (k *ancestry) addCommit(c mergetree.Ancestor) {
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

// isSettled reports whether enough commits were added.
func (k *ancestry) isSettled() bool { return k.open == 0 }

// findBases finds the best common ancestors of each pair of heads: commits that both
// have, and no child of which both have.
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

// measureDepths computes the depth of each node: one more than that of its deepest
// parent.
func (k *ancestry) measureDepths(children [][]int) {
	missing := make([]int, len(k.nodes)) // the number of parents that have no depth yet
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

// base returns the node where two commits parted, or noBase, or severalBase.
func (k *ancestry) base(a, b int) int {
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
