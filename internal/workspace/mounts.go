package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// MountsFor lists the directories and files that a container has to mount to work in a
// workspace: the workspace and the git directories that it needs.
func (svc *Workspaces) MountsFor(ctx context.Context, s project.Location, rec journal.Record, req croft.MountsRequest) (*croft.Mounts, error) {
	w := rec.Workspace
	if req.Place == croft.InSandbox {
		return mountsInSandbox(ctx, s, rec)
	}
	m := &croft.Mounts{Workspace: w.ID, Workdir: cmp.Or(req.Workdir, s.Config.Containers.Workdir)}
	if !path.IsAbs(m.Workdir) || path.Clean(m.Workdir) != m.Workdir || m.Workdir == "/" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%q is no directory for a workspace in a container", m.Workdir), Hint: "croft mounts --workdir /workspace " + shellword.Quote(w.Name)}
	}
	m.Mounts = []croft.Mount{{Source: w.Path, Target: m.Workdir}}
	// The owner of the files is rarely the user of the container, and git refuses a
	// repository of another user.
	m.Env = map[string]string{
		"CROFT_WORKSPACE":  string(w.ID),
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": m.Workdir,
	}
	if w.Mode == croft.ModeLegacy {
		return m, nil
	}
	if h := s.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
		return nil, s.BrokenNowError(ctx, rec, h)
	}
	return m, svc.mountGit(s.Project, rec, m)
}

// mountsInSandbox lists what a sandbox has to let an agent write so that it can commit, and nothing
// that is another workspace's.
func mountsInSandbox(ctx context.Context, s project.Location, rec journal.Record) (*croft.Mounts, error) {
	w := rec.Workspace
	if h := s.Trees.Health(project.SpecOf(rec)); w.Mode != croft.ModeLegacy && h != checkout.Intact {
		return nil, s.BrokenNowError(ctx, rec, h)
	}
	needs, err := s.Trees.At(project.SpecOf(rec)).CommitNeeds(ctx, w.Branch, w.Name)
	if why, ok := errors.AsType[git.NotAloneError](err); ok {
		return nil, &croft.Error{
			Code: croft.Unsupported, Message: string(why), Hint: "croft new NAME --branch croft/NAME/work",
			Details: "nothing was changed; what the agent does is committed from outside, by croft save and by croft run",
		}
	}
	if err != nil {
		return nil, &croft.Error{Code: croft.WorkspaceBroken, Message: "what git needs for the workspace is not as it was made", Details: err.Error(), Hint: "croft doctor", Err: err}
	}
	m := &croft.Mounts{Workspace: w.ID, Workdir: w.Path, Env: map[string]string{}, Notes: []string{git.CommitNote}}
	for _, need := range needs {
		m.Mounts = append(m.Mounts, croft.Mount{Source: need.Path, Target: need.Path, IsReadOnly: !need.Writable, IsFile: need.IsFile})
	}
	return m, nil
}

// mountGit adds the mounts of the git directories, and of the archives of a round, at
// the same paths as on the host.
func (svc *Workspaces) mountGit(r *project.Project, rec journal.Record, m *croft.Mounts) error {
	tree := r.Trees.At(project.SpecOf(rec))
	needs, err := tree.Needs()
	if err != nil {
		return &croft.Error{Code: croft.WorkspaceBroken, Message: "what git needs for the workspace is not as it was made", Details: err.Error(), Hint: "croft doctor", Err: err}
	}
	for _, need := range needs {
		m.Mounts = append(m.Mounts, croft.Mount{Source: need.Path, Target: need.Path, IsReadOnly: !need.Writable})
	}
	if !tree.IsIsolated() {
		own, err := svc.writeMountRegistration(r, rec, m.Workdir)
		if err != nil {
			return err
		}
		m.Mounts = append(m.Mounts, croft.Mount{Source: own, Target: filepath.Join(tree.Admin, "gitdir"), IsFile: true})
		if r.Git.HasAlternates() {
			m.Notes = append(m.Notes, "the repository takes objects from another one (objects/info/alternates): mount that one too")
		}
	}
	if rec.Home == "" {
		return nil
	}
	archive, err := openArchives(&journal.Home{Path: rec.Home}, looking)
	if err != nil {
		return nil // there are no archives yet, or a link is in their place
	}
	defer archive.Close()
	m.Mounts = append(m.Mounts, croft.Mount{Source: archive.Path(), Target: archive.Path(), IsReadOnly: true})
	return nil
}

// writeMountRegistration writes the file that a container sees in place of the
// worktree's own gitdir, and returns its path. From time to time git writes the
// worktree's path to that file. If the path in the container came into the repository,
// git on the host would take the worktree for deleted, and prune it.
func (svc *Workspaces) writeMountRegistration(r *project.Project, rec journal.Record, workdir string) (string, error) {
	if err := os.MkdirAll(MountsDir(r), 0o700); err != nil {
		return "", err
	}
	dir, err := fsx.OpenOwn(MountsDir(r))
	if err != nil {
		return "", err
	}
	defer dir.Close()
	name := string(rec.Workspace.ID)
	return filepath.Join(MountsDir(r), name), dir.WriteFile(name, []byte(path.Join(workdir, ".git")+"\n"), 0o666)
}

// MountsDir returns the directory of the files that containers see in place of
// registrations, by the IDs of the workspaces.
func MountsDir(r *project.Project) string { return filepath.Join(r.Dir, "mounts") }
