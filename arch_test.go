package croft_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const module = "github.com/croft-sh/croft"

// mayImport is the architecture: for every package, the packages of this
// module that it may import. A package without a row fails the test, so a new
// package, or a new arrow, is a reviewed line here. "." is the root package.
var mayImport = map[string][]string{
	// The vocabulary. Everything speaks it; it knows nobody.
	".": {},

	// Foundations: they know nothing of workspaces.
	"internal/failpoint": {},
	"internal/fsx":       {},
	"internal/flock":     {},
	"internal/proc":      {},
	"internal/forge":     {"internal/proc"},
	"internal/lifetime":  {},
	"internal/notice":    {},
	"internal/parallel":  {},
	"internal/pattern":   {},
	"internal/plaintext": {},
	"internal/scratch":   {"internal/fsx"},
	"internal/recording": {},
	"internal/screen":    {"internal/plaintext"},
	"internal/shellword": {},
	"internal/tomledit":  {},
	"internal/tomltable": {},
	"internal/tui":       {"internal/screen"},

	// The files by which agents find Croft, as texts.
	"internal/agentfile": {"internal/pattern"},

	// What agents' hooks say, and what is done with it.
	"internal/hook":     {".", "internal/pattern"},
	"internal/activity": {"."},
	"internal/hook/act": {".", "internal/fsx", "internal/hook", "internal/provision/foreign", "internal/shellword"},

	// Agents that Croft starts: what can be told of one without a journal, and who waits for it.
	"internal/run":        {".", "internal/fsx", "internal/owner", "internal/proc"},
	"internal/supervise":  {".", "internal/owner", "internal/proc", "internal/run"},
	"internal/background": {".", "internal/fsx", "internal/pattern", "internal/proc"},

	// The rooms of git, each on those before it. "internal/git/..." is all of them.
	"internal/git/object":    {"internal/fsx"},
	"internal/git/index":     {"internal/fsx", "internal/git/object"},
	"internal/git/walk":      {"internal/fsx", "internal/git/index", "internal/git/object"},
	"internal/git/watch":     {},
	"internal/git/exchange":  {"internal/failpoint", "internal/fsx"},
	"internal/git/gitconfig": {"internal/fsx"},
	"internal/git/gitdir":    {"internal/fsx", "internal/git/gitconfig", "internal/git/object"},
	"internal/git/writers":   {"internal/flock", "internal/fsx", "internal/git/gitdir", "internal/proc"},
	"internal/git/gitcmd": {
		"internal/fsx", "internal/git/gitconfig", "internal/git/gitdir", "internal/git/index", "internal/git/object", "internal/git/watch", "internal/git/writers",
		"internal/proc",
	},
	"internal/git/odb": {
		"internal/failpoint", "internal/flock", "internal/fsx", "internal/git/gitcmd", "internal/git/gitdir", "internal/git/index",
		"internal/git/object", "internal/proc",
	},
	"internal/git/refs": {
		"internal/failpoint", "internal/flock", "internal/fsx", "internal/git/gitcmd", "internal/git/gitconfig", "internal/git/gitdir",
		"internal/git/index", "internal/git/object", "internal/git/odb", "internal/git/writers", "internal/parallel",
		"internal/proc",
	},
	"internal/git/remote": {"internal/git/gitcmd", "internal/git/gitconfig"},
	"internal/git/mergetree": {
		"internal/failpoint", "internal/fsx", "internal/git/gitcmd", "internal/git/gitdir", "internal/git/object", "internal/git/odb",
		"internal/git/refs", "internal/git/writers", "internal/pattern", "internal/proc",
	},
	"internal/git/spare": {"internal/fsx", "internal/git/gitcmd", "internal/git/gitdir", "internal/git/index", "internal/git/object", "internal/git/walk", "internal/git/worktree"},
	"internal/git/worktree": {
		"internal/failpoint", "internal/flock", "internal/fsx", "internal/git/gitcmd", "internal/git/gitconfig", "internal/git/gitdir",
		"internal/git/index", "internal/git/mergetree", "internal/git/object", "internal/git/odb", "internal/git/writers",
	},
	"internal/git/isolated": {
		"internal/failpoint", "internal/flock", "internal/fsx", "internal/git/gitcmd", "internal/git/gitconfig", "internal/git/gitdir",
		"internal/git/index", "internal/git/mergetree", "internal/git/object", "internal/git/odb", "internal/git/refs", "internal/git/worktree",
		"internal/git/writers", "internal/proc",
	},
	"internal/git":         {"internal/failpoint", "internal/flock", "internal/fsx", "internal/git/...", "internal/pattern", "internal/proc"},
	"internal/git/gittest": {"internal/proc"},

	// The parts of the engine. They never import each other.
	"internal/config": {".", "internal/pattern", "internal/tomledit", "internal/tomltable"},
	"internal/journal": {
		".", "internal/activity", "internal/failpoint", "internal/flock", "internal/journal/damage", "internal/journal/prepared", "internal/journal/readonly", "internal/journal/telling",
		"internal/journal/txlog", "internal/journal/watch", "internal/parallel",
	},
	"internal/journal/damage":        {},
	"internal/journal/prepared":      {},
	"internal/access":                {".", "internal/fsx", "internal/git/gitcmd"},
	"internal/journal/readonly":      {"internal/fsx", "internal/journal/prepared"},
	"internal/journal/telling":       {"."},
	"internal/journal/txlog":         {},
	"internal/journal/watch":         {},
	"internal/check":                 {".", "internal/flock", "internal/fsx", "internal/git/...", "internal/proc"},
	"internal/layout":                {".", "internal/pattern", "internal/plaintext", "internal/shellword"},
	"internal/merge":                 {".", "internal/git/..."},
	"internal/layout/layouttest":     {".", "internal/layout"},
	"internal/provision":             {".", "internal/failpoint", "internal/fsx", "internal/git/..."},
	"internal/provision/foreign":     {},
	"internal/provision/script":      {"internal/shellword"},
	"internal/provision/portblock":   {"."},
	"internal/snapshot":              {"internal/failpoint", "internal/fsx", "internal/git/..."},
	"internal/snapshot/restore":      {"internal/failpoint", "internal/fsx", "internal/git/...", "internal/snapshot"},
	"internal/checkout":              {"internal/fsx"},
	"internal/checkout/direct":       {"internal/checkout"},
	"internal/checkout/worktree":     {"internal/checkout", "internal/failpoint", "internal/fsx", "internal/git/..."},
	"internal/checkout/shadow":       {"internal/checkout", "internal/checkout/worktree", "internal/fsx", "internal/git/..."},
	"internal/checkout/checkouttest": {"internal/checkout", "internal/git/gittest"},

	// What the parts of the engine share.
	"internal/words":     {"."},
	"internal/page":      {"."},
	"internal/progress":  {".", "internal/journal"},
	"internal/condition": {".", "internal/shellword"},
	"internal/actor":     {"."},
	"internal/owner":     {".", "internal/proc"},
	"internal/oplog":     {".", "internal/flock", "internal/fsx", "internal/journal"},
	"internal/once":      {".", "internal/failpoint", "internal/flock", "internal/journal", "internal/layout"},
	"internal/explain": {
		".", "internal/checkout", "internal/fsx", "internal/git/...", "internal/journal", "internal/provision", "internal/shellword", "internal/snapshot",
	},

	"internal/attempt": {".", "internal/journal", "internal/merge", "internal/shellword"},

	// The rooms of the engine. An arrow points at a room that stands before it.
	"internal/beside": {".", "internal/git/gitdir", "internal/journal", "internal/shellword"},
	"internal/project": {
		".", "internal/actor", "internal/beside", "internal/checkout", "internal/checkout/direct", "internal/checkout/shadow", "internal/config", "internal/explain",
		"internal/failpoint", "internal/flock", "internal/fsx", "internal/git/...", "internal/journal", "internal/layout",
		"internal/lifetime", "internal/notice", "internal/once", "internal/oplog", "internal/owner", "internal/proc", "internal/provision", "internal/shellword", "internal/snapshot/restore",
	},
	"internal/everywhere": {".", "internal/journal", "internal/page", "internal/project"},
	"internal/work": {
		".", "internal/checkout", "internal/failpoint", "internal/git/...", "internal/journal", "internal/layout", "internal/once", "internal/proc", "internal/project",
		"internal/shellword",
	},
	"internal/base": {".", "internal/git/...", "internal/layout", "internal/project", "internal/shellword"},
	"internal/radar": {
		".", "internal/checkout", "internal/explain", "internal/failpoint", "internal/fsx", "internal/git/...", "internal/journal", "internal/project", "internal/work",
	},
	"internal/view": {
		".", "internal/actor", "internal/everywhere", "internal/checkout", "internal/condition", "internal/explain", "internal/fsx", "internal/git/...", "internal/journal", "internal/layout", "internal/merge", "internal/owner", "internal/page", "internal/parallel",
		"internal/plaintext", "internal/proc", "internal/project", "internal/radar", "internal/run", "internal/work",
	},
	"internal/pool": {
		".", "internal/base", "internal/checkout", "internal/failpoint", "internal/flock", "internal/fsx", "internal/git/...", "internal/layout", "internal/proc", "internal/project", "internal/provision",
	},
	"internal/workspace": {
		".", "internal/activity", "internal/base", "internal/checkout", "internal/checkout/worktree", "internal/explain", "internal/failpoint", "internal/fsx",
		"internal/git/...", "internal/journal", "internal/layout", "internal/once", "internal/oplog", "internal/owner", "internal/pool", "internal/proc", "internal/progress", "internal/project", "internal/provision",
		"internal/scratch", "internal/shellword", "internal/view", "internal/work",
	},
	"internal/agentrun": {
		".", "internal/fsx", "internal/git/...", "internal/journal", "internal/owner", "internal/proc", "internal/project", "internal/run", "internal/shellword",
	},
	"internal/adoption": {
		".", "internal/explain", "internal/fsx", "internal/git/...", "internal/journal", "internal/layout", "internal/once", "internal/proc", "internal/project",
		"internal/shellword", "internal/view", "internal/workspace",
	},
	"internal/removal": {
		".", "internal/actor", "internal/checkout", "internal/checkout/worktree", "internal/explain", "internal/failpoint", "internal/fsx", "internal/git/...", "internal/journal",
		"internal/layout", "internal/merge", "internal/once", "internal/oplog", "internal/owner", "internal/parallel", "internal/proc", "internal/progress", "internal/project", "internal/run", "internal/shellword", "internal/snapshot", "internal/view",
	},
	"internal/trash": {
		".", "internal/checkout", "internal/checkout/worktree", "internal/explain", "internal/failpoint", "internal/flock", "internal/fsx",
		"internal/git/...", "internal/journal", "internal/once", "internal/oplog", "internal/proc", "internal/progress", "internal/project", "internal/provision", "internal/removal", "internal/shellword",
		"internal/snapshot", "internal/snapshot/restore", "internal/workspace",
	},
	"internal/rewind": {
		".", "internal/checkout", "internal/explain", "internal/failpoint", "internal/flock", "internal/fsx", "internal/git/...", "internal/journal", "internal/layout",
		"internal/once", "internal/oplog", "internal/project", "internal/removal", "internal/shellword", "internal/snapshot", "internal/snapshot/restore", "internal/trash",
		"internal/view",
	},
	"internal/rules": {
		".", "internal/actor", "internal/base", "internal/config", "internal/equip", "internal/explain", "internal/failpoint", "internal/fsx", "internal/git/...", "internal/journal",
		"internal/layout", "internal/once", "internal/project", "internal/run", "internal/shellword", "internal/workspace",
	},
	"internal/equip": {
		".", "internal/base", "internal/workspace", "internal/config", "internal/explain", "internal/failpoint", "internal/fsx", "internal/git/...", "internal/journal", "internal/pattern", "internal/pool", "internal/project", "internal/provision", "internal/check", "internal/flock", "internal/once", "internal/oplog", "internal/proc", "internal/provision/foreign", "internal/provision/portblock", "internal/provision/script", "internal/shellword",
	},
	"internal/lane": {
		".", "internal/actor", "internal/attempt", "internal/check", "internal/config", "internal/explain", "internal/failpoint", "internal/flock", "internal/fsx",
		"internal/git/...", "internal/journal", "internal/layout", "internal/merge", "internal/once", "internal/oplog", "internal/owner", "internal/page", "internal/parallel", "internal/project", "internal/removal", "internal/rules",
		"internal/run", "internal/shellword", "internal/work", "internal/workspace",
	},
	"internal/resolve": {
		".", "internal/checkout", "internal/failpoint", "internal/git/...", "internal/journal", "internal/merge", "internal/once", "internal/oplog",
		"internal/project", "internal/lane", "internal/removal", "internal/rewind", "internal/shellword", "internal/view", "internal/work", "internal/workspace",
	},
	"internal/review": {
		".", "internal/checkout", "internal/explain", "internal/failpoint", "internal/git/...", "internal/journal", "internal/lane", "internal/merge",
		"internal/once", "internal/page", "internal/project", "internal/removal", "internal/shellword", "internal/trash", "internal/work",
	},
	"internal/push": {
		".", "internal/failpoint", "internal/forge", "internal/git/...", "internal/journal", "internal/pattern", "internal/project", "internal/shellword", "internal/work",
	},
	"internal/round": {
		".", "internal/base", "internal/checkout", "internal/explain", "internal/failpoint", "internal/flock", "internal/fsx", "internal/git/...",
		"internal/journal", "internal/layout", "internal/once", "internal/project", "internal/removal", "internal/shellword", "internal/view", "internal/work", "internal/workspace",
	},
	"internal/upkeep": {
		".", "internal/agentrun", "internal/checkout/worktree", "internal/equip", "internal/failpoint", "internal/flock", "internal/fsx", "internal/git/...", "internal/journal",
		"internal/lane", "internal/once", "internal/owner", "internal/pool", "internal/proc", "internal/progress", "internal/project", "internal/removal", "internal/review", "internal/round", "internal/shellword", "internal/trash",
		"internal/workspace",
	},
	"internal/uninstall": {
		".", "internal/checkout/worktree", "internal/explain", "internal/flock", "internal/fsx", "internal/git/...", "internal/journal",
		"internal/lane", "internal/once", "internal/owner", "internal/pool", "internal/proc", "internal/pattern", "internal/project", "internal/radar", "internal/shellword", "internal/trash", "internal/workspace",
	},
	"internal/doctor": {
		".", "internal/base", "internal/checkout", "internal/checkout/worktree", "internal/fsx", "internal/git/...", "internal/journal",
		"internal/layout", "internal/once", "internal/oplog", "internal/proc", "internal/project", "internal/rewind", "internal/shellword", "internal/trash", "internal/work",
		"internal/workspace",
	},
	"internal/history": {
		".", "internal/actor", "internal/explain", "internal/journal", "internal/lane", "internal/once", "internal/owner", "internal/page", "internal/project", "internal/removal", "internal/shellword",
		"internal/rewind", "internal/trash", "internal/words",
	},

	// The Service in this process, and who opens it.
	"engine": {
		".", "internal/access", "internal/adoption", "internal/agentrun", "internal/attempt", "internal/config", "internal/doctor", "internal/equip", "internal/everywhere", "internal/explain", "internal/fsx", "internal/git/...", "internal/history", "internal/journal",
		"internal/lane", "internal/oplog", "internal/owner", "internal/page", "internal/pool", "internal/proc", "internal/project", "internal/push", "internal/radar", "internal/removal", "internal/resolve",
		"internal/review", "internal/rewind", "internal/round", "internal/rules", "internal/trash", "internal/uninstall", "internal/upkeep",
		"internal/view", "internal/words", "internal/work", "internal/workspace",
	},
	"client": {".", "internal/api", "internal/lifetime", "internal/owner", "internal/socket"},
	"connect": {
		".", "client", "docs/openapi", "engine", "internal/api", "internal/config", "internal/proc", "internal/socket",
	},
	"replica":             {"."},
	"servicetest":         {".", "servicetest/harness"},
	"servicetest/harness": {".", "internal/git/gittest"},
	"servicetest/wire":    {".", "servicetest/harness"},

	// Long tests of the whole, through the built binary.
	"internal/attack":  {},
	"internal/battery": {},
	"internal/samples": {},

	// JSON Schemas of the answers, made and checked by tests.
	"internal/jsonschema": {"."},
	"internal/openapi":    {".", "internal/api", "internal/jsonschema"},

	// The clients in other languages: their generated parts, and their tests.
	"internal/openapi/clientgen": {"internal/jsonschema", "internal/openapi"},
	"clients":                    {},

	// Changes of the code that tests must find.
	"internal/mutant": {},

	// A built croft, a browser for the tests of pages, a registry of npm's, and sandboxes like those of agents.
	"internal/buildtest":   {},
	"internal/browsertest": {"internal/proc"},
	"internal/npmtest":     {},
	"internal/sandboxtest": {"internal/proc"},

	// What programs that use Croft look like.
	"examples/landing":    {".", "connect"},
	"examples/pool":       {".", "connect"},
	"examples/spawn":      {".", "connect"},
	"examples/tournament": {".", "connect"},
	"packaging/sbom":      {},

	// The web pages, for people.
	"internal/dashboard": {".", "internal/caller", "internal/pattern"},

	// The surfaces: they see the Service, never an engine.
	"internal/cli": {
		".", "internal/agentfile", "internal/cli/answer", "internal/cli/help", "internal/cli/hunks", "internal/cli/listing", "internal/cli/live", "internal/cli/mounting",
		"internal/cli/results", "internal/cli/wording", "internal/plaintext", "internal/screen", "internal/tui",
	},
	// What the command line says, apart from the commands: of croft's own types it makes text.
	"internal/cli/answer":   {".", "internal/listjson", "internal/parallel"},
	"internal/cli/help":     {"internal/screen"},
	"internal/cli/hunks":    {"."},
	"internal/cli/listing":  {".", "internal/cli/results", "internal/cli/wording", "internal/screen"},
	"internal/cli/live":     {".", "internal/cli/listing", "internal/cli/results", "internal/cli/wording", "internal/plaintext", "internal/screen"},
	"internal/cli/mounting": {".", "internal/cli/wording"},
	"internal/cli/results":  {".", "internal/cli/wording", "internal/screen"},
	"internal/cli/wording":  {".", "internal/shellword"},
	"internal/mcp":          {".", "internal/pattern", "internal/scope"},
	"internal/caller":       {"."},
	// The daemon: the API over the Service, the streams of events, the process and its guard.
	"internal/api":            {".", "internal/listjson"},
	"internal/listjson":       {".", "internal/parallel"},
	"internal/socket":         {".", "internal/fsx", "internal/shellword"}, // clients have it, too
	"internal/daemon":         {".", "internal/api", "internal/caller", "internal/daemon/guard", "internal/daemon/metrics", "internal/socket"},
	"internal/daemon/agents":  {".", "internal/api", "internal/caller"},
	"internal/daemon/guard":   {".", "internal/api", "internal/caller"},
	"internal/daemon/keeper":  {".", "internal/daemon/metrics"},
	"internal/daemon/metrics": {},
	"internal/daemon/process": {
		".", "internal/api", "internal/daemon", "internal/daemon/guard", "internal/daemon/keeper", "internal/daemon/metrics",
		"internal/flock", "internal/shellword", "internal/socket", "internal/token",
	},
	"internal/daemon/rest":    {".", "internal/api", "internal/caller", "internal/notice"},
	"internal/daemon/stream":  {".", "internal/api", "internal/caller"},
	"internal/daemon/watcher": {"."},
	"internal/daemon/web": {
		".", "internal/api", "internal/caller", "internal/daemon", "internal/daemon/agents", "internal/daemon/guard", "internal/daemon/metrics", "internal/daemon/rest", "internal/daemon/stream",
		"internal/dashboard", "internal/scope",
	},
	"internal/scope": {"."},
	"internal/token": {".", "internal/flock", "internal/fsx", "internal/shellword"},
	"docs/schema":    {},
	"docs/openapi":   {},
	"cmd/croft": {
		".", "connect", "docs/openapi", "docs/schema", "engine", "internal/api", "internal/background", "internal/cli", "internal/config", "internal/daemon", "internal/daemon/metrics", "internal/daemon/process", "internal/flock", "internal/hook", "internal/hook/act",
		"internal/daemon/stream", "internal/daemon/watcher", "internal/daemon/web", "internal/mcp", "internal/proc", "internal/run", "internal/socket", "internal/supervise", "internal/token", "internal/tui",
	},
}

