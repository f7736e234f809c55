//go:build unix

package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// vector is a way in which files that an agent can write make git run a program. Its
// programs leave canary files whose names begin with the vector's.
type vector struct {
	name  string
	plant func(p *planter)
}

// planter plants vectors in a workspace and in the git directory that the agent
// can write.
type planter struct {
	*agent
	remote  string
	current string // the name of the vector
}

// program is a program of the current vector.
func (p *planter) program(what, then string) string { return p.h.evil(p.current+"."+what, then) }

// config sets a key of the configuration that the agent can write. It does not use git for
// that, because many vectors break git.
func (p *planter) config(key, value string) {
	p.h.t.Helper()
	how := "--add"
	if strings.HasPrefix(key, "remote.") || strings.HasPrefix(key, "gpg.") || strings.HasPrefix(key, "core.") {
		how = "--replace-all" // otherwise the first, or the last, of several would hide the others
	}
	p.h.git(p.h.top, "config", "--file", filepath.Join(p.gitDir(), "config"), how, key, value)
}

func (p *planter) inGitDir(name, text string) {
	p.h.t.Helper()
	add(p.h.t, filepath.Join(p.gitDir(), name), text)
}

// attribute gives files of the workspace an attribute.
func (p *planter) attribute(line string) {
	p.h.t.Helper()
	add(p.h.t, filepath.Join(p.dir, ".gitattributes"), line+"\n")
}

// target changes the file of the current vector, so that git has to read it.
func (p *planter) target(attributes string) {
	p.h.t.Helper()
	name := "v-" + p.current + ".dat"
	add(p.h.t, filepath.Join(p.dir, name), "changed\n")
	age(p.h.t, filepath.Join(p.dir, name), 2001)
	if attributes != "" {
		p.attribute(name + " " + attributes)
	}
}

// filter configures a filter in a file of configuration.
func (p *planter) filter(name string) string {
	clean, smudge := p.program("clean", "cat"), p.program("smudge", "cat")
	return fmt.Sprintf("[filter %q]\n\tclean = %s\n\tsmudge = %s\n", name, clean, smudge)
}

var hookNames = strings.Fields(`pre-commit post-commit commit-msg prepare-commit-msg post-checkout post-merge pre-merge-commit
	reference-transaction post-index-change pre-auto-gc pre-push post-rewrite pre-rebase applypatch-msg update post-update
	proc-receive push-to-checkout fsmonitor-watchman sendemail-validate`)

func (p *planter) hooks(dir string) {
	p.h.t.Helper()
	for _, name := range hookNames {
		must(p.h.t, os.MkdirAll(dir, 0o755))
		_ = os.Remove(filepath.Join(dir, name))
		must(p.h.t, os.Symlink(p.program(name, "exit 0"), filepath.Join(dir, name)))
	}
}

// hostile is another repository with the same objects, in which everything runs programs.
func (p *planter) hostile() string {
	dir := p.h.path("hostile-" + p.current)
	if _, err := os.Stat(dir); err == nil {
		return filepath.Join(dir, ".git")
	}
	p.h.git(p.h.top, "clone", "--quiet", "--no-checkout", "--no-local", p.dir, dir)
	p.h.git(dir, "config", "core.fsmonitor", p.program("fsmonitor", "exit 1"))
	add(p.h.t, filepath.Join(dir, ".git", "config"), p.filter("evil"))
	p.hooks(filepath.Join(dir, ".git", "hooks"))
	return filepath.Join(dir, ".git")
}

