package equip

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/pattern"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// setVariables sets the variables of a workspace in its record: those of its ports, and those that its
// croft.toml has.
func setVariables(rec *journal.Record, templates map[string]string) (problems []string) {
	env := map[string]string{}
	ports := rec.Workspace.Ports
	for i, p := range ports {
		env["CROFT_PORT_"+strconv.Itoa(i)] = strconv.Itoa(p.Port)
		if p.Name != "" {
			env["PORT_"+strings.ToUpper(p.Name)] = strconv.Itoa(p.Port)
		}
	}
	if len(ports) > 0 {
		first := strconv.Itoa(ports[0].Port)
		env["PORT"], env["CROFT_PORT"], env["CROFT_PORT_BASE"], env["CROFT_PORT_COUNT"] = first, first, first, strconv.Itoa(len(ports))
	}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		value, err := expand(templates[name], *rec)
		if err != nil {
			problems = append(problems, fmt.Sprintf("croft.toml: %s in [env] is ignored: %v", name, err))
			continue
		}
		env[name] = value
	}
	if rec.Env = env; len(env) == 0 {
		rec.Env = nil
	}
	return problems
}

// variables are the templates of [env] that a workspace gets, and those that it does not.
type variables struct {
	own      map[string]string // that it would get
	waiting  []string          // names of own that wait for a person's approval, sorted
	problems []string          // sentences about those that are ignored
}

// approved returns the templates that are set.
func (v variables) approved() map[string]string {
	set := maps.Clone(v.own)
	maps.DeleteFunc(set, func(name, _ string) bool { return slices.Contains(v.waiting, name) })
	return set
}

// variablesOf returns the variables that a workspace gets. They reach the shells of people and the agents that they start, and a
// variable can be as good as a command there, so they are set once a person has approved the set-up of the commit. Those that the
// workspace has stay.
func (svc *Equipment) variablesOf(ctx context.Context, r *project.Project, rec journal.Record, asked Asked) (v variables, err error) {
	if v.own, v.problems, err = ownVariables(ctx, r, rec, asked.Env); err != nil || len(v.own) == 0 {
		return v, err
	}
	trial := rec
	v.problems = append(v.problems, setVariables(&trial, v.own)...)
	maps.DeleteFunc(v.own, func(name, _ string) bool { _, isUsable := trial.Env[name]; return !isUsable })
	_, isApproved, err := svc.Approvals.SetupTrusted(ctx, r, asked.Commands())
	for _, name := range slices.Sorted(maps.Keys(v.own)) {
		if !isApproved && !hasVariable(rec, name, v.own[name]) {
			v.waiting = append(v.waiting, name)
		}
	}
	return v, err
}

// addVariables adds the variables to a record that a person has approved and that it does not have.
func (svc *Equipment) addVariables(ctx context.Context, r *project.Project, rec *journal.Record, asked Asked) error {
	v, err := svc.variablesOf(ctx, r, *rec, asked)
	if err != nil {
		return err
	}
	now := *rec
	setVariables(&now, v.approved())
	if now.Env != nil {
		maps.Copy(now.Env, rec.Env) // what it has stays as it is
		rec.Env = now.Env
	}
	return nil
}

// giveVariables gives a workspace the variables that a person has approved meanwhile, and adds them to the file that has them.
func (svc *Equipment) giveVariables(ctx context.Context, r *project.Project, rec *journal.Record, asked Asked) error {
	before := *rec
	err := svc.addVariables(ctx, r, rec, asked)
	if err != nil || maps.Equal(before.Env, rec.Env) {
		return err
	}
	rec.Copied = slices.Clone(rec.Copied)
	err = errors.Join(svc.hide(ctx, r, before, *rec), svc.fillEnvFile(r, before, rec))
	return errors.Join(err, svc.saveBrought(context.WithoutCancel(ctx), before, *rec))
}

// fillEnvFile writes the file with a workspace's variables if it is absent, or has fewer than before.
func (svc *Equipment) fillEnvFile(r *project.Project, before journal.Record, rec *journal.Record) error {
	if !maps.Equal(before.Env, rec.Env) {
		if err := svc.rewriteEnvFile(r, *rec); err != nil {
			return err
		}
	}
	return svc.writeEnvFile(r, rec, false)
}

// GiveVariables gives workspaces the variables that a person has just approved. What cannot be done for one is told: the approval
// holds, and croft provision does it.
func (svc *Equipment) GiveVariables(ctx context.Context, r *project.Project, workspaces []croft.ID) {
	for _, id := range workspaces {
		rec, err := svc.Journal.Record(ctx, id)
		if errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.State == croft.Trashed {
			continue
		}
		var commit string
		if err == nil {
			commit, err = CommitOf(ctx, r, rec)
		}
		var asked Asked
		if err == nil {
			asked, err = AskedAt(ctx, r, commit)
		}
		if err == nil {
			err = svc.giveVariables(ctx, r, &rec, asked)
		}
		if err != nil {
			svc.Notice("%s does not have its variables yet: %v; croft provision %s", rec.Workspace.Name, err, shellword.Quote(rec.Workspace.Name))
		}
	}
}

// hasCommands reports whether anything but variables waits for an approval.
func (a Asked) hasCommands() bool {
	a.Env = nil
	return len(a.Commands()) > 0
}

