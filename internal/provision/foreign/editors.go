package foreign

import (
	"encoding/json"
	"runtime"

	"github.com/pelletier/go-toml/v2"
)

// readCursor reads .cursor/worktrees.json: a list of commands, or the path of a script beside
// the file, of this system before that of all.
func readCursor(text []byte, _ Files) (*Setup, error) {
	var file map[string]json.RawMessage
	if err := unmarshalJSONC(text, &file); err != nil {
		return nil, err
	}
	system := "setup-worktree-unix"
	if runtime.GOOS == "windows" {
		system = "setup-worktree-windows"
	}
	value, ok := file[system]
	if !ok {
		if value, ok = file["setup-worktree"]; !ok {
			return nil, nil
		}
	}
	s := &Setup{Env: map[string]Template{"ROOT_WORKTREE_PATH": Var("repo")}}
	var commands []string
	var script string
	switch {
	case json.Unmarshal(value, &commands) == nil:
		for _, run := range commands {
			s.Setup = append(s.Setup, commandOf(run)...)
		}
	case json.Unmarshal(value, &script) == nil && script != "":
		path, err := scriptIn(".cursor", script)
		if err != nil {
			return nil, err
		}
		s.Setup = []Command{{Script: path}}
		s.Hashes = []string{".cursor/worktrees.json", path}
	default:
		return nil, errShape
	}
	return s, nil
}

// codexScript is a table of environment.toml with a script for all systems, and others for some.
type codexScript struct {
	script
	Linux  *script `toml:"linux"`
	Darwin *script `toml:"darwin"`
	Win32  *script `toml:"win32"`
}

type script struct {
	Script string `toml:"script"`
}

// here returns the script of this system.
func (c codexScript) here() string {
	if own := map[string]*script{"linux": c.Linux, "darwin": c.Darwin, "windows": c.Win32}[runtime.GOOS]; own != nil {
		return own.Script
	}
	return c.Script
}

// readCodex reads .codex/environments/environment.toml.
func readCodex(text []byte, _ Files) (*Setup, error) {
	var file struct {
		Version int         `toml:"version"`
		Setup   codexScript `toml:"setup"`
		Cleanup codexScript `toml:"cleanup"`
		Actions []struct {
			Name     string `toml:"name"`
			Command  string `toml:"command"`
			Platform string `toml:"platform"`
		} `toml:"actions"`
	}
	if err := unmarshalTOML(text, &file); err != nil {
		return nil, err
	}
	if file.Version != 1 {
		return nil, errVersion
	}
	s := &Setup{
		Setup: commandOf(file.Setup.here()), Teardown: commandOf(file.Cleanup.here()),
		Env: map[string]Template{"CODEX_SOURCE_TREE_PATH": Var("repo"), "CODEX_WORKTREE_PATH": Var("path")},
	}
	platform := map[string]string{"windows": "win32"}[runtime.GOOS]
	if platform == "" {
		platform = runtime.GOOS
	}
	for _, a := range file.Actions {
		if a.Platform == "" || a.Platform == platform {
			s.Actions = append(s.Actions, actionsOf(a.Name, a.Command)...)
		}
	}
	return s, nil
}

// readClaude reads what .claude/settings.json says of worktrees. It has no commands.
func readClaude(text []byte, _ Files) (*Setup, error) {
	var file struct {
		Worktree *struct {
			SymlinkDirectories []string `json:"symlinkDirectories"`
			SparsePaths        []string `json:"sparsePaths"`
			BaseRef            string   `json:"baseRef"`
		} `json:"worktree"`
	}
	if err := unmarshalJSONC(text, &file); err != nil {
		return nil, err
	}
	w := file.Worktree
	if w == nil {
		return nil, nil
	}
	s := &Setup{Links: w.SymlinkDirectories, Sparse: w.SparsePaths}
	switch w.BaseRef {
	case "", "fresh", "head":
		s.BaseRef = w.BaseRef
	default:
		s.Skipped = append(s.Skipped, Skipped{Key: "worktree.baseRef", Why: "it is neither fresh nor head"})
	}
	return s, nil
}

// readLinks reads .worktreelink: patterns of what is linked.
func readLinks(text []byte, _ Files) (*Setup, error) {
	return &Setup{Links: patternLines(string(text))}, nil
}

func unmarshalTOML(text []byte, into any) error {
	if err := toml.Unmarshal(text, into); err != nil {
		return &syntaxError{err}
	}
	return nil
}
