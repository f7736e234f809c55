package radar

import "cmp"

// Order suggests an order in which n pieces of work are merged, so that few of them
// meet a conflict, and late. collides are the pairs in conflict, and last the pieces
// that conflict with the target and so come last.
//
// The order consists of waves. A wave repeatedly takes the piece that collides with the
// fewest of the remaining pieces, and leaves all pieces that collide with it to the
// next wave.
func Order(n int, collides [][2]int, last map[int]bool) []int {
	others := make([]map[int]bool, n)
	for i := range others {
		others[i] = map[int]bool{}
	}
	for _, c := range collides {
		others[c[0]][c[1]], others[c[1]][c[0]] = true, true
	}
	var order []int
	for _, isLast := range []bool{false, true} {
		left := map[int]bool{}
		for i := range n {
			if last[i] == isLast {
				left[i] = true
			}
		}
		for len(left) > 0 {
			order = append(order, takeWave(left, others)...)
		}
	}
	return order
}

// takeWave removes pieces of work from left that do not collide with each other, and
// returns them in order.
func takeWave(left map[int]bool, others []map[int]bool) []int {
	degree := map[int]int{} // how many of the other keys of degree each collides with
	for i := range left {
		degree[i] = 0
		for j := range others[i] {
			if left[j] {
				degree[i]++
			}
		}
	}
	var chosen []int
	drop := func(i int) {
		delete(degree, i)
		for j := range others[i] {
			if _, ok := degree[j]; ok {
				degree[j]--
			}
		}
	}
	for len(degree) > 0 {
		next := -1
		for i, d := range degree {
			if next < 0 || cmp.Or(cmp.Compare(d, degree[next]), cmp.Compare(i, next)) < 0 {
				next = i
			}
		}
		chosen = append(chosen, next)
		drop(next)
		for j := range others[next] {
			if _, ok := degree[j]; ok {
				drop(j)
			}
		}
	}
	for _, i := range chosen {
		delete(left, i)
	}
	return chosen
}
