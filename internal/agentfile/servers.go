// Package agentfile knows the files by which coding agents find Croft: their servers of tools, and
// their hooks. It adds to them what is Croft's and takes it out again; every other byte stays.
package agentfile

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"reflect"
	"strings"

	"github.com/croft-sh/croft/internal/pattern"
)

// File is a file in which an agent's host looks for its MCP servers.
type File struct {
	Path  string // in the project, with slashes
	under string // the JSON object that has the servers; empty: the file is TOML
	entry string // the server of Croft
}

// tomlServer is the table of Croft's server in the settings of Codex, which passes on no
// variables of its environment but those that are named.
const tomlServer = `[mcp_servers.croft]
command = "croft"
args = ["mcp"]
startup_timeout_sec = 10
tool_timeout_sec = 600
env_vars = ["CROFT_STATE_DIR", "CROFT_DATA_DIR", "CROFT_WORKSPACE", "CROFT_WORKSPACE_ID", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"]
`

// Servers are the files in which agents look for their servers of tools.
func Servers() []File {
	return []File{
		{".mcp.json", "mcpServers", `{"type": "stdio", "command": "croft", "args": ["mcp"], "timeout": 600000}`},
		{".codex/config.toml", "", tomlServer},
		{".cursor/mcp.json", "mcpServers", `{"command": "croft", "args": ["mcp"]}`},
		{".gemini/settings.json", "mcpServers", `{"command": "croft", "args": ["mcp"]}`},
		{"opencode.json", "mcp", `{"type": "local", "command": ["croft", "mcp"]}`},
	}
}

// CodexServer is the file of Codex's settings.
func CodexServer() File { return Servers()[1] }

// Text is the file where there was none.
func (f File) Text() []byte { return f.fresh() }

// Outcome says what became of a file of an agent's host.
type Outcome string

// The outcomes.
const (
	Written Outcome = "written" // it was made
	Changed Outcome = "changed" // the server of Croft was added; all other bytes stayed
	There   Outcome = "there"   // it has the server already
	Removed Outcome = "removed" // what is Croft's was taken out; without anything else, the file was deleted
	Left    Outcome = "left"    // it was not touched; why says the reason
)

// maxFile is how long a file of an agent's host may be.
const maxFile = 1 << 20

// Undo takes the server of Croft out of a TOML file, if it is as Croft wrote it.
func (f File) Undo(root *os.Root) (Outcome, string, error) {
	out, why, err := change(root, f.Path, "", removedTOML)
	if out == Changed {
		out = Removed
	}
	return out, why, err
}

// Update adds the server of Croft to the file, unless it, or another one of that name, is
// there. It follows no link, and leaves what it does not understand.
func (f File) Update(root *os.Root) (Outcome, string, error) {
	if dir := path.Dir(f.Path); dir != "." {
		info, err := root.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", "", err
		case !info.IsDir():
			return Left, dir + " is not a directory", nil
		}
	}
	info, err := root.Lstat(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return Written, "", f.write(root, f.fresh(), 0o644)
	}
	if err != nil {
		return "", "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return Left, "it is not a regular file, or too large", nil
	}
	old, err := readAt(root, f.Path)
	if err != nil {
		return "", "", err
	}
	text, why := f.added(old)
	switch {
	case why != "":
		return Left, why, nil
	case bytes.Equal(text, old):
		return There, "", nil
	}
	return Changed, "", f.write(root, text, info.Mode().Perm())
}

