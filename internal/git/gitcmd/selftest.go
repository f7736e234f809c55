package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/proc"
)

// ErrUnsafeGit says that this git does not read its files from where Croft tells it to, so
// that it might use what an agent wrote. Where git looks for each of its files is not
// documented, so every version is tested once.
var ErrUnsafeGit = errors.New("this version of git reads its files from other places than Croft expects")

// SelfTestFile is the file that records which git has passed.
const SelfTestFile = "host-tested"

// requireTested fails with ErrUnsafeGit unless this git passes the self-test, now or
// before.
func (g *Git) requireTested() error {
	of := g.fingerprint()
	file := filepath.Join(g.Options.ConfigDir, SelfTestFile)
	if b, err := os.ReadFile(file); err == nil && of != "" && string(b) == of {
		return nil
	}
	if err := os.MkdirAll(g.Options.ConfigDir, 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(g.Options.ConfigDir, "selftest-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := g.selfTest(dir); err != nil {
		return err
	}
	return fsx.ReplaceFile(file, []byte(of), 0o600)
}

// selfTest runs git on a temporary repository in which everything is planted that an agent
// could write, and checks where git reads and writes.
func (g *Git) selfTest(dir string) error {
	common, admin := filepath.Join(dir, "r", ".git"), filepath.Join(dir, "r", ".git", "worktrees", "w")
	canary := filepath.Join(dir, "canary")
	hook := "#!/bin/sh\ntouch '" + canary + "'\n"
	if err := WriteGitDir(common, "\tfsmonitor = \"touch '"+canary+"'; false\"\n[planted]\n\tkey = read\n", map[string]string{
		"info/attributes": "* planted\n",
	}); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"hooks/reference-transaction": hook, "hooks/post-index-change": hook,
		"worktrees/w/HEAD": "ref: refs/heads/w\n", "worktrees/w/commondir": "../..\n", "worktrees/w/gitdir": filepath.Join(dir, "w", ".git") + "\n",
		"worktrees/w/config.worktree": "[planted]\n\tkey = read\n",
	} {
		file := filepath.Join(common, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o700)); err != nil {
			return err
		}
	}
	r := NewRepository(g, gitdir.PlaceAt(common, filepath.Dir(common)), filepath.Join(dir, "state"))
	if _, err := r.EnsureHostDir(); err != nil {
		return err
	}
	run := func(stdin string, args ...string) (string, error) {
		env := append(g.baseEnv(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_COMMON_DIR="+r.HostDir(),
			"GIT_OBJECT_DIRECTORY="+r.CommonPath("objects"), "GIT_WORK_TREE="+dir,
			"GIT_AUTHOR_NAME=c", "GIT_AUTHOR_EMAIL=c", "GIT_COMMITTER_NAME=c", "GIT_COMMITTER_EMAIL=c")
		res, err := proc.Run(context.Background(), proc.Command{
			Path: g.Options.Path, Args: append([]string{"--git-dir=" + admin}, args...), Env: env, Dir: dir, Stdin: strings.NewReader(stdin),
		})
		if err != nil {
			return "", g.Wrap(args, dir, err)
		}
		return strings.TrimSpace(string(res.Stdout)), nil
	}
	tree, err := run("", "hash-object", "-t", "tree", "-w", os.DevNull)
	if err != nil {
		return err
	}
	oid, err := run("c\n", "commit-tree", tree)
	if err != nil {
		return err
	}
	steps := []struct {
		what string
		is   func() (bool, error)
	}{
		{"objects", func() (bool, error) { return fsx.IsThere(r.CommonPath("objects/" + oid[:2] + "/" + oid[2:])), nil }},
		{"refs and hooks", func() (bool, error) {
			_, err := run("", "update-ref", "HEAD", oid)
			b, rerr := os.ReadFile(r.CommonPath("refs/heads/w"))
			return rerr == nil && strings.TrimSpace(string(b)) == oid && !fsx.IsThere(canary), err
		}},
		{"the index", func() (bool, error) {
			_, err := run("100644 "+oid+"\tf\n", "update-index", "--index-info")
			return fsx.IsThere(filepath.Join(admin, "index")) && !fsx.IsThere(canary), err
		}},
		{"attributes", func() (bool, error) {
			out, err := run("", "check-attr", "planted", "f")
			return strings.HasSuffix(out, "unspecified"), err
		}},
		{"configuration", func() (bool, error) {
			out, err := run("", "config", "--list", "--name-only")
			return !strings.Contains(out, "planted"), err
		}},
	}
	// Without the copy of the attributes, git must not fall back to the repository's.
	if err := os.Remove(filepath.Join(r.HostDir(), "info", "attributes")); err != nil {
		return err
	}
	for _, s := range steps {
		if ok, err := s.is(); err != nil || !ok {
			return errors.Join(fmt.Errorf("%w: %s", ErrUnsafeGit, s.what), err)
		}
	}
	return nil
}
