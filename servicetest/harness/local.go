package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// Open opens a Service of this machine in a directory. env is the whole environment:
// configuration is read from it, and git runs in it. Open registers with t.Cleanup that the
// Service is closed.
type Open func(t *testing.T, dir string, env []string) croft.Service

// Local is the harness of an implementation whose workspaces are on this machine, where
// every scenario has a directory of its own. It has all capabilities.
func Local(open Open) Harness { return local{open} }

type local struct{ open Open }

func (local) Capabilities() []Capability { return AllCapabilities() }

func (l local) Start(t *testing.T) Host {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	home := filepath.Join(root, "home")
	must(t, os.MkdirAll(home, 0o755))
	return &localHost{open: l.open, root: root, env: gittest.Environ(home), settings: map[string]string{}}
}

type localHost struct {
	open Open
	root string
	env  []string

	mu       sync.Mutex
	settings map[string]string
}

func (h *localHost) Root() string { return h.root }

func (h *localHost) Open(t *testing.T, dir string, env ...string) croft.Service {
	t.Helper()
	return h.open(t, dir, append(slices.Clone(h.env), env...))
}

func (h *localHost) Git(dir string, args ...string) (string, error) {
	return (&gittest.Repo{Env: h.env}).TryGit(dir, args...)
}

func (h *localHost) Write(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

func (h *localHost) Read(path string) (string, error) {
	b, err := os.ReadFile(path)
	return string(b), err
}

func (h *localHost) Remove(path string) error { return os.RemoveAll(path) }

func (h *localHost) Stat(path string) (fs.FileMode, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

func (h *localHost) List(dir string) ([]string, error) {
	list := []string{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			list = append(list, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) && len(list) == 0 {
		err = nil
	}
	return list, err
}

func (h *localHost) Configure(key, value string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settings[key] = value
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(h.settings)) {
		if value := h.settings[key]; value != "" {
			fmt.Fprintf(&text, "%s = %s\n", key, toml(value))
		}
	}
	return h.Write(filepath.Join(h.root, "home", ".config", "croft", "config.toml"), text.String())
}

// toml writes a value of the environment as one of TOML.
func toml(value string) string {
	if _, err := strconv.ParseInt(value, 10, 64); err == nil || value == "true" || value == "false" {
		return value
	}
	return strconv.Quote(value)
}

func (h *localHost) LoseState() error { return os.RemoveAll(filepath.Join(h.root, "home", "state")) }
