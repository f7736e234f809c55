package workspace

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// MountsFor says how a container mounts a workspace and the git directories that it needs.
func (svc *Workspaces) MountsFor(ctx context.Context, s project.Location, rec journal.Record, req croft.MountsRequest) (*croft.Mounts, error) {
	w := rec.Workspace
	m := &croft.Mounts{Workspace: w.ID, Workdir: cmp.Or(req.Workdir, s.Config.Containers.Workdir)}
	if !path.IsAbs(m.Workdir) || path.Clean(m.Workdir) != m.Workdir || m.Workdir == "/" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%q is no directory for a workspace in a container", m.Workdir), Hint: "croft mounts --workdir /workspace " + w.Name}
	}
	m.Mounts = []croft.Mount{{Source: w.Path, Target: m.Workdir}}
	// The owner of the files is rarely the user of the container, and git
	// refuses a repository of another user.
	m.Env = map[string]string{
		"CROFT_WORKSPACE":  string(w.ID),
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": m.Workdir,
	}
	if w.Mode == croft.ModeLegacy {
		return m, nil
	}
	if h := s.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
		return nil, s.BrokenNow(ctx, rec, h)
	}
	return m, svc.mountGit(s.Project, rec, m)
}

// mountGit adds what git needs, and the archives of a round, at the paths that
// they have outside.
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
		own, err := svc.ownRegistration(r, rec, m.Workdir)
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
		return nil // there is none yet, or it is not a plain directory
	}
	defer archive.Close()
	m.Mounts = append(m.Mounts, croft.Mount{Source: archive.Path(), Target: archive.Path(), IsReadOnly: true})
	return nil
}

// ownRegistration writes the file that takes the place of the worktree's own
// gitdir in a container. From time to time git writes down there where it finds
// the worktree to be; if the path in the container came to stand in the
// repository, git outside would take the worktree for gone, and prune it.
func (svc *Workspaces) ownRegistration(r *project.Project, rec journal.Record, workdir string) (string, error) {
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

// MountsDir has the files that take the place of registrations in containers, by the ids of
// the workspaces.
func MountsDir(r *project.Project) string { return filepath.Join(r.Dir, "mounts") }
