package croft

import "context"

// GitConfigRequest names a repository.
type GitConfigRequest struct {
	Repo string `json:"repo,omitempty"`
}

// AcceptGitConfigRequest has Croft go by a repository's git configuration as it
// is now.
type AcceptGitConfigRequest struct {
	Repo string `json:"repo,omitempty"`
	// Hash is that of the differences that were looked at. It is required, so
	// that nobody accepts what they have not seen.
	Hash string `json:"hash"`
}

// GitConfig compares a repository's own git configuration with what Croft goes
// by. An agent in one of its checkouts can write that configuration, so
// that Croft takes what decides about commits, the repository's format and its
// remotes when it first sees the repository, and later by a person's word only.
type GitConfig struct {
	Changes []GitConfigChange `json:"changes"` // of what was taken then
	Filters []GitConfigChange `json:"filters"` // programs that are not approved
	Ignored []string          `json:"ignored"` // keys that Croft's git never sees
	Hash    string            `json:"hash"`    // of changes and filters; empty if there are none
}

// GitConfigChange is one key of a repository's git configuration.
type GitConfigChange struct {
	Key string   `json:"key"`
	Was []string `json:"was,omitempty"` // what Croft goes by
	Now []string `json:"now,omitempty"` // what the repository says
}

// GitConfigs is the part of Service by which a person says what of a
// repository's own git configuration counts.
type GitConfigs interface {
	// GitConfig shows the differences.
	GitConfig(ctx context.Context, req GitConfigRequest) (*GitConfig, error)

	// AcceptGitConfig takes them over. It fails with ConfigChanged if the
	// configuration says something else by now, and inside of a workspace.
	AcceptGitConfig(ctx context.Context, req AcceptGitConfigRequest) error
}
