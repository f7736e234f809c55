// Package layout says where a workspace lies and what its branch is called.
//
// A layout is a pair of templates with a few policies. The presets are the
// layouts that have a name; [Layout.With] makes others from them. The package
// is pure: it reads no file, no environment and no repository, so its answer
// depends on nothing but its arguments.
//
// Values that are not safe in a path or in a branch name are refused with a
// code and a suggestion, and never rewritten. The one exception is the slug,
// which is a rewritten name by definition.
package layout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
)

// Start says where a workspace starts and where its work goes back to.
type Start string

// The starts.
const (
	StartCurrent Start = "current" // the branch that is checked out
	StartMain    Start = "main"    // the repository's main branch
	StartHead    Start = "head"    // the commit that is checked out, whatever its branch
)

// Need says whether a request must carry a value.
type Need string

const (
	// NeedOptional leaves it to the caller. It is the default.
	NeedOptional Need = ""
	// NeedRequired refuses a request without the value.
	NeedRequired Need = "required"
)

// Orphans says what is done about orphans before a workspace is made.
type Orphans string

const (
	// OrphansKeep leaves them to the upkeep commands. It is the default.
	OrphansKeep Orphans = ""
	// OrphansReapFirst reaps them at start.
	OrphansReapFirst Orphans = "reap-first"
)

// Parent says what happens when the directory in which the workspaces would
// lie cannot be written.
type Parent string

const (
	// ParentFallback uses the data directory instead. It is the default.
	ParentFallback Parent = ""
	// ParentStrict refuses to make the workspace, with NotWritable.
	ParentStrict Parent = "strict"
)

// Plain says what a plain directory gets, one that is in no git repository.
type Plain string

const (
	// PlainRefuse refuses it, unless a mode was asked for. It is the default.
	PlainRefuse Plain = ""
	// PlainCopy gives every agent a copy.
	PlainCopy Plain = "copy"
	// PlainDirect lets the agent write in the directory itself.
	PlainDirect Plain = "direct"
)

// Finish says what becomes of the work of an agent that ended well.
type Finish string

const (
	// FinishKeep leaves it on its branch. It is the default.
	FinishKeep Finish = ""
	// FinishMerge submits it to the lane of its target.
	FinishMerge Finish = "merge"
)

// Aim says whether a workspace's work goes anywhere unless that was asked for.
type Aim string

const (
	// AimBranch: back to the branch that it started from. It is the default.
	AimBranch Aim = ""
	// AimNone: nowhere; it is an attempt among others.
	AimNone Aim = "none"
)

// Layout is where workspaces lie, what their branches are called, and the
// policies that go with it.
type Layout struct {
	Name    string
	Path    string // template, relative to the main checkout unless absolute
	Branch  string // template
	Start   Start
	Session Need
	Role    Need
	Orphans Orphans
	Parent  Parent
	Plain   Plain
	Finish  Finish
	Links   []string // what is linked from the project's top, by pattern
	Prefix  string   // the value of {prefix}
	Aim     Aim
	Ignored []string // files at the top of a workspace that its agent keeps for itself, and that git ignores
	Scratch string   // a directory for what is not committed, ignored by git; empty: none
	Message string   // of commits that Croft makes; empty: the configuration's
}

// Presets returns the layouts that have a name, the default one first.
func Presets() []Layout { return slices.Clone(presets) }

// presets is never changed.
var presets = []Layout{
	{
		Name:   "default",
		Path:   "../{repo}.croft/{slug}",
		Branch: "croft/{name}",
		Start:  StartCurrent,
	},
	{
		Name:   "agents",
		Path:   ".worktrees/{id}",
		Branch: "agent/{shortid}",
		Start:  StartMain,
		Plain:  PlainDirect,
		Finish: FinishMerge,
		Links:  []string{"node_modules", ".env", ".env.*"},
	},
	{
		Name:    "swarm",
		Path:    ".worktrees/{role}",
		Branch:  "{prefix}/{role}-{session}",
		Prefix:  "swarm",
		Start:   StartCurrent,
		Session: NeedRequired,
		Role:    NeedRequired,
	},
	{
		Name:    "sibling",
		Path:    "../{repo}-{branch}-{unix}",
		Branch:  "{name}",
		Start:   StartCurrent,
		Orphans: OrphansReapFirst,
		Parent:  ParentStrict,
		Ignored: []string{"STATE.json"},
	},
	{
		Name:   "claude",
		Path:   ".claude/worktrees/{slug}",
		Branch: "croft/{name}",
		Start:  StartCurrent,
	},
	roundsPreset("rounds", "croft", ".croft_scratch"),
	roundsPreset("massgen", "massgen", ".massgen_scratch"),
}

