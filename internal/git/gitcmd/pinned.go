package gitcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitconfig"
)

// record is what Croft keeps of a repository's configuration, in its own
// directory: what was pinned when it first saw the repository, and what a
// person has accepted since.
type record struct {
	Pinned []gitconfig.Setting `json:"pinned"`
	// Filters are the commands of filters that a person approved.
	Filters []gitconfig.Setting `json:"filters,omitempty"`
	// Sparse says which checkouts that are not Croft's own are sparse, and how,
	// by the names of their admin directories; that of the main one is empty.
	Sparse map[string][]gitconfig.Setting `json:"sparse,omitempty"`
}

// RecordFile is the file with what was pinned of the configuration.
func (r *Repository) RecordFile() string { return filepath.Join(r.Dir, "config.json") }

func (r *Repository) readRecord() (record, error) {
	var rec record
	b, err := os.ReadFile(r.RecordFile())
	if err == nil {
		err = json.Unmarshal(b, &rec)
	}
	return rec, err
}

func (r *Repository) writeRecord(rec record) error {
	b, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return err
	}
	// A power cut must not leave half of it: nothing could be done then.
	return fsx.WriteDurable(r.RecordFile(), append(b, '\n'))
}

// recordedConfig returns the record, and writes it if Croft sees the repository for
// the first time.
func (r *Repository) recordedConfig(entries []gitconfig.Entry) (record, error) {
	rec, err := r.readRecord()
	if !errors.Is(err, os.ErrNotExist) {
		return rec, err
	}
	rec = record{Pinned: settingsIn(entries, gitconfig.ClassPinned), Sparse: map[string][]gitconfig.Setting{"": r.sparseNow(entries, r.CommonDir)}}
	return rec, r.writeRecord(rec)
}

// settingsIn picks the settings of one class.
func settingsIn(entries []gitconfig.Entry, which gitconfig.Class) []gitconfig.Setting {
	list := []gitconfig.Setting{}
	for _, e := range entries {
		if e.Class() == which {
			list = append(list, e.Setting())
		}
	}
	return list
}

// ConfigChange is a difference between a repository's configuration and what
// Croft goes by.
type ConfigChange struct {
	Key string   `json:"key"`
	Was []string `json:"was,omitempty"` // what Croft goes by; for a filter nothing
	Now []string `json:"now,omitempty"`
}

// settingChanges compares settings by their keys.
func settingChanges(was, now []gitconfig.Setting) []ConfigChange {
	var keys []string
	values := func(list []gitconfig.Setting, key string) []string {
		var out []string
		for _, s := range list {
			if s.Key == key {
				out = append(out, s.Value)
			}
		}
		return out
	}
	for _, s := range slices.Concat(was, now) {
		if !slices.Contains(keys, s.Key) {
			keys = append(keys, s.Key)
		}
	}
	var out []ConfigChange
	for _, key := range keys {
		if c := (ConfigChange{key, values(was, key), values(now, key)}); !slices.Equal(c.Was, c.Now) {
			out = append(out, c)
		}
	}
	return out
}

// ConfigChangedError says that a repository's configuration differs from what
// Croft pinned, so that nothing is written before a person has looked at it.
type ConfigChangedError struct{ Changes []ConfigChange }

func (e *ConfigChangedError) Error() string {
	keys := make([]string, len(e.Changes))
	for i, c := range e.Changes {
		keys[i] = c.Key
	}
	return "the repository's configuration was changed: " + strings.Join(keys, ", ")
}

// CheckConfig fails with a *ConfigChangedError if the repository's
// configuration differs from what was pinned in anything that decides about
// commits, checkouts or the repository's format. Croft goes by what was pinned
// in any case. Where to fetch from does not count: [Repository.Fetch] looks.
func (r *Repository) CheckConfig() error {
	return r.checkConfig(func(key string) bool { return !strings.HasPrefix(key, "remote.") })
}

func (r *Repository) checkConfig(counts func(key string) bool) error {
	h, err := r.EnsureHostDir()
	if err != nil {
		return err
	}
	changed := slices.DeleteFunc(slices.Clone(h.changed), func(c ConfigChange) bool { return !counts(c.Key) })
	if len(changed) == 0 {
		return nil
	}
	return &ConfigChangedError{changed}
}

// ConfigReport is what a person should know of a repository's configuration.
type ConfigReport struct {
	Changes []ConfigChange // of what is pinned
	Filters []ConfigChange // programs that are not approved
	Ignored []string       // keys that Croft's git never sees
}

// ConfigReport compares the repository's configuration with what Croft goes by.
func (r *Repository) ConfigReport() (ConfigReport, error) {
	h, err := r.EnsureHostDir()
	if err != nil {
		return ConfigReport{}, err
	}
	return r.report(h), nil
}

func (r *Repository) report(h *hostState) ConfigReport {
	out := ConfigReport{Changes: slices.Clone(h.changed)}
	for _, f := range h.filters {
		if f.IsCommand() && !r.approves(h, f) {
			out.Filters = append(out.Filters, ConfigChange{Key: f.Key, Now: []string{f.Value}})
		}
	}
	for _, e := range h.Entries {
		if e.Class() == gitconfig.ClassNever && !slices.Contains(out.Ignored, e.Key) && !slices.Contains(gitconfig.SparseKeys, e.Key) && !isOwnKey(e) {
			out.Ignored = append(out.Ignored, e.Key)
		}
	}
	return out
}

// isOwnKey reports whether Croft itself wrote a setting, or reads it in its own
// way.
func isOwnKey(e gitconfig.Entry) bool {
	return e.Value == gitconfig.RoleInclude || e.Key == "core.bare" || e.Key == "core.worktree" || e.Key == "extensions.worktreeconfig"
}

// AcceptConfig makes Croft go by the repository's configuration as a person has
// seen it. It fails if that is not what it says any more.
func (r *Repository) AcceptConfig(seen ConfigReport) error {
	h, err := r.EnsureHostDir()
	if err != nil {
		return err
	}
	now := r.report(h)
	if fmt.Sprintf("%q", now) != fmt.Sprintf("%q", seen) {
		return &ConfigChangedError{slices.Concat(now.Changes, now.Filters)}
	}
	rec := record{Pinned: settingsIn(h.Entries, gitconfig.ClassPinned), Sparse: map[string][]gitconfig.Setting{"": r.sparseNow(h.Entries, r.CommonDir)}}
	for _, f := range h.filters {
		if f.IsCommand() {
			rec.Filters = append(rec.Filters, f.Setting())
		}
	}
	return r.writeRecord(rec)
}
