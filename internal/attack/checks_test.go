//go:build unix

package attack

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCheckPoisonsTheNext: [W] the work of A, which never lands, overwrites ignored files
// of the directory in which checks run, so that any check passes. Work of B that fails the
// check must still fail it.
func TestCheckPoisonsTheNext(t *testing.T) {
	inModes(t, gitModes, func(t *testing.T, h *host) {
		put(t, filepath.Join(h.dir, ".gitignore"), "node_modules\n")
		put(t, filepath.Join(h.dir, "test.sh"), "grep -q BROKEN f2.txt && exit 1\nexit 0\n")
		put(t, filepath.Join(h.dir, "ci.sh"), "mkdir -p node_modules/.bin\n"+
			"[ -x node_modules/.bin/t ] || { printf '#!/bin/sh\\nsh test.sh\\n' >node_modules/.bin/t; chmod +x node_modules/.bin/t; }\n"+
			"node_modules/.bin/t\n")
		h.demand("sh ci.sh")
		a, b := h.agent("A"), h.agent("B")
		add(t, filepath.Join(b.dir, "f2.txt"), "BROKEN\n")
		if r := h.croft("merge", "--keep", "B"); r.code == 0 {
			t.Fatalf("broken work landed at once: %v", r)
		}
		a.write("test.sh", "printf '#!/bin/sh\\nexit 0\\n' >node_modules/.bin/t; exit 1\n")
		h.croft("merge", "--keep", "A")
		h.croft("merge", "--keep", "A")
		r := h.croft("merge", "--keep", "B")
		if strings.Contains(h.landed("f2.txt"), "BROKEN") {
			t.Errorf("broken work landed after another's failed check: %v", r)
		}
		if strings.Contains(h.landed("test.sh"), "printf") {
			t.Error("work landed on its second try, by what its first try had left")
		}
	})
}

// TestCheckSeesNoSecrets: an approved check runs programs that the candidate contains [W].
// It must not get the host's environment variables.
func TestCheckSeesNoSecrets(t *testing.T) {
	inModes(t, gitModes, func(t *testing.T, h *host) {
		put(t, filepath.Join(h.dir, "ci.sh"), "true\n")
		h.demand("sh ci.sh")
		h.set("AWS_SECRET_ACCESS_KEY", "hunter2")
		h.set("GITHUB_TOKEN", "hunter2")
		h.set("SSH_AUTH_SOCK", "/hunter2")
		a := h.agent("a1")
		a.write("ci.sh", "env >"+h.path("can", "env")+"\n")
		h.croft("merge", "--keep", "a1")
		if text, err := os.ReadFile(h.path("can", "env")); err == nil && strings.Contains(string(text), "hunter2") {
			t.Errorf("a check was given a secret of the environment:\n%s", text)
		}
	})
}

// TestApprovedFromInside: [W] a process of the agent's, without a terminal, asks for
// approval of checks, from its workspace and from the project. It must be refused, and the
// checks must not run.
func TestApprovedFromInside(t *testing.T) {
	inModes(t, gitModes, func(t *testing.T, h *host) {
		a := h.agent("a1")
		check := "touch " + h.canary("check")
		put(t, filepath.Join(h.dir, "croft.toml"), checksFile(check))
		h.commit("checks")
		for _, dir := range []string{a.dir, h.dir, filepath.Join(a.dir, "src")} {
			for _, args := range [][]string{{"config", "trust", "--yes"}, {"config", "trust", "--yes", "--target", "main"}, {"config", "trust"}} {
				if r := h.croftIn(dir, args...); r.code == 0 && slices.Contains(args, "--yes") {
					t.Errorf("croft %s in %s approved without a terminal: %v", strings.Join(args, " "), dir, r)
				}
			}
		}
		// With the digest, from a workspace: a person does not approve from there.
		r := h.runWith("", []string{"CROFT_TRUST=" + digest(check)}, a.dir, binary, "config", "trust", "--yes")
		if r.code == 0 {
			t.Errorf("croft config trust with a digest was taken from inside a workspace: %v", r)
		}
		a.write("f1.txt", "work\n")
		h.croft("merge", "--keep", "a1")
		h.mustBeSilent("croft merge")
	})
}

