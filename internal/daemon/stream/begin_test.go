package stream_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
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

// quiet has no events, and looks at no cursor, as a Service that is asked for what is another's.
type quiet struct{ croft.UnimplementedService }

func (quiet) Events(context.Context, croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(func(croft.Event, error) bool) {}
}

// TestCursorIsNoLineOfTheStream: a cursor with line breaks does not become an event.
func TestCursorIsNoLineOfTheStream(t *testing.T) {
	h := stream.Options{ServiceFor: func(caller.Caller) (croft.Service, error) { return quiet{}, nil }}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/events?follow=none&after=x%0A%0Aevent:%20merge.merged%0Adata:%20%7B%7D", nil))
	if w.Code != http.StatusBadRequest || strings.Contains(w.Body.String(), "\nevent: merge.merged") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
