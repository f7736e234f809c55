//go:build linux

package battery

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// scenario is an operation and the state before it.
type scenario struct {
	name    string
	prepare func(p *project) []string // returns the arguments of croft
	then    []string                  // the next command; default: another creation
	items   bool                      // several items, each of which is done or not
	ignore  func(key string) bool     // which entries of a picture may differ
	points  func(f fault) bool        // which faults must have points
	moves   bool                      // a merge updates the user's checkout
}

func (s scenario) next() []string {
	if s.then != nil {
		return s.then
	}
	return []string{"new", "next"}
}

// scenarios are the operations of the battery. The refs that exist before are packed, as
// the user's git gc leaves them.
func scenarios() []scenario {
	return slices.Concat(livingScenarios(), workScenarios(), backScenarios(), upkeepScenarios())
}

func always(fault) bool { return true }

// inCroft are the faults where Croft itself writes. It writes refs, and the trees of staged
// files, so that git writes nothing in these scenarios.
func inCroft(f fault) bool { return f.git == "" }

// livingScenarios are about creating and removing workspaces.
func livingScenarios() []scenario {
	return []scenario{
		{name: "create", points: always, prepare: func(p *project) []string {
			p.settle()
			return []string{"new", "--role", "writer", "one"}
		}},
		{name: "create three", points: always, prepare: func(p *project) []string {
			p.settle("other")
			return append([]string{"new"}, trio()...)
		}},
		{name: "snapshot", prepare: func(p *project) []string {
			p.settle("one", "other")
			return []string{"snapshot", "one"}
		}},
		{name: "remove", points: inCroft, prepare: func(p *project) []string {
			p.settle("one", "other")
			return []string{"remove", "--force", "one"}
		}},
	}
}

// workScenarios are about committing and merging work.
func workScenarios() []scenario {
	return []scenario{
		// Killed between the two, everything is staged that would have been committed.
		{name: "finish", points: inCroft, items: true, prepare: func(p *project) []string {
			p.settle("one", "other")
			return []string{"finish", "one"}
		}},
		{name: "merge", points: inCroft, items: true, moves: true, prepare: func(p *project) []string {
			p.settleToMerge()
			return []string{"merge", "one"}
		}, then: fromBefore},
		{name: "merge and keep", points: inCroft, items: true, moves: true, prepare: func(p *project) []string {
			p.settleToMerge()
			return []string{"merge", "--keep", "one"}
		}, then: fromBefore},
		{name: "revert", points: inCroft, items: true, moves: true, prepare: func(p *project) []string {
			p.settleToMerge()
			p.mustCroft("merge", "one")
			p.git(p.dir, "pack-refs", "--all")
			return []string{"revert", "one"}
		}, then: fromBefore},
		{name: "apply", points: inCroft, items: true, moves: true, prepare: func(p *project) []string {
			p.settleToMerge()
			return []string{"apply", "one", "work.txt"}
		}, then: fromBefore, ignore: isReview},
		{name: "discard", points: inCroft, prepare: func(p *project) []string {
			p.settle("one", "other")
			return []string{"discard", "one"}
		}},
		{name: "resolve", points: inCroft, items: true, prepare: func(p *project) []string {
			p.settle("one", "other")
			p.git(p.dir, "commit", "--quiet", "--all", "--message", "in the way")
			return []string{"merge", "--resolve", "one"}
		}, ignore: isSnapshot},
	}
}

// backScenarios restore something.
func backScenarios() []scenario {
	return []scenario{
		{name: "restore", points: inCroft, prepare: func(p *project) []string {
			p.settle("one", "other")
			p.mustCroft("remove", "--force", "one")
			p.git(p.dir, "pack-refs", "--all")
			return []string{"restore", "one"}
		}},
		{name: "restore a snapshot", points: always, prepare: func(p *project) []string {
			p.settle("one", "other")
			p.mustCroft("snapshot", "one")
			p.toil("one", "later")
			return []string{"restore", string(p.look().Snapshots[0].ID)}
		}, ignore: isSnapshot},
		{name: "undo a creation", items: true, points: inCroft, prepare: func(p *project) []string {
			p.settle("other")
			p.mustCroft("new", "one", "two")
			p.toil("one", "work")
			p.git(p.dir, "pack-refs", "--all")
			return []string{"undo", "--force", string(p.look().Operations[0].ID)}
		}},
		{name: "undo a removal", points: inCroft, prepare: func(p *project) []string {
			p.settle("one", "other")
			p.mustCroft("remove", "--force", "one")
			return []string{"undo", "--force", string(p.look().Operations[0].ID)}
		}},
	}
}

