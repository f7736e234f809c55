package radar

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/refs"
)

// A forecast is cached in a file of two lines: the collisions for a listing, and the
// scan results for the next forecast. The file is replaced as a whole by each forecast.
// Without it everything is compared anew.

const rememberedVersion = 1

// remembered is the part of a cached forecast that a listing needs.
type remembered struct {
	Version    int                   `json:"version"`
	Git        string                `json:"git"`  // the version of git that merged
	Tips       map[string]string     `json:"tips"` // the commit of each target
	Workspaces []rememberedWorkspace `json:"workspaces"`
}

type rememberedWorkspace struct {
	ID     croft.ID `json:"id"`
	Head   string   `json:"head"`
	With   []int    `json:"with,omitempty"`   // the indices of the workspaces that it collides with
	Target string   `json:"target,omitempty"` // the target, if it collides with that
}

// writeMemory writes a forecast to the cache file. It ignores errors: then the next
// forecast compares more.
func (r *Radar) writeMemory(groups []*targetGroup, results map[string]ScanResult, f *croft.Forecast) {
	shown := remembered{Version: rememberedVersion, Git: r.gitVersion(), Tips: map[string]string{}}
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
	out := json.NewEncoder(&b)
	if out.Encode(shown) == nil && out.Encode(results) == nil && os.MkdirAll(filepath.Dir(r.File), 0o700) == nil {
		_ = fsx.ReplaceFile(r.File, b.Bytes(), 0o600)
	}
}

// readLines decodes the first lines of the cache file, one into each value.
func (r *Radar) readLines(into ...any) error {
	f, err := os.Open(r.File)
	if err != nil {
		return err
	}
	defer f.Close()
	in := json.NewDecoder(bufio.NewReader(f))
	for _, v := range into {
		if err := in.Decode(v); err != nil {
			return err
		}
	}
	return nil
}

// readMemory returns the results of the last forecast's scans, by target. It returns
// nil if there are none, or if another version of git merged.
func (r *Radar) readMemory() map[string]ScanResult {
	var shown remembered
	var results map[string]ScanResult
	if r.readLines(&shown, &results) != nil || shown.Version != rememberedVersion || shown.Git != r.gitVersion() {
		return nil
	}
	return results
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

// SetCollisions sets in each workspace what it collided with in the last forecast, as
// far as neither side has moved since. It compares nothing. It returns, for the workspaces
// that the forecast saw as they are now and whose target has not moved, whether they
// collide with that.
func (r *Radar) SetCollisions(refs *refs.Reader, list []croft.Workspace) map[croft.ID]bool {
	var shown remembered
	if r.readLines(&shown) != nil || shown.Version != rememberedVersion {
		return nil
	}
	isAtTip := func(target string) bool {
		tip, err := refs.Ref("refs/heads/" + target)
		return err == nil && tip == shown.Tips[target]
	}
	withTarget := map[croft.ID]bool{}
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
		if w.Target != "" && isAtTip(w.Target) {
			withTarget[w.ID] = seen.Target == w.Target
		}
		if seen.Target != "" && isAtTip(seen.Target) {
			w.Collides = append(w.Collides, seen.Target)
		}
		for _, j := range seen.With {
			if other, ok := same(j); ok {
				w.Collides = append(w.Collides, other.Name)
			}
		}
	}
	return withTarget
}
