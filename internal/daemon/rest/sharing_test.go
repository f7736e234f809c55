package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
)

// TestShareKey sees that no two requests have the same key that ask for other things, or whose
// callers may see other things.
func TestShareKey(t *testing.T) {
	request := func(url string, by caller.Caller) *http.Request {
		r := httptest.NewRequest(http.MethodGet, url, nil)
		return r.WithContext(caller.With(r.Context(), by))
	}
	const list = "/v1/workspaces?repo=id:a"
	owner := caller.Caller{Access: croft.AccessAll}
	of := map[string]string{}
	for name, key := range map[string]string{
		"list":           shareKey(api.ByName("Workspaces"), request(list, owner), croft.Actor{}),
		"call":           shareKey(api.ByName("Merges"), request(list, owner), croft.Actor{}),
		"page":           shareKey(api.ByName("Workspaces"), request(list+"&limit=5", owner), croft.Actor{}),
		"access":         shareKey(api.ByName("Workspaces"), request(list, caller.Caller{Access: croft.AccessRead}), croft.Actor{}),
		"token":          shareKey(api.ByName("Workspaces"), request(list, caller.Caller{Access: croft.AccessAll, Token: "t"}), croft.Actor{}),
		"agent":          shareKey(api.ByName("Workspaces"), request(list, caller.Caller{Access: croft.AccessWorkspace, Token: "t", Workspace: "a"}), croft.Actor{}),
		"agent of other": shareKey(api.ByName("Workspaces"), request(list, caller.Caller{Access: croft.AccessWorkspace, Token: "t", Workspace: "b"}), croft.Actor{}),
		"directory":      shareKey(api.ByName("Workspaces"), request(list, owner), croft.Actor{Dir: "/a"}),
		"name":           shareKey(api.ByName("Workspaces"), request(list, owner), croft.Actor{Name: "a"}),
		"acts in":        shareKey(api.ByName("Workspaces"), request(list, owner), croft.Actor{Workspace: "a"}),
		"author":         shareKey(api.ByName("Workspaces"), request(list, owner), croft.Actor{Author: &croft.Author{Name: "a"}}),
		"address":        shareKey(api.ByName("Workspaces"), request(list, owner), croft.Actor{Author: &croft.Author{Email: "a"}}),
		"from":           shareKey(api.ByName("Workspaces"), request(list, owner), croft.Actor{From: "/a"}),
	} {
		if key == "" || of[key] != "" {
			t.Errorf("%s has the key of %q: %s", name, of[key], key)
		}
		of[key] = name
	}
	for name, r := range map[string]*http.Request{"Workspaces": request(list+"&look=1s", owner), "Diff": request("/v1/diff", owner)} {
		if key := shareKey(api.ByName(name), r, croft.Actor{}); key != "" {
			t.Errorf("%s of %s is shared", r.URL, name)
		}
	}
}

// slowReads counts readings, each of which takes a time and answers with its number.
type slowReads struct {
	begun    atomic.Int64
	canceled atomic.Int64
	takes    time.Duration
}

func (s *slowReads) read(ctx context.Context) ([]byte, error) {
	n := s.begun.Add(1)
	select {
	case <-time.After(s.takes):
		return []byte(fmt.Sprint(n)), nil
	case <-ctx.Done():
		s.canceled.Add(1)
		return nil, ctx.Err()
	}
}

// TestSharedReadings asks a hundred times while a reading is at work: those who come in the
// meantime share the next one, and nobody gets one that had begun before they asked.
func TestSharedReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharing
		slow := &slowReads{takes: 100 * time.Millisecond}
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				before := slow.begun.Load()
				got, err := s.do(t.Context(), "list", slow.read)
				if err != nil || string(got) <= fmt.Sprint(before) {
					t.Errorf("caller %d: %s after %d had begun, %v", i, got, before, err)
				}
			})
		}
		begun := time.Now()
		wg.Wait()
		if n := slow.begun.Load(); n != 2 {
			t.Errorf("%d readings, want 2", n)
		}
		if took := time.Since(begun); took > 200*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		if len(s.byKey) != 0 {
			t.Errorf("left: %v", s.byKey)
		}
	})
}

