package config

import (
	"slices"
	"strings"
	"time"
)

// The types of settings.
const (
	TypeString   = "string"
	TypeInteger  = "integer"
	TypeBoolean  = "boolean"
	TypeDuration = "duration" // a string such as "168h" or "7d"
	TypeList     = "list"     // an array of strings; separated by commas in a flag or variable
	TypeCommands = "commands" // an array of strings; one a line in a flag or variable
	TypePath     = "path"     // an absolute path; "~/" stands for the home directory
)

// The guards: what a repository's file may do to a setting. No guard means
// that it may set any valid value.
const (
	// GuardMax: the value is an upper limit, which a repository may only
	// lower. Zero means no limit.
	GuardMax = "tighten-max"
	// GuardMin: the value is a lower limit, which a repository may only raise.
	GuardMin = "tighten-min"
	// GuardOn: the value is a switch, which a repository may only turn on.
	GuardOn = "tighten-on"
	// GuardUser: only the user may set it. In a repository's file it is
	// ignored with a warning.
	GuardUser = "user-only"
	// GuardNoFile: only a variable or a flag may set it, since it says where
	// state lies. In any file it is an error.
	GuardNoFile = "no-file"
)

// Key describes one setting.
type Key struct {
	Name    string // dotted, as in croft.toml: "limits.max_workers"
	Type    string // one of the Type constants
	Default string // as a flag or a variable would give it
	Doc     string // full sentences
	Guard   string // "" or one of the Guard constants

	aliases  []string // further variables, the stronger first
	xdg      string   // the variable of a base directory in which Croft has one of its own
	min, max int64    // of an integer or a duration; both inclusive
	check    func(value any, kind string) error
	words    []string // the only values of a string
}

// Words are the words that the value may be; none: it is not one of a few.
func (k Key) Words() []string {
	if k.Type == TypeBoolean {
		return []string{"true", "false"}
	}
	return k.words
}

// Env returns the variables that set the key, the strongest first.
func (k Key) Env() []string {
	name := "CROFT_" + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
	return append([]string{name}, k.aliases...)
}

// IsRepoSettable reports whether croft.toml in a repository may have the key.
func (k Key) IsRepoSettable() bool {
	return k.Guard != GuardUser && k.Guard != GuardNoFile
}

// table is the table in which the key lies, "" for the top level.
func (k Key) table() string {
	if i := strings.LastIndexByte(k.Name, '.'); i >= 0 {
		return k.Name[:i]
	}
	return ""
}

// last is the key's name within its table.
func (k Key) last() string { return lastPart(k.Name) }

func lastPart(name string) string {
	return name[strings.LastIndexByte(name, '.')+1:]
}

const (
	maxWorkers  = 1_000_000
	maxCheckout = 1024
	maxBytes    = 1 << 50
	maxInodes   = 1 << 40
	longest     = int64(100 * 365 * 24 * time.Hour)
)

// Keys returns every setting, in the order of the documentation: the top
// level first, then table by table. Parsing, `croft config`, the schema and
// the template all derive from it.
func Keys() []Key {
	return slices.Concat(layoutKeys(), guardKeys(), engineKeys(), poolKeys(), gitKeys(), mergeAndCommitKeys(), containerKeys(), provisionKeys(), placeKeys())
}

func layoutKeys() []Key {
	return []Key{
		{
			Name: "layout", Type: TypeString, Default: "default",
			Doc:   "The preset that says where workspaces lie and what their branches are called.",
			check: checkNotEmpty,
		},
		{
			Name: "path", Type: TypeString,
			Doc: "A template for the directory of a workspace, in place of the preset's. " +
				"A repository's own lies in the repository or beside it.",
			check: checkPathTemplate,
		},
		{
			Name: "branch", Type: TypeString,
			Doc: "A template for the branch of a workspace, in place of the preset's.",
		},
		{
			Name: "prefix", Type: TypeString,
			Doc: "What {prefix} stands for in templates.",
		},
		{
			Name: "roles.dir", Type: TypeString, Default: "roles",
			Doc:   "The directory that holds one directory for each role, relative to the repository.",
			check: checkRolesDir,
		},
		{
			Name: "roles.files", Type: TypeList, Default: "CLAUDE.md,AGENTS.md",
			Doc:   "The files of a role that are copied into a workspace.",
			check: checkRoleFiles,
		},
	}
}

