package git

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/odb"
)

// TestOIDList: each object is listed once, at its first place, and "" never.
func TestOIDList(t *testing.T) {
	l := odb.OIDsOf("b", "", "a", "b")
	l.Add("c")
	l.Add("a")
	if d := cmp.Diff([]string{"b", "a", "c"}, l.List); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"d", "e", "d"}, l.Without([]string{"a", "d", "c", "e", "d"})); d != "" {
		t.Errorf("without (-want +got):\n%s", d)
	}
}
