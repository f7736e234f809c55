package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/pattern"
	"github.com/croft-sh/croft/internal/tomltable"
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
	root, err := rootTable(data)
	if err != nil {
		return p, []string{problemText(err, "; nothing of it is used")}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	t := tomltable.Of("croft.toml", data, nearestWord)
	provision, _ := root["provision"].(map[string]any)
	p.readPaths(t, provision)
	p.readSteps(t, provision)
	p.readProbes(t, provision)
	p.readTeardown(t, t.Table(root, "teardown"))
	p.readEnv(t, t.Table(root, "env"))
	for _, problem := range t.All() {
		problems = append(problems, oneLine(problem))
	}
	return p, problems
}

// rootTable returns the tables of a croft.toml, or an error with the line at which it is not TOML.
func rootTable(data []byte) (root map[string]any, err error) {
	file := Source{Kind: KindRepo, Name: "croft.toml"}
	if _, complete := outline(data); !complete {
		return nil, configError(file, fmt.Sprintf("has more than %d keys", maxParts))
	}
	if err := toml.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &root); err != nil {
		return nil, syntaxError(file, err)
	}
	return root, nil
}

// UnreadableError returns an error with the line at which a croft.toml is not TOML: nobody can tell what it asks for. place says
// which one it is.
func UnreadableError(data []byte, place string) error {
	_, err := rootTable(data)
	if e, ok := errors.AsType[*croft.Error](err); ok {
		e.Details, e.Hint = place, "mend it, and commit it: workspaces are set up as a commit says"
	}
	return err
}

func (p *Provisioning) readPaths(t *tomltable.Document, provision map[string]any) {
	for _, f := range t.Each(provision, "path", "path", "how", "else", "key") {
		path := ProvisionPath{Path: f.Text("path"), How: f.Text("how"), Else: f.Text("else"), Key: f.List("key")}
		if isUsable(f, fmt.Sprintf("with path %s ", quote(path.Path)), path.problems()) {
			p.Paths = append(p.Paths, path)
		}
	}
}

func (p *Provisioning) readSteps(t *tomltable.Document, provision map[string]any) {
	for i, f := range t.Each(provision, "step", "name", "run", "when", "key", "makes", "timeout", "on_fail") {
		s := ProvisionStep{
			Name: f.Text("name"), Run: f.Text("run"), When: StepWhen(f.Text("when")), Key: f.List("key"), Makes: f.List("makes"),
			Timeout: f.Text("timeout"), OnFail: OnFail(f.Text("on_fail")),
		}
		if s.Name == "" {
			s.Name = fmt.Sprintf("step-%d", i+1)
		}
		if isUsable(f, quote(s.Name)+" ", s.problems(p.Steps)) {
			p.Steps = append(p.Steps, s.withDefaults())
		}
	}
}

func (p *Provisioning) readProbes(t *tomltable.Document, provision map[string]any) {
	for i, f := range t.Each(provision, "probe", "run", "inside") {
		probe := ProvisionProbe{Run: f.Text("run"), Inside: f.Text("inside")}
		var problems []problem
		if (probe.Run == "") == (probe.Inside == "") || len(probe.Run+probe.Inside) > maxCommand || i >= maxSteps {
			problems = []problem{{"run", "it has run or inside, of at most 16 KiB, and there are at most 100"}}
		}
		if isUsable(f, fmt.Sprintf("%d ", i+1), problems) {
			p.Probes = append(p.Probes, probe)
		}
	}
}

func (p *Provisioning) readTeardown(t *tomltable.Document, table map[string]any) {
	f := t.Fields("[teardown]", "teardown", table, "run")
	var commands []string
	if command, isText := table["run"].(string); isText {
		commands = []string{command}
	} else {
		commands = f.List("run")
	}
	for _, command := range commands {
		if strings.TrimSpace(command) == "" || len(command) > maxCommand || len(p.Teardown) >= maxSteps {
			t.AddProblem("teardown.run", "a command of [teardown] is ignored: it is empty, too long, or there are too many")
			continue
		}
		p.Teardown = append(p.Teardown, command)
	}
}

