// Package proc runs processes and tells whether others are alive. It is the
// only package that imports os/exec.
//
// Every process is started in a group of its own; when its context ends the
// whole group is asked to end and then killed, so that no grandchild goes on
// writing after the caller was told that the work had stopped.
package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// killDelay is how long a process may take to end after it was asked to.
const killDelay = 2 * time.Second

// pipeDelay is how long the pipes of a process that has ended may stay open: a child
// may keep them, or, on a busy machine, another process that is just being started:
// ten seconds were too short for 300 that start at once where two cores are shared.
const pipeDelay = time.Minute

// Command describes a process to run.
type Command struct {
	Path string   // required: the program, looked up in Env's PATH if it has no separator
	Args []string // without the program's name
	Env  []string // the whole environment; nil means none
	Dir  string
	// At is the directory to start in, also if it was moved from Dir, or something
	// else was put at Dir. The process may write below it. Only Linux can start there; other
	// systems go by Dir.
	At *os.File

	// Terminal says whether the process can reach the terminal of the caller.
	Terminal TerminalUse

	// Rank says how much of the machine a process gets that Detach starts.
	Rank Rank

	Stdin  io.Reader
	Stdout io.Writer // default: collected into Result.Stdout
	// Inherit are open files that the process and its children keep open. A
	// kernel lock among them lives as long as any of these processes.
	Inherit []*os.File
	// WriteBelow are the directories below which the process and its children may
	// write, make, rename and remove files; nil: anywhere. Open files can be
	// written wherever they lie. Only Linux can hold a process to it.
	WriteBelow []string
}

// TerminalUse says whether a process can reach the terminal of its caller.
type TerminalUse string

const (
	// TerminalLeft: it can, and if it reads there it is stopped, because it is in the background.
	TerminalLeft TerminalUse = ""
	// TerminalNone: it has none, so that a program which wants to ask a question there, as ssh
	// does, fails at once. Windows knows no difference.
	TerminalNone TerminalUse = "none"
)

// Rank says how much of the machine a process gets beside others.
type Rank string

// The ranks.
const (
	Ordinary   Rank = ""           // as much as its caller
	Background Rank = "background" // what others leave, from its first instruction on
)

// Result is what a process left behind.
type Result struct {
	Stdout []byte
	Stderr []byte
}

// ExitError says that a process ended with a status other than zero.
type ExitError struct {
	Path   string
	Code   int // -1 if it was killed by a signal
	Stderr []byte
}

func (e *ExitError) Error() string {
	if e.Code < 0 {
		return e.Path + " was killed"
	}
	return fmt.Sprintf("%s exited with %d", e.Path, e.Code)
}

// ErrNotFound says that there is no such program.
var ErrNotFound = exec.ErrNotFound

// LookPath finds a program in PATH.
func LookPath(name string) (string, error) { return exec.LookPath(name) }

// Run runs a process to its end. A status other than zero is an *ExitError; a
// context that ended first is the context's error.
func Run(ctx context.Context, c Command) (Result, error) {
	return run(ctx, c, newGroupCmd(ctx, c))
}

func run(ctx context.Context, c Command, cmd *groupCmd) (Result, error) {
	var out, errOut bytes.Buffer
	defer dieWithParent(cmd.Cmd)()
	cmd.Stdin = c.Stdin
	cmd.Stdout = c.Stdout
	if c.Stdout == nil {
		cmd.Stdout = &out
	}
	cmd.Stderr = &errOut
	err := runConfined(c, cmd.Run)
	cmd.killRest(ctx, err)
	return Result{out.Bytes(), errOut.Bytes()}, outcomeError(ctx, c, err, errOut.Bytes())
}

// Process is a running process that is talked to through its pipes.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
	Ended  func() // called by Wait, if not nil

	ctx    context.Context
	cmd    *groupCmd
	spec   Command
	stderr *tail
}

// Start starts a process and returns its pipes. When the caller dies it is not
// sent a signal: its input ends, and what it was told to do before it finishes.
func Start(ctx context.Context, c Command) (*Process, error) {
	p := &Process{ctx: ctx, cmd: newGroupCmd(ctx, c), spec: c, stderr: new(tail)}
	p.cmd.Stderr = p.stderr
	var err error
	if p.Stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.Stdout, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := runConfined(c, p.cmd.Start); err != nil {
		return nil, outcomeError(ctx, c, err, nil)
	}
	return p, nil
}