// TestApprovalIsOfTheExactCommand: [C] or [W] lands other checks than the approved ones.
// They must not run.
func TestApprovalIsOfTheExactCommand(t *testing.T) {
	inModes(t, gitModes, func(t *testing.T, h *host) {
		h.demand("true")
		a := h.agent("a1")
		a.write("croft.toml", checksFile("true", "touch "+h.canary("check")))
		h.croft("merge", "--keep", "a1")
		h.mustBeSilent("the merge that brings them")
		b := h.agent("b1")
		b.write("f1.txt", "work\n")
		r := h.croft("merge", "--keep", "--json", "b1")
		h.mustBeSilent("the next merge")
		if strings.Contains(h.landed("croft.toml"), "check") && r.code == 0 {
			t.Errorf("a merge landed without the target's checks: %v", r)
		}
	})
}

// secrets are names of files that are held back from Croft's commits.
var secrets = strings.Fields(`.env .ENV prod.env env.local .git-credentials service-account.json terraform.tfvars id_rsa.bak
	kubeconfig .htpasswd my.pem server.key Secrets.yaml .aws/credentials .ssh/id_ed25519 .pypirc .netrc`)

// TestSecretsAreHeldBack: an agent leaves files with passwords, some of them staged, and
// deletes the .gitignore [W]. Neither finish nor a merge may commit one of them. Example
// files are not secrets.
func TestSecretsAreHeldBack(t *testing.T) {
	inModes(t, gitModes, func(t *testing.T, h *host) {
		put(t, filepath.Join(h.dir, ".gitignore"), ".env\n")
		h.commit("ignore")
		a := h.agent("a1")
		must(t, os.Remove(filepath.Join(a.dir, ".gitignore")))
		for i, name := range secrets {
			a.write(name, "SECRET\n")
			if i%2 == 1 {
				a.git("add", "--force", name)
			}
		}
		a.write(".env.example", "KEY=\n")
		h.croft("finish", "a1")
		branch := "croft/a1"
		committed := h.git(h.dir, "ls-tree", "-r", "--name-only", branch)
		h.croft("merge", "a1")
		all := strings.Fields(committed + "\n" + h.git(h.dir, "ls-tree", "-r", "--name-only", "main"))
		var taken []string
		for _, secret := range secrets {
			if slices.Contains(all, secret) {
				taken = append(taken, secret)
			}
		}
		if len(taken) > 0 {
			t.Errorf("secrets were committed: %v", taken)
		}
		if !slices.Contains(all, ".env.example") {
			t.Error(".env.example was held back")
		}
	})
}

// TestStateIsPrivate: whatever the umask is, other users can open no file or directory of
// the state and data directories: they hold paths, approvals, secrets and prompts.
func TestStateIsPrivate(t *testing.T) {
	inModes(t, everyMode, func(t *testing.T, h *host) {
		put(t, filepath.Join(h.dir, "croft.toml"), checksFile("true"))
		if h.mode != plain {
			h.commit("checks")
		}
		h.set("CROFT_TRUST", digest("true"))
		script := "umask 000; croft=$1; shift; exec \"$croft\" \"$@\""
		for _, command := range []string{
			"new --mode auto a1", "snapshot a1", "session start s1", "round start --session s1 --agents x,y --mode auto", "config trust", "review a1",
			"merge --keep a1", "remove --force a1", "gc", "doctor",
		} {
			h.run(h.dir, "sh", append([]string{"-c", script, "sh", binary}, strings.Fields(command)...)...)
		}
		for _, dir := range []string{h.path("state"), h.path("data")} {
			if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) && dir != h.path("state") {
				continue
			}
			for name, what := range manifest(t, dir) {
				info, err := os.Lstat(filepath.Join(dir, name))
				must(t, err)
				if info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 && mayBeSeen(name) {
					t.Errorf("%s is open to others: %s", filepath.Join(filepath.Base(dir), name), what)
				}
			}
		}
	})
}

// mayBeSeen reports whether the mode of a file matters by itself: that of the outermost
// directories, which keep other users out, and of files that hold records, approvals and
// secrets. git's own files in there have git's modes.
func mayBeSeen(name string) bool {
	if filepath.Dir(name) == "." || strings.Contains(name, ".db") {
		return true
	}
	first, _, _ := strings.Cut(name, string(filepath.Separator))
	return first == "trust" || first == "secrets" || first == "approvals"
}
