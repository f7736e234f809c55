package equip

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/pattern"
	"github.com/croft-sh/croft/internal/project"
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

// ownVariables returns those of a commit's variables that the project's own croft.toml has with the same value, or that the
// workspace has already. An agent may have written the commit, and people and programs get these variables without an approval.
// In a repository without a checkout nothing but the commit can say.
func ownVariables(r *project.Project, rec journal.Record, templates map[string]string) (own map[string]string, problems []string) {
	if len(templates) == 0 || r.Path == r.CommonDir || git.SaysBare(r.CommonDir) {
		return templates, nil
	}
	project, _ := askedBy(r.Path)
	own = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		if text, isOwn := project.Env[name]; isOwn && text == templates[name] || hasVariable(rec, name, templates[name]) {
			own[name] = templates[name]
			continue
		}
		problems = append(problems, fmt.Sprintf("croft.toml: %s in [env] is ignored: the project's own checkout does not have it with this value", name))
	}
	return own, problems
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
