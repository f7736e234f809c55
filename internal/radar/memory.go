package radar

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/refs"
)

// A forecast is cached in a file of three lines: the collisions for a listing, and the
// results of the scans and the facts for the next forecast. Each line begins with its digest,
// because a damaged disk may give another commit or path. The file is replaced as a whole by
// each forecast. Without it everything is compared anew.

// rememberedVersion is 4 since forecasts compare work that was taken back with that of others.
const rememberedVersion = 4

// remembered is the part of a cached forecast that a listing needs.
type remembered struct {
	Version    int                   `json:"version"`
	Git        string                `json:"git"`             // the version of git that merged
	Under      string                `json:"under,omitempty"` // [git.Repository.MergeConditions]; empty: they were not known, or changed meanwhile
	Tips       map[string]string     `json:"tips"`            // the commit of each target
	Workspaces []rememberedWorkspace `json:"workspaces"`
}

type rememberedWorkspace struct {
	ID     croft.ID `json:"id"`
	Head   string   `json:"head"`
	With   []int    `json:"with,omitempty"`   // the indices of the workspaces that it collides with
	Target string   `json:"target,omitempty"` // the target, if it collides with that
}

// memory is what the next forecast gets of the last one.
type memory struct {
	Scans map[string]ScanResult `json:"scans"` // by target
	Works map[croft.ID]SeenWork `json:"works,omitempty"`
	facts *facts
}

// writeMemory writes a forecast to the cache file. It ignores errors: then the next
// forecast compares more.
func (r *Radar) writeMemory(under string, groups []*targetGroup, m memory, f *croft.Forecast) {
	shown := remembered{Version: rememberedVersion, Git: r.gitVersion(), Under: under, Tips: map[string]string{}}
	at := map[string]int{}
	for _, g := range groups {
		if g.tip != "" {
			shown.Tips[g.target] = g.tip
		}
		for _, c := range g.candidates {
			at[c.Workspace.Name] = len(shown.Workspaces)
			shown.Workspaces = append(shown.Workspaces, rememberedWorkspace{ID: c.Workspace.ID, Head: c.Head})
		}
	}
	for _, c := range f.Pairs {
		a := &shown.Workspaces[at[c.A]]
		if c.IsTarget {
			a.Target = c.B
			continue
		}
		b := &shown.Workspaces[at[c.B]]
		a.With, b.With = append(a.With, at[c.B]), append(b.With, at[c.A])
	}
	var b bytes.Buffer
	for _, line := range []any{shown, m, m.facts.saved()} {
		text, err := json.Marshal(line)
		if err != nil {
			return
		}
		b.WriteString(digestOf(text) + " ")
		b.Write(text)
		b.WriteByte('\n')
	}
	if os.MkdirAll(filepath.Dir(r.File), 0o700) == nil {
		_ = fsx.ReplaceFile(r.File, b.Bytes(), 0o600)
	}
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// errDamaged says that a line of the cache file is not as it was written.
var errDamaged = errors.New("the cache of the forecast is damaged")

// readLines decodes the first lines of the cache file, one into each value.
func (r *Radar) readLines(into ...any) error {
	f, err := os.Open(r.File)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	for _, v := range into {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err
		}
		digest, text, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		if !ok || digestOf(text) != string(digest) {
			return errDamaged
		}
		if err := json.Unmarshal(text, v); err != nil {
			return err
		}
	}
	return nil
}

// readMemory returns what the last forecast knew. It returns nothing if there was none, or
// if git merged under other conditions.
func (r *Radar) readMemory(under string) memory {
	var shown remembered
	var m memory
	var known savedFacts
	if under == "" || r.readLines(&shown) != nil || shown.Version != rememberedVersion || shown.Under != under ||
		r.readLines(&shown, &m, &known) != nil {
		return memory{facts: newFacts()}
	}
	m.facts = known.facts()
	return m
}

// gitVersion returns the version of git, because versions may merge differently.
func (r *Radar) gitVersion() string {
	v, err := r.Git.Version()
	if err != nil {
		return ""
	}
	return v.String()
}

// HasForecast reports whether a forecast is remembered.
func (r *Radar) HasForecast() bool {
	_, err := os.Lstat(r.File)
	return err == nil
}

// Recalled is what the last forecast says of a workspace as it is now.
type Recalled struct {
	IsTargetKnown bool // the forecast saw it and its target as they are now
	IsOnTarget    bool // it collides with its target
	AreOthers     bool // the forecast saw it and all others that have commits and the same target as they are now
}

// SetCollisions sets in each workspace what it collided with in the last forecast, as
// far as neither side has moved since. It compares nothing. It returns what the forecast knows of
// each workspace that it saw as it is now.
func (r *Radar) SetCollisions(refs *refs.Reader, list []croft.Workspace) map[croft.ID]Recalled {
	var shown remembered
	if r.readLines(&shown) != nil || shown.Version != rememberedVersion {
		return nil
	}
	isAtTip := func(target string) bool {
		tip, err := refs.Ref("refs/heads/" + target)
		return err == nil && tip == shown.Tips[target]
	}
	known := map[croft.ID]Recalled{}
	now := map[croft.ID]*croft.Workspace{}
	for i := range list {
		now[list[i].ID] = &list[i]
	}
	same := func(i int) (*croft.Workspace, bool) {
		if i < 0 || i >= len(shown.Workspaces) {
			return nil, false
		}
		w, live := now[shown.Workspaces[i].ID]
		return w, live && w.Head == shown.Workspaces[i].Head && w.State != croft.Trashed
	}
	for i, seen := range shown.Workspaces {
		w, ok := same(i)
		if !ok {
			continue
		}
		var is Recalled
		if w.Target != "" && isAtTip(w.Target) {
			is.IsTargetKnown, is.IsOnTarget = true, seen.Target == w.Target
		}
		known[w.ID] = is
		if seen.Target != "" && isAtTip(seen.Target) {
			w.Collides = append(w.Collides, seen.Target)
		}
		for _, j := range seen.With {
			if other, ok := same(j); ok {
				w.Collides = append(w.Collides, other.Name)
			}
		}
	}
	setOthers(known, list)
	return known
}

// setOthers finds out for which workspaces the forecast saw all others, too, that have commits and the same target. It
// compares only workspaces with the same target.
func setOthers(known map[croft.ID]Recalled, list []croft.Workspace) {
	isMissing := map[string]bool{} // by target
	for _, w := range list {
		if _, ok := known[w.ID]; !ok && w.State != croft.Trashed && w.Mode != croft.ModeLegacy && w.Head != w.Base {
			isMissing[w.Target] = true
		}
	}
	for _, w := range list {
		if is, ok := known[w.ID]; ok {
			is.AreOthers = !isMissing[w.Target]
			known[w.ID] = is
		}
	}
}
