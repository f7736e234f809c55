package equip

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/check"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/provision/script"
	"github.com/croft-sh/croft/internal/shellword"
)

// Approvals says which commands a person has approved.
type Approvals interface {
	SetupTrusted(ctx context.Context, r *project.Project, commands []string) (hash string, ok bool, err error)
}

// Provision brings in what is missing, runs the commands by which a workspace is set up, and records what
// became of each.
func (svc *Equipment) Provision(ctx context.Context, s project.Location, rec journal.Record, req croft.ProvisionRequest) (*croft.Provision, error) {
	commit, err := CommitOf(ctx, s.Project, rec)
	if err != nil {
		return nil, err
	}
	asked, err := AskedAt(ctx, s.Project, commit)
	if err != nil {
		return nil, err
	}
	if err := unreadableError(s, asked, commit); err != nil {
		return nil, err
	}
	if err := checkSteps(asked.stepsFor(rec), req.Steps); err != nil {
		return nil, err
	}
	lock, err := svc.lockSetup(s.Project, rec)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	if rec, err = svc.Journal.Record(ctx, rec.Workspace.ID); err != nil { // as it is under the lock
		return nil, err
	}
	if rec.Workspace.State == croft.Trashed {
		return nil, &croft.Error{Code: croft.WorktreeNotFound, Message: "it was removed meanwhile", Hint: "croft trash"}
	}
	if err := svc.recordCommit(ctx, &rec, asked, commit); err != nil {
		return nil, err
	}
	if err := svc.giveVariables(ctx, s.Project, &rec, asked); err != nil { // the commands read them
		return nil, err
	}
	brought := 0
	if req.Mode != croft.ProvisionSteps && len(req.Steps) == 0 {
		if brought, err = svc.bringFiles(ctx, s, &rec, asked, req.Mode); err != nil {
			return nil, err
		}
	}
	begun := svc.Now()
	out, err := svc.runSteps(ctx, s, rec, asked, req)
	if ctx.Err() != nil {
		return nil, &croft.Error{
			Code: croft.Canceled, Workspace: rec.Workspace.Name, Message: "canceled; the commands that ended stay done", Hint: "croft provision " + shellword.Quote(rec.Workspace.Name), Err: ctx.Err(),
		}
	}
	if err == nil {
		out.Brought = brought
		for _, step := range out.Steps {
			if !step.At.Before(begun) {
				out.Ran++
			}
		}
	}
	if err == nil && req.Mode != croft.ProvisionSteps {
		err = svc.addDrift(ctx, s.Project, rec, out)
	}
	return out, err
}

// recordCommit records the commit whose commands set a workspace up, before one of them runs: its teardown is of the
// same commit.
func (svc *Equipment) recordCommit(ctx context.Context, rec *journal.Record, asked Asked, commit string) error {
	if commit == cmp.Or(rec.SetUpAt, rec.Workspace.Base) {
		return nil
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		now, err := tx.Record(rec.Workspace.ID)
		if err != nil {
			return err
		}
		now.SetUpAt, now.HasTeardown = commit, len(asked.teardownFor(now)) > 0
		err = tx.SaveRecord(&now)
		*rec = now
		return err
	})
}

// runSteps runs the commands that have to run, if a person has approved all of them.
func (svc *Equipment) runSteps(ctx context.Context, s project.Location, rec journal.Record, asked Asked, req croft.ProvisionRequest) (*croft.Provision, error) {
	hash, isApproved, err := svc.Approvals.SetupTrusted(ctx, s.Project, asked.Commands())
	if err != nil {
		return nil, err
	}
	v, err := svc.variablesOf(ctx, s.Project, rec, asked)
	if err != nil {
		return nil, err
	}
	if !isApproved && (asked.hasCommands() || len(v.waiting) > 0) {
		return svc.saveUnapproved(ctx, rec, asked, hash, asked.whyUnapproved())
	}
	run := &setup{svc: svc, rec: rec, asked: asked, steps: asked.stepsFor(rec), req: req, until: time.Now().Add(time.Duration(s.Config.Provision.Timeout))}
	return run.all(ctx)
}

// checkSteps refuses the name of a step that there is not.
func checkSteps(steps []config.ProvisionStep, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(steps, func(s config.ProvisionStep) bool { return s.Name == name }) {
			var known []string
			for _, s := range steps {
				known = append(known, s.Name)
			}
			return &croft.Error{
				Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no step %q", name), Details: strings.Join(known, "\n"),
			}
		}
	}
	return nil
}

