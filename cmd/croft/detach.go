package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli"
	"github.com/croft-sh/croft/internal/daemon/process"
	"github.com/croft-sh/croft/internal/proc"
)

// detach runs this program again in the background.
func detach(environ []string, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return proc.Detach(proc.Command{Path: self, Args: args, Env: environ, Dir: filepath.Dir(self), Rank: rankOf(args)})
}

// rankOf gives upkeep what others leave of the machine.
func rankOf(args []string) proc.Rank {
	if slices.Contains(args, "--auto") {
		return proc.Background
	}
	return proc.Ordinary
}

// startDaemon starts this program again as a daemon in the background.
func startDaemon(ctx context.Context, at process.Place, opts cli.ServeOptions) (cli.DaemonStatus, error) {
	if running, err := at.Status(ctx); err == nil {
		return cli.DaemonStatus{}, process.RunningError(*running, addressesOf(opts))
	}
	self, err := os.Executable()
	if err != nil {
		return cli.DaemonStatus{}, err
	}
	run := filepath.Join(at.StateDir, "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		return cli.DaemonStatus{}, err
	}
	if opts.LogFile == "" {
		opts.LogFile = filepath.Join(run, "daemon.log")
	}
	opts.LogFile, err = filepath.Abs(opts.LogFile)
	if err != nil {
		return cli.DaemonStatus{}, err
	}
	args := []string{"serve", "--log-file", opts.LogFile, "--log-format", opts.LogFormat, "--log-level", opts.LogLevel}
	if opts.TCP != "" {
		args = append(args, "--tcp="+opts.TCP)
	}
	before := sizeOf(opts.LogFile)
	if err := proc.Detach(proc.Command{Path: self, Args: args, Env: withoutManager(at.Environ), Dir: filepath.Dir(self)}); err != nil {
		return cli.DaemonStatus{}, err
	}
	hasFailed := func() bool { return failureIn(tailOf(opts.LogFile, before)) != nil }
	status, err := at.Await(ctx, startTime, hasFailed)
	if err != nil {
		return cli.DaemonStatus{}, startError(opts.LogFile, before, err)
	}
	out := daemonStatus(*status)
	out.Log = opts.LogFile
	return out, nil
}

// startError says why a daemon in the background did not begin, as its log from a place on has it.
func startError(log string, from int64, err error) error {
	text := tailOf(log, from)
	if e := failureIn(text); e != nil {
		e.Message = "the daemon did not start: " + e.Message
		e.Details = strings.TrimPrefix(e.Details+"\nlog: "+log, "\n")
		return e
	}
	return &croft.Error{
		Code: croft.DaemonUnreachable, Op: "serve", Message: "the daemon was started and does not answer", Details: text, Hint: "look into " + log, Err: err,
	}
}
