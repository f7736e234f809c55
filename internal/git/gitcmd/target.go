package gitcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/writers"
)

// Target says which repository and which files a call is about.
type Target struct {
	Repo       *Repository           // nil: no repository, as for init and clone
	GitDir     string                // with Repo; default: its common directory
	TempGitDir string                // the temporary git directory that git is given instead; GitDir still decides about settings
	Work       string                // the work tree, for calls that need files
	Identities func() []fsx.Identity // the identities of the work tree's directory; nil: not known
	cwd        string                // default: the work tree, or the host directory
}

// gitDirectory returns the git directory that git is given.
func (d Target) gitDirectory() string { return cmp.Or(d.TempGitDir, d.checkoutDir()) }

// checkoutDir returns the git directory of the checkout.
func (d Target) checkoutDir() string { return cmp.Or(d.GitDir, d.Repo.CommonDir) }

// args returns the arguments that name the repository and the work tree. at is the open
// work tree in which git starts, or nil.
func (d Target) args(at *os.File) []string {
	if d.Repo == nil {
		return nil
	}
	args := []string{"--git-dir=" + d.gitDirectory()}
	switch {
	case at != nil:
		args = append(args, "--work-tree=.")
	case d.Work != "":
		args = append(args, "--work-tree="+d.Work)
	}
	return args
}

// openAnchor opens the work tree of a call that writes files there, if its identity is
// known. Git starts in the open directory and calls it ".", so an agent that replaces part
// of the path by a symbolic link does not redirect git.
func (d Target) openAnchor(c Call) (*os.File, error) {
	if d.Work == "" || d.Identities == nil || d.cwd != "" || !c.writesFiles() || runtime.GOOS != "linux" {
		return nil, nil
	}
	known := d.Identities()
	if len(known) == 0 {
		return nil, nil
	}
	dir, err := fsx.OpenDir(d.Work)
	if err != nil {
		return nil, err
	}
	id, err := dir.Identity()
	if err == nil && !slices.Contains(known, id) {
		err = &os.PathError{Op: "open", Path: d.Work, Err: fsx.ErrOther}
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir.File(), nil
}

// Dir returns the directory in which git starts.
func (d Target) Dir() string {
	switch {
	case d.cwd != "":
		return d.cwd
	case d.Work != "":
		return d.Work
	case d.Repo != nil:
		return d.Repo.HostDir() // no agent can write attributes there
	default:
		return ""
	}
}

// ErrForeignAdmin says that an admin directory names another repository than the one that
// it is in.
var ErrForeignAdmin = errors.New("the worktree's admin directory names another repository")

// checkGitDir fails unless a git directory belongs to its repository, and the files that
// git opens first are regular files: git takes refs from where commondir says.
func (d Target) checkGitDir() error {
	dir, common := d.gitDirectory(), d.Repo.CommonDir
	for _, file := range []string{
		filepath.Join(dir, "HEAD"), filepath.Join(dir, "index"), filepath.Join(common, "packed-refs"),
		filepath.Join(common, "objects", "info", "alternates"),
	} {
		if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s: %w", file, fsx.ErrNotPlain)
		}
	}
	if fsx.IsThere(filepath.Join(common, "objects", "info", "alternates")) {
		if err := d.Repo.checkAlternates(); err != nil {
			return err
		}
	}
	if dir == common {
		if fsx.IsThere(filepath.Join(common, "commondir")) {
			return fmt.Errorf("%s: %w", dir, ErrForeignAdmin)
		}
		return nil
	}
	if !gitdir.LeadsTo(dir, common) {
		return fmt.Errorf("%s: %w", dir, ErrForeignAdmin)
	}
	return nil
}

