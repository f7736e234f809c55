package foreign

import (
	"encoding/json"
	"io/fs"
	"runtime"
	"strings"
	"testing"
)

// commit is the files of a commit.
type commit map[string]string

func (c commit) Read(path string) ([]byte, error) {
	text, ok := c[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

// TestRead reads one set-up file each, as its tool writes it.
func TestRead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the wanted results are those of Linux")
	}
	for _, tt := range []struct {
		name  string
		files commit
		want  string // the set-up as JSON
	}{
		{
			"Cursor",
			commit{".cursor/worktrees.json": `{
				// for all who clone it
				"setup-worktree-windows": ["dir"],
				"setup-worktree-unix": ["make deps", "cp \"$ROOT_WORKTREE_PATH/.env\" .env", /* later */],
				"setup-worktree": "all.sh",
			}`},
			`{"source":".cursor/worktrees.json","setup":[{"run":"make deps"},{"run":"cp \"$ROOT_WORKTREE_PATH/.env\" .env"}],"env":{"ROOT_WORKTREE_PATH":"{repo}"}}`,
		},
		{
			"CursorScript",
			commit{".cursor/worktrees.json": `{"setup-worktree": "sub/all.sh"}`},
			`{"source":".cursor/worktrees.json","setup":[{"script":".cursor/sub/all.sh"}],"env":{"ROOT_WORKTREE_PATH":"{repo}"},"hashes":[".cursor/worktrees.json",".cursor/sub/all.sh"]}`,
		},
		{
			"Codex",
			commit{".codex/environments/environment.toml": "version = 1\n[setup]\nscript = '''\nmake a\nmake b'''\n[setup.darwin]\nscript = 'brew'\n" +
				"[cleanup]\nscript = 'x'\n[cleanup.linux]\nscript = 'make down'\n[[actions]]\nname = 'Go'\ncommand = 'make run'\n[[actions]]\nname = 'Mac'\ncommand = 'x'\nplatform = 'darwin'\n"},
			`{"source":".codex/environments/environment.toml","setup":[{"run":"make a\nmake b"}],"teardown":[{"run":"make down"}],"actions":[{"name":"Go","run":"make run"}],"env":{"CODEX_SOURCE_TREE_PATH":"{repo}","CODEX_WORKTREE_PATH":"{path}"}}`,
		},
		{
			"CodexEmpty",
			commit{".codex/environments/environment.toml": "version = 1\n[setup]\nscript = ''\n"},
			`{"source":".codex/environments/environment.toml","env":{"CODEX_SOURCE_TREE_PATH":"{repo}","CODEX_WORKTREE_PATH":"{path}"}}`,
		},
		{
			"Conductor",
			commit{
				".conductor/settings.toml":       "file_include_globs = '''\n.env*\n'''\n[scripts]\nsetup = 'make deps'\narchive = 'make down'\n[scripts.run.web]\ncommand = 'make web'\n",
				".conductor/settings.local.toml": "[scripts]\nsetup = 'make mine'\n",
			},
			`{"source":".conductor/settings.toml","setup":[{"run":"make mine"}],"teardown":[{"run":"make down"}],"actions":[{"name":"web","run":"make web"}],"include":[".env*"],` +
				`"env":{"CONDUCTOR_DEFAULT_BRANCH":"{target}","CONDUCTOR_IS_LOCAL":"1","CONDUCTOR_PORT":"{port}","CONDUCTOR_ROOT_PATH":"{repo}","CONDUCTOR_WORKSPACE_NAME":"{name}","CONDUCTOR_WORKSPACE_PATH":"{path}"},` +
				`"hashes":[".conductor/settings.toml",".conductor/settings.local.toml"]}`,
		},
		{
			"ConductorLegacy",
			commit{"conductor.json": `{"scripts": {"setup": "make deps", "run": "make web", "archive": "make down"}}`},
			`{"source":"conductor.json","setup":[{"run":"make deps"}],"teardown":[{"run":"make down"}],"actions":[{"name":"run","run":"make web"}],` +
				`"env":{"CONDUCTOR_DEFAULT_BRANCH":"{target}","CONDUCTOR_IS_LOCAL":"1","CONDUCTOR_PORT":"{port}","CONDUCTOR_ROOT_PATH":"{repo}","CONDUCTOR_WORKSPACE_NAME":"{name}","CONDUCTOR_WORKSPACE_PATH":"{path}"}}`,
		},
		{
			"Worktrunk",
			commit{".config/wt.toml": "pre-start = 'echo {literal} {{ branch }}'\npre-remove = 'down {{worktree_name}}'\n" +
				"[[post-start]]\nfiles = 'wt step copy-ignored'\n[[post-start]]\nweb = 'serve {{ branch | hash_port }}'\n[[post-start]]\nodd = 'x {{ owner }}'\n"},
			`{"source":".config/wt.toml","setup":[{"run":"echo {literal} {branch}"}],"teardown":[{"run":"down {slug}"}],` +
				`"skipped":[{"key":"post-start[0].files","why":".worktreeinclude says what is copied"},{"key":"post-start[1].web","why":"template filter hash_port"},{"key":"post-start[2].odd","why":"template variable owner"}]}`,
		},
		{
			"Claude",
			commit{".claude/settings.json": `{"worktree": {"symlinkDirectories": ["node_modules"], "sparsePaths": ["app"], "baseRef": "head"}, "hooks": {}}`},
			`{"source":".claude/settings.json","links":["node_modules"],"sparse":["app"],"baseRef":"head"}`,
		},
		{"Links", commit{".worktreelink": "# large\nmodels/\n\n!models/own\r\n"}, `{"source":".worktreelink","links":["models/","!models/own"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := Read(tt.files, nil)
			var got *Setup
			switch {
			case found.Used != nil && len(found.Plain) == 0:
				got = found.Used
			case found.Used == nil && len(found.Plain) == 1:
				got = &found.Plain[0]
			default:
				t.Fatalf("found: %+v", found)
			}
			text, err := json.Marshal(got)
			if err != nil || string(text) != tt.want || len(found.Remarks) > 0 {
				t.Errorf("got  %s\nwant %s\n%v %v", text, tt.want, found.Remarks, err)
			}
		})
	}
}

// TestWorktrunkOrder sees that commands stay in the order of the file, whatever form it gives them, and that those which
// are left out are named.
func TestWorktrunkOrder(t *testing.T) {
	for name, text := range map[string]string{
		"table":  "[pre-start]\nz = 'z'\nskip = 'wt list'\na = 'a'\n\"m.n\" = 'm'\nsan = 'x {{ branch | sanitize }}'\n",
		"inline": "pre-start = { z = 'z', skip = 'wt list', a = 'a', \"m.n\" = 'm', san = 'x {{ branch | sanitize }}' }\n",
		"dotted": "pre-start.z = 'z'\npre-start.skip = 'wt list'\npre-start.a = 'a'\npre-start.\"m.n\" = 'm'\npre-start.san = 'x {{ branch | sanitize }}'\n",
		"tables": "[[pre-start]]\nz = 'z'\nskip = 'wt list'\n[[pre-start]]\na = 'a'\n\"m.n\" = 'm'\n[[pre-start]]\nsan = 'x {{ branch | sanitize }}'\n",
		"list":   "pre-start = [{ z = 'z' }, { skip = 'wt list', a = 'a', \"m.n\" = 'm' }, { san = 'x {{ branch | sanitize }}' }]\n",
	} {
		t.Run(name, func(t *testing.T) {
			used := Read(commit{".config/wt.toml": text}, nil).Used
			if used == nil {
				t.Fatal("it was not read")
			}
			var got []string
			for _, c := range used.Setup {
				got = append(got, c.Run.String())
			}
			if strings.Join(got, " ") != "z a m" {
				t.Errorf("the order is %v", got)
			}
			if left := used.LeftOut(); left != ".config/wt.toml: 2 commands are left out: skip (it runs wt), san (template filter sanitize)" {
				t.Errorf("left out: %q", left)
			}
		})
	}
}

// TestReadNone reads files that their tools do not read, or that lead outside.
func TestReadNone(t *testing.T) {
	for name, tt := range map[string]struct {
		files  commit
		remark string // empty: the file is none of the tool's, or says nothing
	}{
		"nothing":           {commit{}, ""},
		"cursor list":       {commit{".cursor/worktrees.json": `["make"]`}, "it is no JSON"},
		"cursor number":     {commit{".cursor/worktrees.json": `{"setup-worktree": 7}`}, "shape"},
		"cursor outside":    {commit{".cursor/worktrees.json": `{"setup-worktree": "../../x.sh"}`}, "outside"},
		"cursor absolute":   {commit{".cursor/worktrees.json": `{"setup-worktree": "/x.sh"}`}, "no path in the repository"},
		"cursor other key":  {commit{".cursor/worktrees.json": `{"x": 1}`}, ""},
		"cursor open":       {commit{".cursor/worktrees.json": `{"setup-worktree": ["make"] /* `}, "it is no JSON"},
		"codex version":     {commit{".codex/environments/environment.toml": "version = 9\n[setup]\nscript = 'make'\n"}, "version"},
		"codex no version":  {commit{".codex/environments/environment.toml": "[setup]\nscript = 'make'\n"}, "version"},
		"codex syntax":      {commit{".codex/environments/environment.toml": "version = 1\n[setup\n"}, "TOML, line 2"},
		"another conductor": {commit{"conductor.json": `{"name": "a workflow", "tasks": []}`}, "shape"},
		"claude, other":     {commit{".claude/settings.json": `{"hooks": {}}`}, ""},
		"long":              {commit{".worktreelink": strings.Repeat("x\n", MaxFile)}, "longer than 256 KiB"},
		"cursor backslash":  {commit{".cursor/worktrees.json": `{"setup-worktree": "..\\..\\x.sh"}`}, "no path in the repository"},
		"many commands":     {commit{".cursor/worktrees.json": `{"setup-worktree": ["a"` + strings.Repeat(`, "a"`, maxEntries) + `]}`}, "more than 100 things"},
		"many links":        {commit{".worktreelink": strings.Repeat("x\n", maxEntries+1)}, "more than 100 things"},
		"no text":           {commit{".worktreelink": "\xff\xfe"}, "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			found := Read(tt.files, nil)
			if found.Used != nil || len(found.Plain) > 0 {
				t.Errorf("used: %+v", found)
			}
			if got := strings.Join(found.Remarks, "\n"); !strings.Contains(got, tt.remark) || (got == "") != (tt.remark == "") {
				t.Errorf("remarks: %q, want one with %q", got, tt.remark)
			}
		})
	}
}

// TestReadFirst sees that the first file with commands is used, that the others are named, and
// that a person can choose.
func TestReadFirst(t *testing.T) {
	files := commit{
		"conductor.json":        `{"scripts": {"setup": "make c"}}`,
		".config/wt.toml":       "pre-start = 'make w'\n",
		".claude/settings.json": `{"worktree": {"symlinkDirectories": ["models"]}}`,
	}
	found := Read(files, nil)
	if found.Used == nil || found.Used.Source != "conductor.json" || strings.Join(found.Others, " ") != ".config/wt.toml" || len(found.Plain) != 1 {
		t.Errorf("found: %+v", found)
	}
	found = Read(files, []string{".config/wt.toml"})
	if found.Used == nil || found.Used.Source != ".config/wt.toml" || len(found.Others)+len(found.Plain) > 0 {
		t.Errorf("chosen: %+v", found)
	}
	if found := Read(files, []string{}); found.Used != nil || len(found.Plain) > 0 {
		t.Errorf("none is read: %+v", found)
	}
}

// TestFill sees that only what the tool calls a variable is filled in.
func TestFill(t *testing.T) {
	if _, why := worktrunkTemplate("a {branch} {{ branch }}{{path}}"); why != "template variable path" {
		t.Errorf("why: %q", why)
	}
	tmpl, why := worktrunkTemplate("a {branch} {{ branch }}")
	if got := tmpl.Fill(func(name string) string { return "<" + name + ">" }); got != "a {branch} <branch>" || why != "" {
		t.Errorf("%q, %q", got, why)
	}
	for _, open := range []string{"x {{ branch", "{% if x %}y{% endif %}", "{# x #}"} {
		if _, why := worktrunkTemplate(open); why == "" {
			t.Errorf("%s was taken", open)
		}
	}
}

// TestShell sees that a variable is one word of the shell, in whatever quotes it stands.
func TestShell(t *testing.T) {
	for run, want := range map[string]string{
		`echo {{ branch }}`:               `echo "${V_branch}"`,
		`echo "a {{ branch }} b"`:         `echo "a ${V_branch} b"`,
		`echo 'a {{ branch }} b'`:         `echo 'a '"${V_branch}"' b'`,
		`echo \"{{ branch }}`:             `echo \""${V_branch}"`,
		`echo "\"{{ branch }}"`:           `echo "\"${V_branch}"`,
		`echo 'a\'{{ branch }}`:           `echo 'a\'"${V_branch}"`,
		`echo "a" 'b' {{ branch }}`:       `echo "a" 'b' "${V_branch}"`,
		`echo "it's {{ branch }}"`:        `echo "it's ${V_branch}"`,
		`{{ repo_path }}/x {{ branch }}`:  `"${V_repo}"/x "${V_branch}"`,
		`echo "{{ branch }}"'{{ base }}'`: `echo "${V_branch}"''"${V_base}"''`,
	} {
		tmpl, why := worktrunkTemplate(run)
		if got := tmpl.Shell(func(name string) string { return "V_" + name }); got != want || why != "" {
			t.Errorf("%s\ngot  %s\nwant %s %s", run, got, want, why)
		}
	}
	text, _ := worktrunkTemplate("{branch}")
	variable, _ := worktrunkTemplate("{{ branch }}")
	if text.Exact() == variable.Exact() {
		t.Errorf("what a person approves is %s for a text and for a variable", text.Exact())
	}
}

// TestPlainJSON sees comments end where they do, and strings, too.
func TestPlainJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1} // end`:          `{"a": 1} `,
		`{"a": 1} /* end`:          `{"a": 1} `,
		`{"a": "\"//b"}`:           `{"a": "\"//b"}`,
		"[1, // one\n2, /**/ ]":    "[1, \n2 ]",
		`{"a": [1,], "b": "," , }`: `{"a": [1], "b": "," }`,
	} {
		squeeze := func(text string) string { return strings.Join(strings.Fields(text), "") }
		if got := string(plainJSON([]byte(text))); squeeze(got) != squeeze(want) || len(got) != len(text) {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// FuzzPlainJSON sees that what is JSON stays what it is.
func FuzzPlainJSON(f *testing.F) {
	for _, seed := range []string{`{"a": "// no comment", "b": [1, 2]}`, `"\\"`, `["/*", "*/", ",]"]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain := plainJSON([]byte(text))
		if !json.Valid([]byte(text)) {
			return
		}
		if strings.TrimPrefix(text, "\ufeff") != string(plain) {
			t.Errorf("%q became %q", text, plain)
		}
	})
}
