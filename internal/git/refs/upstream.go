package refs

import (
	"context"
	"errors"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitconfig"
)

// Upstream returns the full name of the ref that a branch tracks, or "". Git is asked only where the configuration is not
// of the form that "git clone" and "git branch --track" write.
func (r *Repository) Upstream(ctx context.Context, branch string) (string, error) {
	if !r.HasNativeRefs() {
		return r.Repository.Upstream(ctx, branch)
	}
	h, err := r.EnsureHostDir()
	if err != nil {
		return r.Repository.Upstream(ctx, branch) // which says what is wrong with this git
	}
	ref, isPlain := plainUpstream(h.Entries, branch)
	if !isPlain {
		return r.Repository.Upstream(ctx, branch)
	}
	if ref == "" {
		return "", nil
	}
	switch _, err := r.ReadRef(ctx, "refs/heads/"+branch); {
	case errors.Is(err, ErrNoRef):
		return "", nil
	case err != nil:
		return r.Repository.Upstream(ctx, branch)
	}
	return ref, nil
}

// plainUpstream returns the ref that a branch tracks if that follows from one remote with the refspec of a clone and from
// one branch there. It reports false for any other configuration, such as a tracked branch of the repository itself.
func plainUpstream(entries []gitconfig.Entry, branch string) (ref string, isPlain bool) {
	remotes, merges := dataValues(entries, "branch."+branch+".remote"), dataValues(entries, "branch."+branch+".merge")
	if len(remotes) == 0 && len(merges) == 0 {
		return "", true
	}
	if len(remotes) != 1 || len(merges) != 1 || strings.ContainsAny(remotes[0], "*:^/ ") {
		return "", false
	}
	name, isBranch := strings.CutPrefix(merges[0], "refs/heads/")
	into := "refs/remotes/" + remotes[0] + "/"
	spec := dataValues(entries, "remote."+remotes[0]+".fetch")
	if !isBranch || len(spec) != 1 || strings.TrimPrefix(spec[0], "+") != "refs/heads/*:"+into+"*" {
		return "", false
	}
	ref = into + name
	return ref, isRefPath(ref) && remotes[0] != "." && !strings.ContainsAny(name, "*:^ ")
}

// dataValues returns the values that git gets for a setting of the repository's own configuration.
func dataValues(entries []gitconfig.Entry, key string) []string {
	var values []string
	for _, e := range entries {
		if e.Key == key && e.Class() == gitconfig.ClassData {
			values = append(values, e.Value)
		}
	}
	return values
}
