package rest_test

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/croft-sh/croft"
)

// queued is a merge that has not come to its checks.
type queued struct {
	running
	looks  atomic.Int32
	begins int32 // the look at which the check has begun; 0: never
	ends   int32 // the look at which the merge has ended; 0: never
}

func (s *queued) CheckLog(ctx context.Context, req croft.CheckLogRequest) (*croft.CheckLog, error) {
	if look := s.looks.Add(1); s.begins == 0 || look < s.begins {
		return nil, &croft.Error{Code: croft.CheckNotFound, Message: "no check has run"}
	}
	return s.running.CheckLog(ctx, req)
}

func (s *queued) Merge(_ context.Context, req croft.GetRequest) (*croft.Merge, error) {
	m := croft.Merge{ID: "m1", State: croft.MergeQueued}
	if req.Ref != croft.ByID("m1") {
		return nil, croft.MergeNotFound
	}
	if s.ends > 0 && s.looks.Load() >= s.ends {
		m.State = croft.MergeDone
	}
	return &m, nil
}

// TestFollowLogFromTheStart: who follows the output of a merge that was just accepted gets all of
// it, as soon as there is some.
func TestFollowLogFromTheStart(t *testing.T) {
	parts := running{parts: []string{"a", "b", "c"}}
	for name, row := range map[string]struct {
		svc    *queued
		path   string
		status int
		text   string
	}{
		"a check begins":                  {&queued{running: parts, begins: 3}, "m1/log?follow", http.StatusOK, "abc"},
		"the merge ends at once":          {&queued{running: parts, begins: 2, ends: 1}, "m1/log?follow", http.StatusOK, "abc"},
		"the merge ends without a check":  {&queued{running: parts, ends: 3}, "m1/log?follow", http.StatusOK, ""},
		"the merge ended without a check": {&queued{running: parts, ends: 1}, "m1/log?follow", http.StatusNotFound, ""},
		"no such merge":                   {&queued{running: parts}, "m2/log?follow", http.StatusNotFound, ""},
		"no such check":                   {&queued{running: parts}, "m1/log?follow&check=c9", http.StatusNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, body := do(t, "GET", serve(t, row.svc, everything)+"/v1/merges/"+row.path, "")
			if r.StatusCode != row.status || row.status == http.StatusOK && body != row.text {
				t.Errorf("%s %q", r.Status, body)
			}
		})
	}
}

// TestFollowLogBegins: the answer begins before the check does, and ends with its reader.
func TestFollowLogBegins(t *testing.T) {
	svc := &queued{}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, serve(t, svc, everything)+"/v1/merges/m1/log?follow", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	cancel()
	if text, err := io.ReadAll(response.Body); response.StatusCode != http.StatusOK || len(text) > 0 || err == nil {
		t.Errorf("%s %q %v", response.Status, text, err)
	}
}
