// Package connect opens a Service: an engine in this process. A program that
// opens it here, and not from package engine, will get the daemon's where one
// runs, once there is a daemon.
package connect

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
)

// Options are the environment, the settings and the actor of a Service. The zero value
// takes everything from the process's environment and the user's configuration files.
type Options struct {
	// Environ is the environment that configuration is read from and that git
	// runs in. Default: this process's.
	Environ []string
	// Flags override configuration, by dotted key, such as
	// "limits.max_workers".
	Flags map[string]string
	// Actor is the name of the caller for the history and for Undo, unless the caller
	// is in a workspace. Default: the user.
	Actor string
	// From is the working directory of the caller. If it lies in a workspace, that
	// workspace is the actor. Default: the directory that the Service is opened for.
	From string
}

// Open opens a Service for the project that dir lies in. Open does not look for a
// repository; the first call that needs one does.
func Open(ctx context.Context, dir string, opts *Options) (croft.Service, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	return engine.Open(ctx, dir, &engine.Options{Environ: o.Environ, Settings: o.Flags, Actor: o.Actor, From: o.From})
}
