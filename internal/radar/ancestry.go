package radar

import (
	"math/bits"
	"slices"

	"github.com/croft-sh/croft/internal/git"
)

// What base says of two commits beside a commit.
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
	number []int // of each commit that was asked for: its place in heads, -1 if it is none
	full   set

	index map[string]int
	nodes []node
	open  int // nodes that were not told and that not all heads have

	bases []int // of each pair of heads: a node, noBase or severalBase
}

// node is a commit of the history.
type node struct {
	commit  string
	parents []int
	heads   set // that have it in their history; shared, never changed in place
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
	k.full = newSet(len(k.heads))
	for i := range k.heads {
		k.full.add(i)
	}
	for i, commit := range k.heads {
		own := newSet(len(k.heads))
		own.add(i)
		n := k.nodeOf(commit)
		k.nodes[n].isHead = true
		k.addHeads(n, own)
	}
	return k
}

// nodeOf is the place of a commit among the nodes.
func (k *ancestry) nodeOf(commit string) int {
	n, ok := k.index[commit]
	if !ok {
		n = len(k.nodes)
		k.index[commit] = n
		k.nodes = append(k.nodes, node{commit: commit})
		k.open++
	}
	return n
}

// addHeads says that heads have a commit, and with it its ancestors.
func (k *ancestry) addHeads(n int, heads set) {
	type step struct {
		node  int
		heads set
	}
	for todo := []step{{n, heads}}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		at := &k.nodes[s.node]
		next := at.heads.with(s.heads)
		if next.equal(at.heads) {
			continue
		}
		at.heads = next
		if !at.told {
			if next.equal(k.full) {
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
func (k *ancestry) add(c git.Ancestor) {
	n := k.nodeOf(c.Commit)
	if k.nodes[n].told {
		return
	}
	if !k.nodes[n].heads.equal(k.full) {
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
		sameAs := func(c int) bool { return k.nodes[c].heads.equal(at.heads) }
		if !at.isHead && slices.ContainsFunc(children[n], sameAs) {
			continue // every head that has it has that child
		}
		for i := range at.heads.all() {
			rest := at.heads
			for _, c := range children[n] {
				if k.nodes[c].heads.has(i) {
					rest = rest.without(k.nodes[c].heads)
				}
			}
			for j := range rest.all() {
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

// set is a set of small numbers.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s set) has(i int) bool { return i/64 < len(s) && s[i/64]&(1<<(i%64)) != 0 }

func (s set) equal(t set) bool { return slices.Equal(s, t) }

// with is the union. It is one of the two where that is enough.
func (s set) with(t set) set {
	if len(s) == 0 || s.equal(t) {
		return t
	}
	u := slices.Clone(s)
	for i := range u {
		u[i] |= t[i]
	}
	return u
}

func (s set) without(t set) set {
	u := slices.Clone(s)
	for i := range u {
		u[i] &^= t[i]
	}
	return u
}

// all lists the numbers in order.
func (s set) all() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for w, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(w*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}
