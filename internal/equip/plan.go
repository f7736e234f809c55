package equip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/base"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/provision"
	"github.com/croft-sh/croft/internal/workspace"
)

// PlanNew says what would be done for a workspace that `croft new` would make.
func (svc *Equipment) PlanNew(ctx context.Context, s project.Location, _ croft.PlanProvisionRequest) (*croft.ProvisionPlan, error) {
	l, err := workspace.LayoutFor(s.Project, croft.CreateRequest{})
	if err != nil {
		return nil, err
	}
	start, err := base.StartFor(ctx, s, l, croft.CreateRequest{})
	if err != nil {
		return nil, err
	}
	rec := journal.Record{}
	rec.Workspace.Base, rec.Workspace.Target, rec.Workspace.Repo, rec.Workspace.Mode = start.OID, start.Target, s.Path, croft.ModeWorktree
	return svc.Plan(ctx, s, rec, croft.PlanProvisionRequest{})
}

// Plan says what would be done to make a workspace usable. It writes nothing.
func (svc *Equipment) Plan(ctx context.Context, s project.Location, rec journal.Record, _ croft.PlanProvisionRequest) (*croft.ProvisionPlan, error) {
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
	p := &planning{svc: svc, s: s, rec: rec, asked: asked}
	p.out = &croft.ProvisionPlan{Workspace: rec.Workspace.Name, Commit: commit, Items: []croft.ProvisionItem{}, Remarks: slices.Concat(asked.Remarks, asked.unused)}
	if recorded := rec.Workspace.Provision; recorded != nil {
		p.out.Provision = *recorded
		p.out.Provision.Steps = slices.Clone(recorded.Steps)
		markInterrupted(s.Project, rec.Workspace.ID, p.out.Provision.Steps)
	}
	if err := p.files(ctx); err != nil {
		return nil, err
	}
	v, err := p.variables(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.commands(ctx, v); err != nil {
		return nil, err
	}
	if rec.Workspace.ID == "" {
		return p.out, nil
	}
	err = svc.addDrift(ctx, s.Project, rec, &p.out.Provision)
	p.out.Provision.Drift = append(p.out.Provision.Drift, p.absent...)
	return p.out, err
}

// markInterrupted changes the steps that are recorded as running although no process sets the workspace up: it was killed.
func markInterrupted(r *project.Project, id croft.ID, steps []croft.ProvisionedStep) {
	if !slices.ContainsFunc(steps, func(s croft.ProvisionedStep) bool { return s.State == croft.StepRunning }) {
		return // the lock is left to those who need it
	}
	lock, err := flock.TryExisting(filepath.Join(SetupDir(r), string(id)))
	if errors.Is(err, flock.ErrHeld) {
		return
	}
	if err == nil {
		_ = lock.Unlock()
	}
	for i := range steps {
		if steps[i].State == croft.StepRunning {
			steps[i].State, steps[i].Why = croft.StepPending, wasInterrupted
		}
	}
}

// planning collects what would be done.
type planning struct {
	svc   *Equipment
	s     project.Location
	rec   journal.Record
	asked Asked
	out   *croft.ProvisionPlan

	absent []croft.Drift // files that would come in and never did
}

func (p *planning) add(source, what, does, why string) {
	p.out.Items = append(p.out.Items, croft.ProvisionItem{Source: source, What: what, Does: does, Why: why})
}

// files adds the files that are brought in.
func (p *planning) files(ctx context.Context) error {
	isTaken, whyNot := hasSources(p.s), "the project has no checkout"
	if isTaken && !takesFiles(p.s.Project, &p.rec) {
		isTaken, whyNot = false, "provision.secrets is not set, and the workspace is isolated"
	}
	if hasInclude(p.s.Project) {
		if err := p.include(ctx, isTaken, whyNot); err != nil {
			return err
		}
	}
	p.checkout()
	if err := p.links(); err != nil {
		return err
	}
	own, foreign := ownPaths(p.s.Path, p.asked.Paths)
	p.out.Remarks = append(p.out.Remarks, foreign...)
	links, notes, err := p.svc.linkedPaths(ctx, p.s, p.asked)
	if err != nil {
		return err
	}
	p.out.Remarks = append(p.out.Remarks, notes...)
	from := fsx.OpenTree(p.s.Path)
	defer from.Release()
	for _, path := range append(own, links...) {
		source, what := p.asked.source("provision.path", path.Path), "path "+path.Path
		for _, l := range p.asked.links {
			if l.path.Path == path.Path {
				source = l.source
			}
		}
		if !isTaken {
			p.add(source, what, "nothing", whyNot)
			continue
		}
		for _, name := range expandPath(from, path.Path) {
			does, why, err := p.path(ctx, from, path, name)
			if err != nil {
				return err
			}
			p.add(source, "path "+name, does, why)
		}
	}
	return nil
}

// checkout adds what is done to the checkout itself.
func (p *planning) checkout() {
	if p.s.Config.Provision.Submodules {
		p.add("provision.submodules", "submodules", "fills them from the project's own copies", "when a workspace is made")
	}
	if dirs := p.s.Config.Checkout.Sparse; len(dirs) > 0 {
		p.add("checkout.sparse", "checkout", "only "+strings.Join(dirs, ", "), "when a workspace is made")
	}
}

// links adds the links of the layout and of checkout.links.
func (p *planning) links() error {
	l, err := workspace.LayoutFor(p.s.Project, croft.CreateRequest{})
	if err != nil || !hasSources(p.s) {
		return err
	}
	for i, pattern := range slices.Concat(l.Links, p.s.Config.Checkout.Links) {
		names, err := provision.Shared(p.s.Path, []string{pattern})
		if err != nil {
			return err
		}
		source, does, why := "checkout.links", "links to the project's", "when a workspace is made"
		if i < len(l.Links) {
			source = "layout " + l.Name
		} else if len(names) == 0 {
			p.add(source, "path "+pattern, "nothing", "the project has no such file")
		}
		if p.rec.Workspace.Mode == croft.ModeIsolated {
			does, why = "nothing", provision.WhyNotShared
		}
		for _, name := range names {
			p.add(source, "path "+name, does, why)
		}
	}
	return nil
}

// include adds the files that .worktreeinclude selects.
func (p *planning) include(ctx context.Context, isTaken bool, whyNot string) error {
	switch {
	case !p.s.Config.Provision.Include:
		whyNot = "provision.include is false"
		fallthrough
	case !isTaken:
		p.add(provision.IncludeFile, "files", "nothing", whyNot)
		return nil
	}
	patterns, source, err := includePatterns(p.s.Project)
	if err == nil {
		var files []string
		if files, err = provision.Include(ctx, p.s.Git.Main(), patterns, os.TempDir()); err == nil {
			p.add(source, "files", fmt.Sprintf("copies %s", count(len(files), "file")), "")
			return p.addAbsent(files)
		}
	}
	if errors.Is(err, croft.ConfigInvalid) {
		p.add(provision.IncludeFile, "files", "nothing", croft.AsError("provision", err).Message)
		return nil
	}
	return err
}

// addAbsent adds the files that a workspace does not have, and that never came in.
func (p *planning) addAbsent(files []string) error {
	if p.rec.Workspace.ID == "" {
		return nil
	}
	copies, err := p.svc.Copies(p.s.Project, p.rec.Workspace.ID)
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(copies))
	for _, c := range copies {
		known[c.Path] = true
	}
	for _, done := range pathsOf(p.rec) {
		for _, skipped := range done.Skipped {
			known[skipped.Path] = true
		}
	}
	tree := fsx.OpenTree(p.rec.Workspace.Path)
	defer tree.Release()
	for _, name := range files {
		if _, err := tree.Lstat(name); !known[name] && errors.Is(err, os.ErrNotExist) && len(p.absent) < mostDrift {
			p.absent = append(p.absent, croft.Drift{Path: name, State: croft.DriftMissing})
		}
	}
	return nil
}