// engineParts are siblings: what one of them needs of another, the engine
// hands it.
var engineParts = []string{
	"internal/check", "internal/checkout", "internal/config", "internal/journal", "internal/layout", "internal/merge", "internal/provision",
	"internal/snapshot",
}

// rooms are those of the engine, in the order in which they may know each other: what a
// room needs of one that stands after it, it asks for as an interface.
var rooms = []string{
	"internal/project", "internal/work", "internal/base", "internal/radar", "internal/view", "internal/pool", "internal/workspace", "internal/agentrun", "internal/removal",
	"internal/trash", "internal/rewind", "internal/equip", "internal/rules", "internal/lane", "internal/resolve", "internal/review", "internal/push", "internal/round",
	"internal/upkeep", "internal/uninstall", "internal/doctor", "internal/history",
}

// testSupport are the packages that only tests import. Nothing else may link
// the testing package.
var testSupport = []string{
	"internal/browsertest", "internal/buildtest", "internal/checkout/checkouttest", "internal/git/gittest", "internal/jsonschema", "internal/layout/layouttest", "internal/mutant", "internal/npmtest", "internal/openapi", "internal/openapi/clientgen", "internal/sandboxtest", "servicetest", "servicetest/harness", "servicetest/wire",
}

// onlyIn names, for imports that have one place, that place. A row ends in
// "/..." when it covers everything below.
var onlyIn = map[string][]string{
	"os/exec":      {"internal/buildtest", "internal/proc", "internal/sandboxtest", "examples/pool", "examples/spawn", "examples/tournament"},
	"net/http/...": web,
	"database/sql": {"internal/journal", "internal/journal/prepared", "internal/journal/readonly"},
	"testing/...":  testSupport,

	"github.com/clipperhouse/...":         {"internal/screen"},
	"github.com/coder/websocket/...":      {"internal/browsertest", "internal/daemon/stream"},
	"github.com/google/go-cmp/...":        testSupport,
	"github.com/modelcontextprotocol/...": {"internal/mcp"},
	"github.com/pelletier/go-toml/...":    {"internal/config", "internal/provision/foreign", "internal/tomledit", "internal/tomltable"},
	"github.com/rogpeppe/go-internal/...": testSupport,
	"github.com/spf13/...":                {"cmd/croft", "internal/cli", "internal/cli/help"},
	"go.yaml.in/yaml/...":                 {"internal/cli"},
	"modernc.org/...":                     {"internal/journal", "internal/journal/readonly"},
}

