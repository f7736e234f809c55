//go:build linux

package battery

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
)

// overview is everything that croft lists.
type overview struct {
	Workspaces []croft.Workspace `json:"workspaces"`
	Trash      []croft.TrashItem `json:"trash"`
	Snapshots  []croft.Snapshot  `json:"snapshots"`
	Operations []croft.Operation `json:"operations"`
}

// look asks croft for everything that it knows.
func (p *project) look() overview {
	p.t.Helper()
	var o overview
	for _, args := range [][]string{{"list"}, {"trash"}, {"snapshot", "--list"}, {"history", "--limit", "1000"}} {
		r := p.croft(args...)
		if r.code != 0 || r.err != nil {
			p.t.Fatalf("croft %v: %v", args, r)
		}
		mustDo(p.t, json.Unmarshal([]byte(r.stdout), &o))
	}
	return o
}

// names gives every ID a name that is the same in every run.
func (o overview) names(names map[string]string) map[string]string {
	out := maps.Clone(names)
	if out == nil {
		out = map[string]string{}
	}
	add := func(id croft.ID, name string) {
		if _, ok := out[string(id)]; !ok {
			out[string(id)] = name
		}
	}
	for _, w := range o.Workspaces {
		add(w.ID, "<"+w.Name+">")
	}
	for _, item := range o.Trash {
		add(item.ID, "<"+item.Name+">")
	}
	for i, s := range o.Snapshots {
		add(s.ID, fmt.Sprintf("<snapshot %d of %s>", i+1, s.WorkspaceName))
	}
	return out
}

// picture is a manifest of a whole project: the user's files, byte for byte, and Croft's,
// as far as they are the same in every run. Two pictures are equal if and only if nothing
// was left behind, lost or changed between them.
func (p *project) picture(known map[string]string) manifest {
	p.t.Helper()
	o := p.look()
	pairs := []string{p.top, "<top>"}
	for id, name := range o.names(known) {
		pairs = append(pairs, id, name)
	}
	pairs = append(pairs, p.newCommits()...)
	n := strings.NewReplacer(pairs...)
	m := manifest{}
	for rel, what := range manifestOf(p.t, p.work(), p.uninteresting) {
		if isDir := strings.HasPrefix(what, "d"); !isDir || !strings.Contains(rel, "/.git/") {
			m[n.Replace(rel)] = p.plain(n, rel, what)
		}
	}
	p.addSettings(m)
	m["config"] = strings.ReplaceAll(m["config"], p.top, "<top>")
	p.addRefs(m, n)
	p.addOverview(m, n, o)
	for kind, pattern := range map[string]string{"secrets": filepath.Join(p.state(), "secrets", "*", "*"), "tmp": filepath.Join(p.tmp(), "*")} {
		found, err := filepath.Glob(pattern)
		mustDo(p.t, err)
		for _, path := range found {
			m[kind+"/"+n.Replace(filepath.Base(path))] = "there"
		}
	}
	return m
}

// newCommits gives commits that were made after setTheScene names that are the same in
// every run: their times and trailers differ.
func (p *project) newCommits() (pairs []string) {
	p.t.Helper()
	for _, line := range lines(p.git(p.dir, "log", "--all", "--reflog", "--format=%H %T %s")) {
		hash, rest, _ := strings.Cut(line, " ")
		if p.scene != nil && !p.scene[hash] {
			pairs = append(pairs, hash, "<commit of "+rest+">")
		}
	}
	return pairs
}

// setTheScene records the commits that exist.
func (p *project) setTheScene() {
	p.t.Helper()
	p.scene = map[string]bool{}
	for _, hash := range lines(p.git(p.dir, "rev-list", "--all", "--reflog")) {
		p.scene[hash] = true
	}
}

// tmp is the directory for temporary files.
func (p *project) tmp() string { return filepath.Join(p.home(), "tmp") }

