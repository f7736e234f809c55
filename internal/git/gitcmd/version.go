package gitcmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/proc"
)

// VersionFile is where the answer to `git version` is kept, in the directory of
// generated configuration: it is asked for by every command.
const VersionFile = "version"

// remembered is what git answered the last time, if it is still the same file.
func (g *Git) remembered() (string, bool) {
	b, err := os.ReadFile(filepath.Join(g.Options.ConfigDir, VersionFile))
	if err != nil {
		return "", false
	}
	of, answer, ok := strings.Cut(string(b), "\n")
	return answer, ok && of == g.fingerprint()
}

// remember keeps an answer. That it fails does no harm.
func (g *Git) remember(answer string) {
	if of := g.fingerprint(); of != "" && os.MkdirAll(g.Options.ConfigDir, 0o700) == nil {
		_ = fsx.ReplaceFile(filepath.Join(g.Options.ConfigDir, VersionFile), []byte(of+"\n"+answer), 0o600)
	}
}

// fingerprint tells one git program from another.
func (g *Git) fingerprint() string {
	path, err := proc.Find(g.Options.Path, g.BaseEnv())
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil || strings.Contains(path, "\n") {
		return ""
	}
	return fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
}

// IsFirstUse reports whether no process of Croft's has met this version of git
// before, and notes that one has. Where that cannot be noted, every use is the first.
func (g *Git) IsFirstUse(v gitdir.Version) bool {
	if err := os.MkdirAll(g.Options.ConfigDir, 0o700); err != nil {
		return true
	}
	f, err := os.OpenFile(filepath.Join(g.Options.ConfigDir, "seen-"+v.String()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return !errors.Is(err, os.ErrExist)
	}
	_ = f.Close()
	return true
}