// web are the packages that speak HTTP.
var web = []string{"client", "internal/api", "internal/daemon", "internal/daemon/agents", "internal/daemon/guard", "internal/daemon/process", "internal/daemon/rest", "internal/daemon/stream", "internal/daemon/web", "internal/dashboard", "internal/dashboard/...", "internal/npmtest", "internal/openapi"}

// anywhere lists the third-party modules that every package but the root may
// import. A module that is neither here nor in onlyIn fails the test.
var anywhere = []string{"golang.org/x/sync/...", "golang.org/x/sys/...", "golang.org/x/term"}

// callsOnlyIn names functions that have one place, for the same reason: one
// door to processes, and configuration that is read once, at the edge.
var callsOnlyIn = map[string][]string{
	"os.Clearenv":          {},
	"os.Environ":           environment,
	"os.ExpandEnv":         environment,
	"os.Getenv":            environment,
	"os.LookupEnv":         environment,
	"os.Setenv":            {},
	"os.Unsetenv":          {},
	"os.StartProcess":      {"internal/proc"},
	"regexp.MustCompile":   {"docs/schema", "internal/cli", "internal/jsonschema", "internal/mcp", "internal/pattern", "internal/recording", "servicetest"}, // a start does not pay for it
	"syscall.Environ":      {},
	"syscall.Exec":         {"internal/proc"},
	"syscall.ForkExec":     {"internal/proc"},
	"syscall.Getenv":       {},
	"syscall.StartProcess": {"internal/proc"},
}

