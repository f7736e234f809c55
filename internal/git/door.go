package git

import (
	"os"
	"strconv"
	"strings"
)

// door says which repository and which files a call concerns.
type door struct {
	repo   *Repository // nil: no repository, as for init and clone
	gitDir string      // with repo: default its common directory
	work   string      // the work tree, for calls that need files
	cwd    string      // without repo
}

func (d door) args() []string {
	if d.repo == nil {
		return nil
	}
	gitDir := d.gitDir
	if gitDir == "" {
		gitDir = d.repo.CommonDir
	}
	args := []string{"--git-dir=" + gitDir}
	if d.work != "" {
		args = append(args, "--work-tree="+d.work)
	}
	return args
}

func (d door) dir() string {
	switch {
	case d.work != "":
		return d.work
	case d.repo != nil:
		return d.repo.CommonDir
	default:
		return d.cwd
	}
}

// hookEvents are switched off one by one for versions of git in which hooks
// can be configured without a hooks directory.
var hookEvents = strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit
	pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge
	pre-push pre-receive update proc-receive post-receive post-update reference-transaction
	push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman post-index-change`)

// configHooksSince is the first git with hooks in its configuration.
var configHooksSince = Version{2, 54, 0}

// hardening is the configuration that no file can override.
func (g *Git) hardening(c call) [][2]string {
	kv := [][2]string{
		{"core.hooksPath", os.DevNull},
		{"core.fsmonitor", "false"},
		{"core.filesRefLockTimeout", "10000"},
		{"core.packedRefsTimeout", "10000"},
		{"safe.bareRepository", "explicit"},
		{"diff.external", ""},
		{"log.showSignature", "false"},
		{"core.sshCommand", "ssh"},
		{"protocol.ext.allow", "never"},
		{"submodule.recurse", "false"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"advice.detachedHead", "false"},
	}
	if !c.network {
		kv = append(kv, [2]string{"credential.helper", ""})
	}
	if v, err := g.version(); err == nil && !v.Less(configHooksSince) {
		for _, event := range hookEvents {
			kv = append(kv, [2]string{"hook." + event + ".enabled", "false"})
		}
	}
	return kv
}

// hardened is the environment of one call.
func (g *Git) hardened(d door, c call) ([]string, error) {
	env := append(g.baseEnv(),
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_ALLOW_PROTOCOL=file:https:ssh",
		"GIT_EDITOR=false",
		"GIT_PAGER=cat",
	)
	if !c.locks {
		env = append(env, "GIT_OPTIONAL_LOCKS=0")
	}
	kv := g.hardening(c)
	global := os.DevNull
	if d.repo != nil {
		env = append(env, "GIT_COMMON_DIR="+d.repo.CommonDir)
		user, err := d.repo.userConfig()
		if err != nil {
			return nil, err
		}
		global = user.file
		kv = append(kv, user.closed...)
	}
	env = append(env, "GIT_CONFIG_GLOBAL="+global, "GIT_CONFIG_COUNT="+strconv.Itoa(len(kv)))
	for i, pair := range kv {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+pair[0], "GIT_CONFIG_VALUE_"+n+"="+pair[1])
	}
	return env, nil
}
