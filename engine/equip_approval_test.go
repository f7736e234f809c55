package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// setupOf returns the commands that set workspaces of main up, as a person sees them before the approval.
func setupOf(t *testing.T, e croft.Service) *croft.CheckPlan {
	t.Helper()
	plan, err := e.Checks(t.Context(), croft.ChecksRequest{Target: "main", Of: croft.OfSetup})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestApprovalOfSetupCovers: what decides what a command does is a part of its approval, so a commit that changes
// it is not approved.
func TestApprovalOfSetupCovers(t *testing.T) {
	t.Parallel()
	const step, script = "[[provision.step]]\nname = \"a\"\nrun = ", "#!/bin/sh\n"
	for name, test := range map[string]struct {
		files map[string]string
		file  string // that the second commit changes
		text  string
	}{
		"the value of a variable":          {map[string]string{"croft.toml": step + "\"make\"\n[env]\nTOOLS = \"a\"\n"}, "croft.toml", step + "\"make\"\n[env]\nTOOLS = \"b\"\n"},
		"a script":                         {map[string]string{"croft.toml": step + "\"sh tools/a\"\n", "tools/a": script}, "tools/a", script + "false\n"},
		"a script in the directory":        {map[string]string{"croft.toml": step + "\"./a\"\n", "a": script}, "a", script + "false\n"},
		"a script by a longer way":         {map[string]string{"croft.toml": step + "\"sh tools/./a\"\n", "tools/a": script}, "tools/a", script + "false\n"},
		"a script by a variable":           {map[string]string{"croft.toml": step + "\"$PWD/tools/a\"\n", "tools/a": script}, "tools/a", script + "false\n"},
		"a script in quotes":               {map[string]string{"croft.toml": step + "'sh \"tools/a\"'\n", "tools/a": script}, "tools/a", script + "false\n"},
		"a script by its ending":           {map[string]string{"croft.toml": step + "\"node a.mjs\"\n", "a.mjs": "1"}, "a.mjs", "2"},
		"a command at a removal":           {map[string]string{".config/wt.toml": "pre-remove = \"true\"\n"}, ".config/wt.toml", "pre-remove = \"false\"\n"},
		"a script of one":                  {map[string]string{".config/wt.toml": "pre-remove = \"sh tools/a\"\n", "tools/a": script}, "tools/a", script + "false\n"},
		"a script in a linked directory":   {map[string]string{"croft.toml": step + "\"sh linked/a\"\n", "tools/a": script}, "tools/a", script + "false\n"},
		"a script with a blank":            {map[string]string{"croft.toml": step + "\"sh 'tools/b c.sh'\"\n", "tools/b c.sh": "true\n"}, "tools/b c.sh", "false\n"},
		"a script below another directory": {map[string]string{"croft.toml": step + "\"cd tools && ./b.sh\"\n", "tools/b.sh": "true\n"}, "tools/b.sh", "false\n"},
		"a file that a shell reads":        {map[string]string{"croft.toml": step + "\". ./tools/env\"\n", "tools/env": "true\n"}, "tools/env", "false\n"},
		"a script above a linked one":      {map[string]string{"croft.toml": step + "\"sh deep/../b.sh\"\n", "tools/b.sh": "true\n", "b.sh": "true\n", "tools/in/x": ""}, "tools/b.sh", "false\n"},
		"a script behind a chain of links": {map[string]string{"croft.toml": step + "\"sh chain\"\n", "tools/a": script}, "tools/a", script + "false\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			for name, text := range test.files {
				r.Write(name, text)
			}
			if err := errors.Join(os.Symlink("tools", filepath.Join(r.Dir, "linked")), os.Symlink("linked/a", filepath.Join(r.Dir, "chain")), os.Symlink("tools/in", filepath.Join(r.Dir, "deep"))); err != nil {
				t.Skip(err)
			}
			r.Commit("one")
			e := engineIn(t, r, 0)
			seen := setupOf(t, e)
			if _, err := e.Approve(t.Context(), croft.ApproveRequest{Target: "main", Of: croft.OfSetup, Hash: seen.Hash}); err != nil {
				t.Fatal(err)
			}
			if now := setupOf(t, e); !now.IsApproved {
				t.Fatalf("approved: %+v", now)
			}
			r.Write(test.file, test.text)
			r.Commit("two")
			if now := setupOf(t, e); now.IsApproved || now.Hash == seen.Hash {
				t.Errorf("approved with another %s: %q", test.file, now.Checks)
			}
		})
	}
}

