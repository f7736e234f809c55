package config

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Provisioning is what a croft.toml asks for to make workspaces usable, besides the keys.
type Provisioning struct {
	Paths []ProvisionPath
	Env   map[string]string // templates, by the names of variables
}

// ProvisionPath is a table [[provision.path]].
type ProvisionPath struct {
	Path string   `toml:"path"` // relative to the project, with slashes; its last part may have * and ?
	How  string   `toml:"how"`  // "copy", "clone" or "link"
	Else string   `toml:"else"` // if How cannot be done: "copy", "skip" or, for the default, empty
	Key  []string `toml:"key"`  // files that must be the same in the project and in the workspace's commit
}

// IsEmpty reports whether nothing is asked for.
func (p Provisioning) IsEmpty() bool { return len(p.Paths) == 0 && len(p.Env) == 0 }

// ParseProvisioning reads what a croft.toml asks for. problems are sentences about what cannot be used,
// which is left out. A text that is not TOML asks for nothing: reading the keys of the same file says so.
func ParseProvisioning(data []byte) (p Provisioning, problems []string) {
	var doc struct {
		Provision struct {
			Path []ProvisionPath `toml:"path"`
		} `toml:"provision"`
		Env map[string]string `toml:"env"`
	}
	if _, complete := outline(data); !complete {
		return p, nil
	}
	if err := toml.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &doc); err != nil {
		return p, []string{"croft.toml: [[provision.path]] or [env] cannot be read, and is ignored: " + oneLine(strings.TrimPrefix(err.Error(), "toml: "))}
	}
	for _, t := range doc.Provision.Path {
		if why := t.problem(); why != "" {
			problems = append(problems, fmt.Sprintf("croft.toml: the [[provision.path]] with path %s is ignored: %s", quote(t.Path), why))
			continue
		}
		p.Paths = append(p.Paths, t)
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Env)) {
		if why := variableProblem(name); why != "" {
			problems = append(problems, fmt.Sprintf("croft.toml: %s in [env] is ignored: %s", quote(name), why))
			delete(doc.Env, name)
		}
	}
	p.Env = doc.Env
	return p, problems
}

// problem says why a table cannot be used.
func (t ProvisionPath) problem() string {
	for _, p := range append([]string{t.Path}, t.Key...) {
		if p == "" || path.IsAbs(p) || path.Clean(p) != p || p == "." || p == ".." || strings.HasPrefix(p, "../") || strings.ContainsAny(p, "\\\x00") {
			return quote(p) + " is not a path in the project"
		}
		if top, _, _ := strings.Cut(p, "/"); strings.EqualFold(top, ".git") {
			return "it is in the git directory"
		}
	}
	if dir, last := path.Split(t.Path); strings.ContainsAny(dir, "*?[") || strings.Contains(last, "**") {
		return "only the last part of a path may have * and ?"
	}
	switch {
	case !slices.Contains([]string{"copy", "clone", "link"}, t.How):
		return "how is copy, clone or link"
	case !slices.Contains([]string{"", "copy", "skip"}, t.Else):
		return "else is copy or skip"
	}
	return ""
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// loaderVariables are those by which a program runs code that its user did not ask for. A name that ends in * means all
// names with that prefix. A repository must not set them for programs that a person starts in a workspace.
var loaderVariables = []string{
	"PATH", "HOME", "SHELL", "IFS", "ENV", "BASH_ENV", "BASH_FUNC*", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "ZDOTDIR", "LD_*", "DYLD_*", "GIT_*", "CROFT*",
	"PYTHON*", "NODE_OPTIONS", "NODE_PATH", "PERL5*", "PERL_*", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "GOFLAGS",
	"EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "SSH_*", "XDG_*", "TERMINFO*", "GCONV_PATH", "LOCPATH", "NLSPATH", "TMPDIR",
	"npm_config_*", "CARGO_*", "RUSTC*", "CC", "CXX", "MAKEFLAGS",
}

func variableProblem(name string) string {
	if !envName.MatchString(name) {
		return "it is not the name of a variable"
	}
	for _, l := range loaderVariables {
		prefix, isPrefix := strings.CutSuffix(l, "*")
		if strings.EqualFold(name, l) || isPrefix && len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			return "a repository may not set it"
		}
	}
	return ""
}