func guardKeys() []Key {
	return []Key{
		{
			Name: "limits.max_workers", Type: TypeInteger, Default: "0", Guard: GuardMax,
			Doc:     "How many workspaces may be active at the same time. 0 means no limit.",
			aliases: []string{"CROFT_MAX_WORKERS", "MAX_WORKERS"},
			max:     maxWorkers,
		},
		{
			Name: "limits.min_free_bytes", Type: TypeInteger, Default: "67108864", Guard: GuardMin,
			Doc: "How many bytes must be free on the file system for a workspace to be made.",
			max: maxBytes,
		},
		{
			Name: "limits.min_free_inodes", Type: TypeInteger, Default: "1000", Guard: GuardMin,
			Doc: "How many inodes must be free on the file system for a workspace to be made.",
			max: maxInodes,
		},
		{
			Name: "trash.retention", Type: TypeDuration, Default: "168h", Guard: GuardMin,
			Doc: "How long removed work can be brought back.",
			max: longest,
		},
		{
			Name: "trash.max_bytes", Type: TypeInteger, Default: "21474836480", Guard: GuardMin,
			Doc: "How many bytes the trash of a repository may hold before `croft gc` deletes from it what is not past its retention.",
			max: maxBytes,
		},
		{
			Name: "trash.max_inodes", Type: TypeInteger, Default: "2000000", Guard: GuardMin,
			Doc: "The same for files and directories.",
			max: maxInodes,
		},
		{
			Name: "trash.regenerable", Type: TypeList, Guard: GuardUser,
			Default: "node_modules,bower_components,target,build,dist,.venv,venv,.tox,.nox,__pycache__,.mypy_cache,.pytest_cache,.ruff_cache," +
				".gradle,.next,.nuxt,.svelte-kit,.turbo,.parcel-cache,DerivedData",
			Doc: "Directories that can be made again and that go first from the trash, where git ignores them: names, or paths with a slash, with * and ?. " +
				"Ignored directories with a valid CACHEDIR.TAG count too.",
			check: checkGlobs,
		},
		{
			Name: "trash.regenerable_after", Type: TypeDuration, Default: "1h", Guard: GuardMin,
			Doc: "How long those directories stay in the trash.",
			max: longest,
		},
		{
			Name: "trash.saved_for", Type: TypeDuration, Default: "720h", Guard: GuardMin,
			Doc: "How long work that is not in its target can be brought back after its directory went from the trash: from its commits and a snapshot.",
			max: longest,
		},
		{
			Name: "trash.notice", Type: TypeDuration, Default: "24h", Guard: GuardMin,
			Doc: "How long before such work goes from the trash this is announced.",
			max: longest,
		},
		{
			Name: "snapshot.ignored", Type: TypeList,
			Doc: "Patterns of ignored files that a snapshot saves all the same.",
		},
		{
			Name: "snapshot.secrets", Type: TypeList, Default: ".env,.env.*", Guard: GuardUser,
			Doc: "Patterns of ignored files that a snapshot saves as files that only you can read, never in the repository.",
		},
	}
}

func engineKeys() []Key {
	return []Key{
		{
			Name: "lease.ttl", Type: TypeDuration, Default: "1m", Guard: GuardUser,
			Doc: "How long a lease lives without being renewed.",
			min: int64(time.Second), max: longest,
		},
		{
			Name: "lease.max_ttl", Type: TypeDuration, Default: "1h", Guard: GuardUser,
			Doc: "The longest life without renewal that a lease may be asked for.",
			min: int64(time.Second), max: longest,
		},
		{
			Name: "gc.auto", Type: TypeBoolean, Default: "true", Guard: GuardUser,
			Doc: "Whether Croft tidies up unasked, at most once an hour, after a command that changed something.",
		},
		{
			Name: "daemon.use", Type: TypeString, Default: "auto", Guard: GuardUser,
			Doc:   "Whether a program calls the daemon: `auto` where one runs with the same settings, `never` otherwise.",
			words: []string{"auto", "never"},
		},
		{
			Name: "history.retention", Type: TypeDuration, Default: "2160h", Guard: GuardUser,
			Doc: "How far the history and the events go back, and how long removed workspaces are remembered of which nothing is left.",
			max: longest,
		},
		{
			Name: "checkout.links", Type: TypeList,
			Doc: "Patterns of untracked files and directories at the top of the repository that are linked into a workspace, beside those of the layout.",
		},
		{
			Name: "checkout.sparse", Type: TypeList,
			Doc: "The directories that a workspace has of its commit, besides the files at the top, as `git sparse-checkout set --cone` takes them; `/` means everything. " +
				"Empty means what the project's own checkout has. Setting it switches `extensions.worktreeConfig` on in the repository, as that command does.",
			check: checkSparse,
		},
		{
			Name: "checkout.scratch", Type: TypeString,
			Doc:   "The name of the directory in each workspace that git ignores and that is archived when a round ends. Empty means the layout's.",
			check: checkScratchName,
		},
		{
			Name: "checkout.workers", Type: TypeInteger, Default: "0",
			Doc: "How many processes write the files of a workspace. 0 means one for each core.",
			max: maxCheckout,
		},
		{
			Name: "checkout.isolated_objects", Type: TypeString, Default: "copy", Guard: GuardUser,
			Doc: "What the objects are that isolated workspaces read: \"copy\" one of each set of packs, which shares disk space where the file system can, " +
				"or \"hardlink\" the project's own files, through which an agent that can write them damages the project.",
			words: []string{"copy", "hardlink"},
		},
	}
}