// hookEvents are switched off one by one for versions of git that run hooks from
// configuration.
var hookEvents = strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit
	pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge
	pre-push pre-receive update proc-receive post-receive post-update reference-transaction
	push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman post-index-change`)

// configHooksSince is the first version of git that runs hooks from configuration.
var configHooksSince = gitdir.Version{Major: 2, Minor: 54, Patch: 0}

// hardenedConfig returns the settings that no file can override.
func (g *Git) hardenedConfig() [][2]string {
	kv := [][2]string{
		{"core.hooksPath", os.DevNull},
		{"core.fsmonitor", "false"},
		{"core.fsync", "all"},
		{"core.filesRefLockTimeout", "10000"},
		{"core.packedRefsTimeout", "10000"},
		{"safe.bareRepository", "explicit"},
		{"diff.external", ""},
		{"log.showSignature", "false"},
		{"core.alternateRefsCommand", "true"},
		{"protocol.ext.allow", "never"},
		{"submodule.recurse", "false"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"advice.detachedHead", "false"},
		// Files that describe objects may be forged.
		{"core.commitGraph", "false"},
		{"core.multiPackIndex", "false"},
		// So may the table by which several threads would read an index, and no git verifies it.
		{"index.threads", "1"},
	}
	if v, err := g.version(); err == nil && !v.Less(configHooksSince) {
		for _, event := range hookEvents {
			kv = append(kv, [2]string{"hook." + event + ".enabled", "false"})
		}
	}
	return kv
}

// allowedProtocols is the value of GIT_ALLOW_PROTOCOL for a call: none, unless the call
// uses the network or the repository is a partial clone, whose missing objects git may
// fetch.
func allowedProtocols(d Target, c Call) string {
	if d.Repo != nil && !c.Network && !d.Repo.Format.Partial {
		return "none"
	}
	return "file:https:ssh"
}

// HardenedEnviron returns the environment of one call.
func (g *Git) HardenedEnviron(ctx context.Context, d Target, c Call) ([]string, error) {
	env := append(g.baseEnv(),
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_GRAFT_FILE="+writers.NoGrafts,
		"GIT_ALLOW_PROTOCOL="+allowedProtocols(d, c),
		"GIT_EDITOR=false",
		"GIT_PAGER=cat",
	)
	if !c.Locks {
		env = append(env, "GIT_OPTIONAL_LOCKS=0")
	}
	kv := g.hardenedConfig()
	global, access := os.DevNull, offline
	if d.Repo != nil {
		if err := d.checkGitDir(); err != nil {
			return nil, err
		}
		s, err := d.Repo.SettingsOf(ctx, d.checkoutDir())
		if err != nil {
			return nil, err
		}
		own, err := d.Repo.CheckoutConfig(s.host, d.checkoutDir())
		if err != nil {
			return nil, err
		}
		env = append(env, "GIT_COMMON_DIR="+d.Repo.HostDir(), "GIT_OBJECT_DIRECTORY="+d.Repo.CommonPath("objects"))
		if !d.Repo.Format.Partial {
			env = append(env, "GIT_NO_LAZY_FETCH=1")
		}
		global = s.File
		kv = slices.Concat(kv, s.filters, own)
		if !c.asks {
			kv = append(kv, g.reflogIdentity(s)...)
		}
		var credentials []string
		access, credentials = g.access(s, d, c)
		env = append(env, credentials...)
		if filepath.Dir(d.gitDirectory()) == d.Repo.IsolatedDir() {
			kv = append(kv, oneFileIndex...)
		}
	}
	kv = slices.Concat(kv, c.Config, access)
	env = append(env, "GIT_CONFIG_GLOBAL="+global, "GIT_CONFIG_COUNT="+strconv.Itoa(len(kv)))
	for i, pair := range kv {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+pair[0], "GIT_CONFIG_VALUE_"+n+"="+pair[1])
	}
	return env, nil
}

// oneFileIndex keeps the index of an isolated checkout, which Croft reads and writes itself,
// in one file with an entry for each path.
var oneFileIndex = [][2]string{{"core.splitIndex", "false"}, {"index.sparse", "false"}}

// checkAlternates fails unless the files that git opens first in the repository's alternates
// are regular files: git would wait for a pipe.
func (r *Repository) checkAlternates() error {
	dirs, err := gitdir.AlternatesOf(filepath.Join(r.CommonDir, "objects"))
	if errors.Is(err, fsx.ErrNotRegular) {
		return fmt.Errorf("%w: %w", err, fsx.ErrNotPlain)
	}
	if err != nil {
		return err
	}
	for _, dir := range dirs[1:] {
		entries, err := os.ReadDir(filepath.Join(dir, "pack"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if blocks(e.Type()) {
				return &PipeError{Path: filepath.Join(dir, "pack", e.Name()), Mode: e.Type()}
			}
		}
	}
	return nil
}
