package config

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/pattern"
	"github.com/pelletier/go-toml/v2"
)

// Provisioning is what a croft.toml asks for to make workspaces usable, besides the keys.
type Provisioning struct {
	Paths  []ProvisionPath
	Env    map[string]string // templates, by the names of variables
	Steps  []ProvisionStep
	Probes []ProvisionProbe
	// Teardown are commands that run when a workspace is removed.
	Teardown []string
}

// ProvisionStep is a table [[provision.step]]: a command that sets a workspace up. It has to be
// repeatable: one that was interrupted is run again.
type ProvisionStep struct {
	Name    string   `toml:"name"`
	Run     string   `toml:"run"`     // for a shell
	When    StepWhen `toml:"when"`    // default: WhenKeyChanged with a key, else WhenAlways
	Key     []string `toml:"key"`     // files whose content decides whether it has to run again
	Makes   []string `toml:"makes"`   // paths that are missing afterwards if it failed
	Timeout string   `toml:"timeout"` // a duration; default: none but provision.timeout
	OnFail  OnFail   `toml:"on_fail"`
}

// StepWhen says when a step is run.
type StepWhen string

// The values of StepWhen.
const (
	WhenAlways     StepWhen = "always"      // once, and again when it is asked for
	WhenKeyChanged StepWhen = "key-changed" // unless it succeeded with the same key
	WhenMissing    StepWhen = "missing"     // if one of the paths that it makes is missing
)

// OnFail says what a step that fails means for those after it.
type OnFail string

// The values of OnFail.
const (
	OnFailReport OnFail = ""     // the others run; "report" is the same
	OnFailStop   OnFail = "stop" // they do not
)

// ProvisionProbe is a table [[provision.probe]]: a command that must succeed once a workspace is
// set up.
type ProvisionProbe struct {
	Run    string `toml:"run"`
	Inside string `toml:"inside"` // instead of Run: a command that prints a path, which must lie in the workspace
}

// Commands returns what a person approves: every command, with the table that it is of.
func (p Provisioning) Commands() []string {
	var list []string
	for _, s := range p.Steps {
		list = append(list, fmt.Sprintf("provision.step %s: %s", s.Name, s.Run))
	}
	for _, probe := range p.Probes {
		if probe.Inside != "" {
			list = append(list, "provision.probe inside: "+probe.Inside)
		} else {
			list = append(list, "provision.probe: "+probe.Run)
		}
	}
	for _, command := range p.Teardown {
		list = append(list, "teardown: "+command)
	}
	return list
}

// ProvisionPath is a table [[provision.path]].
type ProvisionPath struct {
	Path string   `toml:"path"` // relative to the project, with slashes; its last part may have * and ?
	How  string   `toml:"how"`  // "copy", "clone" or "link"
	Else string   `toml:"else"` // if How cannot be done: "copy", "skip" or, for the default, empty
	Key  []string `toml:"key"`  // files that must be the same in the project and in the workspace's commit
}

// IsEmpty reports whether nothing is asked for.
func (p Provisioning) IsEmpty() bool {
	return len(p.Paths) == 0 && len(p.Env) == 0 && len(p.Steps) == 0 && len(p.Probes) == 0 && len(p.Teardown) == 0
}

// ParseProvisioning reads what a croft.toml asks for. problems are sentences about what cannot be used,
// which is left out. A text that is not TOML asks for nothing.
func ParseProvisioning(data []byte) (p Provisioning, problems []string) {
	var doc struct {
		Provision struct {
			Path  []ProvisionPath  `toml:"path"`
			Step  []ProvisionStep  `toml:"step"`
			Probe []ProvisionProbe `toml:"probe"`
		} `toml:"provision"`
		Env      map[string]string `toml:"env"`
		Teardown struct {
			Run []string `toml:"run"`
		} `toml:"teardown"`
	}
	if _, complete := outline(data); !complete {
		return p, []string{fmt.Sprintf("croft.toml is not used: it has more than %d keys", maxParts)}
	}
	if err := toml.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &doc); err != nil {
		return p, []string{"croft.toml cannot be read, and nothing of it is used: " + oneLine(strings.TrimPrefix(err.Error(), "toml: "))}
	}
	for _, t := range doc.Provision.Path {
		if why := t.Problem(); why != "" {
			problems = append(problems, fmt.Sprintf("croft.toml: the [[provision.path]] with path %s is ignored: %s", quote(t.Path), why))
			continue
		}
		p.Paths = append(p.Paths, t)
	}
	for i, s := range doc.Provision.Step {
		if s.Name == "" {
			s.Name = fmt.Sprintf("step-%d", i+1)
		}
		if why := s.problem(p.Steps); why != "" {
			problems = append(problems, fmt.Sprintf("croft.toml: the [[provision.step]] %s is ignored: %s", quote(s.Name), why))
			continue
		}
		p.Steps = append(p.Steps, s.withDefaults())
	}
	for i, probe := range doc.Provision.Probe {
		if (probe.Run == "") == (probe.Inside == "") || len(probe.Run+probe.Inside) > maxCommand || i >= maxSteps {
			problems = append(problems, fmt.Sprintf("croft.toml: the [[provision.probe]] %d is ignored: it has run or inside, of at most 16 KiB, and there are at most 100", i+1))
			continue
		}
		p.Probes = append(p.Probes, probe)
	}
	for _, command := range doc.Teardown.Run {
		if strings.TrimSpace(command) == "" || len(command) > maxCommand || len(p.Teardown) >= maxSteps {
			problems = append(problems, "croft.toml: a command of [teardown] is ignored: it is empty, too long, or there are too many")
			continue
		}
		p.Teardown = append(p.Teardown, command)
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Env)) {
		why := variableProblem(name)
		if why == "" && len(doc.Env[name]) > maxVariable {
			why = "its value is too long"
		}
		if why != "" {
			problems = append(problems, fmt.Sprintf("croft.toml: %s in [env] is ignored: %s", quote(name), why))
			delete(doc.Env, name)
		}
	}
	p.Env = doc.Env
	return p, problems
}

