package git

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOIDList: each object is listed once, where it came first, and "" never.
func TestOIDList(t *testing.T) {
	l := oidsOf("b", "", "a", "b")
	l.add("c")
	l.add("a")
	if d := cmp.Diff([]string{"b", "a", "c"}, l.list); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"d", "e", "d"}, l.without([]string{"a", "d", "c", "e", "d"})); d != "" {
		t.Errorf("without (-want +got):\n%s", d)
	}
}
