package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// victim is a repository in which an agent wants the next git call to run a program: a main
// checkout, a linked worktree "wt" that Croft made, a remote, and a directory in which
// every program that runs leaves a file.
type victim struct {
	*gittest.Repo
	repo     *Repository
	wt       *Worktree
	canaries string
	before   string // the commit before the last one
}

func newVictim(t *testing.T) *victim {
	t.Helper()
	r := gittest.New(t)
	v := &victim{Repo: r, canaries: filepath.Join(r.Home, "canaries")}
	if err := os.Mkdir(v.canaries, 0o755); err != nil {
		t.Fatal(err)
	}
	v.before = r.Git("rev-parse", "HEAD")
	r.Git("clone", "--quiet", "--bare", r.Dir, r.Beside("remote.git"))
	r.Git("remote", "add", "origin", r.Beside("remote.git"))
	// Every agent that works in a checkout can commit attributes.
	r.Write(".gitattributes", "*.txt filter=evil diff=evil merge=evil\n")
	r.Commit("attributes")
	v.repo = open(t, r)
	v.wt = addWorktree(t, r, v.repo, "wt")
	return v
}

// evil is a program that leaves a canary file, and then does what git asked it for.
func (v *victim) evil(t *testing.T, name, then string) string {
	t.Helper()
	return script(t, filepath.Join(v.Home, "evil", name), "touch '"+filepath.Join(v.canaries, name)+"'\n"+then)
}

