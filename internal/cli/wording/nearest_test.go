package wording

import "testing"

func TestEditDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"list", "list", 0}, {"lsit", "list", 1}, {"", "ab", 2}, {"staus", "status", 1}, {"develper", "developer", 1}, {"abc", "cab", 2}} {
		if got := editDistance(tt.a, tt.b); got != tt.want {
			t.Errorf("%s, %s: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
