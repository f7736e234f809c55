package equip

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/provision/foreign"
	"github.com/croft-sh/croft/internal/provision/script"
)

// Asked is what a commit asks for to make workspaces usable.
type Asked struct {
	config.Provisioning
	// Foreign is the set-up file of another tool, whose commands are used if the commit has no
	// steps of its own.
	Foreign *foreign.Setup
	// Remarks are sentences about what cannot be used, or is not.
	Remarks []string

	leftOut []string          // sentences about commands of other tools' files that Croft does not run, one a file
	runs    map[string]string // the commands that run the scripts of a set-up file, by their paths
	text    []byte            // of croft.toml
	links   []foreignLink     // of other tools' files
	unused  []string          // sentences about the parts of other tools' files that Croft does not do
	scripts map[string]string // the digests of the scripts that commands name, by their paths
}

// AskedAt returns what a commit asks for. What lies in a checkout does not count: an agent may have
// written it.
func AskedAt(ctx context.Context, r *project.Project, commit string) (Asked, error) {
	if r.Git == nil || commit == "" {
		return Asked{}, nil
	}
	files := filesOf(ctx, r, commit)
	defer files.of.Close()
	text, err := files.Read(settingsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Asked{}, err
	}
	if len(text) > maxSettings {
		return Asked{Remarks: []string{fmt.Sprintf("croft.toml is not used: it is longer than %d KiB", maxSettings>>10)}}, nil
	}
	asked := Asked{text: text, scripts: map[string]string{}, runs: map[string]string{}}
	asked.Provisioning, asked.Remarks = config.ParseProvisioning(text)
	asked.noteUnnamedPorts(r.Config.Ports)
	asked.noteUncommitted(files)
	if err := asked.readNamedScripts(files); err != nil {
		return asked, err
	}
	allowed, isRead := foreignFiles(r.Config.Provision.Foreign)
	if !isRead || len(asked.Steps) > 0 {
		return asked, nil
	}
	found := foreign.Read(files, allowed)
	asked.Foreign = found.Used
	asked.noteLeftOut(found)
	asked.noteNoPorts(r.Config.Ports.Count)
	asked.Remarks = append(asked.Remarks, found.Remarks...)
	for _, other := range found.Others {
		asked.Remarks = append(asked.Remarks, fmt.Sprintf("%s is not used: %s comes first", other, found.Used.Source))
	}
	asked.nameUnused(found)
	return asked, errors.Join(asked.addLinks(files, found), asked.readScripts(files))
}

// noteLeftOut names the commands of other tools' files that Croft does not run.
func (a *Asked) noteLeftOut(found foreign.Found) {
	for _, s := range found.All() {
		if left := s.LeftOut(); left != "" {
			a.leftOut = append(a.leftOut, left)
		}
	}
}

// noteNoPorts names the variables that another tool promises, and that no workspace has without ports.
func (a *Asked) noteNoPorts(count int) {
	if a.Foreign == nil || count > 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.Foreign.Env)) {
		if a.Foreign.Env[name].Uses("port") {
			a.Remarks = append(a.Remarks, fmt.Sprintf("%s: %s is not set: ports.count is 0", a.Foreign.Source, name))
		}
	}
}

// nameUnused names the parts of other tools' files that Croft does not do.
func (a *Asked) nameUnused(found foreign.Found) {
	for _, s := range found.All() {
		for _, skipped := range s.Skipped {
			a.unused = append(a.unused, fmt.Sprintf("%s: %s is not used: %s", s.Source, skipped.Key, skipped.Why))
		}
		if len(s.Sparse) > 0 {
			a.unused = append(a.unused, fmt.Sprintf("%s: its sparse paths are used for worktrees of its tool's hook only: checkout.sparse of croft.toml sets them for all", s.Source))
		}
		if s.BaseRef == "fresh" {
			a.unused = append(a.unused, fmt.Sprintf("%s: worktree.baseRef is used for worktrees of its tool's hook only: croft new --fresh starts at the remote's branch", s.Source))
		}
	}
}

// foreignFiles reads the value of provision.foreign: "ask" stands for all files, "off" for none.
func foreignFiles(value string) (allowed []string, isRead bool) {
	switch value {
	case "", "off":
		return nil, false
	case "ask":
		return nil, true
	}
	for name := range strings.SplitSeq(value, ",") {
		allowed = append(allowed, strings.TrimSpace(name))
	}
	return allowed, true
}

