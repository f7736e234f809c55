package config

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/pattern"
)

// Merge says how work comes to its target. It is read from the tip of that
// target, so that no author edits the gate that their own work goes through.
type Merge struct {
	Strategy     string   `key:"strategy"`      // "no-ff" or "squash"
	Message      string   `key:"message"`       // a template
	Checks       []string `key:"checks"`        // commands for the shell
	CheckTimeout Duration `key:"check_timeout"` // of each command
	CheckCache   []string `key:"check_cache"`   // ignored paths that a check begins with
	CheckEnv     []string `key:"check_env"`     // variables that checks have besides the usual ones
	Protect      bool     `key:"protect"`       // refuse a target that moved outside of its lane
	Batch        int      `key:"batch"`         // how many are merged and checked together
	Slots        int      `key:"slots"`         // how many checks run at once
}

// Commit says how uncommitted work is committed when an agent has ended.
type Commit struct {
	Message  string   `key:"message"`   // a template
	MaxBytes int64    `key:"max_bytes"` // an untracked file that is larger is held back
	HoldBack []string `key:"hold_back"` // patterns of files that are never committed, see HoldBackPatterns
}

const (
	maxBatch = 500
	maxSlots = 256
)

// mergeAndCommitKeys returns the keys merge.* and commit.*.
func mergeAndCommitKeys() []Key {
	return []Key{
		{
			Name: "merge.strategy", Type: TypeString, Default: "no-ff",
			Doc:   "What commits a merge makes: \"no-ff\" one with two parents, \"squash\" one with all changes, so that the history is linear.",
			check: checkStrategy, words: []string{"no-ff", "squash"},
		},
		{
			Name: "merge.message", Type: TypeString, Default: DefaultMergeMessage,
			Doc:   "A template for the message of a merge commit, over {branch} {target} {name} {id} {role} {session}.",
			check: checkNotEmpty,
		},
		{
			Name: "merge.checks", Type: TypeCommands,
			Doc: "Commands that must succeed on the merged result before it is published. They run only after you approved them with croft config trust.",
		},
		{
			Name: "merge.check_timeout", Type: TypeDuration, Default: "30m",
			Doc: "How long one check may take.",
			min: int64(time.Second), max: longest,
		},
		{
			Name: "merge.check_cache", Type: TypeList,
			Doc:   "Paths that git ignores and that a check begins with: copies of what the last check left of them whose result was published to the target.",
			check: checkCachePaths,
		},
		{
			Name: "merge.check_env", Type: TypeList, Guard: GuardUser,
			Doc:   "Variables of yours that checks see besides the usual ones: names, or beginnings of names with a * at the end.",
			check: checkVariableNames,
		},
		{
			Name: "merge.protect", Type: TypeBoolean, Default: "false", Guard: GuardOn,
			Doc: "Whether nothing is merged into a target that moved outside of its lane, until croft queue accept.",
		},
		{
			Name: "merge.batch", Type: TypeInteger, Default: "16",
			Doc: "How many merges are checked together. One that breaks the others is found by bisection.",
			min: 1, max: maxBatch,
		},
		{
			Name: "merge.slots", Type: TypeInteger, Default: "1", Guard: GuardUser,
			Doc: "How many checks of a project run at once, in all of its queues and processes.",
			min: 1, max: maxSlots,
		},
		{
			Name: "commit.message", Type: TypeString, Default: "Work of {name}",
			Doc:   "A template for the message under which uncommitted work is committed, over {branch} {target} {name} {id} {role} {session}.",
			check: checkNotEmpty,
		},
		{
			Name: "commit.max_bytes", Type: TypeInteger, Default: "5242880", Guard: GuardMax,
			Doc: "An untracked file that is larger is not committed unasked. 0 means no limit.",
			max: maxBytes,
		},
		{
			Name: "commit.hold_back", Type: TypeList, Guard: GuardUser,
			Default: KnownSecrets,
			Doc:     "Patterns of the names of files that are never committed unasked, staged or not, because they look like secrets. @secrets stands for the names that Croft knows.",
		},
	}
}

// checkCachePaths wants paths in the checkout, written one way only: the code that reads
// them joins them to a directory.
func checkCachePaths(value any, _ string) error {
	for _, p := range value.([]string) {
		if !filepath.IsLocal(p) || path.Clean(p) != p || p == "." || strings.ContainsAny(p, `\*?`) || strings.EqualFold(strings.Split(p, "/")[0], ".git") {
			return fmt.Errorf("must hold paths in the checkout such as node_modules, not %s", quote(p))
		}
	}
	return nil
}

var variableName = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*\*?$`)

func checkVariableNames(value any, _ string) error {
	for _, name := range value.([]string) {
		if !variableName().MatchString(name) {
			return fmt.Errorf("must hold names of variables such as NPM_TOKEN or AWS_*, not %s", quote(name))
		}
	}
	return nil
}

func checkOneOf(words ...string) func(any, string) error {
	return func(value any, _ string) error {
		if text, ok := value.(string); ok && slices.Contains(words, text) {
			return nil
		}
		return fmt.Errorf("must be one of %s", strings.Join(words, ", "))
	}
}

// DefaultMergeMessage is the message of a merge unless the configuration or the request has another.
const DefaultMergeMessage = "Merge branch '{branch}'"

// checkStrategy accepts the merge strategies "no-ff" and "squash". "rebase", which earlier
// versions had, gets an error that names the alternative.
func checkStrategy(value any, name string) error {
	if value == "rebase" {
		return errors.New(`is "rebase", which is gone (it lost what merge commits hold; "squash" gives a linear history too)`)
	}
	return checkOneOf("no-ff", "squash")(value, name)
}

// AtTarget returns the settings for merges into a target: the target's own
// croft.toml, over the user's file and the defaults. Flags and variables do not
// override the merge.* keys that a repository may set: the submitter of work does
// not choose the checks. They can only turn on what a repository can only turn on. name is the name of the file in messages.
//
// It fails if the file has a value that cannot be used, unless only the user may
// set that key, or a key of [merge] that is not known: it may be a misspelt check,
// or one that a newer Croft makes.
func (s *Set) AtTarget(name string, data []byte) (*Set, error) {
	own := *s
	own.env, own.flags = s.withoutMergeRules(s.env), s.withoutMergeRules(s.flags)
	file := Source{Kind: KindRepo, Name: name}
	if err := sizeError(file, data); err != nil {
		return nil, err
	}
	doc, err := parseDocument(file, data, s.keys)
	if err != nil {
		return nil, err
	}
	for _, u := range doc.unknown {
		if u.path[0] == "merge" {
			return nil, u.err
		}
	}
	for _, f := range doc.known {
		if _, err := f.key.fromTOML(f.raw, s.home, KindRepo); err != nil && f.key.Guard != GuardUser {
			return nil, valueError(f.source, f.key.Name, err)
		}
	}
	return own.withRepo(doc), nil
}

// withoutMergeRules returns a copy of a layer of settings without the merge.* keys that a
// repository may set: for these the croft.toml of the target decides. The merge.* keys
// that only the user may set, such as merge.slots, stay.
func (s *Set) withoutMergeRules(l layer) layer {
	out := maps.Clone(l)
	maps.DeleteFunc(out, func(name string, at setting) bool {
		key, known := findKey(s.keys, name)
		if isOn, _ := at.value.(bool); known && key.Guard == GuardOn && isOn {
			return false // it only tightens
		}
		return known && key.IsRepoSettable() && strings.HasPrefix(name, "merge.")
	})
	return out
}