// environment lists who reads the environment: the edges, which make the one
// configuration of it, the door to processes, which passes it on, and the
// failpoints, which are in no released binary.
var environment = []string{"examples/pool", "examples/spawn", "examples/tournament", "cmd/croft", "connect", "internal/failpoint", "internal/proc"}

// fileCalls are those that follow links, wait for pipes or act on whatever lies
// at a path by now. What an agent can write is read, written, moved and deleted
// by internal/fsx.
var fileCalls = []string{"os.RemoveAll", "os.Rename", "os.WriteFile", "os.ReadFile", "os.CopyFS", "os.Create"}

// fileCallers are the packages that are held to that. Of git's rooms only
// deletions are: their reads and writes have tests of their own.
var fileCallers = map[string][]string{
	"engine":                     fileCalls,
	"internal/project":           fileCalls,
	"internal/work":              fileCalls,
	"internal/base":              fileCalls,
	"internal/radar":             fileCalls,
	"internal/view":              fileCalls,
	"internal/workspace":         fileCalls,
	"internal/agentrun":          fileCalls,
	"internal/removal":           fileCalls,
	"internal/trash":             fileCalls,
	"internal/rewind":            fileCalls,
	"internal/rules":             fileCalls,
	"internal/equip":             fileCalls,
	"internal/lane":              fileCalls,
	"internal/resolve":           fileCalls,
	"internal/review":            fileCalls,
	"internal/push":              fileCalls,
	"internal/forge":             fileCalls,
	"internal/round":             fileCalls,
	"internal/upkeep":            fileCalls,
	"internal/uninstall":         fileCalls,
	"internal/doctor":            fileCalls,
	"internal/history":           fileCalls,
	"internal/check":             fileCalls,
	"internal/snapshot":          fileCalls,
	"internal/snapshot/restore":  fileCalls,
	"internal/scratch":           fileCalls,
	"internal/provision":         fileCalls,
	"internal/checkout":          fileCalls,
	"internal/checkout/worktree": fileCalls,
	"internal/checkout/shadow":   fileCalls,
	"internal/checkout/direct":   fileCalls,
	"internal/git":               {"os.RemoveAll", "os.CopyFS"},
	"internal/git/gitcmd":        {"os.RemoveAll", "os.CopyFS"},
	"internal/git/gitconfig":     fileCalls,
	"internal/git/gitdir":        {"os.RemoveAll", "os.CopyFS"},
	"internal/git/isolated":      {"os.RemoveAll", "os.CopyFS"},
	"internal/git/mergetree":     {"os.RemoveAll", "os.CopyFS"},
	"internal/git/odb":           {"os.RemoveAll", "os.CopyFS"},
	"internal/git/refs":          {"os.RemoveAll", "os.CopyFS"},
	"internal/git/worktree":      {"os.RemoveAll", "os.CopyFS"},
	"internal/git/writers":       {"os.RemoveAll", "os.CopyFS"},
	"internal/git/index":         fileCalls,
	"internal/git/object":        fileCalls,
}