// readNamedScripts digests the scripts of the repository that the commands of croft.toml name.
func (a *Asked) readNamedScripts(files commitFiles) error {
	for _, command := range a.Provisioning.Commands() {
		if err := a.digestNamed(files, command); err != nil {
			return err
		}
	}
	return nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// readScripts digests the scripts that a set-up file names: an approval covers their content.
func (a *Asked) readScripts(files commitFiles) error {
	if a.Foreign == nil {
		return nil
	}
	for _, c := range slices.Concat(a.Foreign.Setup, a.Foreign.Teardown) {
		if c.Script == "" {
			if err := a.digestNamed(files, fmt.Sprint(c.Run)); err != nil {
				return err
			}
			continue
		}
		text, mode, err := files.readFile(c.Script)
		if errors.Is(err, fs.ErrNotExist) {
			a.Remarks = append(a.Remarks, fmt.Sprintf("%s is not used: there is no %s", a.Foreign.Source, c.Script))
			a.Foreign = nil
			return nil
		}
		if err != nil {
			return err
		}
		a.scripts[c.Script], a.runs[c.Script] = digest(text), script.Command(c.Script, string(text), mode)
	}
	return nil
}

// Commands returns what a person approves: every command with where it comes from, and the digests of
// the scripts that they name.
func (a Asked) Commands() []string {
	list := a.Provisioning.Commands()
	if a.Foreign != nil {
		for _, c := range a.Foreign.Setup {
			list = append(list, fmt.Sprintf("%s: %s", a.Foreign.Source, cmp.Or(c.Script, c.Run.Exact())))
		}
		for _, c := range a.Foreign.Teardown {
			list = append(list, fmt.Sprintf("%s, at a removal: %s", a.Foreign.Source, cmp.Or(c.Script, c.Run.Exact())))
		}
	}
	for _, l := range a.links {
		list = append(list, fmt.Sprintf("%s: link %s to the project's", l.source, l.path.Path))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Env)) { // commands read them, and so do shells and agents
		list = append(list, fmt.Sprintf("variable %s=%s", name, a.Env[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(a.scripts)) {
		list = append(list, fmt.Sprintf("script %s: sha256 %s", name, a.scripts[name]))
	}
	return list
}

// stepsFor returns the steps of a workspace: those of croft.toml, or of another tool's file with the
// workspace's own values in them.
func (a Asked) stepsFor(rec journal.Record) []config.ProvisionStep {
	if a.Foreign == nil {
		return a.Steps
	}
	var steps []config.ProvisionStep
	for i, c := range a.Foreign.Setup {
		steps = append(steps, config.ProvisionStep{Name: fmt.Sprintf("setup-%d", i+1), Run: a.foreignCommand(c), When: config.WhenAlways})
	}
	return steps
}

// teardownFor returns the commands that run when a workspace is removed.
func (a Asked) teardownFor(rec journal.Record) []string {
	list := slices.Clone(a.Teardown)
	if a.Foreign != nil {
		for _, c := range a.Foreign.Teardown {
			list = append(list, a.foreignCommand(c))
		}
	}
	return list
}

// templateVariable begins the names of the variables that have the values of templates.
const templateVariable = "CROFT_TEMPLATE_"

// foreignCommand returns a command of another tool's file. The workspace's own values are in variables.
func (a Asked) foreignCommand(c foreign.Command) string {
	if c.Script != "" {
		return a.runs[c.Script]
	}
	return script.Lines(c.Run.Shell(func(name string) string { return templateVariable + name }))
}

// foreignEnv returns the variables that another tool promises to its commands.
func (a Asked) foreignEnv(rec journal.Record) []string {
	if a.Foreign == nil {
		return nil
	}
	var env []string
	value := foreignValues(rec)
	for name, t := range a.Foreign.Env {
		hasValue := true
		text := t.Fill(func(variable string) string {
			hasValue = hasValue && value(variable) != ""
			return value(variable)
		})
		if hasValue {
			env = append(env, name+"="+text)
		}
	}
	for _, name := range []string{"name", "slug", "id", "path", "repo", "branch", "target", "base", "port"} {
		env = append(env, templateVariable+name+"="+value(name))
	}
	return env
}

// foreignValues returns the values of the variables of other tools' files.
func foreignValues(rec journal.Record) func(name string) string {
	w := rec.Workspace
	values := map[string]string{
		"name": w.Name, "slug": w.Slug, "id": string(w.ID), "path": w.Path, "repo": w.Repo, "branch": w.Branch, "target": w.Target, "base": w.Base,
	}
	if len(w.Ports) > 0 {
		values["port"] = fmt.Sprint(w.Ports[0].Port)
	}
	if w.Slug == "" {
		values["slug"] = w.Name
	}
	return func(name string) string { return values[name] }
}

// commitFiles reads the files of a commit.
type commitFiles struct {
	ctx    context.Context
	r      *project.Project
	commit string
	of     *odb.CommitFiles // to be closed
}

func filesOf(ctx context.Context, r *project.Project, commit string) commitFiles {
	return commitFiles{ctx, r, commit, r.Git.FilesOf(commit)}
}

// Read returns the content of a file at a path with slashes.
func (f commitFiles) Read(name string) ([]byte, error) {
	text, _, err := f.readFile(name)
	return text, err
}

// readFile returns the content of a file, and its mode.
func (f commitFiles) readFile(name string) (text []byte, mode string, err error) {
	o, mode, err := f.of.Entry(f.ctx, name)
	if err == nil && (o.Type != "blob" || mode == linkMode) {
		err = fs.ErrNotExist
	}
	return o.Data, mode, err
}
