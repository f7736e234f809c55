package gitcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/proc"
)

// VersionFile is the file in the directory of generated configuration that caches the
// output of `git version`, which every command needs.
const VersionFile = "version"

// readVersionCache returns the cached version if the git program has not changed.
func (g *Git) readVersionCache() (string, bool) {
	b, err := os.ReadFile(filepath.Join(g.Options.ConfigDir, VersionFile))
	if err != nil {
		return "", false
	}
	of, answer, ok := strings.Cut(string(b), "\n")
	return answer, ok && of == g.fingerprint()
}

// writeVersionCache caches the version. Errors are ignored.
func (g *Git) writeVersionCache(answer string) {
	if of := g.fingerprint(); of != "" && os.MkdirAll(g.Options.ConfigDir, 0o700) == nil {
		_ = fsx.ReplaceFile(filepath.Join(g.Options.ConfigDir, VersionFile), []byte(of+"\n"+answer), 0o600)
	}
}

// fingerprint identifies the git program.
func (g *Git) fingerprint() string {
	path, err := proc.Find(g.Options.Path, g.baseEnv())
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil || strings.Contains(path, "\n") {
		return ""
	}
	return fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
}

// MarkTold records that the user is told of this version of git, and reports whether that is due: nobody was told
// before, or longer ago than again, if that is not zero. What cannot be recorded is never due: it would be told by each call.
func (g *Git) MarkTold(v gitdir.Version, again time.Duration) bool {
	if err := os.MkdirAll(g.Options.ConfigDir, 0o700); err != nil {
		return false
	}
	path := filepath.Join(g.Options.ConfigDir, "seen-"+v.String())
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		_ = f.Close()
		return true
	}
	now := time.Now()
	info, err := os.Lstat(path)
	return err == nil && again > 0 && now.Sub(info.ModTime()) > again && os.Chtimes(path, now, now) == nil
}
