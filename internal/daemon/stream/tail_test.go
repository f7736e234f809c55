package stream_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/daemon/stream"
)

// flaky is a log whose streams fail after an event of the kind "break", and for good after one of
// the kind "close". Nobody in particular may follow it.
type flaky struct{ *log }

func (f flaky) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		if by := croft.ActorFrom(ctx); by.Workspace != "" && req.Follow == croft.FollowNew {
			yield(croft.Event{}, &croft.Error{Code: croft.Closed, Message: "the tail of all readers is one reader's"})
			return
		}
		for ev, err := range f.log.Events(ctx, req) {
			if req.Workspace != "" && ev.Workspace != req.Workspace {
				continue
			}
			if !yield(ev, err) {
				return
			}
			if ev.Kind == "close" && req.Follow == croft.FollowNew {
				yield(croft.Event{}, croft.Closed)
				return
			}
			if ev.Kind == "break" && req.Follow == croft.FollowNew {
				yield(croft.Event{}, errors.New("the journal is busy"))
				return
			}
		}
	}
}

// addOf adds an event of a workspace.
func (l *log) addOf(kind string, workspace croft.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, croft.Event{Cursor: croft.Cursor(strconv.Itoa(len(l.events) + 1)), Kind: kind, Subjects: croft.Subjects{Workspace: workspace}})
	close(l.changed)
	l.changed = make(chan struct{})
}

// read reads events as they come, up to one of the kind "end", and sends their cursors.
func read(ctx context.Context, hub *stream.Hub, req croft.EventsRequest) <-chan []string {
	read := make(chan []string, 1)
	req.Follow = croft.FollowNew
	go func() {
		var cursors []string
		for ev, err := range hub.Events(ctx, req) {
			if err != nil {
				cursors = append(cursors, err.Error())
				break
			}
			if cursors = append(cursors, string(ev.Cursor)); ev.Kind == "end" {
				break
			}
		}
		read <- cursors
	}()
	return read
}

// TestTailGoesOn: after a failure that passes, readers get each event once, those that happened
// meanwhile too; and who asks for one workspace gets the events of that.
func TestTailGoesOn(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	l := newLog()
	hub := stream.NewHub(flaky{l})
	all, one := read(croft.WithActor(ctx, croft.Actor{Workspace: "w1"}), hub, croft.EventsRequest{}), read(croft.WithActor(ctx, croft.Actor{Workspace: "w1"}), hub, croft.EventsRequest{Workspace: "w1"})
	for hub.Stats().Readers < 2 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	l.addOf("a", "w1")
	l.addOf("a", "w2")
	l.addOf("break", "w2")
	l.addOf("a", "w1")
	l.addOf("end", "w1")
	if got := <-all; !slices.Equal(got, []string{"1", "2", "3", "4", "5"}) {
		t.Errorf("all: %q", got)
	}
	if got := <-one; !slices.Equal(got, []string{"1", "4", "5"}) {
		t.Errorf("of one workspace: %q", got)
	}
}

// TestClosedServiceEndsReaders: they do not wait for events that never come.
func TestClosedServiceEndsReaders(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	l := newLog()
	hub := stream.NewHub(flaky{l})
	all := read(ctx, hub, croft.EventsRequest{})
	for hub.Stats().Readers < 1 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	l.addOf("close", "w1")
	if got := <-all; len(got) != 2 || got[0] != "1" || got[1] != croft.Closed.Error() {
		t.Errorf("%q", got)
	}
}
