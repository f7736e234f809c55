package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/tomltable"
)

// TestProvisioningTypes sees that a value of a wrong type takes nothing with it but its table, and is named with its line.
func TestProvisioningTypes(t *testing.T) {
	const good = "[[provision.step]]\nname = 'good'\nrun = 'true'\n"
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"run as a list": {
			"[[provision.step]]\nname = 'a'\n\nrun = ['npm ci', 'npm test']\n",
			[]string{"croft.toml:4: run of [[provision.step]] must be a text; it is ignored"},
		},
		"two of one step": {
			"[[provision.step]]\nrun = 1\nkey = 'x'\nwhen = 'never'\n",
			[]string{
				"croft.toml:2: run of [[provision.step]] must be a text; it is ignored", "croft.toml:3: key of [[provision.step]] must be a list of texts; it is ignored",
				`croft.toml:1: the [[provision.step]] "step-1" is ignored: when must be always, key-changed or missing`,
			},
		},
		"all bad fields": {
			"[[provision.step]]\nname = 'A'\ntimeout = 'x'\non_fail = 'y'\n",
			[]string{`croft.toml:1: the [[provision.step]] "A" is ignored: timeout must be a duration, such as 5m; its name has other characters than a-z, 0-9, _ and -; it has nothing to run; on_fail must be report or stop`},
		},
		"unknown key": {
			"[[provision.step]]\ncommand = 'x'\nrun = 'true'\non_fial = 'stop'\n",
			[]string{"croft.toml:2: unknown key command of [[provision.step]]", "croft.toml:4: unknown key on_fial of [[provision.step]], did you mean on_fail?"},
		},
		"one table":         {"[provision.path]\npath = 'x'\n", []string{"croft.toml:1: provision.path must be a list of tables, [[provision.path]]; it is ignored"}},
		"no how":            {"[[provision.path]]\npath = 'x'\n", []string{`croft.toml:1: the [[provision.path]] with path "x" is ignored: how must be copy, clone or link`}},
		"texts":             {"[provision]\nprobe = ['x']\n", []string{"croft.toml:2: provision.probe must be a list of tables, [[provision.probe]]; its entry 1 is ignored"}},
		"probe":             {"[[provision.probe]]\nrun = ['x']\n", []string{"croft.toml:2: run of [[provision.probe]] must be a text; it is ignored"}},
		"teardown":          {"[teardown]\nrun = ['x', 1]\nruns = 2\n", []string{"croft.toml:3: unknown key runs of [teardown], did you mean run?", "croft.toml:2: run of [teardown] must be a list of texts; it is ignored"}},
		"teardown, a text":  {"[teardown]\nrun = 'x'\n", nil},
		"teardown, no":      {"teardown = 3\n", []string{"croft.toml:1: teardown must be a table; it is ignored"}},
		"variable":          {"[env]\nA = 'a'\nN = 3\n", []string{"croft.toml:3: N of [env] must be a text; it is ignored"}},
		"loader":            {"[env]\n\nPATH = 'a'\n", []string{`croft.toml:3: "PATH" in [env] is ignored: a repository may not set it`}},
		"name with escapes": {"[[provision.step]]\nrun = 'true'\n\"\\u001b[2J\" = 1\n", []string{`croft.toml:3: unknown key "\x1b[2J" of [[provision.step]]`}},
	} {
		t.Run(name, func(t *testing.T) {
			p, problems := ParseProvisioning([]byte(tt.text + good))
			if !reflect.DeepEqual(problems, tt.want) {
				t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(problems, "\n"), strings.Join(tt.want, "\n"))
			}
			if n := len(p.Steps); n == 0 || p.Steps[n-1].Name != "good" {
				t.Errorf("the steps are %+v", p.Steps)
			}
		})
	}
	p, _ := ParseProvisioning([]byte("[teardown]\nrun = 'x'\n[env]\nA = 'a'\nN = 3\n"))
	if strings.Join(p.Teardown, " ") != "x" || fmt.Sprint(p.Env) != "map[A:a]" {
		t.Errorf("%+v", p)
	}
	_, problems := ParseProvisioning([]byte(strings.Repeat("[[provision.step]]\n", 50)))
	if len(problems) != tomltable.MostProblems+1 || problems[tomltable.MostProblems] != "croft.toml: 30 more of its parts cannot be used" {
		t.Errorf("%d problems, the last is %q", len(problems), problems[len(problems)-1])
	}
}