// uninteresting are objects, which git keeps and deletes at any time, refs, which are read
// through git, and empty directories of git's.
func (p *project) uninteresting(rel string, d fs.DirEntry) bool {
	inGit, ok := strings.CutPrefix(rel, filepath.Join("app", ".git")+"/")
	if !ok {
		return rel == "app.croft" || filepath.Base(rel) == ".trash" && isHollow(filepath.Join(p.work(), rel))
	}
	if d.IsDir() {
		return inGit == "objects" || isHollow(filepath.Join(p.dir, ".git", inGit))
	}
	if filepath.Base(rel) == "ORIG_HEAD" { // git does not need it
		return true
	}
	isRef := strings.HasPrefix(inGit, "refs/") && !strings.HasSuffix(inGit, ".lock")
	// The files that role files need are there for all workspaces, and stay, as do files of
	// kernel locks.
	isShared := slices.Contains([]string{"croft/exclude", "croft/gitconfig", "croft/gc-lock", "croft/repack", "croft/sweep"}, inGit)
	return isRef || isShared || inGit == "config" || inGit == "info/exclude" || inGit == "packed-refs"
}

// plain is the entry of a file in a picture: for files that contain times and IDs, only
// that it exists.
func (p *project) plain(n *strings.Replacer, rel, what string) string {
	inGit, isGit := strings.CutPrefix(rel, filepath.Join("app", ".git")+"/")
	switch {
	case isGit && inGit != "HEAD" && p.moves:
		return "there"
	case isGit && (inGit == "HEAD" || inGit == "index" || inGit == "logs/HEAD" || inGit == "logs/refs/heads/main"):
		return what
	case isGit, strings.Contains(rel, "/.trash/") && strings.Contains(rel, "/admin/"):
		return "there"
	case filepath.Base(rel) == ".git" && strings.HasPrefix(what, "-"):
		b, err := os.ReadFile(filepath.Join(p.work(), rel))
		mustDo(p.t, err)
		return n.Replace(string(b))
	}
	return what
}

// addRefs adds git's view: refs, registrations, and the state of every checkout.
func (p *project) addRefs(m manifest, n *strings.Replacer) {
	p.t.Helper()
	for _, line := range lines(p.git(p.dir, "for-each-ref", "--format=%(refname) %(objectname)")) {
		ref, oid, _ := strings.Cut(line, " ")
		if strings.HasSuffix(ref, "/record") || strings.HasSuffix(ref, "/state") || strings.HasPrefix(ref, "refs/croft/snapshot/") {
			oid = "there"
		}
		m["ref "+n.Replace(ref)] = n.Replace(oid)
	}
	list := p.git(p.dir, "worktree", "list", "--porcelain")
	m["worktrees"] = n.Replace(list)
	for _, line := range lines(list) {
		dir, ok := strings.CutPrefix(line, "worktree ")
		if !ok {
			continue
		}
		m["status "+n.Replace(dir)] = n.Replace(p.git(dir, "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=all", "--ignored"))
		m["index "+n.Replace(dir)] = p.git(dir, "ls-files", "--stage", "-v")
	}
}

// addOverview adds what croft lists.
func (p *project) addOverview(m manifest, n *strings.Replacer, o overview) {
	var text []string
	for _, w := range o.Workspaces {
		text = append(text, fmt.Sprintf("%s %s %s %s %v", w.Name, w.State, w.Branch, n.Replace(w.Head), w.IsLocked))
	}
	slices.Sort(text)
	m["workspaces"] = strings.Join(text, "\n")
	text = nil
	for _, item := range o.Trash {
		text = append(text, fmt.Sprintf("%s %s", item.Name, item.Branch))
	}
	slices.Sort(text)
	m["trash"] = strings.Join(text, "\n")
	for _, op := range o.Operations {
		if op.State == "running" {
			m["unfinished"] += op.Kind + " " + op.WorkspaceName + "\n"
		}
	}
}