// path says what a path does here.
func (p *planning) path(ctx context.Context, from *fsx.Tree, path config.ProvisionPath, name string) (does, why string, err error) {
	if _, err := from.Lstat(name); err != nil {
		return "nothing", "the project has no such file", nil
	}
	differing := differingKey(from.ReadFile, p.keyReader(ctx), path.Key)
	if differing != "" {
		differing += otherKey
	}
	switch {
	case differing != "" && path.Else != "copy":
		return "nothing", differing, nil
	case path.How == string(croft.ProvisionLink) && differing == "":
		if why := whyNotLinked(name, p.rec.Workspace.Mode); why != "" {
			return "nothing", why, nil
		}
		return "links to the project's", "", nil
	}
	if is, err := p.isChanged(from, name); is || err != nil {
		return "nothing", changedThere, err
	}
	files, size, err := filesBelow(ctx, from, name)
	if err != nil {
		return "", "", err
	}
	much := fmt.Sprintf("%s (%d KiB)", count(len(files), "file"), (size+1023)>>10)
	if path.How == string(croft.ProvisionClone) && differing == "" {
		return "clones " + much, "or copies them, where the file system shares no blocks", nil
	}
	return "copies " + much, differing, nil
}

// isChanged reports whether the workspace has changed a directory that came in earlier.
func (p *planning) isChanged(from *fsx.Tree, dir string) (bool, error) {
	if p.rec.Workspace.ID == "" {
		return false, nil
	}
	copies, err := p.svc.Copies(p.s.Project, p.rec.Workspace.ID)
	if err != nil {
		return false, err
	}
	known := make(map[string]provision.Copy, len(copies))
	for _, c := range copies {
		known[c.Path] = c
	}
	tree := fsx.OpenTree(p.rec.Workspace.Path)
	defer tree.Release()
	return isChanged(known, from, tree, dir), nil
}

// keyReader reads the files that decide whether a path fits: of the workspace, or of the commit of one that would be made.
func (p *planning) keyReader(ctx context.Context) func(name string, most int64) ([]byte, error) {
	if p.rec.Workspace.ID == "" {
		return func(name string, _ int64) ([]byte, error) {
			files := filesOf(ctx, p.s.Project, p.rec.Workspace.Base)
			defer files.of.Close()
			return files.Read(name)
		}
	}
	return func(name string, most int64) ([]byte, error) {
		tree := fsx.OpenTree(p.rec.Workspace.Path)
		defer tree.Release()
		return tree.ReadFile(name, most)
	}
}

