package stream_test

import (
	"errors"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/daemon/stream"
)

// TestBeginsInOnePlace: a stream that is to begin after a cursor and now is refused, as by any
// Service, and not begun at one of the two.
func TestBeginsInOnePlace(t *testing.T) {
	hub := stream.NewHub(croft.UnimplementedService{})
	for _, err := range hub.Events(t.Context(), croft.EventsRequest{After: "c", From: croft.FromNow, Follow: croft.FollowNew}) {
		if !errors.Is(err, croft.InvalidRequest) {
			t.Error(err)
		}
		return
	}
	t.Error("nothing was said")
}