// Wait waits until the process has exited. Before it, the caller must have read Stdout to
// its end or called Kill.
func (p *Process) Wait() error {
	err := p.cmd.Wait()
	p.cmd.killRest(p.ctx, err)
	err = outcomeError(p.ctx, p.spec, err, p.stderr.text)
	if p.Ended != nil {
		p.Ended()
	}
	return err
}

// Kill ends the process and its children. Wait still has to be called.
func (p *Process) Kill() {
	if p.cmd.Process != nil {
		_ = killGroup(p.cmd.Process)
	}
}

// Interactive runs a process on the caller's terminal and returns its status. With a Stdin it reads that, and what it does not read is
// dropped. If the context ends, it is asked to end, so that it can give the terminal back.
func Interactive(ctx context.Context, c Command) (int, error) {
	cmd := newCmd(ctx, c)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, killDelay
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if c.Stdin != nil {
		cmd.Stdin = c.Stdin
	}
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// Detach starts a process that outlives the caller, without its terminal and
// without its pipes.
func Detach(c Command) error {
	_, err := DetachWatched(c)
	return err
}

// DetachWatched is Detach for a caller that may wait: the channel is closed when the process has ended.
func DetachWatched(c Command) (ended <-chan struct{}, err error) {
	cmd := newCmd(context.Background(), c)
	setDetached(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if c.Rank == Background {
		lowerPriorityOf(cmd.Process.Pid)
	}
	over := make(chan struct{})
	go func() { // a child that is not waited for stays as a zombie
		defer close(over)
		_ = cmd.Wait()
	}()
	return over, nil
}

// newCmd is a command with its program, its arguments, its environment and its
// directory.
func newCmd(ctx context.Context, c Command) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	if filepath.Base(c.Path) == c.Path {
		cmd.Path, cmd.Err = lookPath(c.Path, c.Env)
	}
	cmd.Env = c.Env
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	cmd.Dir = startDir(c)
	return cmd
}

// groupCmd is a command whose process leads a group. When its context ends, the
// group is asked to end, and killed after a while.
type groupCmd struct {
	*exec.Cmd
	kill *time.Timer // set when the context ends, which is before Wait returns
}

func newGroupCmd(ctx context.Context, c Command) *groupCmd {
	cmd := &groupCmd{Cmd: newCmd(ctx, c)}
	cmd.ExtraFiles = inheritableFiles(c.Inherit)
	cmd.WaitDelay = pipeDelay
	cmd.Cancel = func() error {
		cmd.kill = time.AfterFunc(killDelay, func() { _ = killGroup(cmd.Process) })
		return terminateGroup(cmd.Process)
	}
	setOwnGroup(cmd.Cmd)
	if c.Terminal == TerminalNone {
		setNoTerminal(cmd.Cmd)
	}
	return cmd
}

// killRest kills what is left of a process's group when the caller does not
// wait for it any more: the context has ended, or the process has and a child of it keeps the
// pipes open.
func (c *groupCmd) killRest(ctx context.Context, err error) {
	if c.kill != nil {
		c.kill.Stop()
	}
	if c.Process != nil && (ctx.Err() != nil || errors.Is(err, exec.ErrWaitDelay)) {
		_ = killGroup(c.Process)
	}
}

// tail keeps the end of what a long-lived process says.
type tail struct{ text []byte }

const maxTail = 64 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if over := len(t.text) - maxTail; over > 0 {
		t.text = t.text[:copy(t.text, t.text[over:])]
	}
	return len(b), nil
}

func outcomeError(ctx context.Context, c Command, err error, stderr []byte) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", c.Path, context.Cause(ctx))
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &ExitError{Path: c.Path, Code: exit.ExitCode(), Stderr: stderr}
	}
	return err
}

// Environ returns this process's environment. All code that needs it calls Environ, so
// that its uses can be found.
func Environ() []string { return os.Environ() }

// Find finds the program that a command of that name runs in an environment.
func Find(name string, env []string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	return lookPath(name, env)
}
