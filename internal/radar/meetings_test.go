package radar

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMeetingsWithAreMeetings: where each span is compared with one way only, the same meet as where all are compared with all.
func TestMeetingsWithAreMeetings(t *testing.T) {
	paths := []string{"a", "a/b", "a/b/c", "a/b/d", "a/bc", "a.b", "d", "d/e"}
	rnd := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 2000 {
		touched := make([][]string, 6)
		for n := range touched {
			for range rnd.IntN(3) {
				touched[n] = append(touched[n], paths[rnd.IntN(len(paths))])
			}
		}
		way, spans := []int{4, 2, 5}, []int{0, 1, 3}[:1+rnd.IntN(3)]
		meet, meets := findMeetings(touched), findMeetingsWith(way, touched)
		for first := range len(way) + 1 {
			want := slices.ContainsFunc(spans, func(s int) bool {
				return slices.ContainsFunc(way[:first], func(t int) bool { return meet[s].Bit(t) == 1 })
			})
			if got := meets(spans, first); got != want {
				t.Fatalf("%q: %v and %v: %v, want %v", touched, spans, way[:first], got, want)
			}
			if want {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("none meet")
	}
}