func (p *Provisioning) readEnv(t *tomltable.Document, table map[string]any) {
	f := t.Fields("[env]", "env", table, slices.Collect(maps.Keys(table))...)
	for _, name := range slices.Sorted(maps.Keys(table)) {
		value := f.Text(name)
		why := variableProblem(name)
		if why == "" && len(value) > maxVariable {
			why = "its value is too long"
		}
		switch {
		case slices.Contains(f.Bad, name):
		case why != "":
			t.AddProblem("env."+name, "%s in [env] is ignored: %s", quote(name), why)
		default:
			if p.Env == nil {
				p.Env = map[string]string{}
			}
			p.Env[name] = value
		}
	}
}

// problem says why a table cannot be used: what is wrong with which of its keys.
type problem struct{ key, why string }

// isUsable reports whether a table has neither problems nor values of a wrong type. It names the problems.
func isUsable(f *tomltable.Fields, name string, problems []problem) bool {
	problems = slices.DeleteFunc(problems, func(p problem) bool { return slices.Contains(f.Bad, p.key) })
	if len(problems) > 0 {
		f.AddProblem("the %s %sis ignored: %s", f.Shown, name, joined(problems))
	}
	return len(problems)+len(f.Bad) == 0
}

func joined(problems []problem) string {
	var list []string
	for _, p := range problems {
		list = append(list, p.why)
	}
	return strings.Join(list, "; ")
}

// Problem says why a path cannot be used. It is empty if it can.
func (t ProvisionPath) Problem() string { return joined(t.problems()) }

func (t ProvisionPath) problems() (list []problem) {
	for i, p := range append([]string{t.Path}, t.Key...) {
		key := "path"
		if i > 0 {
			key = "key"
		}
		if !isProjectPath(p) {
			list = append(list, problem{key, quote(p) + " is not a path in the project"})
		}
		if top, _, _ := strings.Cut(p, "/"); strings.EqualFold(top, ".git") {
			list = append(list, problem{key, "it is in the git directory"})
		}
	}
	if dir, last := path.Split(t.Path); strings.ContainsAny(dir, "*?[") || strings.Contains(last, "**") {
		list = append(list, problem{"path", "only the last part of a path may have * and ?"})
	}
	if !slices.Contains([]string{"copy", "clone", "link"}, t.How) {
		list = append(list, problem{"how", "how must be copy, clone or link"})
	}
	if !slices.Contains([]string{"", "copy", "skip"}, t.Else) {
		list = append(list, problem{"else", "else must be copy or skip"})
	}
	return list
}

// isProjectPath reports whether a text is a path in the project, in its shortest form.
func isProjectPath(p string) bool {
	return p != "" && !path.IsAbs(p) && path.Clean(p) == p && p != "." && p != ".." && !strings.HasPrefix(p, "../") && !strings.ContainsAny(p, "\\\x00")
}

// Bounds of what a croft.toml may ask for: an agent can write one.
const (
	maxCommand  = 16 << 10
	maxSteps    = 100
	maxVariable = 8 << 10
)

