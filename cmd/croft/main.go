// Command croft gives coding agents isolated checkouts. It collects the
// arguments, the environment and the signals, and wires the command line to
// the Service; what it does is in internal/cli and engine.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
	"github.com/croft-sh/croft/docs/schema"
	"github.com/croft-sh/croft/internal/cli"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/supervise"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == shimArgument {
		os.Exit(supervise.RunShim(os.Environ()))
	}
	if len(os.Args) == 3 && os.Args[1] == followArgument {
		os.Exit(follow(os.Args[2], os.Environ()))
	}
	// A command lives for milliseconds and ends with little in memory: it is
	// cheaper to collect late.
	debug.SetGCPercent(400)
	os.Exit(run())
}

func run() int {
	dir, err := os.Getwd()
	if err != nil && slices.Contains(os.Args[1:], "hook") {
		dir, err = string(filepath.Separator), nil // a hook is about the directory in its input
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "croft: the working directory cannot be told, was it removed?")
		fmt.Fprintln(os.Stderr, "  "+err.Error())
		return croft.ExitEnvironment
	}
	signals := listenForSignals()
	defer signals.stop()
	environ := os.Environ()
	display := detectDisplay(environ)
	return cli.Main(signals.ctx, cli.Env{
		Program:  program(os.Args[0]),
		Args:     os.Args[1:],
		Dir:      dir,
		Parent:   os.Getppid(),
		Version:  version(),
		Home:     lookUp(environ, "HOME"),
		Stdin:    os.Stdin,
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Terminal: display.terminal,
		Color:    display.color,
		ErrColor: display.errColor,
		Width:    display.width,
		ErrWidth: display.errWidth,
		IsASCII:  display.isASCII,
		IsDumb:   display.isDumb,
		ErrSize:  func() (width, height int) { return sizeOfTerminal(os.Stderr) },
		Keys:     keysOf(os.Stdin, os.Stderr),
		Size:     func() (width, height int) { return sizeOfTerminal(os.Stdout) },
		Open: func(ctx context.Context, project string, flags map[string]string) (croft.Service, error) {
			return connect.Open(ctx, project, &connect.Options{Environ: environ, Flags: flags, Actor: user(environ), From: dir, StartedIn: startedIn()})
		},
		Config: func(root string, flags map[string]string) (cli.ConfigView, error) {
			return configView(environ, root, flags)
		},
		SetConfig: func(c cli.ConfigChange) (cli.ConfigValue, error) { return setConfig(environ, c) },
		Shell: func(ctx context.Context, dir string, env []string) (int, error) {
			resume := signals.leaveToChild()
			defer resume()
			return proc.Interactive(context.WithoutCancel(ctx), proc.Command{
				Path: shell(environ), Env: shellEnviron(environ, dir, env), Dir: dir,
			})
		},
		Page:       func(ctx context.Context, text []byte) bool { return pageText(ctx, environ, signals, text) },
		Edit:       func(ctx context.Context, text []byte) ([]byte, error) { return editText(ctx, environ, signals, text) },
		Detach:     func(args ...string) error { return detach(environ, args...) },
		Schemas:    cli.Schemas{Names: schema.Names, Read: schema.Read},
		Background: proc.LowerPriority,
		Pause:      func(ctx context.Context) { pause(ctx, fillPause) },
		AutoGC: func(root string) bool {
			return claimUpkeep(environ, root, time.Now())
		},
		FillsPool: func(root string) bool { return claimFilling(environ, root) },
		MCP:       serveMCP(environ),
		Agents:    agentsOf(environ, display),
		Hook:      hooksOf(environ, dir),
		Daemon:    daemonOf(environ, signals),
		Tokens:    tokensOf(environ),
	})
}

// user returns the name of the user, who is the actor for the history and for undo if
// the caller is in no workspace.
func user(environ []string) string {
	return cmp.Or(lookUp(environ, "USER"), lookUp(environ, "USERNAME"))
}

// program returns the command as the user typed it: "git croft" if git called the
// program as git-croft, otherwise "croft".
func program(arg0 string) string {
	name := strings.TrimSuffix(filepath.Base(arg0), ".exe")
	if name == "git-croft" {
		return "git croft"
	}
	return "croft"
}

func settings(environ []string, root string, flags map[string]string) (*config.Set, error) {
	set, err := config.Load(config.Input{Environ: environ, Flags: flags})
	if err != nil {
		return nil, err
	}
	return set.ForRepo(root), nil
}

func configView(environ []string, root string, flags map[string]string) (cli.ConfigView, error) {
	set, err := settings(environ, root, flags)
	if err != nil {
		return cli.ConfigView{}, err
	}
	view := cli.ConfigView{
		Warnings: set.Warnings(),
		Template: string(config.Template()),
		Schema:   config.Schema(),
	}
	keys := map[string]config.Key{}
	for _, key := range config.Keys() {
		keys[key.Name] = key
	}
	for _, v := range set.Values() {
		view.Values = append(view.Values, cli.ConfigValue{Key: v.Key, Value: v.Value, Source: v.Source.String(), IsList: keys[v.Key].Type == config.TypeList, Words: keys[v.Key].Words()})
	}
	return view, nil
}

// setConfig writes a setting into a file.
func setConfig(environ []string, c cli.ConfigChange) (cli.ConfigValue, error) {
	written, err := config.Write(config.Input{Environ: environ}, config.Change{Key: c.Key, Items: c.Items, Root: c.Root})
	if err != nil {
		return cli.ConfigValue{}, err
	}
	return cli.ConfigValue{Key: written.Key, Value: written.Value, Source: written.Source.String()}, nil
}

// release is the version of a release, which the linker sets; empty in other builds.
var release string

// version returns the version of the release or of the module, or else the commit that the build recorded.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return "devel-" + setting.Value[:12]
		}
	}
	return "devel"
}
