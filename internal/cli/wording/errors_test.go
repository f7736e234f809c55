package wording

import (
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// TestExistsAmongSeveral: of a name that is taken it is said since when and where, also when several were asked for and
// it is said below that none was made.
func TestExistsAmongSeveral(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := &croft.Error{
		Code: croft.WorktreeExists, Workspace: "fix", Message: "a workspace of that name exists already", Details: "/src/app.croft/fix\nnone of the 3 was made",
		Fields: map[string]string{"path": "/src/app.croft/fix", "made": now.Add(-3 * time.Hour).Format(time.RFC3339)},
	}
	got := OfError(e, now, func(string) string { return "../app.croft/fix" })
	if want := "fix exists already, made 3h ago: ../app.croft/fix"; got.Message != want || got.Details != "none of the 3 was made" {
		t.Errorf("%q, %q", got.Message, got.Details)
	}
}