// SetupDir returns the directory of the locks under which the workspaces of a project are set up,
// by their IDs.
func SetupDir(r *project.Project) string { return filepath.Join(r.Dir, "setup") }

// lockSetup keeps two processes from setting up one workspace at the same time.
func (svc *Equipment) lockSetup(r *project.Project, rec journal.Record) (*flock.Lock, error) {
	if err := os.MkdirAll(SetupDir(r), 0o700); err != nil {
		return nil, err
	}
	lock, err := flock.Try(filepath.Join(SetupDir(r), string(rec.Workspace.ID)))
	if errors.Is(err, flock.ErrHeld) {
		err = &croft.Error{
			Code: croft.WorkspaceBusy, Workspace: rec.Workspace.Name, Message: "it is being set up by another process", Hint: "croft show " + shellword.Quote(rec.Workspace.Name),
		}
	}
	return lock, err
}

// saveUnapproved records that the commands or variables of a workspace wait for a person.
func (svc *Equipment) saveUnapproved(ctx context.Context, rec journal.Record, asked Asked, hash, why string) (*croft.Provision, error) {
	return svc.change(ctx, rec.Workspace.ID, func(p *croft.Provision) {
		p.State, p.Why, p.Hash, p.Unapproved = croft.ProvisionUnapproved, why, hash, asked.Commands()
		p.Steps = plan(p.Steps, asked.stepsFor(rec), asked.Probes)
		for i := range p.Steps {
			if p.Steps[i].State != croft.StepDone {
				p.Steps[i].State = croft.StepUnapproved
			}
		}
	})
}

// change changes what a record says of setting up, as it is now.
func (svc *Equipment) change(ctx context.Context, id croft.ID, how func(p *croft.Provision)) (*croft.Provision, error) {
	var out croft.Provision
	return &out, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		rec, err := tx.Record(id)
		if err != nil {
			return err
		}
		was := rec.Workspace.Provision
		if was != nil {
			out = *was
		}
		out.Steps = slices.Clone(out.Steps)
		how(&out)
		if was == nil || !reflect.DeepEqual(*was, out) {
			rec.Workspace.Provision = &out
			err = tx.SaveRecord(&rec)
		}
		return err
	})
}

// plan returns the steps and probes that are asked for, with what is recorded of each.
func plan(recorded []croft.ProvisionedStep, steps []config.ProvisionStep, probes []config.ProvisionProbe) []croft.ProvisionedStep {
	var list []croft.ProvisionedStep
	add := func(name, run string) {
		step := croft.ProvisionedStep{Name: name, Run: run, State: croft.StepPending}
		if i := slices.IndexFunc(recorded, func(r croft.ProvisionedStep) bool { return r.Name == name && r.Run == run }); i >= 0 {
			step = recorded[i]
		}
		list = append(list, step)
	}
	for _, s := range steps {
		add(s.Name, s.Run)
	}
	for i, p := range probes {
		add(fmt.Sprintf("probe-%d", i+1), p.Run+p.Inside)
	}
	return list
}

// markPending records that the commands of a new workspace have not run yet.
func markPending(rec *journal.Record, asked Asked) {
	rec.HasTeardown = len(asked.teardownFor(*rec)) > 0
	steps := plan(nil, asked.stepsFor(*rec), asked.Probes)
	if len(steps) == 0 {
		return
	}
	p := rec.Workspace.Provision
	if p == nil {
		p = &croft.Provision{}
		rec.Workspace.Provision = p
	}
	p.Steps = steps
	judge(p)
}

// setup is one run through the commands of a workspace.
type setup struct {
	svc   *Equipment
	rec   journal.Record
	asked Asked
	steps []config.ProvisionStep
	req   croft.ProvisionRequest
	until time.Time // when all commands together have taken too long
}

// all runs what has to run, and records each result as it comes.
func (s *setup) all(ctx context.Context) (*croft.Provision, error) {
	dir, err := fsx.OpenDirIs(s.rec.Workspace.Path, fsx.Identity(s.rec.Identity))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	out, err := s.svc.change(ctx, s.rec.Workspace.ID, func(p *croft.Provision) {
		p.Steps, p.Unapproved, p.Hash = plan(p.Steps, s.steps, s.asked.Probes), nil, ""
	})
	isStopped := false
	for i, step := range s.steps {
		if err != nil {
			return nil, err
		}
		if isStopped || s.whyDue(step, out.Steps[i]) == "" {
			continue
		}
		out, err = s.one(ctx, dir, i, step)
		isStopped = err == nil && out.Steps[i].State == croft.StepFailed && step.OnFail == config.OnFailStop
	}
	for i := range s.asked.Probes {
		if err == nil && !isStopped && len(s.req.Steps) == 0 {
			_, err = s.probe(ctx, dir, len(s.steps)+i, s.asked.Probes[i])
		}
	}
	if err != nil {
		return nil, err
	}
	return s.svc.change(ctx, s.rec.Workspace.ID, judge)
}

