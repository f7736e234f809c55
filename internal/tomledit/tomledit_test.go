package tomledit_test

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/tomledit"
)

func TestSet(t *testing.T) {
	tests := []struct {
		name                string
		text                string
		table, key, literal string
		want                string
		line                int
	}{
		{"empty", "", "", "layout", `"swarm"`, "layout = \"swarm\"\n", 1},
		{"empty, in a table", "", "merge", "strategy", `"squash"`, "[merge]\nstrategy = \"squash\"\n", 2},
		{"replaced", "a = 1 # why\n", "", "a", "22", "a = 22 # why\n", 1},
		{"no newline at the end", "a = 1", "", "b", "2", "a = 1\nb = 2\n", 2},
		{"no newline, replaced", "a = 1", "", "a", "2", "a = 2", 1},
		{"in its table", "# top\n[merge] # rules\nbatch = 3 # few\n\n[trash]\nmax_bytes = 1\n", "merge", "strategy", `"squash"`, "# top\n[merge] # rules\nbatch = 3 # few\nstrategy = \"squash\"\n\n[trash]\nmax_bytes = 1\n", 4},
		{"an empty table", "[merge]\n\n[trash]\n", "merge", "batch", "2", "[merge]\nbatch = 2\n\n[trash]\n", 2},
		{"another table", "[trash]\nmax_bytes = 1\n", "merge", "batch", "2", "[trash]\nmax_bytes = 1\n\n[merge]\nbatch = 2\n", 5},
		{"top level before tables", "# head\n\n[trash]\nmax_bytes = 1\n", "", "layout", `"a"`, "# head\n\nlayout = \"a\"\n\n[trash]\nmax_bytes = 1\n", 3},
		{"top level after its keys", "prefix = 'x'\n\n# trash\n[trash]\n", "", "layout", `"a"`, "prefix = 'x'\nlayout = \"a\"\n\n# trash\n[trash]\n", 2},
		{"dotted", "merge.batch = 2\nlayout = 'x'\n", "merge", "strategy", `"squash"`, "merge.batch = 2\nmerge.strategy = \"squash\"\nlayout = 'x'\n", 2},
		{"dotted, replaced", "merge . batch=2\n", "merge", "batch", "3", "merge . batch=3\n", 1},
		{"quoted names", "\"merge\".'batch' = 2\n", "merge", "batch", "3", "\"merge\".'batch' = 3\n", 1},
		{"inline", "merge = { batch = 2 } # x\n", "merge", "slots", "3", "merge = { batch = 2, slots = 3 } # x\n", 1},
		{"inline, empty", "merge = {}\n", "merge", "slots", "3", "merge = { slots = 3 }\n", 1},
		{"inline, replaced", "merge = { checks = [\"a}\"], batch = 2 }\n", "merge", "checks", "[]", "merge = { checks = [], batch = 2 }\n", 1},
		{"a remark with its default", "# How.\n#merge.batch = 16\n\n#merge.slots = 1\n", "merge", "batch", "2", "# How.\n#merge.batch = 16\nmerge.batch = 2\n\n#merge.slots = 1\n", 3},
		{"a list of several lines", "[merge]\n# all\nchecks = [ # quick\n  \"go vet\", # [vet]\n  'x # y',\n] # end\nbatch = 2\n", "merge", "checks", `["a"]`, "[merge]\n# all\n# quick\n# [vet]\nchecks = [\"a\"] # end\nbatch = 2\n", 5},
		{"texts that look like TOML", "a = \"\"\"\n[merge]\nb = 1\n\"\"\"\n", "merge", "b", "2", "a = \"\"\"\n[merge]\nb = 1\n\"\"\"\n\n[merge]\nb = 2\n", 7},
		{"quotes at an end", "a = '''it's''''\nb = \"\\\"]\"\nc = 1\n", "", "c", "2", "a = '''it's''''\nb = \"\\\"]\"\nc = 2\n", 3},
		{"CRLF", "a = 1\r\nb = 2\r\n", "", "c", "3", "a = 1\r\nb = 2\r\nc = 3\r\n", 3},
		{"beside an array of tables", "[[provision.step]]\nrun = 'x'\n", "provision", "cache", "true", "[[provision.step]]\nrun = 'x'\n\n[provision]\ncache = true\n", 5},
		{"before a table of the same key", "[other]\nbatch = 1\n[merge]\nbatch = 2", "merge", "batch", "3", "[other]\nbatch = 1\n[merge]\nbatch = 3", 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, line, err := tomledit.Set([]byte(test.text), test.table, test.key, test.literal)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if line != test.line {
				t.Errorf("line %d, want %d", line, test.line)
			}
			again, _, err := tomledit.Set(got, test.table, test.key, test.literal)
			if err != nil || string(again) != string(got) {
				t.Errorf("a second time: %v\n%s", err, again)
			}
		})
	}
}

// TestSetRefuses: a text in which the key cannot stand is left alone.
func TestSetRefuses(t *testing.T) {
	for _, text := range []string{"a = ", "merge = 1\n", "[[merge]]\nbatch = 1\n", "a = 1\na = 2\n"} {
		if got, _, err := tomledit.Set([]byte(text), "merge", "batch", "2"); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func FuzzSet(f *testing.F) {
	f.Add("a = [1, # x\n2]\n[merge]\nbatch = 3\n")
	f.Add("merge = { batch = 2, checks = ['}'] }\n#merge.batch = 3")
	f.Fuzz(func(t *testing.T, text string) {
		got, line, err := tomledit.Set([]byte(text), "merge", "batch", "2")
		if err == nil && !strings.Contains(strings.Split(string(got), "\n")[line-1], "2") {
			t.Errorf("%q became %q, line %d", text, got, line)
		}
	})
}
