package radar

import (
	"cmp"
	"slices"
)

// Order suggests an order in which n pieces of work are merged, so that few of them
// meet a conflict, and late. collides are the pairs in conflict, and last the pieces
// that conflict with the target and so come last.
//
// The order consists of waves. A wave repeatedly takes the piece that collides with the
// fewest of the remaining pieces, and leaves all pieces that collide with it to the
// next wave.
func Order(n int, collides [][2]int, last map[int]bool) []int {
	others := make([][]int, n)
	for _, c := range collides {
		others[c[0]], others[c[1]] = append(others[c[0]], c[1]), append(others[c[1]], c[0])
	}
	var order, left []int
	inWave := make([]bool, n)
	degree := func(i int) (d int) { // how many pieces of the wave it collides with
		for _, j := range others[i] {
			if inWave[j] {
				d++
			}
		}
		return d
	}
	for _, isLast := range []bool{false, true} {
		for i := range n {
			if last[i] == isLast {
				left = append(left, i)
			}
		}
		for len(left) > 0 {
			wave := slices.Clone(left)
			for _, i := range wave {
				inWave[i] = true
			}
			for len(wave) > 0 {
				next := slices.MinFunc(wave, func(a, b int) int { return cmp.Compare(degree(a), degree(b)) })
				order, inWave[next] = append(order, next), false
				for _, j := range others[next] {
					inWave[j] = false
				}
				wave = slices.DeleteFunc(wave, func(i int) bool { return !inWave[i] })
			}
			left = slices.DeleteFunc(left, func(i int) bool { return slices.Contains(order, i) })
		}
	}
	return order
}
