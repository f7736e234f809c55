package croft

import "context"

// GitConfigRequest names a repository.
type GitConfigRequest struct {
	Repo Ref `json:"repo,omitempty"`
}

// AcceptGitConfigRequest asks Croft to accept a repository's git configuration as it is
// now.
type AcceptGitConfigRequest struct {
	Key  string `json:"key,omitempty"`
	Repo Ref    `json:"repo,omitempty"`
	// Hash is the hash of the differences that the person has seen. It is required, so
	// that only these are accepted.
	Hash string `json:"hash"`
}

// GitConfig compares a repository's own git configuration with the settings that Croft
// uses. An agent in one of its checkouts can write that configuration. So Croft reads
// the settings that decide about commits, the repository's format and its remotes when
// it first sees the repository, and takes over later changes only if a person accepts
// them.
type GitConfig struct {
	Changes []GitConfigChange `json:"changes"` // settings that differ from those that Croft uses
	Filters []GitConfigChange `json:"filters"` // programs that are not approved
	Ignored []string          `json:"ignored"` // keys that Croft's git never sees
	Hash    string            `json:"hash"`    // of changes and filters; empty if there are none
}

// GitConfigChange is one key of a repository's git configuration.
type GitConfigChange struct {
	Key string   `json:"key"`
	Was []string `json:"was,omitempty"` // the values that Croft uses
	Now []string `json:"now,omitempty"` // the values in the repository
}

// GitConfigs is the part of Service by which a person accepts changes of a repository's
// own git configuration.
type GitConfigs interface {
	// GitConfig returns the differences between the repository's git configuration and
	// the settings that Croft uses.
	GitConfig(ctx context.Context, req GitConfigRequest) (*GitConfig, error)

	// AcceptGitConfig makes Croft use the repository's git configuration as it is now.
	// It fails with ConfigChanged if the configuration differs from the one that was
	// hashed, and from inside of a workspace.
	AcceptGitConfig(ctx context.Context, req AcceptGitConfigRequest) (*GitConfig, error)
}