func (v *victim) sang(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(v.canaries)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if err := os.Remove(filepath.Join(v.canaries, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// disturb makes git read the files: every file of the worktree gets a new time, one has new
// contents, one is added.
func (v *victim) disturb(t *testing.T) {
	t.Helper()
	gittest.WriteFile(t, filepath.Join(v.wt.Path, "src/main.txt"), "one\nTWO\nthree\n")
	gittest.WriteFile(t, filepath.Join(v.wt.Path, "README.md"), "# app\n")
	gittest.WriteFile(t, filepath.Join(v.wt.Path, "new.txt"), "new\n")
}

var plantedHooks = strings.Fields(`pre-commit post-commit post-checkout post-merge reference-transaction
	post-index-change pre-auto-gc post-rewrite`)

// hooks writes hooks to a directory.
func (v *victim) hooks(t *testing.T, dir string) {
	t.Helper()
	for _, h := range plantedHooks {
		script(t, filepath.Join(dir, h), "touch '"+filepath.Join(v.canaries, h)+"'")
	}
}

// vectors are the ways in which a repository's contents and configuration make git run a
// program. Each function plants one.
var vectors = map[string]func(t *testing.T, v *victim){
	"hooks": func(t *testing.T, v *victim) { v.hooks(t, filepath.Join(v.Dir, ".git", "hooks")) },
	"core.hooksPath": func(t *testing.T, v *victim) {
		v.hooks(t, v.Home+"/hp")
		v.Git("config", "core.hooksPath", v.Home+"/hp")
	},
	"core.fsmonitor":  func(t *testing.T, v *victim) { v.Git("config", "core.fsmonitor", v.evil(t, "fsmonitor", "exit 1")) },
	"filter.clean":    func(t *testing.T, v *victim) { v.Git("config", "filter.evil.clean", v.evil(t, "clean", "cat")) },
	"filter.smudge":   func(t *testing.T, v *victim) { v.Git("config", "filter.evil.smudge", v.evil(t, "smudge", "cat")) },
	"filter.process":  func(t *testing.T, v *victim) { v.Git("config", "filter.evil.process", v.evil(t, "process", "exit 1")) },
	"filter with dot": func(t *testing.T, v *victim) { v.attribute(t, "* filter=e.v.il"); v.filter(t, "e.v.il") },
	"filter with capitals": func(t *testing.T, v *victim) {
		v.attribute(t, "* filter=EviL")
		v.filter(t, "EviL")
	},
	"filter in info/attributes": func(t *testing.T, v *victim) { v.attribute(t, "* filter=hidden"); v.filter(t, "hidden") },
	"filter called lfs":         func(t *testing.T, v *victim) { v.attribute(t, "* filter=lfs"); v.filter(t, "lfs") },
	"filter by core.attributesFile": func(t *testing.T, v *victim) {
		gittest.WriteFile(t, v.Home+"/attributes", "* filter=far\n")
		v.Git("config", "core.attributesFile", v.Home+"/attributes")
		v.filter(t, "far")
	},
	"diff.external": func(t *testing.T, v *victim) { v.Git("config", "diff.external", v.evil(t, "external", "true")) },
	"diff.textconv": func(t *testing.T, v *victim) { v.Git("config", "diff.evil.textconv", v.evil(t, "textconv", "cat $1")) },
	"diff.command":  func(t *testing.T, v *victim) { v.Git("config", "diff.evil.command", v.evil(t, "command", "true")) },
	"merge.driver": func(t *testing.T, v *victim) {
		v.Git("config", "merge.evil.driver", v.evil(t, "driver", "true")+" %O %A %B")
	},
	"gpg": func(t *testing.T, v *victim) {
		v.Git("config", "commit.gpgSign", "true")
		v.Git("config", "log.showSignature", "true")
		v.Git("config", "gpg.program", v.evil(t, "gpg", "exit 1"))
	},
	"include.path": func(t *testing.T, v *victim) {
		gittest.WriteFile(t, v.Home+"/inc", v.payload(t, "include"))
		v.Git("config", "include.path", v.Home+"/inc")
	},
	"includeIf.gitdir": func(t *testing.T, v *victim) {
		gittest.WriteFile(t, v.Home+"/inc", v.payload(t, "gitdir"))
		v.Git("config", "includeIf.gitdir:**/worktrees/**.path", v.Home+"/inc")
	},
	"includeIf.onbranch": func(t *testing.T, v *victim) {
		gittest.WriteFile(t, v.Home+"/inc", v.payload(t, "onbranch"))
		v.Git("config", "includeIf.onbranch:wt.path", v.Home+"/inc")
	},
	"config.worktree": func(t *testing.T, v *victim) {
		v.Git("config", "extensions.worktreeConfig", "true")
		gittest.WriteFile(t, filepath.Join(v.wt.Admin, "config.worktree"), v.payload(t, "worktree"))
	},
	"core.sshCommand": func(t *testing.T, v *victim) {
		v.Git("config", "core.sshCommand", v.evil(t, "ssh", "exit 1"))
		v.Git("config", "remote.origin.url", "ssh://localhost:1/none")
	},
	"remote.uploadpack": func(t *testing.T, v *victim) {
		v.Git("config", "remote.origin.uploadpack", v.evil(t, "uploadpack", "exit 1"))
	},
	"remote.vcs": func(t *testing.T, v *victim) {
		v.Git("config", "remote.origin.vcs", "ext")
		v.Git("config", "remote.origin.url", v.evil(t, "vcs", "exit 1"))
		v.Git("config", "protocol.ext.allow", "always")
	},
	"ext::": func(t *testing.T, v *victim) {
		v.Git("config", "remote.origin.url", "ext::"+v.evil(t, "ext", "exit 1"))
		v.Git("config", "protocol.ext.allow", "always")
	},
	"promisor": func(t *testing.T, v *victim) { // an object that is missing is fetched, by whatever call
		v.Git("config", "core.repositoryFormatVersion", "1")
		v.Git("config", "extensions.partialClone", "evil")
		v.Git("config", "remote.evil.url", v.Beside("remote.git"))
		v.Git("config", "remote.evil.promisor", "true")
		v.Git("config", "remote.evil.uploadpack", v.evil(t, "promisor", "exit 1"))
	},
	"core.alternateRefsCommand": func(t *testing.T, v *victim) {
		gittest.WriteFile(t, filepath.Join(v.Dir, ".git/objects/info/alternates"), filepath.Join(v.Beside("remote.git"), "objects")+"\n")
		v.Git("config", "core.alternateRefsCommand", v.evil(t, "alternate", "true"))
	},
	"credential.helper": func(t *testing.T, v *victim) {
		v.Git("config", "credential.helper", v.evil(t, "helper", "true"))
		v.Git("config", "credential.https://localhost:1.helper", v.evil(t, "helper-url", "true"))
		v.Git("config", "core.askPass", v.evil(t, "askpass", "echo x"))
		v.Git("config", "remote.origin.url", "https://localhost:1/none")
	},
	"pager and editor": func(t *testing.T, v *victim) {
		for _, key := range []string{"core.pager", "core.editor", "sequence.editor", "pager.status"} {
			v.Git("config", key, v.evil(t, key, "cat"))
		}
	},
	"alias": func(t *testing.T, v *victim) {
		for _, verb := range []string{"status", "reset", "config", "cat-file", "fetch"} {
			v.Git("config", "alias."+verb, "!"+v.evil(t, verb, "true"))
		}
	},
	"configured hook": func(t *testing.T, v *victim) {
		v.Git("config", "hook.evil.command", v.evil(t, "hook", "true"))
		for _, h := range plantedHooks {
			v.Git("config", "--add", "hook.evil.event", h)
		}
	},
	".git file swapped": func(t *testing.T, v *victim) {
		gittest.WriteFile(t, filepath.Join(v.wt.Path, ".git"), "gitdir: "+v.hostile(t)+"/.git\n")
	},
	"commondir rewritten": func(t *testing.T, v *victim) {
		gittest.WriteFile(t, filepath.Join(v.wt.Admin, "commondir"), v.hostile(t)+"/.git\n")
	},
	"buried bare repository": func(t *testing.T, v *victim) {
		dir := filepath.Join(v.wt.Path, "buried")
		v.Git("init", "--quiet", "--bare", dir)
		v.Git("--git-dir="+dir, "--work-tree="+v.wt.Path, "-c", "core.bare=false", "add", filepath.Join(v.wt.Path, "README.md"))
		v.Git("--git-dir="+dir, "config", "core.fsmonitor", v.evil(t, "buried", "exit 1"))
		v.Git("--git-dir="+dir, "config", "core.bare", "false")
		v.Git("--git-dir="+dir, "config", "core.worktree", "..")
	},
	"submodule with a filter": func(t *testing.T, v *victim) {
		dir := v.nested(t)
		v.GitIn(dir, "config", "filter.sub.clean", v.evil(t, "subfilter", "cat"))
		gittest.WriteFile(t, filepath.Join(dir, ".git/info/attributes"), "* filter=sub\n")
	},
	"submodule with fsmonitor and hooks": func(t *testing.T, v *victim) {
		dir := v.nested(t)
		v.GitIn(dir, "config", "core.fsmonitor", v.evil(t, "subfsmonitor", "exit 1"))
		v.hooks(t, filepath.Join(dir, ".git/hooks"))
	},
}

// payload is configuration that runs programs in several ways.
func (v *victim) payload(t *testing.T, name string) string {
	t.Helper()
	return "[core]\n\tfsmonitor = " + v.evil(t, name+"-fsmonitor", "exit 1") +
		"\n[filter \"evil\"]\n\tclean = " + v.evil(t, name+"-clean", "cat") +
		"\n\tsmudge = " + v.evil(t, name+"-smudge", "cat") + "\n"
}

func (v *victim) filter(t *testing.T, name string) {
	t.Helper()
	v.Git("config", "filter."+name+".clean", v.evil(t, "clean-"+name, "cat"))
	v.Git("config", "filter."+name+".smudge", v.evil(t, "smudge-"+name, "cat"))
}

func (v *victim) attribute(t *testing.T, line string) {
	t.Helper()
	gittest.WriteFile(t, filepath.Join(v.Dir, ".git/info/attributes"), line+"\n")
}

// hostile makes another repository, with the same objects and with everything that runs
// programs.
func (v *victim) hostile(t *testing.T) string {
	t.Helper()
	dir := v.Beside("hostile")
	v.Git("clone", "--quiet", "--no-checkout", v.Dir, dir)
	v.GitIn(dir, "config", "core.fsmonitor", v.evil(t, "hostile-fsmonitor", "exit 1"))
	v.hooks(t, filepath.Join(dir, ".git/hooks"))
	v.GitIn(dir, "config", "filter.evil.clean", v.evil(t, "hostile-clean", "cat"))
	return dir
}

// nested makes a repository in the worktree and commits it as a submodule.
func (v *victim) nested(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(v.wt.Path, "nested")
	v.Git("init", "--quiet", dir)
	gittest.WriteFile(t, filepath.Join(dir, "f"), "f\n")
	v.GitIn(dir, "add", "f")
	v.GitIn(dir, "commit", "--quiet", "-m", "f")
	v.GitIn(v.wt.Path, "add", "nested")
	v.GitIn(v.wt.Path, "commit", "--quiet", "-m", "nested")
	gittest.WriteFile(t, filepath.Join(dir, "f"), "f\n") // another time, the same contents
	return dir
}

// operations are all calls that this package makes on a repository. They may fail, because
// many of the vectors break it; they may not run a planted program.
func (v *victim) operations(ctx context.Context) map[string]func() error {
	missing := strings.Repeat("1", 40)
	one := func(_ any, err error) error { return err }
	return map[string]func() error{
		"Status":       func() error { return drain(v.wt.Status(ctx, UntrackedAll, RefreshNothing)) },
		"Status index": func() error { return drain(v.wt.Status(ctx, UntrackedNormal, RefreshIndex)) },
		"Checkout":     func() error { return v.wt.Checkout(ctx, 2) },
		"SkipWorktree": func() error {
			return errors.Join(v.wt.SkipWorktree(ctx, true, "README.md"), v.wt.SkipWorktree(ctx, false, "README.md"))
		},
		"Tracked": func() error { return one(v.wt.Tracked(ctx, "README.md")) },
		"Index":   func() error { return one(v.wt.Index(ctx)) },
		"Ignored": func() error { return one(v.wt.Ignored(ctx, []string{"*.txt"})) },
		"Others":  func() error { return one(v.wt.Others(ctx)) },
		"Conversions": func() error {
			x, err := v.wt.Index(ctx)
			if err != nil {
				return err
			}
			return one(v.wt.Conversions(ctx, x))
		},
		"JoinPacks": func() error { return v.repo.JoinPacks(ctx, odb.AllPacks) },
		"CheckoutIndex": func() error {
			_ = os.Remove(filepath.Join(v.wt.Path, "src", "main.txt"))
			_ = v.wt.CheckoutIndex(ctx, 2) // fails for existing files that differ
			return nil
		},
		"UpdateRefs": func() error {
			return errors.Join(
				v.repo.UpdateRefs(ctx, refs.Update{Ref: "refs/croft/x", New: v.before}),
				v.repo.UpdateRefs(ctx, refs.Update{Ref: "refs/croft/x", Old: v.before}))
		},
		"Read":         func() error { return one(v.repo.Read(ctx, "HEAD:README.md")) },
		"Read missing": func() error { return one(v.repo.Read(ctx, missing)) },
		"Info":         func() error { return one(v.repo.Info(ctx, "HEAD")) },
		"Resolve": func() error {
			return errors.Join(one(v.repo.ResolveCommit(ctx, "HEAD")), one(v.repo.ResolveCommitAt(ctx, v.wt.Admin, "HEAD")))
		},
		"Refs":              func() error { return one(v.repo.Refs(ctx, "refs/heads/")) },
		"ReadRef":           func() error { return one(v.repo.ReadRef(ctx, "refs/heads/main")) },
		"ConflictingBranch": func() error { return one(v.repo.ConflictingBranch(ctx, "wt/x")) },
		"HeadByGit":         func() error { _, _, err := v.repo.HeadByGit(ctx, v.wt.Admin); return err },
		"SymbolicRef":       func() error { return one(v.repo.SymbolicRef(ctx, "refs/remotes/origin/HEAD")) },
		"HasRemote":         func() error { return one(v.repo.HasRemote("origin")) },
		"Upstream":          func() error { return one(v.repo.Upstream(ctx, "main")) },
		"IsAncestor":        func() error { return one(v.repo.IsAncestor(ctx, v.before, "HEAD")) },
		"AheadBehind":       func() error { _, _, err := v.repo.AheadBehind(ctx, "HEAD", v.before); return err },
		"List":              func() error { return one(v.repo.List(ctx)) },
		"Fetch":             func() error { return v.repo.Fetch(ctx, "origin") },
		"LocalExclude": func() error {
			return errors.Join(v.repo.LocalExclude(ctx, "croft-*", []string{"/CLAUDE.md"}), v.repo.Exclude("/.croft/"))
		},
		"Scratch": func() error {
			s := v.repo.Scratch(filepath.Join(v.Home, "scratch"), "app")
			tree, err := v.repo.Info(ctx, "HEAD^{tree}")
			if err != nil {
				return err
			}
			spec := ScratchSpec{Commit: v.before, Tree: tree.OID, Workers: 1}
			return errors.Join(s.Prepare(ctx, spec), s.Prepare(ctx, spec), s.Remove())
		},
		"RefusedFilters": func() error { return one(v.repo.RefusedFilters()) },
		"Add, Register, Discard": func() error {
			w, err := v.repo.Add(ctx, worktree.AddSpec{Admin: "croft-two", Path: v.Beside("two"), Head: v.before})
			if err != nil {
				return err
			}
			err = errors.Join(w.Checkout(ctx, 2), w.Deregister(filepath.Join(v.Home, "two")))
			err = errors.Join(err, w.Register(ctx, worktree.AddSpec{Admin: "croft-two", Path: w.Path, Head: v.before}))
			return errors.Join(err, w.Discard(), os.RemoveAll(filepath.Join(v.Home, "two")))
		},
	}
}

func drain(seq func(func(odb.StatusEntry, error) bool)) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

// harmless are the vectors that break no operation.
var harmless = []string{
	"hooks", "core.hooksPath", "core.fsmonitor", "config.worktree", "alias", "merge.driver",
	"diff.external", "gpg", "pager and editor", "core.alternateRefsCommand", "remote.uploadpack",
}

// TestNothingPlantedRuns plants each vector in a repository that Croft knows.
func TestNothingPlantedRuns(t *testing.T) {
	for name, plant := range vectors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			if err := drain(v.wt.Status(t.Context(), UntrackedAll, RefreshNothing)); err != nil {
				t.Fatal(err)
			}
			plant(t, v)
			v.sang(t)
			for op, run := range v.operations(t.Context()) {
				v.disturb(t)
				err := run()
				if ran := v.sang(t); len(ran) > 0 {
					t.Errorf("%s ran %v", op, ran)
				}
				if err != nil && slices.Contains(harmless, name) && op != "Read missing" {
					t.Errorf("%s: %v", op, err)
				}
			}
		})
	}
}

