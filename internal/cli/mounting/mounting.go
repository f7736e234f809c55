// Package mounting says in the languages of containers and sandboxes what an agent needs of the host.
package mounting

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/wording"
)

// Docker are arguments of `docker run` and its likes, as words of a
// shell.
func Docker(m croft.Mounts) string {
	var words []string
	for _, mount := range m.Mounts {
		words = append(words, "--mount", wording.ShellWord(mountOption(mount)))
	}
	words = append(words, "--workdir", wording.ShellWord(m.Workdir))
	for _, name := range slices.Sorted(maps.Keys(m.Env)) {
		words = append(words, "--env", wording.ShellWord(name+"="+m.Env[name]))
	}
	return strings.Join(words, " ")
}

// mountOption is a mount as docker reads it: a line of comma-separated values.
func mountOption(m croft.Mount) string {
	fields := []string{"type=bind", csvField("source=" + m.Source), csvField("target=" + m.Target)}
	if m.IsReadOnly {
		fields = append(fields, "readonly")
	}
	return strings.Join(fields, ",")
}

func csvField(text string) string {
	if !strings.ContainsAny(text, ",\"\n") {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}

// Devcontainer is a part of a devcontainer.json.
func Devcontainer(m croft.Mounts) string {
	out := struct {
		WorkspaceMount  string            `json:"workspaceMount"`
		WorkspaceFolder string            `json:"workspaceFolder"`
		Mounts          []string          `json:"mounts"`
		ContainerEnv    map[string]string `json:"containerEnv"`
	}{WorkspaceMount: mountOption(m.Mounts[0]), WorkspaceFolder: m.Workdir, Mounts: []string{}, ContainerEnv: m.Env}
	for _, mount := range m.Mounts[1:] {
		out.Mounts = append(out.Mounts, mountOption(mount))
	}
	b, _ := json.MarshalIndent(out, "", "  ") // strings can always be written
	return string(b)
}

// Compose is a part of a compose file, for a service called agent. Its
// strings are written as JSON, which is YAML too; a dollar sign would be the
// beginning of a variable.
func Compose(m croft.Mounts) string {
	text := func(s string) string { return jsonText(strings.ReplaceAll(s, "$", "$$")) }
	var b strings.Builder
	fmt.Fprintf(&b, "services:\n  agent:\n    working_dir: %s\n    environment:\n", text(m.Workdir))
	for _, name := range slices.Sorted(maps.Keys(m.Env)) {
		fmt.Fprintf(&b, "      %s: %s\n", name, text(m.Env[name]))
	}
	b.WriteString("    volumes:\n")
	for _, mount := range m.Mounts {
		fmt.Fprintf(&b, "      - type: bind\n        source: %s\n        target: %s\n        read_only: %t\n", text(mount.Source), text(mount.Target), mount.IsReadOnly)
		b.WriteString("        bind:\n          create_host_path: false\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// Pod is a part of the specification of a pod that runs on this machine.
func Pod(m croft.Mounts) string {
	var b strings.Builder
	fmt.Fprintf(&b, "containers:\n  - name: agent\n    workingDir: %s\n    env:\n", jsonText(m.Workdir))
	for _, name := range slices.Sorted(maps.Keys(m.Env)) {
		fmt.Fprintf(&b, "      - name: %s\n        value: %s\n", name, jsonText(m.Env[name]))
	}
	b.WriteString("    volumeMounts:\n")
	for i, mount := range m.Mounts {
		fmt.Fprintf(&b, "      - name: croft-%d\n        mountPath: %s\n        readOnly: %t\n", i, jsonText(mount.Target), mount.IsReadOnly)
	}
	b.WriteString("volumes:\n")
	for i, mount := range m.Mounts {
		kind := "Directory"
		if mount.IsFile {
			kind = "File"
		}
		fmt.Fprintf(&b, "  - name: croft-%d\n    hostPath:\n      path: %s\n      type: %s\n", i, jsonText(mount.Source), kind)
	}
	return strings.TrimRight(b.String(), "\n")
}

// Codex are arguments of Codex, as words of a shell: a profile of permissions that lets the
// agent write what a commit needs. The paths are written as JSON, whose strings TOML has too.
func Codex(m croft.Mounts) string {
	var entries []string
	for _, mount := range m.Mounts {
		access := "write"
		if mount.IsReadOnly {
			access = "read"
		}
		entries = append(entries, fmt.Sprintf("%s=%q", jsonText(mount.Source), access))
	}
	var words []string
	for _, setting := range []string{
		`default_permissions="croft"`, `permissions.croft.extends=":workspace"`, "permissions.croft.filesystem={" + strings.Join(entries, ",") + "}",
	} {
		words = append(words, "-c", wording.ShellWord(setting))
	}
	return strings.Join(words, " ")
}

func jsonText(s string) string {
	b, _ := json.Marshal(s) // a string can always be written
	return string(b)
}