// nested is a repository in the workspace that runs programs.
func (p *planter) nested(name string) {
	dir := filepath.Join(p.dir, name)
	p.h.git(p.h.top, "init", "--quiet", dir)
	put(p.h.t, filepath.Join(dir, "f"), "f\n")
	p.h.git(dir, "add", "f")
	p.h.git(dir, "commit", "--quiet", "--message", "f")
	if p.current == "gitlink" {
		p.h.git(p.dir, "add", name)
		p.h.git(p.dir, "commit", "--quiet", "--message", "nested")
	}
	add(p.h.t, filepath.Join(dir, ".git", "config"), p.filter("sub"))
	p.h.git(dir, "config", "core.fsmonitor", p.program("fsmonitor", "exit 1"))
	put(p.h.t, filepath.Join(dir, ".git", "info", "attributes"), "* filter=sub\n")
	p.hooks(filepath.Join(dir, ".git", "hooks"))
	age(p.h.t, filepath.Join(dir, "f"), 2001)
	put(p.h.t, filepath.Join(dir, "g"), "x\n")
}

// included is a file of configuration that another one includes.
func (p *planter) included() string {
	p.target("filter=" + p.current)
	file := p.h.path("evil", p.current+".inc")
	put(p.h.t, file, p.filter(p.current))
	return file
}

