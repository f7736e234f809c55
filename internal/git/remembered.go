package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/proc"
)

// versionFile is where the answer to `git version` is kept, in the directory of
// generated configuration: it is asked for by every command.
const versionFile = "version"

// remembered is what git answered the last time, if it is still the same file.
func (g *Git) remembered() (string, bool) {
	b, err := os.ReadFile(filepath.Join(g.opts.ConfigDir, versionFile))
	if err != nil {
		return "", false
	}
	of, answer, ok := strings.Cut(string(b), "\n")
	return answer, ok && of == g.fingerprint()
}

// remember keeps an answer. That it fails does no harm.
func (g *Git) remember(answer string) {
	if of := g.fingerprint(); of != "" && os.MkdirAll(g.opts.ConfigDir, 0o700) == nil {
		_ = fsx.ReplaceFile(filepath.Join(g.opts.ConfigDir, versionFile), []byte(of+"\n"+answer), 0o600)
	}
}

// fingerprint tells one git program from another.
func (g *Git) fingerprint() string {
	path, err := proc.Find(g.opts.Path, g.baseEnv())
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil || strings.Contains(path, "\n") {
		return ""
	}
	return fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
}