// TestReadingsOfOthers sees that readings with different keys do not wait for each other.
func TestReadingsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharing
		slow := &slowReads{takes: 100 * time.Millisecond}
		begun := time.Now()
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() { _, _ = s.do(t.Context(), fmt.Sprint(i), slow.read) })
		}
		wg.Wait()
		if took := time.Since(begun); took != slow.takes || slow.begun.Load() != 10 {
			t.Errorf("%d readings in %s", slow.begun.Load(), took)
		}
	})
}

// TestSharedReadingWhoseCallersLeave sees that the caller who came first may leave without
// taking the answer from others, and that a reading nobody waits for is given up.
func TestSharedReadingWhoseCallersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharing
		slow := &slowReads{takes: 100 * time.Millisecond}
		var wg sync.WaitGroup
		ask := func(after, until time.Duration, want error) {
			wg.Go(func() {
				time.Sleep(after)
				ctx, cancel := context.WithTimeout(t.Context(), until)
				defer cancel()
				if _, err := s.do(ctx, "list", slow.read); !errors.Is(err, want) {
					t.Errorf("who came after %s: %v", after, err)
				}
			})
		}
		ask(0, 10*time.Millisecond, context.DeadlineExceeded) // the only one of the first reading
		ask(5*time.Millisecond, 50*time.Millisecond, context.DeadlineExceeded)
		ask(6*time.Millisecond, time.Second, nil)
		wg.Wait()
		if slow.begun.Load() != 2 || slow.canceled.Load() != 1 || len(s.byKey) != 0 {
			t.Errorf("%d begun, %d canceled, left %v", slow.begun.Load(), slow.canceled.Load(), s.byKey)
		}
	})
}

// TestSharedReadingThatNobodyAwaits sees that one which was given up before it began is not
// begun, and not handed to who comes later.
func TestSharedReadingThatNobodyAwaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharing
		slow := &slowReads{takes: 100 * time.Millisecond}
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = s.do(t.Context(), "list", slow.read) })
		wg.Go(func() {
			time.Sleep(10 * time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			_, _ = s.do(ctx, "list", slow.read)
		})
		wg.Go(func() {
			time.Sleep(50 * time.Millisecond)
			if got, err := s.do(t.Context(), "list", slow.read); err != nil || string(got) != "2" {
				t.Errorf("%s, %v", got, err)
			}
		})
		wg.Wait()
		synctest.Wait()
		if slow.begun.Load() != 2 || len(s.byKey) != 0 {
			t.Errorf("%d begun, left %v", slow.begun.Load(), s.byKey)
		}
	})
}

// TestSharedReadingThatHangs sees that a reading which does not end holds up nobody for long.
func TestSharedReadingThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharing
		slow := &slowReads{takes: time.Hour}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = s.do(ctx, "list", slow.read) })
		synctest.Wait()
		begun := time.Now()
		quick := &slowReads{takes: time.Millisecond}
		for range 3 {
			if _, err := s.do(t.Context(), "list", quick.read); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begun); took > patience+3*quick.takes {
			t.Errorf("it took %s", took)
		}
		cancel()
		wg.Wait()
	})
}

// TestSharedReadingThatPanics sees that every caller gets the panic, which the server reports,
// and that the next one reads anew.
func TestSharedReadingThatPanics(t *testing.T) {
	var s sharing
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = s.do(t.Context(), "list", func(context.Context) ([]byte, error) { panic("broken") })
	}()
	if got, err := s.do(t.Context(), "list", (&slowReads{}).read); err != nil || string(got) != "1" {
		t.Errorf("%s, %v", got, err)
	}
}
