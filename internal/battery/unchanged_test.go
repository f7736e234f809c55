//go:build unix

package battery

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// TestMainUnchanged makes many kinds of calls about workspaces in every layout, and checks
// that the main checkout is unchanged: its files, its index and its HEAD, including their
// mtimes.
func TestMainUnchanged(t *testing.T) {
	operations := size(120, 1000)
	p := smallProject(t)
	main := func() manifest {
		return exact(t, p.dir, func(rel string, d fs.DirEntry) bool {
			switch {
			case rel == ".git" || rel == ".git/HEAD" || rel == ".git/index":
				return false
			case strings.HasPrefix(rel, ".git/"), rel == ".worktrees":
				return true // files of the repository, and the workspaces of two layouts
			}
			return false
		})
	}
	before := main()
	o := &operator{p: p, t: t, rnd: rand.New(rand.NewPCG(3, 4)), counts: map[string]int{}}
	for range operations {
		o.one()
	}
	if !requireSame(t, "the main checkout", before, main()) {
		t.Logf("operations: %v", o.counts)
	}
	if s := p.git(p.dir, "status", "--porcelain"); s != "" {
		t.Errorf("git status in the main checkout: %s", s)
	}
	report(t, "main unchanged", "%d operations %v: files, index and HEAD of the main checkout have the same content and time", operations, o.counts)
}

// operator makes one call after the other.
type operator struct {
	p      *project
	t      *testing.T
	rnd    *rand.Rand
	live   []string
	made   int
	counts map[string]int
}

func (o *operator) one() {
	o.t.Helper()
	verbs := []string{"new", "new", "new", "list", "show", "lock", "unlock", "remove", "remove", "reap", "clean", "doctor", "gc"}
	verb := verbs[o.rnd.IntN(len(verbs))]
	if len(o.live) == 0 {
		verb = "new"
	}
	o.counts[verb]++
	switch verb {
	case "new":
		o.create()
	case "show", "unlock":
		o.p.mustCroft(verb, o.any())
	case "lock":
		o.p.mustCroft(verb, o.any(), "--reason", "mine")
	case "remove":
		i := o.rnd.IntN(len(o.live))
		o.p.mustCroft("unlock", o.live[i])
		o.work(o.live[i])
		o.p.mustCroft("remove", "--force", o.live[i])
		o.live = append(o.live[:i], o.live[i+1:]...)
	case "reap", "clean":
		o.p.mustCroft(verb, "--yes")
	case "doctor":
		o.p.mustCroft(verb, "--fix")
	default:
		o.p.mustCroft(verb)
	}
}

func (o *operator) any() string { return o.live[o.rnd.IntN(len(o.live))] }

// create makes a workspace in one of the layouts, with a role or without.
func (o *operator) create() {
	o.t.Helper()
	o.made++
	name := fmt.Sprintf("w%d", o.made)
	args := []string{"new"}
	switch layouts := []string{"default", "agents", "swarm", "sibling"}; layouts[o.made%len(layouts)] {
	case "agents":
		args = append(args, "--layout", "agents", name)
	case "swarm":
		// The directory is the role's, and there are two roles.
		args = append(args, "--layout", "swarm", "--session", fmt.Sprintf("s%d", o.made), "--role", "tester", name)
	case "sibling":
		args = append(args, "--layout", "sibling", name)
	default:
		args = append(args, "--role", "writer", name)
	}
	r := o.p.croft(args...)
	if a := o.p.answer(r); r.code != 0 && a.code() != "WORKTREE_EXISTS" {
		o.t.Fatalf("croft %v: %v", args, r)
	}
	if r.code == 0 {
		o.live = append(o.live, name)
	}
}

// work commits a file in a workspace, and leaves another uncommitted.
func (o *operator) work(name string) {
	o.t.Helper()
	for _, w := range o.p.mustCroft("list").Workspaces {
		if w.Name != name {
			continue
		}
		o.p.git(w.Path, "commit", "--quiet", "--allow-empty", "--message", name)
		mustDo(o.t, writeFile(filepath.Join(w.Path, "untracked.txt"), name))
	}
}
