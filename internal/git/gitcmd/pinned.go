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

// record is what Croft keeps of a repository's configuration, in its own directory: what
// was pinned when it first saw the repository, and what a person has accepted since.
type record struct {
	Pinned []gitconfig.Setting `json:"pinned"`
	// Filters are the filter commands that a person approved.
	Filters []gitconfig.Setting `json:"filters,omitempty"`
	// Sparse has the sparse-checkout settings of checkouts that are not Croft's own, by
	// the names of their admin directories; that of the main checkout is empty.
	Sparse map[string][]gitconfig.Setting `json:"sparse,omitempty"`
	// Secrets are the fingerprints of the passwords in addresses of remotes. A record of an
	// earlier version has none.
	Secrets gitconfig.Fingerprints `json:"secrets"`
}

// RecordFile is the path of the record.
func (r *Repository) RecordFile() string { return filepath.Join(r.Dir, "config.json") }

func (r *Repository) readRecord() (record, error) {
	var rec record
	b, err := os.ReadFile(r.RecordFile())
	if err == nil {
		err = json.Unmarshal(b, &rec)
	}
	for i := range rec.Pinned {
		rec.Pinned[i] = gitconfig.WithoutSecret(rec.Pinned[i]) // an earlier version of Croft recorded it
	}
	return rec, err
}

func (r *Repository) writeRecord(rec record) error {
	if r.Scratch != "" {
		return nil // nothing can be recorded; the next process that can sees the same
	}
	b, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return err
	}
	// A power cut must not leave part of it: no command could run then.
	return fsx.WriteDurable(r.RecordFile(), append(b, '\n'))
}

// recordedConfig returns the record, and writes it if Croft sees the repository for the
// first time.
func (r *Repository) recordedConfig(entries []gitconfig.Entry) (record, error) {
	rec, err := r.readRecord()
	switch {
	case errors.Is(err, os.ErrNotExist):
		rec = r.newRecord(entries, "")
	case err != nil || rec.Secrets.Salt != "":
		return rec, err
	default:
		rec.Secrets = gitconfig.FingerprintsOf("", nil)
	}
	return rec, r.writeRecord(rec)
}

// newRecord pins what the configuration has now.
func (r *Repository) newRecord(entries []gitconfig.Entry, salt string) record {
	return record{
		Pinned: pinnedIn(entries, bareSetting), Sparse: map[string][]gitconfig.Setting{"": r.sparseNow(entries, r.CommonDir)},
		Secrets: gitconfig.FingerprintsOf(salt, entries),
	}
}

func bareSetting(e gitconfig.Entry) gitconfig.Setting {
	return gitconfig.WithoutSecret(e.Setting())
}

// pinnedIn returns the settings that are pinned, as shown returns each.
func pinnedIn(entries []gitconfig.Entry, shown func(gitconfig.Entry) gitconfig.Setting) []gitconfig.Setting {
	list := []gitconfig.Setting{}
	for _, e := range entries {
		if e.Class() == gitconfig.ClassPinned {
			list = append(list, shown(e))
		}
	}
	return list
}

// ConfigChange is a difference between a repository's configuration and the one that Croft
// uses.
type ConfigChange struct {
	Key string   `json:"key"`
	Was []string `json:"was,omitempty"` // what Croft uses; empty for a filter
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

// ConfigChangedError says that a repository's configuration differs from what Croft
// pinned, so that Croft writes nothing before a person has reviewed it.
type ConfigChangedError struct{ Changes []ConfigChange }

func (e *ConfigChangedError) Error() string {
	keys := make([]string, len(e.Changes))
	for i, c := range e.Changes {
		keys[i] = c.Key
	}
	return "the repository's configuration was changed: " + strings.Join(keys, ", ")
}

// CheckConfig fails with a *ConfigChangedError if the repository's configuration differs
// from what was pinned in a setting that decides about commits, checkouts or the
// repository's format. Croft uses what was pinned in any case. The addresses of remotes do
// not count: [Repository.Fetch] checks them.
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

// ConfigReport is what a person should know about a repository's configuration.
type ConfigReport struct {
	Changes []ConfigChange // of what is pinned
	Filters []ConfigChange // programs that are not approved
	Ignored []string       // keys that Croft's git never gets
}

// ConfigReport compares the repository's configuration with the one that Croft uses.
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
		if f.IsCommand() && !r.isApproved(h, f) {
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

// isOwnKey reports whether Croft wrote a setting itself, or reads it in its own way.
func isOwnKey(e gitconfig.Entry) bool {
	return e.Value == gitconfig.RoleInclude || e.Key == "core.bare" || e.Key == "core.worktree" || e.Key == "extensions.worktreeconfig"
}

// AcceptConfig makes Croft use the repository's configuration as a person has seen it. It
// fails if the configuration has changed since.
func (r *Repository) AcceptConfig(seen ConfigReport) error {
	h, err := r.EnsureHostDir()
	if err != nil {
		return err
	}
	now := r.report(h)
	if fmt.Sprintf("%q", now) != fmt.Sprintf("%q", seen) {
		return &ConfigChangedError{slices.Concat(now.Changes, now.Filters)}
	}
	rec := r.newRecord(h.Entries, h.record.Secrets.Salt)
	for _, f := range h.filters {
		if f.IsCommand() {
			rec.Filters = append(rec.Filters, f.Setting())
		}
	}
	return r.writeRecord(rec)
}