// variables adds the ports and the variables.
func (p *planning) variables(ctx context.Context) (variables, error) {
	if n := p.s.Config.Ports.Count; n > 0 {
		does := fmt.Sprintf("leases %s of %s", count(int(n), "port"), p.s.Config.Ports.Range)
		if len(p.rec.Workspace.Ports) > 0 {
			does = fmt.Sprintf("has %s from %d on", count(len(p.rec.Workspace.Ports), "port"), p.rec.Workspace.Ports[0].Port)
		}
		p.add("ports.count", "ports", does, "")
	}
	trial := p.rec
	for range p.s.Config.Ports.Count {
		if len(trial.Workspace.Ports) < int(p.s.Config.Ports.Count) {
			trial.Workspace.Ports = append(slices.Clone(trial.Workspace.Ports), croft.Port{Port: 1})
		}
	}
	for i, name := range p.s.Config.Ports.Names {
		if i < len(trial.Workspace.Ports) && trial.Workspace.Ports[i].Name == "" {
			trial.Workspace.Ports = slices.Clone(trial.Workspace.Ports)
			trial.Workspace.Ports[i].Name = name
		}
	}
	v, err := p.svc.variablesOf(ctx, p.s.Project, trial, p.asked)
	p.out.Remarks = slices.Concat(p.out.Remarks, v.problems)
	for _, name := range slices.Sorted(maps.Keys(v.own)) {
		does, why := v.own[name], ""
		if slices.Contains(v.waiting, name) {
			does, why = "waits for an approval: "+does, "croft config trust --setup"
		}
		p.add(p.asked.source("env", name), "variable "+name, does, why)
	}
	return v, err
}

// commands adds the steps and probes.
func (p *planning) commands(ctx context.Context, v variables) error {
	hash, isApproved, err := p.svc.Approvals.SetupTrusted(ctx, p.s.Project, p.asked.Commands())
	if err != nil {
		return err
	}
	isApproved = isApproved || !p.asked.hasCommands() && len(v.waiting) == 0
	run := &setup{rec: p.rec, steps: p.asked.stepsFor(p.rec)}
	at := &p.out.Provision
	at.Steps, at.Unapproved, at.Hash = plan(at.Steps, run.steps, p.asked.Probes), nil, ""
	if !isApproved {
		at.Unapproved, at.Hash = p.asked.Commands(), hash
	}
	for i := range at.Steps {
		step, isProbe := &at.Steps[i], i >= len(run.steps)
		why := "to see whether all is there"
		if !isProbe {
			why = run.whyDue(run.steps[i], *step)
		}
		does := "runs " + step.Run
		switch {
		case !isApproved:
			does, why, step.State = "waits for an approval: "+step.Run, "croft config trust --setup", croft.StepUnapproved
		case why == "":
			does = "has run: " + step.Run
		case !isProbe && step.State == croft.StepDone:
			step.State = croft.StepPending
		}
		what := "step " + step.Name
		if isProbe {
			what = step.Name
		}
		p.add(p.sourceOf(step, isProbe), what, does, why)
	}
	for _, l := range p.asked.links {
		if !isApproved {
			p.add(l.source, "path "+l.path.Path, "waits for an approval: link to the project's", "croft config trust --setup")
		}
	}
	for _, command := range p.asked.teardownFor(p.rec) {
		does, why := "runs "+command, "when the workspace is removed"
		if !isApproved {
			does, why = "waits for an approval: "+command, "croft config trust --setup"
		}
		p.add(settingsFile, "teardown", does, why)
	}
	judge(at)
	if !isApproved {
		at.State, at.Why = croft.ProvisionUnapproved, p.asked.whyUnapproved()
	}
	return nil
}

func (p *planning) sourceOf(step *croft.ProvisionedStep, isProbe bool) string {
	switch {
	case p.asked.Foreign != nil:
		return p.asked.Foreign.Source
	case isProbe:
		return p.asked.source("provision.probe", step.Run)
	}
	return p.asked.source("provision.step", step.Name)
}

// source returns the file and the line of the table that has a value, or of a key in a table.
func (a Asked) source(table, value string) string {
	at, header, n := "", 0, 0
	for line := range bytes.Lines(a.text) {
		n++
		text := strings.TrimSpace(string(line))
		if strings.HasPrefix(text, "[") {
			at, header = strings.Trim(strings.SplitN(text, "#", 2)[0], "[] \t"), n
			continue
		}
		key, given, isPair := strings.Cut(text, "=")
		switch {
		case !isPair || at != table:
		case table == "env" && strings.Trim(strings.TrimSpace(key), `"'`) == value:
			return settingsFile + ":" + strconv.Itoa(n)
		case table != "env" && strings.Contains(given, value):
			return settingsFile + ":" + strconv.Itoa(header)
		}
	}
	return settingsFile
}

// count is a number and its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
