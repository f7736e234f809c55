package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// usualTCP is where a daemon listens for browsers if no address is given.
const usualTCP = "127.0.0.1:7450"

func newServeCommand(a *app) *cobra.Command {
	var opts ServeOptions
	var isDetached, isOpen, isStop, isStatus bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon: HTTP API, dashboard, queues that drive themselves",
		Long: `Run the daemon of this user. It serves all projects that Croft knows, over a Unix
socket that only this user can reach, and with --tcp to browsers and programs on
this machine, who log in with a link or a token. It drives the queues, removes
orphans and collects garbage. Commands work with or without it.

One daemon runs for a state directory. It stops with Ctrl-C, or with --stop from
elsewhere: requests that have begun are answered first, for up to 30 seconds; a
second Ctrl-C does not wait.`,
		Example: `  croft serve --tcp
  croft serve --detach
  croft serve --open
  croft serve --stop`,
		// "--tcp ADDRESS" leaves the address behind as an argument, since --tcp may stand alone.
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && opts.TCP == usualTCP && strings.Contains(args[0], ":") {
				return nil
			}
			return takesNothing(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.TCP = args[0]
			}
			if err := checkServe(cmd, opts); err != nil {
				return err
			}
			if isOpen && opts.TCP == "" {
				opts.TCP = usualTCP
			}
			ctx := cmd.Context()
			var err error
			switch {
			case isStop:
				err = a.runServeStop(ctx)
			case isStatus:
				err = a.runServeStatus(ctx)
			case isDetached:
				err = a.runServeDetached(ctx, opts, isOpen)
			default:
				err = a.runServe(ctx, opts, isOpen)
			}
			return codedError("serve", err)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.TCP, "tcp", "", "listen at this `address` of the machine as well, for browsers")
	flags.Lookup("tcp").NoOptDefVal = usualTCP
	flags.BoolVar(&isDetached, "detach", false, "run in the background")
	flags.BoolVar(&isOpen, "open", false, "print a link to log in with, of the running daemon too")
	flags.BoolVar(&isStatus, "status", false, "say where the daemon listens")
	flags.BoolVar(&isStop, "stop", false, "stop the daemon")
	flags.StringVar(&opts.LogFormat, "log-format", "text", "of the log: text or json")
	flags.StringVar(&opts.LogLevel, "log-level", "info", "what is logged: debug, info or warn")
	flags.StringVar(&opts.LogFile, "log-file", "", "append the log to this `file`")
	cmd.MarkFlagsMutuallyExclusive("stop", "status", "detach")
	cmd.MarkFlagsMutuallyExclusive("stop", "status", "open")
	registerCompletion(cmd, "log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	registerCompletion(cmd, "log-level", cobra.FixedCompletions([]string{"debug", "info", "warn"}, cobra.ShellCompDirectiveNoFileComp))
	registerCompletion(cmd, "tcp", cobra.NoFileCompletions)
	return cmd
}

func checkServe(cmd *cobra.Command, opts ServeOptions) error {
	if opts.LogFormat != "text" && opts.LogFormat != "json" {
		return usageError(cmd, "--log-format is text or json")
	}
	if opts.LogLevel != "debug" && opts.LogLevel != "info" && opts.LogLevel != "warn" {
		return usageError(cmd, "--log-level is debug, info or warn")
	}
	return nil
}

// runServe runs the daemon in this process. With isOpen, a daemon that runs already makes the
// link.
func (a *app) runServe(ctx context.Context, opts ServeOptions, isOpen bool) error {
	if isOpen {
		if status, err := a.env.Daemon.Status(ctx); err == nil {
			return a.printLink(ctx, status)
		}
	}
	return a.env.Daemon.Serve(ctx, opts, func(status DaemonStatus) {
		if !isOpen {
			status.URL = ""
		}
		a.printDaemon(status, "stop it with Ctrl-C, or "+a.env.Program+" serve --stop")
	})
}

func (a *app) runServeDetached(ctx context.Context, opts ServeOptions, isOpen bool) error {
	status, err := a.env.Daemon.Start(ctx, opts)
	if err != nil {
		return err
	}
	if isOpen {
		return a.printLink(ctx, status)
	}
	a.printDaemon(status, "stop it with "+a.env.Program+" serve --stop")
	return nil
}

// printLink prints where the daemon listens, with a link to log in.
func (a *app) printLink(ctx context.Context, status DaemonStatus) error {
	url, err := a.env.Daemon.Once(ctx)
	if err != nil {
		return err
	}
	status.URL = url
	a.printDaemon(status, "stop it with "+a.env.Program+" serve --stop")
	return nil
}

func (a *app) runServeStatus(ctx context.Context) error {
	status, err := a.env.Daemon.Status(ctx)
	if err != nil {
		return err
	}
	a.printDaemon(status, "")
	return nil
}

func (a *app) runServeStop(ctx context.Context) error {
	status, err := a.env.Daemon.Stop(ctx)
	if e, ok := errors.AsType[*croft.Error](err); ok && e.Code == croft.DaemonUnreachable {
		e.Hint = "" // there is nothing to do
	}
	if err != nil {
		return err
	}
	if a.json {
		status.Ended = true
		a.emit(status)
		return nil
	}
	a.note("the daemon, process %d, has ended", status.PID)
	return nil
}

// printDaemon says where a daemon listens.
func (a *app) printDaemon(status DaemonStatus, hint string) {
	if a.json {
		a.emit(status)
		return
	}
	rows := [][]cell{plainRow("process", strconv.Itoa(status.PID))}
	for _, path := range status.Sockets {
		rows = append(rows, plainRow("socket", path))
	}
	for _, addr := range status.TCP {
		rows = append(rows, plainRow("browser", "http://"+addr))
	}
	if status.URL != "" {
		rows = append(rows, plainRow("log in", status.URL))
	}
	if status.Log != "" {
		rows = append(rows, plainRow("log", status.Log))
	}
	a.printTable(rows)
	if status.URL != "" {
		a.note("the link works once, within two minutes")
	}
	if hint != "" {
		a.note("%s", hint)
	}
}

// isInWorkspace reports whether the caller's directory lies in a workspace: that is where agents
// are.
func isInWorkspace(ctx context.Context, svc workspaceFinder, dir string) bool {
	_, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: dir, Ref: croft.ByPath(dir)})
	return err == nil
}

// workspaceFinder is the part of croft.Service that finds a workspace.
type workspaceFinder interface {
	Workspace(ctx context.Context, req croft.WorkspaceRequest) (*croft.Workspace, error)
}

// accessText says what a token may do.
func accessText(t croft.Token) string {
	if t.Access == croft.AccessWorkspace {
		return strings.Join([]string{string(t.Access), string(t.Workspace)}, " ")
	}
	return string(t.Access)
}
