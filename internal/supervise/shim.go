package supervise

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/run"
)

// orders are what a supervisor tells the shim.
type orders struct {
	Dir     string   `json:"dir"` // of the run
	Work    string   `json:"work"`
	Command []string `json:"command"`
	Environ []string `json:"environ"`
	Resume  []string `json:"resume"`
}

// startShim starts the shim, which starts the agent.
func (a Agent) startShim() (*proc.Session, error) {
	if len(a.Shim) == 0 || len(a.Resume) == 0 {
		return nil, errors.New("supervise: an agent needs a shim, and somebody who resumes")
	}
	told, err := json.Marshal(orders{
		Dir: a.Run.Dir, Work: a.Dir, Command: a.Command, Environ: append(a.Environ, run.Variable(a.Run.ID)), Resume: a.Resume,
	})
	if err != nil {
		return nil, err
	}
	return proc.StartSession(proc.Command{Path: a.Shim[0], Args: a.Shim[1:], Dir: "/", Env: a.Own}, told, a.IO)
}

// The statuses of commands that cannot be run, as shells have them.
const (
	statusNotFound   = 127
	statusNotRunning = 126
)

// RunShim runs the agent of a supervisor, which has started this process, until it has ended and
// nothing is left of it, and returns its status. The environment is that of this process.
func RunShim(environ []string) int {
	proc.AdoptOrphans()
	var told orders
	taken, err := proc.TakeOver(&told)
	if err != nil {
		_, _ = os.Stderr.WriteString("croft: only \"croft run\" starts this\n")
		return statusNotRunning
	}
	output := make(chan struct{})
	taken.OnOrphaned(func(outputs []io.Reader) {
		defer close(output)
		keepOutput(told.Dir, outputs)
	})
	status := runAgent(taken, told)
	_ = writeWhole(filepath.Join(told.Dir, run.StatusFile), []byte(strconv.Itoa(status)+"\n"))
	taken.EndChildren(graceful)
	if taken.IsOrphaned() {
		select {
		case <-output: // it has ended with the last process
		case <-time.After(graceful): // somebody else has it open
		}
		_ = proc.Detach(proc.Command{Path: told.Resume[0], Args: told.Resume[1:], Dir: "/", Env: withoutRun(environ)})
	}
	return status
}

// runAgent runs the agent itself.
func runAgent(taken *proc.Taken, told orders) int {
	session, err := taken.Start(proc.Command{Path: told.Command[0], Args: told.Command[1:], Dir: told.Work, Env: told.Environ})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return statusNotFound
	case err != nil:
		return statusNotRunning
	}
	status, err := session.Wait()
	if err != nil {
		return statusNotRunning
	}
	return status
}

// keepOutput writes down what an agent prints, in the place of the supervisor.
func keepOutput(dir string, outputs []io.Reader) {
	out, err := run.ContinueOutput(dir)
	if err != nil {
		return
	}
	defer out.Close()
	proc.CopyOutputs(outputs, out)
}

// withoutRun returns an environment that is not that of a run.
func withoutRun(environ []string) []string {
	var kept []string
	for _, v := range environ {
		if !strings.HasPrefix(v, run.VariableName+"=") {
			kept = append(kept, v)
		}
	}
	return kept
}