// whyUnapproved says what of a set-up waits for a person.
func (a Asked) whyUnapproved() string {
	if a.hasCommands() {
		return "nobody has approved its commands"
	}
	if len(a.Env) == 1 {
		return "1 variable of croft.toml waits for your approval"
	}
	return fmt.Sprintf("%d variables of croft.toml wait for your approval", len(a.Env))
}

// markWaiting records of a new workspace that variables wait for a person's approval. It can be worked in without them.
func markWaiting(rec *journal.Record, asked Asked, v variables, hash string) {
	if len(v.waiting) == 0 {
		return
	}
	var p croft.Provision
	if was := rec.Workspace.Provision; was != nil {
		p = *was
	}
	p.Hash, p.Unapproved = hash, asked.Commands()
	if p.State == "" || p.State == croft.ProvisionReady {
		p.State, p.Why = croft.ProvisionUnapproved, asked.whyUnapproved()
	}
	rec.Workspace.Provision = &p
}

// ownVariables returns those of a commit's variables that the project's own croft.toml has with the same value, or that the
// workspace has already: an agent may have written the commit. In a repository without a checkout the tip of the workspace's target
// says what is the project's own.
func ownVariables(ctx context.Context, r *project.Project, rec journal.Record, templates map[string]string) (own map[string]string, problems []string, err error) {
	own = map[string]string{}
	if len(templates) == 0 {
		return own, nil, nil
	}
	var project config.Provisioning
	where := "the project's own checkout"
	if r.Path == r.CommonDir || git.SaysBare(r.CommonDir) {
		where = "the tip of " + rec.Workspace.Target
		if project, err = askedByTarget(ctx, r, rec.Workspace.Target); err != nil {
			return nil, nil, err
		}
	} else {
		project, _ = askedBy(r.Path)
	}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		if text, isOwn := project.Env[name]; isOwn && text == templates[name] || hasVariable(rec, name, templates[name]) {
			own[name] = templates[name]
			continue
		}
		problems = append(problems, fmt.Sprintf("croft.toml: %s in [env] is ignored: %s does not have it with this value", name, where))
	}
	return own, problems, nil
}

// askedByTarget returns what the tip of a target asks for. Without a target, or a tip, that is nothing.
func askedByTarget(ctx context.Context, r *project.Project, target string) (config.Provisioning, error) {
	if target == "" {
		return config.Provisioning{}, nil
	}
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+target)
	if errors.Is(err, refs.ErrNoRef) {
		return config.Provisioning{}, nil
	}
	if err != nil {
		return config.Provisioning{}, err
	}
	asked, err := AskedAt(ctx, r, tip)
	return asked.Provisioning, err
}

// hasVariable reports whether a workspace has a variable with the value of a template.
func hasVariable(rec journal.Record, name, template string) bool {
	value, isSet := rec.Env[name]
	text, err := expand(template, rec)
	return isSet && err == nil && text == value
}

var placeholder = pattern.New(`\{[^{}]*\}`)

// expand fills in a template.
func expand(template string, rec journal.Record) (string, error) {
	w, unknown := rec.Workspace, ""
	words := map[string]string{
		"name": w.Name, "slug": w.Slug, "id": string(w.ID), "shortid": string(w.ID[:min(8, len(w.ID))]), "path": w.Path, "repo": w.Repo,
		"branch": w.Branch, "target": w.Target,
	}
	text := placeholder().ReplaceAllStringFunc(template, func(found string) string {
		word := found[1 : len(found)-1]
		if value, ok := words[word]; ok {
			return value
		}
		if port := portNamed(w.Ports, word); port > 0 {
			return strconv.Itoa(port)
		}
		unknown = found
		return ""
	})
	switch {
	case unknown != "":
		return "", fmt.Errorf("%s stands for nothing", unknown)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", fmt.Errorf("its value has more than one line, or characters that control a terminal")
	}
	return text, nil
}

// portNamed returns the port that port, port+N or port.NAME means, or 0.
func portNamed(ports []croft.Port, word string) int {
	for i, p := range ports {
		if word == "port" && i == 0 || word == "port+"+strconv.Itoa(i) || p.Name != "" && word == "port."+p.Name {
			return p.Port
		}
	}
	return 0
}

// writeEnvFile writes the file with a workspace's variables, if it has some of its own. A file of that name in the commit of a new
// workspace is neither replaced nor read, and is named in its notes.
func (svc *Equipment) writeEnvFile(r *project.Project, rec *journal.Record, isNew bool) error {
	name := r.Config.Provision.EnvFile
	if name == "" || len(rec.Env) == 0 {
		return nil
	}
	dir, err := fsx.OpenDirIs(rec.Workspace.Path, fsx.Identity(rec.Identity))
	if err != nil {
		return err
	}
	defer dir.Close()
	if isNew && dir.Has(name) {
		rec.Workspace.Notes = append(rec.Workspace.Notes, fmt.Sprintf("the commit has a %s of its own, which is left: it does not have the workspace's variables, and programs should not load it; croft env prints them", name))
	}
	if dir.Has(name) {
		return nil
	}
	if err := dir.WriteFile(name, []byte(envFile(*rec)), 0o600); err != nil {
		return err
	}
	if !slices.Contains(rec.Copied, name) {
		rec.Copied = append(rec.Copied, name)
	}
	return nil
}

// formatEnv returns variables as lines that a shell reads, sorted.
func formatEnv(env map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "%s='%s'\n", k, strings.ReplaceAll(env[k], "'", `'\''`))
	}
	return b.String()
}
