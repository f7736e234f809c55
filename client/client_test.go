package client_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/client"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/rest"
	"github.com/croft-sh/croft/internal/daemon/stream"
	"github.com/croft-sh/croft/servicetest"
	"github.com/croft-sh/croft/servicetest/harness"
	"github.com/croft-sh/croft/servicetest/wire"
)

// TestServiceOverDaemon: the contract holds over a socket, from the client to the engine of a daemon,
// also where the test cannot open a path of an answer.
func TestServiceOverDaemon(t *testing.T) { servicetest.Run(t, wire.Remote(harness.Local(open))) }

// TestOnSharedDisk: so do the scenarios that open paths of answers.
func TestOnSharedDisk(t *testing.T) {
	servicetest.RunNeeding(t, harness.SharedDisk, harness.Local(open))
}

// open starts the handlers of a daemon on a socket, and returns a client of it.
func open(t *testing.T, dir string, env []string) croft.Service {
	t.Helper()
	// The path of a socket is short, and that of t.TempDir is not.
	run, err := os.MkdirTemp("", "croft") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	e, err := engine.Open(t.Context(), "/", &engine.Options{Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	hub := stream.NewHub(e)
	all := func(caller.Caller) (croft.Service, error) { return hub, nil }
	mux := http.NewServeMux()
	mux.Handle("/v1/", rest.New(rest.Options{ServiceFor: all, Notices: e.Notices}))
	mux.Handle("GET "+api.EventsPath, stream.Options{ServiceFor: all, Now: hub.Now})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(caller.With(r.Context(), caller.Caller{Access: croft.AccessAll})))
	})}
	socket := filepath.Join(run, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	svc, err := client.Open(t.Context(), client.Options{Socket: socket, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
		_ = server.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return svc
}
