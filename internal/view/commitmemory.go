package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/condition"
	"github.com/croft-sh/croft/internal/fsx"
)

// commitMemory has what comparing commits of workspaces with their targets found. It follows from
// the commits alone, which never change, and from the settings by which git compares them. It is a file
// in the state directory; if that is lost, the commits are compared again.
type commitMemory struct {
	file  string
	rules string // what the settings are
	mu    sync.Mutex
	known map[croft.ID]comparison
	isNew bool
}

// comparison is what was found of one workspace.
type comparison struct {
	Key                     string
	Ahead, Behind           int
	Added, Deleted, Changed int
	Fork                    string
	IsIn                    bool // its work is in the target
	IsTakenBack             bool `json:",omitempty"`
	Uncommitted             uncommittedLines
	Forecast                targetForecast
}

// maxCommitMemory bounds the file.
const maxCommitMemory = 32 << 20

func (l *looker) readCommitMemory(ctx context.Context) *commitMemory {
	m := &commitMemory{file: filepath.Join(l.r.Git.Dir, "compared.json"), known: map[croft.ID]comparison{}}
	rules, err := l.r.Git.FileRules(ctx)
	if err != nil || !rules.IsKnown {
		m.file = ""
		return m
	}
	m.rules = rules.Digest
	b, err := fsx.ReadFile(m.file, maxCommitMemory)
	if err == nil && json.Unmarshal(b, &m.known) != nil {
		m.known = map[croft.ID]comparison{}
	}
	return m
}

// write keeps what was found. An error is none.
func (l *looker) writeCommitMemory(m *commitMemory) {
	if !m.isNew || m.file == "" || l.r.Git.Core().Scratch != "" {
		return
	}
	if l.isListing { // of workspaces that are gone nothing is kept
		live := map[croft.ID]bool{}
		for _, w := range l.list {
			live[w.ID] = true
		}
		maps.DeleteFunc(m.known, func(id croft.ID, _ comparison) bool { return !live[id] })
	}
	if b, err := json.Marshal(m.known); err == nil && len(b) < maxCommitMemory {
		_ = fsx.ReplaceFile(m.file, b, 0o600)
	}
}

// keyOf returns all that the comparison of a workspace with the tip of its target depends on.
func (l *looker) keyOf(m *commitMemory, i int, tip string) string {
	ws := l.records[i].Workspace
	sum := sha256.New()
	fmt.Fprintf(sum, "4 %q %q %q %q %q\n", m.rules, tip, ws.Base, l.list[i].Head, l.sights[i].reverts)
	for _, own := range append([]string{l.list[i].Head}, l.tipsOf(i)...) {
		fmt.Fprintf(sum, "%q %t\n", own, ws.PullRequest.Proves(own))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// recall sets what is known of a workspace, and reports whether it is.
func (l *looker) recall(m *commitMemory, i int, tip string) bool {
	was, ok := m.known[l.list[i].ID]
	if !ok || m.file == "" || was.Key != l.keyOf(m, i, tip) {
		return false
	}
	s := &l.sights[i]
	s.work.Ahead, s.work.Behind, s.fork = was.Ahead, was.Behind, was.Fork
	s.work.Added, s.work.Deleted, s.work.Changed = was.Added, was.Deleted, was.Changed
	s.setCompared(was.IsIn, was.IsTakenBack)
	s.isRemembered = true
	return true
}

// keep notes what was found of a workspace.
func (l *looker) keep(m *commitMemory, i int, tip string, isIn, isTakenBack bool) {
	s := &l.sights[i]
	if s.fork == "" { // there is none, or no time was left to find it
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.isNew, s.isRemembered = true, true
	m.known[l.list[i].ID] = comparison{
		Uncommitted: m.known[l.list[i].ID].Uncommitted,
		Key:         l.keyOf(m, i, tip), Ahead: s.work.Ahead, Behind: s.work.Behind, Fork: s.fork,
		Added: s.work.Added, Deleted: s.work.Deleted, Changed: s.work.Changed, IsIn: isIn, IsTakenBack: isTakenBack,
	}
}

// setCompared notes that the commits were compared.
func (s *sight) setCompared(isIntegrated, isTakenBack bool) {
	s.commits = condition.CommitFacts{Ahead: s.work.Ahead, IsIntegrated: isIntegrated, IsTakenBack: isTakenBack}
	s.isCompared = true
	s.work.Seen = append(s.work.Seen, croft.AspectCommits)
}
