package gitdir

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAvoidClashes: refs that cannot exist together get names of the same kind under which
// they can.
func TestAvoidClashes(t *testing.T) {
	others := map[string]string{"refs/heads/feature/search": "1", "refs/heads/main": "1"}
	refs := map[string]string{
		"refs/heads/feature": "2", "refs/heads/feature.1": "2", "refs/heads/main": "2", "refs/heads/main/x/y": "2",
		"refs/tags/v1": "2", "refs/tags/v1/x": "2", "refs/heads": "2", "refs/stash": "2",
	}
	want := map[string]string{
		"refs/heads/feature": "refs/heads/feature.2", "refs/heads/feature.1": "refs/heads/feature.1",
		"refs/heads/main": "refs/heads/main", "refs/heads/main/x/y": "refs/heads/main-x-y.1",
		"refs/tags/v1": "refs/tags/v1", "refs/tags/v1/x": "refs/tags/v1-x.1", "refs/heads": "refs/restored/heads.1", "refs/stash": "refs/stash",
	}
	if d := cmp.Diff(want, AvoidClashes(refs, others)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
