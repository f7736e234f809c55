package git

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
)

// door says which repository and which files a call concerns.
type door struct {
	repo   *Repository           // nil: no repository, as for init and clone
	gitDir string                // with repo: default its common directory
	stand  string                // the git directory that git is given instead; what gitDir says of settings counts
	work   string                // the work tree, for calls that need files
	made   func() []fsx.Identity // which directory the work tree is, as far as that is known; nil: it is not
	cwd    string                // default: the work tree, or the host directory
}

// gitDirectory is the git directory that git is given.
func (d door) gitDirectory() string { return cmp.Or(d.stand, d.checkoutDir()) }

// checkoutDir is the git directory of the checkout.
func (d door) checkoutDir() string { return cmp.Or(d.gitDir, d.repo.CommonDir) }

// args are the arguments that name the repository and the work tree. A git that
// starts in the open work tree is told so.
func (d door) args(at *os.File) []string {
	if d.repo == nil {
		return nil
	}
	args := []string{"--git-dir=" + d.gitDirectory()}
	switch {
	case at != nil:
		args = append(args, "--work-tree=.")
	case d.work != "":
		args = append(args, "--work-tree="+d.work)
	}
	return args
}

// openAnchor opens the work tree of a call that writes files there, if it is known
// which directory that is. Git starts in the open directory and calls it ".": an
// agent that exchanges a part of the path for a link does not lead git elsewhere.
func (d door) openAnchor(c call) (*os.File, error) {
	if d.work == "" || d.made == nil || d.cwd != "" || !c.writesFiles() || runtime.GOOS != "linux" {
		return nil, nil
	}
	known := d.made()
	if len(known) == 0 {
		return nil, nil
	}
	dir, err := fsx.OpenDir(d.work)
	if err != nil {
		return nil, err
	}
	id, err := dir.Identity()
	if err == nil && !slices.Contains(known, id) {
		err = &os.PathError{Op: "open", Path: d.work, Err: fsx.ErrOther}
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir.File(), nil
}

func (d door) dir() string {
	switch {
	case d.cwd != "":
		return d.cwd
	case d.work != "":
		return d.work
	case d.repo != nil:
		return d.repo.hostDir() // nobody else can write attributes there
	default:
		return ""
	}
}

// ErrForeignAdmin says that an admin directory does not belong to the
// repository that it lies in.
var ErrForeignAdmin = errors.New("the worktree's admin directory names another repository")

// checkGitDir makes sure that a git directory leads to its repository, and that what
// git opens first are files. Git takes refs from where the file says.
func (d door) checkGitDir() error {
	dir, common := d.gitDirectory(), d.repo.CommonDir
	for _, file := range []string{
		filepath.Join(dir, "HEAD"), filepath.Join(dir, "index"), filepath.Join(common, "packed-refs"),
		filepath.Join(common, "objects", "info", "alternates"),
	} {
		if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s: %w", file, fsx.ErrNotPlain)
		}
	}
	if fsx.IsThere(filepath.Join(common, "objects", "info", "alternates")) {
		if err := d.repo.checkBorrowed(); err != nil {
			return err
		}
	}
	if dir == common {
		if fsx.IsThere(filepath.Join(common, "commondir")) {
			return fmt.Errorf("%s: %w", dir, ErrForeignAdmin)
		}
		return nil
	}
	if leads, err := readCommonDir(dir); err != nil || leads != common {
		return fmt.Errorf("%s: %w", dir, ErrForeignAdmin)
	}
	return nil
}

// hookEvents are switched off one by one for versions of git in which hooks
// can be configured without a hooks directory.
var hookEvents = strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit
	pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge
	pre-push pre-receive update proc-receive post-receive post-update reference-transaction
	push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman post-index-change`)

// configHooksSince is the first git with hooks in its configuration.
var configHooksSince = Version{2, 54, 0}

// hardenedConfig is the configuration that no file can override.
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
		// What files beside the objects say of them may be something else.
		{"core.commitGraph", "false"},
		{"core.multiPackIndex", "false"},
	}
	if v, err := g.version(); err == nil && !v.Less(configHooksSince) {
		for _, event := range hookEvents {
			kv = append(kv, [2]string{"hook." + event + ".enabled", "false"})
		}
	}
	return kv
}

// protocols are those by which git may reach another repository. A call that has
// no business with the network may only fetch what a partial clone lacks.
func protocols(d door, c call) string {
	if d.repo != nil && !c.network && !d.repo.format.partial {
		return "none"
	}
	return "file:https:ssh"
}

// hardenedEnviron is the environment of one call.
func (g *Git) hardenedEnviron(ctx context.Context, d door, c call) ([]string, error) {
	env := append(g.baseEnv(),
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_GRAFT_FILE="+noGrafts,
		"GIT_ALLOW_PROTOCOL="+protocols(d, c),
		"GIT_EDITOR=false",
		"GIT_PAGER=cat",
	)
	if !c.locks {
		env = append(env, "GIT_OPTIONAL_LOCKS=0")
	}
	if c.network {
		env = append(env, g.credentialEnviron()...)
	}
	kv := g.hardenedConfig()
	global, access := os.DevNull, offline
	if d.repo != nil {
		if err := d.checkGitDir(); err != nil {
			return nil, err
		}
		s, err := d.repo.settingsOf(ctx, d.checkoutDir())
		if err != nil {
			return nil, err
		}
		own, err := d.repo.checkoutConfig(s.host, d.checkoutDir())
		if err != nil {
			return nil, err
		}
		env = append(env, "GIT_COMMON_DIR="+d.repo.hostDir(), "GIT_OBJECT_DIRECTORY="+d.repo.commonPath("objects"))
		if !d.repo.format.partial {
			env = append(env, "GIT_NO_LAZY_FETCH=1")
		}
		global = s.file
		kv = slices.Concat(kv, s.filters, own)
		if !c.asks {
			kv = append(kv, g.reflogIdentity(s)...)
		}
		if c.network {
			access = s.credentials
		}
		if filepath.Dir(d.gitDirectory()) == d.repo.isolatedDir() {
			kv = append(kv, wholeIndex...)
		}
	}
	kv = slices.Concat(kv, c.config, access)
	env = append(env, "GIT_CONFIG_GLOBAL="+global, "GIT_CONFIG_COUNT="+strconv.Itoa(len(kv)))
	for i, pair := range kv {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+pair[0], "GIT_CONFIG_VALUE_"+n+"="+pair[1])
	}
	return env, nil
}

// wholeIndex keeps the index of an isolated checkout, which is read and written
// here too, in one file with an entry for each path.
var wholeIndex = [][2]string{{"core.splitIndex", "false"}, {"index.sparse", "false"}}

// noGrafts is a file that cannot exist. Grafts are false parents, which anyone
// who can write the repository could give a commit.
const noGrafts = os.DevNull + "/none"