func readAt(root *os.Root, name string) ([]byte, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// write puts a file in its place whole.
func (f File) write(root *os.Root, text []byte, mode fs.FileMode) error {
	if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
		return err
	}
	temp := f.Path + ".croft-" + rand.Text()
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = root.Rename(temp, f.Path)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// fresh is the file where there was none.
func (f File) fresh() []byte {
	if f.under == "" {
		return []byte(f.entry)
	}
	return fmt.Appendf(nil, "{\n  %q: {\n    \"croft\": %s\n  }\n}\n", f.under, f.entry)
}

// added returns the text of a file with the server of Croft, or says why that is not added.
func (f File) added(old []byte) (text []byte, why string) {
	if f.under == "" {
		return addedTOML(old)
	}
	var was map[string]any
	if err := json.Unmarshal(old, &was); err != nil {
		return nil, "it is not plain JSON"
	}
	servers, isObject := was[f.under].(map[string]any)
	if _, ok := was[f.under]; ok && !isObject {
		return nil, f.under + " in it is not an object"
	}
	var entry any
	if err := json.Unmarshal([]byte(f.entry), &entry); err != nil {
		return nil, err.Error()
	}
	if present, ok := servers["croft"]; ok {
		if reflect.DeepEqual(present, entry) {
			return old, ""
		}
		return nil, "it has another server called croft"
	}
	insert, at := fmt.Sprintf("\n    \"croft\": %s", f.entry), offsetOf(old, f.under)
	isEmpty := len(servers) == 0
	if !isObject {
		insert, at = fmt.Sprintf("\n  %q: {\n    \"croft\": %s\n  }", f.under, f.entry), offsetOf(old, "")
		isEmpty = len(was) == 0
	}
	if at < 0 {
		return nil, "it is not plain JSON"
	}
	if !isEmpty {
		insert += ","
	}
	text = []byte(string(old[:at]) + insert + string(old[at:]))
	if servers == nil {
		servers = map[string]any{}
	}
	servers["croft"], was[f.under] = entry, servers
	var now map[string]any
	if err := json.Unmarshal(text, &now); err != nil || !reflect.DeepEqual(now, was) {
		return nil, "it is not plain JSON"
	}
	return text, ""
}

// offsetOf returns where the members of an object begin: of the one under a key of the file, or,
// without a key, of the file's own. It is negative if there is none.
func offsetOf(text []byte, key string) int {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return -1
	}
	if key == "" {
		return int(dec.InputOffset())
	}
	at := -1
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return -1
		}
		var value json.RawMessage
		if name != key {
			if dec.Decode(&value) != nil {
				return -1
			}
			continue
		}
		if t, err := dec.Token(); err != nil || t != json.Delim('{') {
			return -1
		}
		at = int(dec.InputOffset())
		for dec.More() { // the members, and the end of the object
			if _, err := dec.Token(); err != nil || dec.Decode(&value) != nil {
				return -1
			}
		}
		if _, err := dec.Token(); err != nil {
			return -1
		}
	}
	return at
}

// otherTOML finds servers in a TOML file that are written in a way that a table cannot be added to,
// and another server called croft.
var (
	croftTOML  = pattern.New(`(?m)^[ \t]*(\[[ \t]*)?["']?mcp_servers["']?[ \t]*\.[ \t]*["']?croft["']?[ \t]*[].=]`)
	inlineTOML = pattern.New(`(?m)^[ \t]*["']?mcp_servers["']?[ \t]*=`)
	memberTOML = pattern.New(`(?m)^[ \t]*\[[ \t]*["']?mcp_servers["']?[ \t]*\]`)
)

// removedTOML returns the text of a TOML file without the server that addedTOML put there; nil: nothing else was in it. A
// server that was edited stays.
func removedTOML(old []byte) (text []byte, why string) {
	rest, isFirst := strings.CutPrefix(string(old), tomlServer) // Croft made the file, and others have added to it since
	if !isFirst {
		rest = strings.Replace(string(old), "\n"+tomlServer, "", 1)
	}
	switch {
	case isFirst && rest == "":
		return nil, ""
	case rest == string(old) && croftTOML().Match(old):
		return nil, "its server called croft is not as croft init writes it: take it out by hand"
	}
	return []byte(rest), ""
}

func addedTOML(old []byte) (text []byte, why string) {
	switch {
	case strings.Contains("\n"+string(old), "\n"+tomlServer):
		return old, ""
	case croftTOML().Match(old):
		return nil, "it has another server called croft"
	case inlineTOML().Match(old), memberTOML().Match(old):
		return nil, "its mcp_servers are not tables of their own"
	}
	text = bytes.Clone(old)
	if len(text) > 0 { // so Undo finds the bytes of before, whether they ended with a line or not
		text = append(text, '\n')
	}
	return append(text, tomlServer...), ""
}
