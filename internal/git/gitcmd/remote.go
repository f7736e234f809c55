package gitcmd

import (
	"os"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitconfig"
)

// PinnedRemotes returns the addresses of remotes, without their secrets, as they were when Croft
// first saw the repository, or as a person has accepted them since.
func (r *Repository) PinnedRemotes() ([]gitconfig.Setting, error) {
	h, err := r.EnsureHostDir()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(h.record.Pinned), func(s gitconfig.Setting) bool { return !gitconfig.IsRemoteURL(s.Key) }), nil
}

// CheckRemote fails with a *ConfigChangedError if the settings of a remote differ from the
// pinned ones.
func (r *Repository) CheckRemote(name string) error {
	return r.checkConfig(func(key string) bool { return strings.HasPrefix(key, "remote."+name+".") })
}

// RemoteTarget is the target of calls that reach a remote.
func (r *Repository) RemoteTarget() Target {
	d := Target{Repo: r}
	if info, err := os.Stat(r.Root); err == nil && info.IsDir() {
		d.cwd = r.Root // the address of a remote may be relative to it
	}
	return d
}