// fileCallsIn lists the files of those packages that use such calls
// nevertheless, each with the reason why no agent can turn them against the
// host.
var fileCallsIn = map[string]string{
	"internal/agentrun/agentrun.go":   "runs, in the state directory",
	"internal/check/cache.go":         "caches of checks, in the state directory",
	"internal/trash/survey.go":        "files in the state directory",
	"internal/project/oplocks.go":     "files in the state directory",
	"internal/rules/approval.go":      "approvals, in the state directory",
	"internal/git/index/file.go":      "copies of indexes, in the state directory",
	"internal/git/object/dir.go":      "a quarantine of objects, in the state directory or in memory under a name made there",
	"internal/git/worktree/add.go":    "a directory in the state directory, made for one call",
	"internal/git/trashed.go":         "copies of registrations, in the state directory",
	"internal/git/discard.go":         "what is known of an isolated checkout, in the state directory",
	"internal/git/isolated/pull.go":   "a copy of an index, and the registration of an isolated checkout, in the state directory",
	"internal/git/writers/lease.go":   "temporary directories in the state directory, and in memory under a name made there",
	"internal/git/odb/stores.go":      "stores of objects, in the state directory",
	"internal/git/commitwork.go":      "a temporary directory in the state directory",
	"internal/git/mergetree/idle.go":  "a quarantine of objects, in the state directory",
	"internal/git/plain.go":           "a git directory under a temporary name, before anybody works with it",
	"internal/git/scratch.go":         "trees for checks, in the state directory",
	"internal/git/gitcmd/selftest.go": "a repository that was made for one test, in the state directory",
	"internal/git/odb/store.go":       "stores of objects, in the state directory",
}

