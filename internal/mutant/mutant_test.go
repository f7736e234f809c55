package mutant_test

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/mutant"
)

const code = "func f() {\n\tif a {\n\t\treturn 1\n\t}\n\tif b {\n\t\treturn 1\n\t}\n}\n"

func TestApply(t *testing.T) {
	head := "# words\nmutant: it is wrong\nfile: f.go\ntest: engine TestA/B\ntags: failpoints\n"
	for name, c := range map[string]struct{ change, want, err string }{
		"replace":    {"- if b {\n+ if !b {\n", strings.Replace(code, "\tif b", "if !b", 1), ""},
		"context":    {"  if b {\n- return 1\n+ g()\n+ return 2\n", strings.Replace(code, "b {\n\t\treturn 1", "b {\ng()\nreturn 2", 1), ""},
		"delete":     {"  if b {\n- return 1\n  }\n", strings.Replace(code, "b {\n\t\treturn 1\n", "b {\n", 1), ""},
		"twice":      {"- return 1\n+ return 2\n", "", "more than once, in lines 3 and 6"},
		"absent":     {"- return 3\n+ return 2\n", "", "p/mutants.txt:2: the text is not in p/f.go"},
		"part of it": {"- if\n+ for\n", "", "not in p/f.go"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := mutant.Parse("p/mutants.txt", head+c.change)
			if err != nil || len(all) != 1 {
				t.Fatalf("Parse: %v, %v", all, err)
			}
			m := all[0]
			if m.Name != "it is wrong" || m.Pattern() != "./engine" || m.Run() != "^TestA$/^B$" || m.Tags != "failpoints" {
				t.Errorf("Parse: %+v", m)
			}
			got, err := m.Apply(code)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("Apply: %q, %v; want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"file: f.go\n",
		"mutant: a\nfile: f.go\n- a\n",
		"mutant: a\ntest: engine TestA\n- a\n",
		"mutant: a\nfile: f.go\ntest: engine TestA\n",
		"mutant: a\nfile: f.go\ntest: engine TestA\n  a\n",
		"mutant: a\nfile: f.go\ntest: TestA\n- a\n",
		"mutant: a\nfile: f.go\ntest: engine TestA\n-a\n",
	} {
		if all, err := mutant.Parse("p/mutants.txt", text); err == nil {
			t.Errorf("%q is read as %+v", text, all)
		}
	}
}