// vectorSets are the vectors that can coexist, and so are planted at once. The vectors of
// the first set neither break a repository nor hide another vector.
var vectorSets = map[string][]vector{
	"configuration": {
		{"hooks", func(p *planter) { p.hooks(filepath.Join(p.gitDir(), "hooks")) }},
		{"configured-hook", func(p *planter) {
			p.config("hook.evil.command", p.program("run", "cat"))
			for _, name := range hookNames {
				p.config("hook.evil.event", name)
			}
		}},
		{"fsmonitor", func(p *planter) { p.config("core.fsmonitor", p.program("run", "exit 1")) }},
		{"filter", func(p *planter) { p.target("filter=plainly"); p.inGitDir("config", p.filter("plainly")) }},
		{"filter-required", func(p *planter) {
			p.target("filter=re.quired")
			p.inGitDir("config", p.filter("re.quired")+"\trequired = true\n")
		}},
		{"filter-capitals", func(p *planter) { p.target("filter=EviL"); p.inGitDir("config", p.filter("EviL")) }},
		{"filter-info", func(p *planter) {
			p.target("")
			p.inGitDir("config", p.filter("hidden"))
			p.inGitDir("info/attributes", "v-filter-info.dat filter=hidden diff=hidden merge=hidden\n")
		}},
		{"filter-attributesfile", func(p *planter) {
			p.target("")
			p.inGitDir("config", p.filter("far"))
			put(p.h.t, p.h.path("evil", "attributes"), "v-filter-attributesfile.dat filter=far\n")
			p.config("core.attributesFile", p.h.path("evil", "attributes"))
		}},
		{"lfs", func(p *planter) {
			p.target("filter=lfs")
			put(p.h.t, filepath.Join(p.dir, "git-lfs"), read(p.h.t, p.program("run", "cat")))
			must(p.h.t, os.Chmod(filepath.Join(p.dir, "git-lfs"), 0o755))
			p.config("filter.lfs.clean", "git-lfs clean -- %f")
		}},
		{"diff-command", func(p *planter) { p.target("diff=cmd"); p.config("diff.cmd.command", p.program("run", "true")) }},
		{"diff-textconv", func(p *planter) {
			p.target("diff=conv")
			p.config("diff.conv.textconv", p.program("run", "cat $1"))
			p.config("diff.conv.cachetextconv", "true")
		}},
		{"diff-external", func(p *planter) { p.config("diff.external", p.program("run", "true")) }},
		{"merge-driver", func(p *planter) {
			p.inGitDir("info/attributes", "f0.txt merge=drv\n")
			p.config("merge.drv.driver", p.program("run", "true")+" %O %A %B")
		}},
		{"merge-default", func(p *planter) {
			p.config("merge.default", "dd")
			p.config("merge.dd.driver", p.program("run", "true")+" %O %A %B")
		}},
		{"gpg", func(p *planter) {
			p.config("commit.gpgSign", "true")
			p.config("log.showSignature", "true")
			p.config("gpg.program", p.program("run", "exit 1"))
		}},
		{"include", func(p *planter) { p.config("include.path", p.included()) }},
		{"include-gitdir", func(p *planter) { p.config("includeIf.gitdir:**.path", p.included()) }},
		{"include-onbranch", func(p *planter) { p.config("includeIf.onbranch:**.path", p.included()) }},
		{"include-hasconfig", func(p *planter) { p.config("includeIf.hasconfig:remote.*.url:**.path", p.included()) }},
		{"config-worktree", func(p *planter) {
			p.config("core.repositoryFormatVersion", "1")
			p.config("extensions.worktreeConfig", "true")
			text := read(p.h.t, p.included())
			for _, dir := range []string{p.admin(), p.gitDir()} {
				put(p.h.t, filepath.Join(dir, "config.worktree"), text)
			}
		}},
		{"upload", func(p *planter) {
			p.config("remote.origin.uploadpack", p.program("upload", "exit 1"))
			p.config("remote.origin.receivepack", p.program("receive", "exit 1"))
			p.config("uploadpack.packObjectsHook", p.program("hook", "exit 1"))
		}},
		{"gc", func(p *planter) { p.config("gc.recentObjectsHook", p.program("run", "exit 1")) }},
		{"alternates", func(p *planter) {
			p.config("core.alternateRefsCommand", p.program("run", "true"))
			if p.h.mode == worktree {
				p.inGitDir("objects/info/alternates", filepath.Join(p.remote, "objects")+"\n")
			}
		}},
		{"pager", func(p *planter) {
			for _, key := range []string{"core.pager", "pager.diff", "pager.log", "core.editor", "sequence.editor", "interactive.diffFilter"} {
				p.config(key, p.program("run", "cat"))
			}
		}},
		{"alias", func(p *planter) {
			for verb := range strings.FieldsSeq("status reset cat-file update-index merge-tree diff-tree write-tree config fetch rev-parse for-each-ref") {
				p.config("alias."+verb, "!"+p.program("run", "true"))
			}
		}},
		{"trailer", func(p *planter) {
			p.config("trailer.evil.key", "E")
			p.config("trailer.evil.command", p.program("run", "cat"))
			p.config("trailer.evil.cmd", p.program("cmd", "cat"))
		}},
		{"untracked-nested", func(p *planter) { p.nested("untracked-nested") }},
		{"buried", func(p *planter) {
			dir := filepath.Join(p.dir, "buried")
			p.h.git(p.h.top, "init", "--quiet", "--bare", dir)
			for key, value := range map[string]string{
				"core.fsmonitor": p.program("run", "exit 1"), "core.bare": "false", "core.worktree": "..",
			} {
				p.h.git(p.h.top, "config", "--file", filepath.Join(dir, "config"), key, value)
			}
		}},
		{"git-in-path", func(p *planter) {
			put(p.h.t, filepath.Join(p.dir, "git"), read(p.h.t, p.program("run", "exit 1")))
			must(p.h.t, os.Chmod(filepath.Join(p.dir, "git"), 0o755))
		}},
	},
	"other hooks": {
		{"gitlink", func(p *planter) { p.nested("gitlink") }},
		{"hookspath", func(p *planter) {
			p.hooks(p.h.path("evil", "hookspath"))
			p.config("core.hooksPath", p.h.path("evil", "hookspath"))
		}},
		{"gpg-ssh", func(p *planter) {
			p.config("commit.gpgSign", "true")
			p.config("gpg.format", "ssh")
			p.config("gpg.ssh.program", p.program("run", "exit 1"))
			p.config("gpg.ssh.defaultKeyCommand", p.program("key", "exit 1"))
		}},
		{"ssh", func(p *planter) {
			p.config("core.sshCommand", p.program("run", "exit 1"))
			p.config("remote.origin.url", "ssh://localhost:1/none")
		}},
		{"submodule-update", func(p *planter) {
			put(p.h.t, filepath.Join(p.dir, ".gitmodules"), "[submodule \"gitlink\"]\n\tpath = gitlink\n\turl = "+p.remote+"\n\tupdate = !"+p.program("file", "true")+"\n")
			p.config("submodule.gitlink.update", "!"+p.program("run", "true"))
			for key, value := range map[string]string{
				"submodule.recurse": "true", "diff.ignoreSubmodules": "none", "status.submoduleSummary": "true", "diff.submodule": "log",
				"fetch.recurseSubmodules": "true", "submodule.gitlink.active": "true",
			} {
				p.config(key, value)
			}
		}},
	},
	"other remotes": {
		{"gpg-x509", func(p *planter) {
			p.config("commit.gpgSign", "true")
			p.config("gpg.format", "x509")
			p.config("gpg.x509.program", p.program("run", "exit 1"))
		}},
		{"ext", func(p *planter) {
			p.config("remote.origin.url", "ext::"+p.program("run", "exit 1"))
			p.config("protocol.ext.allow", "always")
		}},
		{"vcs", func(p *planter) {
			p.config("remote.other.vcs", "ext")
			p.config("remote.other.url", p.program("run", "exit 1"))
		}},
		{"credential", func(p *planter) {
			p.config("credential.helper", "!"+p.program("run", "true"))
			p.config("core.askPass", p.program("ask", "echo x"))
			p.config("remote.third.url", "https://127.0.0.1:1/x")
		}},
		{"redirected", func(p *planter) { // another worktree; the test watches a victim beside the canaries
			p.config("core.repositoryFormatVersion", "1")
			p.config("extensions.worktreeConfig", "true")
			for _, dir := range []string{p.admin(), p.gitDir()} {
				put(p.h.t, filepath.Join(dir, "config.worktree"), "[core]\n\tworktree = "+p.h.path("victim")+"\n")
			}
		}},
	},
	"process": {{"filter-process", func(p *planter) {
		p.target("filter=proc")
		p.config("filter.proc.process", p.program("process", "exit 1"))
	}}},
	"promisor": {{"promisor", func(p *planter) {
		p.config("core.repositoryFormatVersion", "1")
		p.config("extensions.partialClone", "evil")
		p.config("remote.evil.url", p.remote)
		p.config("remote.evil.promisor", "true")
		p.config("remote.evil.uploadpack", p.program("run", "exit 1"))
	}}},
	"history": {{"history", func(p *planter) {
		put(p.h.t, filepath.Join(p.gitDir(), "info", "grafts"), "")
		put(p.h.t, filepath.Join(p.gitDir(), "shallow"), p.git("rev-parse", "HEAD")+"\n")
		p.h.run(p.dir, "git", "replace", "--force", "HEAD", "HEAD~1")
		p.hooks(filepath.Join(p.gitDir(), "hooks"))
	}}, {"insteadof", func(p *planter) {
		p.config("protocol.ext.allow", "always")
		p.config("url.ext::"+p.program("run", "exit 1")+".insteadOf", p.remote)
	}}},
	"git file": {{"git-file", func(p *planter) {
		to := p.hostile()
		must(p.h.t, os.RemoveAll(filepath.Join(p.dir, ".git")))
		put(p.h.t, filepath.Join(p.dir, ".git"), "gitdir: "+to+"\n")
	}}},
	"commondir": {{"commondir", func(p *planter) { put(p.h.t, filepath.Join(p.admin(), "commondir"), p.hostile()+"\n") }}},
	"gitdir":    {{"gitdir", func(p *planter) { put(p.h.t, filepath.Join(p.admin(), "gitdir"), p.hostile()+"\n") }}},
	"objects": {{"objects", func(p *planter) {
		put(p.h.t, filepath.Join(p.gitDir(), "objects", "info", "alternates"), filepath.Join(p.hostile(), "objects")+"\n")
	}}},
}