// TestFilesGoThroughFsx: a new caller, or one that is gone, is a reviewed line
// above.
func TestFilesGoThroughFsx(t *testing.T) {
	used := map[string]bool{}
	for _, src := range sources(t) {
		for call, pos := range callsIn(src) {
			if !slices.Contains(fileCallers[src.pkg], call) {
				continue
			}
			if used[src.path] = true; fileCallsIn[src.path] == "" {
				t.Errorf("%s: uses %s; what an agent can write goes through internal/fsx", src.fset.Position(pos), call)
			}
		}
	}
	for path := range fileCallsIn {
		if !used[path] {
			t.Errorf("%s has no such call any more", path)
		}
	}
}

// callsIn lists the functions of other packages that a file names, with a place
// of each.
func callsIn(src source) map[string]token.Pos {
	imported := map[string]string{} // name in the file → import path
	for imp, name := range src.imports {
		imported[name] = imp
	}
	calls := map[string]token.Pos{}
	ast.Inspect(src.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			// An identifier that the parser resolved is a local variable,
			// which only looks like the package.
			if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && imported[x.Name] != "" {
				calls[imported[x.Name]+"."+sel.Sel.Name] = sel.Pos()
			}
		}
		return true
	})
	return calls
}

const (
	maxFileLines     = 500
	maxFunctionLines = 80
	maxExampleLines  = 120 // a program that uses Croft is short
)

// overBudget lists the files ("dir/file.go") and functions
// ("dir/file.go:Type.Name") that may be longer, each with the reason.
var overBudget = map[string]string{}

// source is one Go file of the module that is not a test.
type source struct {
	path    string // with slashes, from the module's root
	pkg     string // its directory
	file    *ast.File
	fset    *token.FileSet
	imports map[string]string // import path → the name it has in this file
}

func TestPackagesAreThoseOfTheTable(t *testing.T) {
	documented := map[string]bool{}
	for _, src := range sources(t) {
		documented[src.pkg] = documented[src.pkg] || src.file.Doc != nil
	}
	for pkg, ok := range documented {
		if _, known := mayImport[pkg]; !known {
			t.Errorf("%s: not in the table mayImport", pkg)
		}
		if !ok {
			t.Errorf("%s: no package comment", pkg)
		}
	}
	for pkg, imports := range mayImport {
		if _, ok := documented[pkg]; !ok {
			t.Errorf("%s: in the table mayImport, but not in the module", pkg)
		}
		for _, imp := range imports {
			if _, ok := mayImport[strings.TrimSuffix(imp, "/...")]; !ok {
				t.Errorf("%s: may import %s, which has no row of its own", pkg, imp)
			}
		}
	}
}

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	for _, src := range sources(t) {
		for imp, name := range src.imports {
			if name == "." {
				t.Errorf("%s: imports %s into its own names", src.path, imp)
			}
			if own, ok := inModule(imp); ok {
				if !isAllowed(src.pkg, own) {
					t.Errorf("%s: %s may not import %s", src.path, src.pkg, own)
				}
				continue
			}
			placed := false
			for pattern, where := range onlyIn {
				if !covers(pattern, imp) {
					continue
				}
				placed = true
				if !slices.ContainsFunc(where, func(row string) bool { return covers(row, src.pkg) }) {
					t.Errorf("%s: imports %s; only %v may", src.path, imp, where)
				}
			}
			if placed || !strings.Contains(imp, ".") {
				continue
			}
			if src.pkg == "." {
				t.Errorf("%s: imports %s; the root package has the standard library only", src.path, imp)
			}
			if !slices.ContainsFunc(anywhere, func(p string) bool { return covers(p, imp) }) {
				t.Errorf("%s: imports %s, which is neither in onlyIn nor in anywhere", src.path, imp)
			}
		}
	}
}

// isAllowed reports whether a row of mayImport names a package. A row for a whole tree
// does not name what is there for tests.
func isAllowed(pkg, imported string) bool {
	return slices.ContainsFunc(mayImport[pkg], func(row string) bool {
		return row == imported || covers(row, imported) && !slices.Contains(testSupport, imported)
	})
}

// TestOnlyGitSpellsGit: outside of internal/git nobody says what git is to run.
func TestOnlyGitSpellsGit(t *testing.T) {
	spells := []string{module + "/internal/git/gitcmd.Call", module + "/internal/git/gitcmd.Target"}
	for _, src := range sources(t) {
		if covers("internal/git/...", src.pkg) {
			continue
		}
		for name, pos := range callsIn(src) {
			if slices.Contains(spells, name) {
				t.Errorf("%s: uses %s", src.fset.Position(pos), name)
			}
		}
		ast.Inspect(src.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "RunGit" {
				t.Errorf("%s: runs git", src.fset.Position(sel.Pos()))
			}
			return true
		})
	}
}

func TestCallsHaveTheirPlace(t *testing.T) {
	for _, src := range sources(t) {
		imported := map[string]string{} // name in the file → import path
		for imp, name := range src.imports {
			imported[name] = imp
		}
		ast.Inspect(src.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			// An identifier that the parser resolved is a local variable,
			// which only looks like the package.
			x, ok := sel.X.(*ast.Ident)
			if !ok || x.Obj != nil {
				return true
			}
			call := imported[x.Name] + "." + sel.Sel.Name
			if where, ok := callsOnlyIn[call]; ok && !slices.Contains(where, src.pkg) {
				t.Errorf("%s: uses %s; only %v may", src.fset.Position(sel.Pos()), call, where)
			}
			return true
		})
	}
}