var stepName = pattern.New(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// problems says why a step cannot be used beside those before it.
func (s ProvisionStep) problems(before []ProvisionStep) (list []problem) {
	add := func(isWrong bool, key, why string) {
		if isWrong {
			list = append(list, problem{key, why})
		}
	}
	for i, p := range slices.Concat(s.Key, s.Makes) {
		key := "key"
		if i >= len(s.Key) {
			key = "makes"
		}
		add(!isProjectPath(p), key, quote(p)+" is not a path in the project")
	}
	d, err := time.ParseDuration(s.Timeout)
	add(s.Timeout != "" && (err != nil || d <= 0), "timeout", "timeout must be a duration, such as 5m")
	add(!stepName().MatchString(s.Name), "name", "its name has other characters than a-z, 0-9, _ and -")
	add(slices.ContainsFunc(before, func(o ProvisionStep) bool { return o.Name == s.Name }), "name", "another one has its name")
	add(strings.TrimSpace(s.Run) == "", "run", "it has nothing to run")
	add(len(s.Run) > maxCommand, "run", "its command is too long")
	add(len(before) >= maxSteps, "", "there are too many before it")
	add(!slices.Contains([]StepWhen{"", WhenAlways, WhenKeyChanged, WhenMissing}, s.When), "when", "when must be always, key-changed or missing")
	add(s.When == WhenKeyChanged && len(s.Key) == 0, "key", "key-changed needs a key")
	add(s.When == WhenMissing && len(s.Makes) == 0, "makes", "missing needs makes")
	add(!slices.Contains([]OnFail{OnFailReport, "report", OnFailStop}, s.OnFail), "on_fail", "on_fail must be report or stop")
	return list
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

// loaderVariables are those by which a program runs code that its user did not ask for, or sends what it has elsewhere. A name that
// ends in * means all names with that prefix. A repository must not set them for programs that a person starts in a workspace, also
// if a person has approved its other variables: who reads a list of them does not know all that such a name can do.
var loaderVariables = []string{
	"PATH", "HOME", "SHELL", "IFS", "ENV", "BASH_ENV", "BASH_FUNC*", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "ZDOTDIR", "LD_*", "DYLD_*", "GIT_*", "CROFT*",
	"PYTHON*", "NODE_OPTIONS", "NODE_PATH", "PERL5*", "PERL_*", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "GOFLAGS",
	"EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESS", "LESSOPEN", "LESSCLOSE", "LESSKEY*", "MORE", "VIMINIT", "EXINIT", "GVIMINIT", "MYVIMRC", "NVIM_*", "EMACSLOADPATH",
	"HIST*", "INPUTRC", "PROMPT*", "RIPGREP_CONFIG_PATH", "FZF_*", "TMUX*", "SCREENRC", "WGETRC", "CURL_HOME", "GREP_OPTIONS",
	"GOCACHEPROG", "GOROOT", "GOTOOLDIR", "GOAUTH", "GOVCS", "GOPRIVATE", "GONOPROXY", "GOSUMDB", "GOINSECURE", "CGO_*", "RUSTFLAGS", "RUSTDOCFLAGS", "MAVEN_*", "GRADLE_*", "SBT_*", "ANT_*",
	"BUNDLE_*", "GEM_*", "COMPOSER_*", "PHPRC", "PHP_INI_SCAN_DIR", "LUA_*", "R_PROFILE*", "R_ENVIRON*", "JULIA_*", "YARN_*", "PNPM_*", "COREPACK_*", "NPM_CONFIG_*", "POETRY_*", "ANSIBLE_*", "TF_CLI_CONFIG_FILE",
	"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "SSH_*", "XDG_*", "TERMINFO*", "GCONV_PATH", "LOCPATH", "NLSPATH", "TMPDIR",
	"npm_config_*", "CARGO_*", "RUSTC*", "CC", "CXX", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "TAR_OPTIONS", "OPENSSL_*",
	"PS0", "FPATH", "RPROMPT*", "RPS*", "SHELLOPTS", "BASHOPTS", "BASH_LOADABLES_PATH", "MAILPATH", "CDPATH", "TERM", "STARSHIP_CONFIG",
	"CLAUDE_CONFIG_DIR", "ANTHROPIC_BASE_URL", "CODEX_HOME", "OPENAI_BASE_URL", "OPENAI_API_BASE", "SUDO_ASKPASS", "RSYNC_RSH", "BAT_PAGER", "DELTA_PAGER", "SYSTEMD_*",
	"JAVA_HOME", "ERL_*", "PYTEST_*", "RUSTUP_*", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_REPL_EXTERNAL_MODULE", "GNUPGHOME",
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
