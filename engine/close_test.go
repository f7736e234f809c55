package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestCallsAfterClose: after Close, every call of the Service fails with the code Closed.
func TestCallsAfterClose(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a"})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	for ev, err := range e.Events(t.Context(), croft.EventsRequest{}) {
		if !errors.Is(err, croft.Closed) {
			t.Errorf("Events: %+v, %v", ev, err)
		}
	}
	service := reflect.TypeFor[croft.Service]()
	for method := range service.Methods() {
		name := method.Name
		if name == "Close" || name == "Events" || name == "Notices" {
			continue
		}
		m := reflect.ValueOf(e).MethodByName(name)
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for k := 1; k < m.Type().NumIn(); k++ {
			args = append(args, reflect.Zero(m.Type().In(k)))
		}
		out := m.Call(args)
		err, _ := reflect.TypeAssert[error](out[len(out)-1])
		if got := croft.AsError(name, err); got == nil || got.Code != croft.Closed || got.Op == "" {
			t.Errorf("%s: %v, want %s", name, err, croft.Closed)
		}
	}
}

// TestCloseDrains: Close lets calls that write finish, and cancels calls that only wait.
func TestCloseDrains(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	e := engineIn(t, g.Repo, 0)
	id := g.submit(t, e, "a")
	waits, follows, made := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { _, err := e.WaitMerge(t.Context(), croft.WaitRequest{Merge: id}); waits <- err }()
	go func() {
		var last error
		for _, err := range e.Events(t.Context(), croft.EventsRequest{Follow: croft.FollowNew}) {
			last = err
		}
		follows <- last
	}()
	g.begun(t, 1)
	release := holdDatabase(t, g.Repo) // so that the call is still running when Close begins
	go func() { _, err := e.Create(t.Context(), croft.CreateRequest{Name: "b"}); made <- err }()
	time.Sleep(200 * time.Millisecond)
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	for what, ended := range map[string]chan error{"who waits for a merge": waits, "who follows the events": follows} {
		select {
		case err := <-ended:
			if !errors.Is(err, croft.Closed) {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(15 * time.Second):
			t.Errorf("%s still does", what)
		}
	}
	select {
	case err := <-closed:
		t.Errorf("it was closed while a call was at work: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	release()
	if err := <-made; err != nil {
		t.Errorf("the call that was at work: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	if got := names(t, engineIn(t, g.Repo, 0)); len(got) != 2 {
		t.Errorf("workspaces %v", got)
	}
}

// TestCloseDoesNotWaitForEver: Close cancels a call that does not end within its deadline.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := open(t, r.Dir, &engine.Options{Environ: r.Env, Drain: 100 * time.Millisecond})
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "f"), "work\n")
	release := holdDatabase(t, r)
	defer release()
	made := make(chan error, 1)
	go func() { _, err := e.SubmitMerge(context.Background(), croft.MergeRequest{Workspace: "a"}); made <- err }()
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	if err := e.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if err := <-made; !errors.Is(err, croft.Canceled) {
		t.Errorf("the call that was ended: %v", err)
	}
}