func TestEnginePartsStayApart(t *testing.T) {
	for _, part := range engineParts {
		for pkg := range mayImport {
			if pkg != part && !strings.HasPrefix(pkg, part+"/") {
				continue
			}
			for _, other := range engineParts {
				if other != part && slices.Contains(reachable(pkg), other) {
					t.Errorf("%s reaches its sibling %s", pkg, other)
				}
			}
		}
	}
	for i, room := range rooms {
		for _, after := range rooms[i:] {
			if slices.Contains(mayImport[room], after) {
				t.Errorf("%s may import %s, which stands after it", room, after)
			}
		}
	}
	for pkg := range mayImport {
		if !slices.Contains(testSupport, pkg) && slices.ContainsFunc(mayImport[pkg], func(imp string) bool { return slices.Contains(testSupport, imp) }) {
			t.Errorf("%s: may import a package that is for tests only", pkg)
		}
	}
	reached := slices.DeleteFunc(reachable("internal/cli"), func(pkg string) bool { return covers("internal/cli/...", pkg) })
	if !slices.Equal(reached, []string{".", "internal/agentfile", "internal/listjson", "internal/parallel", "internal/pattern", "internal/plaintext", "internal/screen", "internal/shellword", "internal/tui"}) {
		t.Errorf("internal/cli reaches %v; a surface sees nothing but the vocabulary, the texts of agents' files, how long lists are encoded, how words of commands are quoted, and the terminal", reached)
	}
}

// TestLibraryLinksNoSurface keeps what an embedding program links small. The
// module's own arrows are followed in this process and the rest is asked of
// the go command, whose answer depends on go.mod alone: so a cached test
// result is never older than the code.
func TestLibraryLinksNoSurface(t *testing.T) {
	if _, err := os.ReadFile("go.mod"); err != nil { // read, so that go test notices changes
		t.Fatal(err)
	}
	all := sources(t)
	for _, pkg := range []string{".", "engine"} {
		linked := linkedPackages(t, all, pkg)
		for _, imp := range linked {
			for _, banned := range []string{"github.com/spf13/cobra/...", "net/http/..."} {
				if covers(banned, imp) {
					t.Errorf("%s links %s", pkg, imp)
				}
			}
		}
		if pkg == "." && slices.ContainsFunc(linked, func(imp string) bool {
			return strings.Contains(imp, ".") && !strings.HasPrefix(imp, "vendor/")
		}) {
			t.Errorf("the root package links more than the standard library: %v", linked)
		}
	}
}

// required is a line of go.mod that names a direct dependency.
var required = regexp.MustCompile(`(?m)^\s*(?:require )?([a-z0-9.-]+\.[a-z]+/\S+) v\S+$`)

func TestDependenciesAreExplained(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile(filepath.Join("docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	direct := required.FindAllStringSubmatch(strings.ReplaceAll(string(mod), "\r\n", "\n"), -1)
	if len(direct) == 0 {
		t.Fatal("no direct dependency found in go.mod")
	}
	for _, m := range direct {
		if !strings.Contains(string(docs), "| ["+m[1]+"](#") {
			t.Errorf("%s: no row in docs/dependencies.md", m[1])
		}
	}
}

func TestLengths(t *testing.T) {
	used := map[string]bool{}
	check := func(key string, lines, limit int) {
		if lines <= limit {
			return
		}
		used[key] = true
		if overBudget[key] == "" {
			t.Errorf("%s: %d lines, over %d: cut it, or list it in overBudget with a reason", key, lines, limit)
		}
	}
	for _, src := range sources(t) {
		limit := maxFileLines
		if covers("examples/...", src.pkg) {
			limit = maxExampleLines
		}
		check(src.path, src.fset.Position(src.file.FileEnd-1).Line, limit)
		for _, decl := range src.file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				lines := src.fset.Position(fn.End()).Line - src.fset.Position(fn.Pos()).Line + 1
				check(src.path+":"+functionName(fn), lines, maxFunctionLines)
			}
		}
	}
	for key := range overBudget {
		if !used[key] {
			t.Errorf("%s: in overBudget, but within the limit or gone", key)
		}
	}
}

// maxPackageLines holds for what is not a test.
const maxPackageLines = 3000

// packageLines are other limits.
var packageLines = map[string]int{
	".":                     4_950,  // the contract in prose: half of it is comments
	"engine":                1_175,  // a line or three a call, and what walks again what is watched
	"internal/cli":          16_350, // one file a command; what they say is below it
	"internal/dashboard":    8_000,  // one file a page
	"internal/config":       3_300,  // a few lines a setting, and how one is written
	"internal/equip":        3_500,  // what comes in, from which of seven places, and what is in stock of it
	"internal/fsx":          3_700,  // one small file for each way in which an agent could lead a write astray
	"internal/git":          8_450,  // the statuses that are walked, remembered and watched among them
	"internal/lane":         3_750,  // one queue: what waits, what is tried, what is published
	"internal/git/isolated": 3_050,  // a git directory of an agent's own, and nothing of it believed
	"internal/git/gitcmd":   3_250,  // the one door, and all that it does not believe
	"internal/journal":      3_700,  // the rows of every noun, beside the protocol of transactions
	"internal/proc":         3_200,  // the one door to processes, on each system
	"internal/project":      3_200,  // what every room of the engine stands on
	"servicetest":           14_000, // a suite: nothing but tests, and more with every promise
}

// TestPackageLengths: a package is a room that one person can know. What is generated is
// read by nobody.
func TestPackageLengths(t *testing.T) {
	lines := map[string]int{}
	for _, src := range sources(t) {
		if ast.IsGenerated(src.file) {
			continue
		}
		lines[src.pkg] += src.fset.Position(src.file.FileEnd - 1).Line
	}
	for pkg, n := range lines {
		limit := cmp.Or(packageLines[pkg], maxPackageLines)
		if n > limit {
			t.Errorf("%s: %d lines, over %d: divide it, or make it smaller", pkg, n, limit)
		}
	}
	for pkg := range packageLines {
		if lines[pkg] == 0 {
			t.Errorf("%s has a limit, and is gone", pkg)
		}
	}
}