// roundsPreset is a layout for agents that attempt the same in turns. Its names say
// nothing about who works where.
func roundsPreset(name, prefix, scratch string) Layout {
	return Layout{
		Name:    name,
		Path:    "{home}/.worktree/{repo}",
		Branch:  "{prefix}/{hex8}",
		Start:   StartHead,
		Plain:   PlainCopy,
		Aim:     AimNone,
		Prefix:  prefix,
		Scratch: scratch,
		Message: "[ROUND] Auto-commit",
	}
}

// UsesHome reports whether the workspaces of an agent lie in its home.
func (l Layout) UsesHome() bool { return strings.HasPrefix(l.Path, "{home}") }

// Preset returns the preset of that name, or fails with InvalidRequest.
func Preset(name string) (Layout, error) {
	names := make([]string, len(presets))
	for i := range presets {
		if presets[i].Name == name {
			return presets[i], nil
		}
		names[i] = presets[i].Name
	}
	return Layout{}, &croft.Error{
		Code:    croft.InvalidRequest,
		Op:      "layout",
		Message: "unknown layout " + quote(name),
		Hint:    "the layouts are " + strings.Join(names, ", "),
	}
}

// With replaces the templates by those that are not empty, and fails with
// ConfigInvalid if a template of the result cannot be used. A template that
// uses {session} or {role} makes it required.
func (l Layout) With(path, branch string) (Layout, error) {
	l.Path, l.Branch = cmp.Or(path, l.Path), cmp.Or(branch, l.Branch)
	inPath, err := parsePath(l.Path)
	if err != nil {
		return Layout{}, err
	}
	inBranch, err := parseBranch(l.Branch)
	if err != nil {
		return Layout{}, err
	}
	if inPath.uses("prefix") {
		if _, err := l.pathPrefix(); err != nil {
			return Layout{}, err
		}
	}
	if err := l.probeBranch(inBranch); err != nil {
		return Layout{}, err
	}
	if inPath.uses("session") || inBranch.uses("session") {
		l.Session = NeedRequired
	}
	if inPath.uses("role") || inBranch.uses("role") {
		l.Role = NeedRequired
	}
	return l, nil
}

// probeBranch renders the template with harmless values, so that a template
// whose own text git would refuse is found when it is configured and not when
// the first workspace is made.
func (l Layout) probeBranch(t template) error {
	sample := Values{
		Repo: "repo", Name: "name", Slug: "slug", Role: "role", Session: "1",
		ID: "id", Hex8: "00000000", Unix: 1, Round: 1,
	}
	_, err := l.renderBranch(t, sample)
	if err == nil || errors.Is(err, croft.ConfigInvalid) {
		return err
	}
	return templateError("branch", l.Branch, "makes names that git refuses: "+croft.AsError("layout", err).Message)
}

// UsesSlug reports whether a template of the layout needs a slug.
func (l Layout) UsesSlug() bool {
	return strings.Contains(l.Path, "{slug}") || strings.Contains(l.Branch, "{slug}")
}

func noPrefixError() error {
	return &croft.Error{
		Code:    croft.ConfigInvalid,
		Op:      "layout",
		Message: "the layout uses {prefix} and has no prefix",
		Hint:    "give the layout a prefix, or take {prefix} out of its templates",
	}
}

func templateError(which, text, problem string) error {
	return &croft.Error{
		Code:    croft.ConfigInvalid,
		Op:      "layout",
		Message: fmt.Sprintf("%s template %s %s", which, quote(text), problem),
		Hint:    "the variables are " + variableList(),
	}
}