// TestPlantedProgramsRunInPlainGit makes sure that the test above can fail: the same
// vectors make plain git run a program.
func TestPlantedProgramsRunInPlainGit(t *testing.T) {
	const old = "not for this version of git, or not by these commands"
	silent := map[string]string{
		"configured hook": old, "alias": "an alias never hides a command", "pager and editor": "not without a terminal",
		"gpg": "nothing is signed or shown", "credential.helper": "the server is not there",
		"remote.vcs": "the transport is refused by default",
	}
	for name, plant := range vectors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			plant(t, v)
			v.sang(t)
			v.disturb(t)
			if name == "buried bare repository" {
				_, _ = v.TryGit(filepath.Join(v.wt.Path, "buried"), "status")
			}
			for _, args := range [][]string{
				{"status"},
				{"diff", "HEAD"},
				{"add", "--all"},
				{"reset", "--quiet", "--hard"},
				{"update-ref", "refs/x", "HEAD"},
				{"fetch", "--quiet", "origin"},
				{"cat-file", "-t", strings.Repeat("1", 40)},
				{"merge-tree", "--write-tree", "HEAD", v.before},
			} {
				_, _ = v.TryGit(v.wt.Path, args...)
			}
			if name == "merge.driver" {
				v.mergeText(t)
			}
			if ran, why := v.sang(t), silent[name]; len(ran) == 0 && why == "" {
				t.Error("plain git ran nothing: the vector is planted wrongly")
			}
		})
	}
}

// TestNothingPlantedRunsInANewRepository: Croft opens a repository for the first time that
// has everything planted.
func TestNothingPlantedRunsInANewRepository(t *testing.T) {
	for name, plant := range vectors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			plant(t, v)
			v.sang(t)
			v.repo = open(t, v.Repo, func(o *gitcmd.Options) { o.ConfigDir = filepath.Join(v.Home, "state", "another") })
			v.wt = v.repo.Linked(filepath.Base(v.wt.Admin), v.wt.Path)
			for op, run := range v.operations(t.Context()) {
				v.disturb(t)
				_ = run()
				if ran := v.sang(t); len(ran) > 0 {
					t.Errorf("%s ran %v", op, ran)
				}
			}
		})
	}
}

// mergeText merges two changes of one file with plain git.
func (v *victim) mergeText(t *testing.T) {
	t.Helper()
	v.Write("src/main.txt", "ONE\ntwo\nthree\n")
	v.Commit("main's")
	gittest.WriteFile(t, filepath.Join(v.wt.Path, "src/main.txt"), "one\ntwo\nTHREE\n")
	v.GitIn(v.wt.Path, "commit", "--quiet", "--all", "-m", "wt's")
	_, _ = v.TryGit(v.wt.Path, "merge", "main")
}