// wiring are the test files of the engine that are of no room. Keys (package once) concern
// all of them.
var wiring = []string{"close", "cputime", "engine", "helper", "norace", "once", "race", "words"}

// TestRoomsHaveTheirTests: .ci/room finds every test of the engine, and every group of
// the contract's scenarios, by the name of a room.
func TestRoomsHaveTheirTests(t *testing.T) {
	files, err := filepath.Glob("engine/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of the engine: %v", err)
	}
	for _, file := range files {
		room, _, _ := strings.Cut(filepath.Base(file), "_")
		if !slices.Contains(rooms, "internal/"+room) && !slices.Contains(wiring, room) {
			t.Errorf("%s: its name begins with no room of the engine", file)
		}
	}
	script, err := os.ReadFile(".ci/room")
	if err != nil {
		t.Fatal(err)
	}
	suite, err := os.ReadFile("servicetest/servicetest.go")
	if err != nil {
		t.Fatal(err)
	}
	groups := regexp.MustCompile(`groupOf\("(\w+)"|\{name: "(\w+)"`).FindAllStringSubmatch(string(suite), -1)
	if len(groups) < 30 {
		t.Fatalf("%d groups of scenarios", len(groups))
	}
	for _, g := range groups {
		if name := cmp.Or(g[1], g[2]); !regexp.MustCompile(`["|]` + name + `["|]`).Match(script) {
			t.Errorf(".ci/room: no room has the scenarios of %s", name)
		}
	}
}

// scriptName is <command>_<scenario>.txt.
var scriptName = regexp.MustCompile(`^[a-z][a-z0-9-]*(_[a-z0-9-]+)+\.txt$`)

// TestTestNames finds tests that would never run: go test passes over a
// function called Testfoo without a word.
func TestTestNames(t *testing.T) {
	walk(t, func(name string) {
		if path.Base(path.Dir(name)) == "script" && path.Base(path.Dir(path.Dir(name))) == "testdata" {
			if base := path.Base(name); strings.HasSuffix(base, ".txt") && !scriptName.MatchString(base) {
				t.Errorf("%s: a script is called <command>_<scenario>.txt", name)
			}
		}
		if !strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil {
				continue
			}
			for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
				rest, ok := strings.CutPrefix(fn.Name.Name, prefix)
				if first, _ := utf8.DecodeRuneInString(rest); ok && unicode.IsLower(first) {
					t.Errorf("%s: go test does not run %s", name, fn.Name.Name)
				}
			}
		}
	})
}

// sources parses every Go file of the module that is not a test, for every
// platform. It reads in this process, so that go test knows every file and
// does not answer from its cache after one of them changed.
func sources(t *testing.T) []source {
	t.Helper()
	var found []source
	walk(t, func(name string) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			return
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Error(err)
			return
		}
		src := source{path: name, pkg: path.Dir(name), file: file, fset: fset, imports: map[string]string{}}
		for _, spec := range file.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			src.imports[imp] = path.Base(imp)
			if spec.Name != nil {
				src.imports[imp] = spec.Name.Name
			}
		}
		found = append(found, src)
	})
	if len(found) == 0 {
		t.Fatal("no Go file found: the test does not run in the module's root")
	}
	return found
}

// walk calls visit with every file of the module, by its path with slashes.
func walk(t *testing.T, visit func(name string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && strings.ContainsAny(d.Name()[:1], "._") {
			return fs.SkipDir
		}
		if !d.IsDir() {
			visit(filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reachable follows the table from a package on, and returns what it reaches
// in order.
func reachable(pkg string) []string {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(pkg string) {
		for _, imp := range mayImport[pkg] {
			if !seen[imp] {
				seen[imp] = true
				visit(imp)
			}
		}
	}
	visit(pkg)
	return slices.Sorted(maps.Keys(seen))
}

// linkedPackages returns every package outside this module that a package of
// it links on this platform.
func linkedPackages(t *testing.T, all []source, pkg string) []string {
	t.Helper()
	all = slices.DeleteFunc(slices.Clone(all), func(src source) bool {
		ok, err := build.Default.MatchFile(filepath.FromSlash(src.pkg), path.Base(src.path))
		return err != nil || !ok
	})
	outside := map[string]bool{}
	inside := map[string]bool{pkg: true}
	for grown := true; grown; {
		grown = false
		for _, src := range all {
			if !inside[src.pkg] {
				continue
			}
			for imp := range src.imports {
				own, ok := inModule(imp)
				if ok && !inside[own] {
					inside[own], grown = true, true
				}
				if !ok && imp != "C" {
					outside[imp] = true
				}
			}
		}
	}
	args := append([]string{"list", "-deps", "--"}, slices.Sorted(maps.Keys(outside))...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, stderr.String())
	}
	return strings.Fields(string(out))
}

// inModule returns the row of the table that an import path belongs to.
func inModule(imp string) (string, bool) {
	if imp == module {
		return ".", true
	}
	return strings.CutPrefix(imp, module+"/")
}

// covers reports whether a pattern, with or without a final "/...", matches an
// import path.
func covers(pattern, imp string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return imp == tree || strings.HasPrefix(imp, tree+"/")
	}
	return imp == pattern
}

// functionName is Name, or Type.Name for a method.
func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	recv := fn.Recv.List[0].Type
	if star, ok := recv.(*ast.StarExpr); ok {
		recv = star.X
	}
	if generic, ok := recv.(*ast.IndexExpr); ok {
		recv = generic.X
	}
	return fmt.Sprintf("%s.%s", recv, fn.Name.Name)
}