// TestSetupFileIsALink: a croft.toml that is a link is not followed: what it asks for cannot be told.
func TestSetupFileIsALink(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("other.toml", "[[provision.step]]\nname = \"a\"\nrun = \"true\"\n")
	if err := os.Symlink("other.toml", filepath.Join(r.Dir, "croft.toml")); err != nil {
		t.Skip(err)
	}
	r.Commit("settings")
	_, err := engineIn(t, r, 0).Checks(t.Context(), croft.ChecksRequest{Target: "main", Of: croft.OfSetup})
	wantCode(t, err, croft.ConfigInvalid)
}

// TestSetupFilesThatDoNotCount: what a commit has in the place of a set-up file is named or left out, and hinders no workspace.
func TestSetupFilesThatDoNotCount(t *testing.T) {
	t.Parallel()
	const own = "[[provision.step]]\nname = \"a\"\nrun = \"true\"\n"
	long := own + strings.Repeat("# long\n", 1<<18)
	for name, test := range map[string]struct {
		files   map[string]string
		links   map[string]string
		foreign string // the setting
		want    string // among the commands; empty: there are none
		remark  string
	}{
		"too long":                     {files: map[string]string{"croft.toml": long}, remark: "croft.toml is not used: it is longer than 1024 KiB"},
		"another tool's, a link":       {links: map[string]string{".worktreelink": "node_modules"}, foreign: "ask"},
		"another tool's beside steps":  {files: map[string]string{"croft.toml": own, ".config/wt.toml": "pre-start = \"wt-command\"\n"}, want: "provision.step a: true"},
		"another tool's that is not":   {files: map[string]string{".config/wt.toml": "pre-start = \"true\"\n"}, foreign: "conductor.json"},
		"another tool's that is named": {files: map[string]string{".config/wt.toml": "pre-start = \"true\"\n"}, foreign: "conductor.json, .config/wt.toml", want: ".config/wt.toml: true"},
		"a script that is not there":   {files: map[string]string{".cursor/worktrees.json": `{"setup-worktree": "gone.sh"}`}, remark: ".cursor/worktrees.json is not used: there is no .cursor/gone.sh"},
		"a script that leads out":      {files: map[string]string{"croft.toml": "[[provision.step]]\nname = \"a\"\nrun = \"sh out.sh\"\n"}, links: map[string]string{"out.sh": "../out.sh"}, want: "provision.step a: sh out.sh"},
		"links that lead out":          {files: map[string]string{".claude/settings.json": `{"worktree": {"symlinkDirectories": ["../secrets"]}}`}, remark: `.claude/settings.json: "../secrets" is ignored`},
		"a link to the git directory":  {files: map[string]string{".claude/settings.json": `{"worktree": {"symlinkDirectories": [".git"]}}`}, remark: `.claude/settings.json: ".git" is ignored`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			for name, text := range test.files {
				r.Write(name, text)
			}
			for name, target := range test.links {
				if err := os.Symlink(target, filepath.Join(r.Dir, name)); err != nil {
					t.Skip(err)
				}
			}
			r.Commit("settings")
			var settings []string
			if test.foreign != "" {
				settings = []string{"provision.foreign", test.foreign, "provision.links_file", "true"}
			}
			e := engineIn(t, r, 0, settings...)
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			if plan := setupOf(t, e); !slices.Equal(plan.Checks, want) && len(plan.Checks)+len(want) > 0 {
				t.Errorf("commands %q, want %q", plan.Checks, want)
			}
			w := create(t, e, croft.CreateRequest{Name: "a"})
			if test.remark != "" && !strings.Contains(strings.Join(w.Notes, "\n"), test.remark) {
				t.Errorf("notes %q, want %q", w.Notes, test.remark)
			}
		})
	}
}