// Problem says why a path cannot be used. It is empty if it can.
func (t ProvisionPath) Problem() string {
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

// Bounds of what a croft.toml may ask for: an agent can write one.
const (
	maxCommand  = 16 << 10
	maxSteps    = 100
	maxVariable = 8 << 10
)

var stepName = pattern.New(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// problem says why a step cannot be used beside those before it.
func (s ProvisionStep) problem(before []ProvisionStep) string {
	for _, p := range slices.Concat(s.Key, s.Makes) {
		if p == "" || path.IsAbs(p) || path.Clean(p) != p || p == "." || p == ".." || strings.HasPrefix(p, "../") || strings.ContainsAny(p, "\\\x00") {
			return quote(p) + " is not a path in the project"
		}
	}
	if s.Timeout != "" {
		if d, err := time.ParseDuration(s.Timeout); err != nil || d <= 0 {
			return "timeout is no duration, such as 5m"
		}
	}
	switch {
	case !stepName().MatchString(s.Name):
		return "its name has other characters than a-z, 0-9, _ and -"
	case slices.ContainsFunc(before, func(o ProvisionStep) bool { return o.Name == s.Name }):
		return "another one has its name"
	case strings.TrimSpace(s.Run) == "":
		return "it has nothing to run"
	case len(s.Run) > maxCommand:
		return "its command is too long"
	case len(before) >= maxSteps:
		return "there are too many before it"
	case !slices.Contains([]StepWhen{"", WhenAlways, WhenKeyChanged, WhenMissing}, s.When):
		return "when is always, key-changed or missing"
	case s.When == WhenKeyChanged && len(s.Key) == 0:
		return "key-changed needs a key"
	case s.When == WhenMissing && len(s.Makes) == 0:
		return "missing needs makes"
	case !slices.Contains([]OnFail{OnFailReport, "report", OnFailStop}, s.OnFail):
		return "on_fail is report or stop"
	}
	return ""
}

func (s ProvisionStep) withDefaults() ProvisionStep {
	if s.When == "" {
		s.When = WhenAlways
		if len(s.Key) > 0 {
			s.When = WhenKeyChanged
		}
	}
	if s.OnFail == "report" {
		s.OnFail = OnFailReport
	}
	return s
}

var envName = pattern.New(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// loaderVariables are those by which a program runs code that its user did not ask for. A name that ends in * means all
// names with that prefix. A repository must not set them for programs that a person starts in a workspace.
var loaderVariables = []string{
	"PATH", "HOME", "SHELL", "IFS", "ENV", "BASH_ENV", "BASH_FUNC*", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "ZDOTDIR", "LD_*", "DYLD_*", "GIT_*", "CROFT*",
	"PYTHON*", "NODE_OPTIONS", "NODE_PATH", "PERL5*", "PERL_*", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "GOFLAGS",
	"EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "SSH_*", "XDG_*", "TERMINFO*", "GCONV_PATH", "LOCPATH", "NLSPATH", "TMPDIR",
	"npm_config_*", "CARGO_*", "RUSTC*", "CC", "CXX", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "TAR_OPTIONS", "OPENSSL_*",
	"DOTNET_*", "GOENV", "GOPROXY", "GONOSUMDB", "GOTOOLCHAIN", "PIP_*", "UV_*", "DOCKER_*", "KUBECONFIG", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NODE_EXTRA_CA_CERTS",
}

func variableProblem(name string) string {
	if !envName().MatchString(name) {
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