// judge decides the state of all from those of the steps.
func judge(p *croft.Provision) {
	p.State, p.Why = croft.ProvisionReady, ""
	for _, step := range p.Steps {
		switch step.State {
		case croft.StepFailed:
			p.State, p.Why = croft.ProvisionFailed, step.Name+": "+step.Why
			return
		case croft.StepDone:
		default:
			if p.State == croft.ProvisionReady {
				p.State, p.Why = croft.ProvisionPending, step.Name+" has not run"
				if step.Why == wasInterrupted {
					p.Why = step.Name + " was interrupted"
				}
			}
		}
	}
}

// whyDue says why a step has to run. It is empty if it has not.
func (s *setup) whyDue(step config.ProvisionStep, was croft.ProvisionedStep) string {
	isNamed := slices.Contains(s.req.Steps, step.Name)
	switch {
	case len(s.req.Steps) > 0 && !isNamed:
		return ""
	case s.req.Mode == croft.ProvisionAgain || isNamed:
		return "it was asked for"
	case was.State == croft.StepFailed:
		return "it failed: " + was.Why
	case was.State == croft.StepRunning:
		return wasInterrupted
	case was.State != croft.StepDone:
		return cmp.Or(was.Why, "it has not run")
	case step.When == config.WhenKeyChanged && was.Key != s.keyOf(step):
		return strings.Join(step.Key, " or ") + " has changed"
	case step.When == config.WhenMissing && s.missing(step) != "":
		return s.missing(step) + " is missing"
	}
	return ""
}