// TestCommitChoosesNoFiles: a commit of an agent's names a file of the project that the project's own croft.toml does
// not name, or in another way.
func TestCommitChoosesNoFiles(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write(".gitignore", "secret\ncache/\n")
	r.Write("croft.toml", "[[provision.path]]\npath = \"cache\"\nhow = \"copy\"\n")
	r.Commit("settings")
	r.Write("secret", "secret")
	r.Write("cache/a", "a")
	r.Branch("agent", map[string]string{"croft.toml": "[[provision.path]]\npath = \"secret\"\nhow = \"copy\"\n[[provision.path]]\npath = \"cache\"\nhow = \"link\"\n"})
	e := engineIn(t, r, 0)
	if w := create(t, e, croft.CreateRequest{Name: "own"}); read(t, filepath.Join(w.Path, "cache/a")) != "a" {
		t.Error("the project's own path was not copied")
	}
	w := create(t, e, croft.CreateRequest{Name: "a", Base: "agent"})
	if _, err := e.Provision(t.Context(), croft.ProvisionRequest{Workspace: "a"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret", "cache"} {
		if _, err := os.Lstat(filepath.Join(w.Path, name)); err == nil {
			t.Errorf("%s came in", name)
		}
	}
}

// TestIsolatedHasNoLinks: an isolated workspace gets no link to the project, also if it gets copies of ignored files.
func TestIsolatedHasNoLinks(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write(".gitignore", "cache\n")
	r.Write("croft.toml", "[[provision.path]]\npath = \"cache\"\nhow = \"link\"\n")
	r.Commit("settings")
	r.Write("cache/a", "a")
	e := engineIn(t, r, 0, "provision.secrets", "true")
	w := create(t, e, croft.CreateRequest{Name: "a", Mode: croft.ModeIsolated})
	if _, err := os.Lstat(filepath.Join(w.Path, "cache")); err == nil || w.Provision.Paths[0].How != croft.ProvisionSkip {
		t.Errorf("%v, %+v", err, w.Provision.Paths)
	}
}

// TestStepsHaveNoGitVariables: what controls git in the caller's environment does not reach the commands: they would work in
// another repository.
func TestStepsHaveNoGitVariables(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("croft.toml", "[[provision.step]]\nname = \"a\"\nrun = 'test -z \"$GIT_CROFT_TEST\" && test \"$CROFT_TEST\" = 1'\n")
	r.Commit("settings")
	e := open(t, r.Dir, &engine.Options{Environ: append(slices.Clone(r.Env), "GIT_CROFT_TEST=1", "CROFT_TEST=1")})
	if _, err := e.Approve(t.Context(), croft.ApproveRequest{Target: "main", Of: croft.OfSetup, Hash: setupOf(t, e).Hash}); err != nil {
		t.Fatal(err)
	}
	create(t, e, croft.CreateRequest{Name: "a"})
	if p, err := e.Provision(t.Context(), croft.ProvisionRequest{Workspace: "a"}); err != nil || p.State != croft.ProvisionReady {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestApprovalOfSetupMarks: an approval concerns the workspaces whose commands it covers, and no others.
func TestApprovalOfSetupMarks(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	for _, name := range []string{"a", "b"} {
		r.Write("croft.toml", "[[provision.step]]\nname = \"s\"\nrun = \"echo "+name+"\"\n")
		r.Commit(name)
		create(t, e, croft.CreateRequest{Name: name})
		if p, err := e.Provision(t.Context(), croft.ProvisionRequest{Workspace: name}); err != nil || p.State != croft.ProvisionUnapproved {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	if _, err := e.Approve(t.Context(), croft.ApproveRequest{Target: "main", Of: croft.OfSetup, Hash: setupOf(t, e).Hash}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]croft.ProvisionState{"a": croft.ProvisionUnapproved, "b": croft.ProvisionPending} {
		w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: name})
		if err != nil {
			t.Fatal(err)
		}
		if p := w.Provision; p.State != want || (p.Steps[0].State == croft.StepUnapproved) != (want == croft.ProvisionUnapproved) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestScriptOfAnyName: the name of a script is one word of the command that runs it.
func TestScriptOfAnyName(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write(".cursor/worktrees.json", `{"setup-worktree": "a b;c.sh"}`)
	r.Write(".cursor/a b;c.sh", "echo made >made\n")
	r.Commit("settings")
	e := engineIn(t, r, 0)
	if _, err := e.Approve(t.Context(), croft.ApproveRequest{Target: "main", Of: croft.OfSetup, Hash: setupOf(t, e).Hash}); err != nil {
		t.Fatal(err)
	}
	w := create(t, e, croft.CreateRequest{Name: "a"})
	if p, err := e.Provision(t.Context(), croft.ProvisionRequest{Workspace: "a"}); err != nil || read(t, filepath.Join(w.Path, "made")) != "made\n" {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestApprovedBytesRun: a script runs only with the bytes that were approved. Attributes of a commit change them between the commit
// and the workspace without a change of the script, and an agent changes them by hand.
func TestApprovedBytesRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		attributes, edit string
		want             croft.ProvisionState
	}{
		"as approved": {"", "", croft.ProvisionReady},
		"line ends":   {"*.sh text eol=crlf\n", "", croft.ProvisionFailed},
		"an encoding": {"*.sh text working-tree-encoding=UTF-16\n", "", croft.ProvisionFailed},
		"an edit":     {"", "echo evil >>ran\n", croft.ProvisionFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			r.Write("croft.toml", "[[provision.step]]\nname = \"a\"\nrun = \"sh tools/a.sh\"\n")
			r.Write("tools/a.sh", "echo x >ran\n")
			r.Write(".gitignore", "ran*\n")
			r.Commit("settings")
			e := engineIn(t, r, 0)
			if _, err := e.Approve(t.Context(), croft.ApproveRequest{Target: "main", Of: croft.OfSetup, Hash: setupOf(t, e).Hash}); err != nil {
				t.Fatal(err)
			}
			r.Git("checkout", "--quiet", "-b", "agent")
			if test.attributes != "" {
				r.Write(".gitattributes", test.attributes)
				r.Git("add", ".gitattributes")
			}
			r.Git("commit", "--quiet", "--allow-empty", "--message", "an agent's")
			r.Git("checkout", "--quiet", "--force", "main")
			w := create(t, e, croft.CreateRequest{Name: "a", Base: "agent"})
			if test.edit != "" {
				gittest.WriteFile(t, filepath.Join(w.Path, "tools/a.sh"), test.edit)
			}
			p, err := e.Provision(t.Context(), croft.ProvisionRequest{Workspace: "a"})
			if err != nil || p.State != test.want || exists(filepath.Join(w.Path, "ran")) != (test.want == croft.ProvisionReady) {
				t.Errorf("%+v, %v", p, err)
			}
			if test.want == croft.ProvisionFailed && !strings.Contains(p.Why, "has not the bytes that were approved") {
				t.Errorf("%q", p.Why)
			}
		})
	}
}

// TestIsolatedHasNoSharedLinks: the links of a layout and of checkout.links are not made in an isolated workspace. It gets copies if the
// user allows that, and says why not otherwise.
func TestIsolatedHasNoSharedLinks(t *testing.T) {
	t.Parallel()
	for _, secrets := range []string{"false", "true"} {
		r := gittest.New(t)
		r.Write(".gitignore", "secrets\n.env\n")
		r.Write("croft.toml", "[checkout]\nlinks = [\"secrets\"]\n")
		r.Commit("settings")
		r.Write("secrets/a", "a")
		r.Write(".env", "KEY=1\n")
		e := engineIn(t, r, 0, "provision.secrets", secrets)
		w := create(t, e, croft.CreateRequest{Name: "a", Mode: croft.ModeIsolated, Layout: "agents"})
		for _, name := range []string{"secrets", ".env"} {
			info, err := os.Lstat(filepath.Join(w.Path, name))
			isCopied := err == nil && info.Mode()&os.ModeSymlink == 0
			if isCopied != (secrets == "true") || err == nil && !isCopied {
				t.Errorf("with secrets %s, %s: %v", secrets, name, err)
			}
		}
		want := croft.ProvisionSkip
		if secrets == "true" {
			want = croft.ProvisionCopy
		}
		for _, p := range w.Provision.Paths {
			if p.How != want {
				t.Errorf("%+v", p)
			}
		}
	}
}

// TestCommittedVariablesFile: a file of the commit that has the name of the one with variables stays as it is, and is named.
func TestCommittedVariablesFile(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("croft.toml", "[ports]\ncount = 1\n")
	r.Write(".croft.env", "PATH=/evil\n")
	r.Commit("settings")
	w := create(t, engineIn(t, r, 0), croft.CreateRequest{Name: "a"})
	if read(t, filepath.Join(w.Path, ".croft.env")) != "PATH=/evil\n" || w.Env["PATH"] != "" {
		t.Errorf("%v", w.Env)
	}
	if !strings.Contains(strings.Join(w.Notes, "\n"), "the commit has a .croft.env of its own") {
		t.Errorf("%q", w.Notes)
	}
}

// TestProbeInside: a probe that prints a path fails if that leads out of the workspace, also by a link in it, or beside it.
func TestProbeInside(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]croft.ProvisionState{
		"pwd": croft.ProvisionReady, "echo sub": croft.ProvisionReady, "echo out": croft.ProvisionFailed, "echo ..": croft.ProvisionFailed,
		"echo ${PWD}x": croft.ProvisionFailed, "true && echo nothing-there": croft.ProvisionFailed, "false": croft.ProvisionFailed,
	} {
		r := gittest.New(t)
		r.Write("croft.toml", "[[provision.probe]]\ninside = '"+command+"'\n")
		r.Write("sub/f", "")
		r.Commit("settings")
		e := engineIn(t, r, 0)
		if _, err := e.Approve(t.Context(), croft.ApproveRequest{Target: "main", Of: croft.OfSetup, Hash: setupOf(t, e).Hash}); err != nil {
			t.Fatal(err)
		}
		w := create(t, e, croft.CreateRequest{Name: "a"})
		if err := errors.Join(os.Symlink(r.Dir, filepath.Join(w.Path, "out")), os.MkdirAll(w.Path+"x", 0o755)); err != nil {
			t.Skip(err)
		}
		if p, err := e.Provision(t.Context(), croft.ProvisionRequest{Workspace: "a"}); err != nil || p.State != want {
			t.Errorf("%s: %+v, %v", command, p, err)
		}
	}
}