// upkeepScenarios remove what is no longer needed.
func upkeepScenarios() []scenario {
	return []scenario{
		{name: "reap", items: true, points: always, prepare: func(p *project) []string {
			p.settle("one", "two", guarded)
			p.mustCroft("lock", "--reason", "mine", guarded)
			return []string{"reap", "--force", "--older-than", "1ms"}
		}, then: []string{"snapshot", guarded}},
		{name: "clean", items: true, points: always, prepare: func(p *project) []string {
			p.settle("one", "two", "other")
			p.merge("one", "two")
			return []string{"clean", "--yes"}
		}},
		{name: "gc", items: true, prepare: func(p *project) []string {
			p.env = append(p.env, "CROFT_TRASH_RETENTION=1ms")
			p.settle("one", "two", "other")
			p.merge("one")
			p.mustCroft("remove", "--force", "--keep-branch", "one", "two")
			p.git(p.dir, "pack-refs", "--all")
			return []string{"gc"}
		}},
	}
}

// fromBefore creates a workspace that is the same whether or not a merge landed.
var fromBefore = []string{"new", "--base", "before", "next"}

// settleToMerge is settle with a checkout of the user's that a merge can write to.
func (p *project) settleToMerge() {
	p.t.Helper()
	p.settle("one", "other")
	p.git(p.dir, "tag", "before")
	p.git(p.dir, "checkout", "--", "src/main.txt")
}

// guarded is a workspace that a person has locked.
const guarded = "guarded"

// isSnapshot: the state of a workspace is saved first, and stays saved if nothing else
// happened.
func isSnapshot(key string) bool {
	return strings.HasPrefix(key, "ref refs/croft/snapshot/") || strings.HasPrefix(key, "secrets/")
}

// isReview: every apply has a review of its own, which is kept for some time.
func isReview(key string) bool { return strings.HasPrefix(key, "ref refs/croft/review/") }

// settle creates workspaces in which agents are at work, with files of other users around
// them.
func (p *project) settle(names ...string) {
	p.t.Helper()
	p.git(p.dir, "branch", "croft/foreign")
	p.git(p.dir, "worktree", "add", "--quiet", "-b", "mine", filepath.Join(p.work(), "mine"))
	p.write("wip.txt", "not committed\n")
	p.write("src/main.txt", "one\nTWO\nthree\n")
	p.git(p.dir, "add", "wip.txt")
	if len(names) > 0 {
		p.mustCroft(append([]string{"new"}, names...)...)
	}
	for _, name := range names {
		p.toil(name, "work")
	}
	p.git(p.dir, "pack-refs", "--all")
}

// toil leaves work of every kind in a workspace: committed, staged, modified, untracked,
// ignored and secret.
func (p *project) toil(name, text string) {
	p.t.Helper()
	dir := filepath.Join(p.workspaces(), name)
	put := func(file, content string) { gittest.WriteFile(p.t, filepath.Join(dir, file), content) }
	put(text+".txt", name+" committed\n")
	put(".gitignore", "*.log\n.env\n")
	p.git(dir, "add", "--all")
	p.git(dir, "commit", "--quiet", "--message", text)
	put("staged.txt", text+" staged\n")
	p.git(dir, "add", "staged.txt")
	put("src/main.txt", text+" modified\n")
	put("untracked.txt", text+" untracked\n")
	put("big.log", "ignored\n")
	put(".env", "SECRET="+text+"\n")
}

// merge merges the branches of workspaces into main, as their owners would, and leaves
// nothing uncommitted in them.
func (p *project) merge(names ...string) {
	p.t.Helper()
	for _, name := range names {
		dir := filepath.Join(p.workspaces(), name)
		p.git(dir, "reset", "--quiet", "--hard")
		p.git(dir, "clean", "--quiet", "--force", "-d", "-x")
	}
	p.git(p.dir, "stash", "--quiet")
	p.git(p.dir, "merge", "--quiet", "--no-edit", "croft/"+names[0])
	for _, name := range names[1:] {
		p.git(p.dir, "merge", "--quiet", "--no-edit", "-X", "ours", "croft/"+name)
	}
	p.git(p.dir, "stash", "pop", "--quiet")
}
