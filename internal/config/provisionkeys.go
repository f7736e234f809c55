package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/pattern"
)

// Provision says what makes a workspace usable, besides the tables of arrays.
type Provision struct {
	Include bool `key:"include"`
	Secrets bool `key:"secrets"`
	// Submodules says whether submodules are filled from the project's own copies.
	Submodules bool   `key:"submodules"`
	MaxBytes   int64  `key:"max_bytes"`
	MaxFiles   int64  `key:"max_files"`
	MinFree    string `key:"min_free"` // bytes, or a share such as "10%"

	Foreign   string   `key:"foreign"` // "ask", "off", or names of files
	LinksFile bool     `key:"links_file"`
	EnvFile   string   `key:"env_file"` // its name at the top of a workspace; empty: none is written
	Timeout   Duration `key:"timeout"`
	Wait      string   `key:"wait"` // WaitAll or WaitFiles
}

// The values of provision.wait.
const (
	WaitAll   = "all"
	WaitFiles = "files"
)

// Ports says which TCP ports a workspace gets.
type Ports struct {
	Count int      `key:"count"` // 0: none
	Range string   `key:"range"`
	Names []string `key:"names"`
}

func provisionKeys() []Key {
	return []Key{
		{
			Name: "provision.include", Type: TypeBoolean, Default: "true",
			Doc: "Whether a new workspace gets copies of the ignored files that `.worktreeinclude` at the top of the repository names.",
		},
		{
			Name: "provision.secrets", Type: TypeBoolean, Default: "false", Guard: GuardUser,
			Doc: "Whether isolated workspaces get copies of ignored files, too. Such files often are secrets, and an isolated workspace may be given to somebody else.",
		},
		{
			Name: "provision.submodules", Type: TypeBoolean, Default: "false",
			Doc: "Whether the submodules of a new workspace are filled from the project's own copies of them, without a network.",
		},
		{
			Name: "provision.max_bytes", Type: TypeInteger, Default: "2147483648", Guard: GuardMax,
			Doc: "How many bytes are copied into a new workspace beside its commit. What is over is left out, and named. 0 means no limit. Clones that share blocks do not count.",
			max: maxBytes,
		},
		{
			Name: "provision.max_files", Type: TypeInteger, Default: "200000", Guard: GuardMax,
			Doc: "The same for files.",
			max: maxInodes,
		},
		{
			Name: "provision.min_free", Type: TypeString, Default: "10%", Guard: GuardUser,
			Doc:   "How much of the file system must stay free when files of more than 1 MiB are copied: bytes, or a share such as `10%`.",
			check: checkShare,
		},
		{
			Name: "provision.foreign", Type: TypeString, Default: "ask",
			Doc: "Whether the set-up files of other tools are used in a repository without steps of its own: `ask` (their commands wait for an approval), `off`, or the paths of files, separated by commas.",
		},
		{
			Name: "provision.links_file", Type: TypeBoolean, Default: "false",
			Doc: "Whether what `.worktreelink` names is linked to the project's files, once a person has approved it.",
		},
		{
			Name: "provision.env_file", Type: TypeString, Default: ".croft.env",
			Doc:   "The name of the file at the top of a workspace that has its variables, where ports or `[env]` are configured. Empty means none.",
			check: checkScratchName,
		},
		{
			Name: "provision.timeout", Type: TypeDuration, Default: "10m", Guard: GuardMax,
			Doc: "How long all steps of one workspace may take together.",
			min: int64(time.Second), max: longest,
		},
		{
			Name: "provision.wait", Type: TypeString, Default: WaitAll,
			Doc:   "What an agent waits for that has a worktree made by a hook: `all`, or `files` (the steps go on in the background, and `croft show` tells how far they are).",
			words: []string{WaitAll, WaitFiles},
		},
		{
			Name: "ports.count", Type: TypeInteger, Default: "0",
			Doc: "How many TCP ports a workspace gets that no other workspace of this machine has. 0 means none.",
			max: 100,
		},
		{
			Name: "ports.range", Type: TypeString, Default: "20000-29999",
			Doc:   "The ports that workspaces get theirs from, first and last.",
			check: func(value any, _ string) error { _, _, err := PortRange(value.(string)); return err },
		},
		{
			Name: "ports.names", Type: TypeList,
			Doc:   "What the first ports are for: `web` is PORT_WEB in the environment.",
			check: checkPortNames,
		},
	}
}

// PortRange returns the first and the last port of a value of ports.range.
func PortRange(text string) (first, last int, err error) {
	from, to, ok := strings.Cut(text, "-")
	first, ferr := strconv.Atoi(from)
	last, err = strconv.Atoi(to)
	if !ok || ferr != nil || err != nil || first < 1024 || last > 65535 || last-first+1 < 100 {
		return 0, 0, errors.New("is not a range of at least 100 ports from 1024 to 65535, such as 20000-29999")
	}
	return first, last, nil
}

var portName = pattern.New(`^[a-z][a-z0-9_]{0,31}$`)

func checkPortNames(value any, _ string) error {
	names, _ := value.([]string)
	for i, name := range names {
		if !portName().MatchString(name) || slices.Contains(names[:i], name) {
			return fmt.Errorf("%s is not a name of its own of small letters, digits and _", quote(name))
		}
	}
	return nil
}

// checkShare accepts a number of bytes, or a number of percent.
func checkShare(value any, _ string) error {
	text, _ := value.(string)
	if _, err := FreeBytes(text, 0); err != nil {
		return err
	}
	return nil
}

// FreeBytes returns how many bytes of a file system with total bytes a value of provision.min_free means.
func FreeBytes(text string, total int64) (int64, error) {
	share, isShare := strings.CutSuffix(text, "%")
	n, err := strconv.ParseInt(share, 10, 64)
	if err != nil || n < 0 || isShare && n > 100 {
		return 0, errors.New("is neither a number of bytes nor a share such as 10%")
	}
	if isShare {
		return total / 100 * n, nil
	}
	return n, nil
}
