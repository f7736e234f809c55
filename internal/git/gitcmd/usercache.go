package gitcmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/proc"
)

// userFile is the file in the directory of generated configuration that caches the user's
// configuration: every command needs it, and it seldom changes.
const userFile = "user.json"

// userCache is a cached userConfig that does not depend on the repository.
type userCache struct {
	Of      string            `json:"of"` // which git, and which files it reads
	Watched map[string]string `json:"watched"`
	Entries []keptEntry       `json:"entries"`
}

type keptEntry struct {
	gitconfig.Setting
	Bare bool `json:"bare,omitempty"`
}

// readUserCache returns the cached configuration of the user if none of its files has
// changed, otherwise nil.
func (g *Git) readUserCache() *userConfig {
	b, err := os.ReadFile(filepath.Join(g.Options.ConfigDir, userFile))
	var kept userCache
	if err != nil || json.Unmarshal(b, &kept) != nil || kept.Of != g.userCacheKey() || !isUnchanged(kept.Watched) {
		return nil
	}
	u := &userConfig{watched: kept.Watched, isAnywhere: true}
	for _, e := range kept.Entries {
		u.entries = append(u.entries, gitconfig.Entry{Key: e.Key, Value: e.Value, Bare: e.Bare, Scope: "global"})
	}
	return u
}

// writeUserCache caches the user's configuration if the path of the system's configuration
// is known. Errors are ignored.
func (g *Git) writeUserCache(u *userConfig) {
	if runtime.GOOS != "linux" {
		return
	}
	kept := userCache{Of: g.userCacheKey(), Watched: u.watched}
	for _, e := range u.entries {
		kept.Entries = append(kept.Entries, keptEntry{gitconfig.Setting{Key: e.Key, Value: e.Value}, e.Bare})
	}
	b, err := json.Marshal(kept)
	if err == nil && strings.ToValidUTF8(string(b), "") == string(b) && os.MkdirAll(g.Options.ConfigDir, 0o700) == nil {
		_ = fsx.ReplaceFile(filepath.Join(g.Options.ConfigDir, userFile), b, 0o600)
	}
}

// userCacheKey identifies the git that reads the user's configuration, and the files that it
// reads.
func (g *Git) userCacheKey() string {
	parts := []string{g.fingerprint(), g.Home(), g.ConfigHome()}
	for _, name := range userEnv {
		v, ok := g.environ(name)
		if ok {
			v = "=" + v
		}
		parts = append(parts, v)
	}
	return strings.Join(parts, "\n")
}

// systemConfig lists the paths at which this git may look for the system's configuration.
func (g *Git) systemConfig() []string {
	if file, ok := g.environ("GIT_CONFIG_SYSTEM"); ok {
		return []string{file}
	}
	files := []string{"/etc/gitconfig"}
	if path, err := proc.Find(g.Options.Path, g.baseEnv()); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			files = append(files, filepath.Join(filepath.Dir(filepath.Dir(real)), "etc", "gitconfig"))
		}
	}
	return files
}
