package review

import "testing"

// TestReviewFromBefore: a review that was stored when the field workspace had the name is
// read as one of today; one of a later version is not.
func TestReviewFromBefore(t *testing.T) {
	for text, want := range map[string][2]string{
		`{"version":1,"review":{"id":"r","workspace":"a","workspaceId":"w"}}`:   {"w", "a"},
		`{"version":2,"review":{"id":"r","workspace":"w","workspaceName":"a"}}`: {"w", "a"},
	} {
		got, err := decodeReview([]byte(text))
		if err != nil || got.ID != "r" || string(got.Workspace) != want[0] || got.WorkspaceName != want[1] {
			t.Errorf("%s = %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{`{"version":3,"review":{}}`, `{"review":{}}`, `x`} {
		if got, err := decodeReview([]byte(text)); err == nil {
			t.Errorf("%s = %+v", text, got)
		}
	}
}