// keyOf returns the digest of a step's key files as the workspace has them.
func (s *setup) keyOf(step config.ProvisionStep) string {
	const most = 64 << 20
	tree := fsx.OpenTree(s.rec.Workspace.Path)
	defer tree.Release()
	sum := sha256.New()
	for _, name := range step.Key {
		text, err := tree.ReadFile(name, most)
		fmt.Fprintf(sum, "%q %t %d\n", name, err == nil, len(text))
		_, _ = sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// missing returns the first path that a step makes and that is not there.
func (s *setup) missing(step config.ProvisionStep) string {
	tree := fsx.OpenTree(s.rec.Workspace.Path)
	defer tree.Release()
	for _, name := range step.Makes {
		if _, err := tree.Lstat(name); err != nil {
			return name
		}
	}
	return ""
}

// one runs a step, which is recorded as running before, and with its result after.
func (s *setup) one(ctx context.Context, dir *fsx.Dir, i int, step config.ProvisionStep) (*croft.Provision, error) {
	limit := time.Until(s.until)
	if own, err := time.ParseDuration(step.Timeout); err == nil {
		limit = min(limit, own)
	}
	return s.recorded(ctx, i, func(done *croft.ProvisionedStep) error {
		if err := s.run(ctx, dir, step.Run, limit, done, nil); err != nil || done.State == croft.StepFailed {
			return err
		}
		if lacks := s.missing(step); lacks != "" {
			done.State, done.Why = croft.StepFailed, fmt.Sprintf("it succeeded, and %s is not there", lacks)
			return nil
		}
		done.Key = s.keyOf(step)
		return nil
	})
}

// probe runs a probe. One that prints a path fails unless that lies in the workspace: tests that
// find another copy of the project say nothing about the work.
func (s *setup) probe(ctx context.Context, dir *fsx.Dir, i int, p config.ProvisionProbe) (*croft.Provision, error) {
	return s.recorded(ctx, i, func(done *croft.ProvisionedStep) error {
		printed := shortText{left: 64 << 10}
		if err := s.run(ctx, dir, p.Run+p.Inside, time.Until(s.until), done, &printed); err != nil || done.State == croft.StepFailed || p.Inside == "" {
			return err
		}
		at := strings.TrimSpace(printed.String())
		if !filepath.IsAbs(at) {
			at = filepath.Join(s.rec.Workspace.Path, at)
		}
		at, err := filepath.EvalSymlinks(at)
		top, terr := filepath.EvalSymlinks(s.rec.Workspace.Path)
		if err != nil || terr != nil || at != top && !strings.HasPrefix(at, top+string(filepath.Separator)) {
			done.State, done.Why = croft.StepFailed, fmt.Sprintf("%.200q lies outside of the workspace", strings.TrimSpace(printed.String()))
		}
		return nil
	})
}

// shortText keeps the beginning of what is written.
type shortText struct {
	strings.Builder
	left int
}

func (t *shortText) Write(b []byte) (int, error) {
	n := min(len(b), t.left)
	t.left -= n
	t.Builder.Write(b[:n])
	return len(b), nil
}

// recorded records a command as running, does it, and records its result.
func (s *setup) recorded(ctx context.Context, i int, do func(done *croft.ProvisionedStep) error) (*croft.Provision, error) {
	var step croft.ProvisionedStep
	if _, err := s.svc.change(ctx, s.rec.Workspace.ID, func(p *croft.Provision) {
		p.State, p.Why = croft.ProvisionPending, p.Steps[i].Name+" has not ended"
		p.Steps[i].State = croft.StepRunning
		step = p.Steps[i]
	}); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("equip.step"); err != nil {
		return nil, err
	}
	step.Why, step.Tail, step.Key, step.State = "", "", "", croft.StepDone
	begun := time.Now()
	if err := do(&step); err != nil {
		return nil, errors.Join(err, s.interrupted(ctx, i))
	}
	step.At, step.Took = s.svc.Now(), croft.Duration(time.Since(begun))
	return s.svc.change(context.WithoutCancel(ctx), s.rec.Workspace.ID, func(p *croft.Provision) { p.Steps[i] = step })
}

// interrupted records that a command was ended before it was done.
func (s *setup) interrupted(ctx context.Context, i int) error {
	_, err := s.svc.change(context.WithoutCancel(ctx), s.rec.Workspace.ID, func(p *croft.Provision) {
		p.Steps[i].State, p.Steps[i].Why = croft.StepPending, ""
		if ctx.Err() != nil {
			p.Steps[i].Why = wasInterrupted
		}
		judge(p)
	})
	return err
}

// wasInterrupted is why a command that was begun has to run again.
const wasInterrupted = "it was interrupted"

// errTime says that a command took longer than it may.
var errTime = errors.New("it took too long")

// run runs a command in the workspace. One that fails is a result, not an error.
func (s *setup) run(ctx context.Context, dir *fsx.Dir, command string, limit time.Duration, done *croft.ProvisionedStep, printed io.Writer) error {
	if limit <= 0 {
		done.State, done.Why = croft.StepFailed, "it was not started: those before it took all of provision.timeout"
		return nil
	}
	if name := s.asked.changedScript(dir, command); name != "" {
		done.State, done.Why = croft.StepFailed, fmt.Sprintf("it was not started: %q in the workspace has not the bytes that were approved", name)
		return nil
	}
	log, err := check.NewLog(filepath.Join(s.svc.Settings.Config().StateDir, "logs", "provision"), string(s.rec.Workspace.ID), command)
	if err != nil {
		return err
	}
	defer log.Close()
	done.Log = log.Path()
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(limit, func() { cancel(errTime) }).Stop()
	path, args := proc.GroupShell(command)
	err = proc.RunGroup(limited, proc.Command{
		Path: path, Args: args, Dir: s.rec.Workspace.Path, At: dir.File(), Stdout: log.Writer(printed), Env: s.environ(),
	})
	exit, exited := errors.AsType[*proc.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		return nil
	case errors.Is(err, errTime):
		done.Why = fmt.Sprintf("it took longer than %s", limit.Round(time.Millisecond))
	case exited && (exit.Code < 0 || exit.Code > 128 && exit.Code <= 128+64): // by the shell's rule
		done.Why = "it was killed by a signal"
	case exited:
		done.Why = fmt.Sprintf("exit status %d", exit.Code)
	default:
		return err
	}
	done.State, done.Tail = croft.StepFailed, log.Tail()
	return nil
}

// environ returns the environment of a step: that of the user without what controls git and what is of other workspaces, and
// the workspace's own.
func (s *setup) environ() []string {
	w := s.rec.Workspace
	w.Env = s.rec.Env
	env := append(script.Environ(s.svc.Environ), "PWD="+w.Path)
	env = append(env, w.Environ()...)
	return append(env, s.asked.foreignEnv(s.rec)...)
}