func poolKeys() []Key {
	return []Key{
		{
			Name: "pool.size", Type: TypeInteger, Default: "3", Guard: GuardUser,
			Doc: "How many checkouts are kept in stock beside the workspaces, so that a new one is a rename: the last one is copied, the others are handed out. " +
				"They are made in the background after `croft new`, at low priority. As many copies are kept of each large directory that is provisioned. 0 means none.",
			max: maxCheckout,
		},
		{
			Name: "pool.max_bytes", Type: TypeInteger, Default: "4294967296", Guard: GuardUser,
			Doc: "How many bytes the files of these checkouts and copies may have in a repository. 0 means no limit.",
			max: maxBytes,
		},
		{
			Name: "pool.max_inodes", Type: TypeInteger, Default: "500000", Guard: GuardUser,
			Doc: "The same for files.",
			max: maxInodes,
		},
	}
}

func gitKeys() []Key {
	return []Key{
		{
			Name: "git.path", Type: TypePath, Guard: GuardUser,
			Doc: "The git to run. Empty means the first in PATH.",
		},
		{
			Name: "git.filters", Type: TypeList, Guard: GuardUser,
			Doc: "The commands of content filters in a repository's own configuration that Croft may run, exactly as they stand there.",
		},
		{
			Name: "git.timeout", Type: TypeDuration, Default: "30m", Guard: GuardUser,
			Doc: "After what time a git that does not end is stopped.",
			max: longest,
		},
		{
			Name: "git.fence", Type: TypeString, Default: "auto", Guard: GuardUser,
			Doc: "Whether the kernel holds a git that writes to its directories: \"auto\" where it can, or \"off\", " +
				"for a git of your own that writes elsewhere, such as a log.",
			words: []string{"auto", "off"},
		},
		{
			Name: "push.agents", Type: TypeBoolean, Default: "false", Guard: GuardUser,
			Doc: "Whether agents may push from their workspaces, with your credentials.",
		},
	}
}

func containerKeys() []Key {
	return []Key{
		{
			Name: "containers.workdir", Type: TypeString, Default: "/workspace",
			Doc:   "Where a workspace lies in a container, which starts there: `croft mounts`.",
			check: checkContainerDir,
		},
	}
}

func placeKeys() []Key {
	return []Key{
		{
			Name: "state_dir", Type: TypePath, Default: "~/.local/state/croft", Guard: GuardNoFile,
			Doc:   "Where Croft keeps its record. $XDG_STATE_HOME/croft where that variable is set.",
			xdg:   "XDG_STATE_HOME",
			check: checkNotEmpty,
		},
		{
			Name: "data_dir", Type: TypePath, Default: "~/.local/share/croft", Guard: GuardNoFile,
			Doc:   "Where workspaces lie that cannot lie beside their repository. $XDG_DATA_HOME/croft where that variable is set.",
			xdg:   "XDG_DATA_HOME",
			check: checkNotEmpty,
		},
	}
}

// reservedTables belong to later versions. They are skipped unread, so that
// one croft.toml can serve several versions of Croft.
func reservedTables() []string { return []string{"rounds", "fence", "env", "teardown"} }

// provisionTables are the tables that ParseProvisioning reads.
func provisionTables() []string {
	return []string{"provision.step", "provision.path", "provision.probe", "env", "teardown"}
}

func findKey(keys []Key, name string) (Key, bool) {
	i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return keys[i], true
}

func isTable(keys []Key, name string) bool {
	return name != "" && slices.ContainsFunc(keys, func(k Key) bool { return k.table() == name })
}
