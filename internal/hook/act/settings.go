package act

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/provision/foreign"
)

// Settings are those of Croft's that a hook goes by, for one project.
type Settings struct {
	Wait    Wait
	Foreign string // provision.foreign: "ask", "off", or the files of other tools that are used
	// HasSparse: checkout.sparse is set. Then it counts, and not what Claude Code's settings say.
	HasSparse bool
}

// sparseKey is the setting by which a workspace has some directories only.
const sparseKey = "checkout.sparse"

// claudeFile is the file of Claude Code's settings, in a project and in the user's home directory.
const claudeFile = ".claude/settings.json"

// theirs is what Claude Code's own settings say of worktrees.
type theirs struct {
	baseRef string // "fresh", "head" or empty
	sparse  []string
}

// settingsFiles reads the settings of Claude Code, where others may write too: no link is followed.
type settingsFiles struct {
	tree *fsx.Tree
	name string // the file in the place of claudeFile
}

// Read returns the content of the file.
func (f settingsFiles) Read(string) ([]byte, error) {
	info, err := f.tree.Lstat(f.name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	return f.tree.ReadFile(f.name, foreign.MaxFile+1)
}

// readTheirs reads what Claude Code's settings say of the worktrees of a project: those of the user, of the project's own
// checkout, and the user's for the project. The later ones count. What an agent has committed does not.
func (h Hook) readTheirs(project string, s Settings) theirs {
	var t theirs
	if s.Foreign == "off" || s.Foreign != "" && s.Foreign != "ask" && !slices.Contains(strings.Split(strings.ReplaceAll(s.Foreign, " ", ""), ","), claudeFile) {
		return t
	}
	for _, file := range []struct{ dir, name string }{
		{h.Home, claudeFile}, {project, claudeFile}, {project, ".claude/settings.local.json"},
	} {
		if !filepath.IsAbs(file.dir) {
			continue
		}
		tree := fsx.OpenTree(file.dir)
		found := foreign.Read(settingsFiles{tree, file.name}, []string{claudeFile})
		tree.Release()
		for _, remark := range found.Remarks {
			h.Say(strings.Replace(remark, claudeFile, file.name, 1))
		}
		for _, setup := range found.All() {
			for _, skipped := range setup.Skipped {
				h.Say(fmt.Sprintf("%s: %s is not used: %s", file.name, skipped.Key, skipped.Why))
			}
			if setup.BaseRef != "" {
				t.baseRef = setup.BaseRef
			}
			if len(setup.Sparse) > 0 {
				t.sparse = setup.Sparse
			}
		}
	}
	return t
}

// openFor opens the Service for a directory, with what Claude Code's settings say of worktrees. Those that cannot be
// used are said, and left out.
func (h Hook) openFor(ctx context.Context, dir string) (croft.Service, theirs, error) {
	svc, err := h.Open(ctx, dir, nil)
	if err != nil || h.SettingsOf == nil {
		return svc, theirs{}, err
	}
	repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: croft.ByPath(dir)})
	if err != nil {
		return svc, theirs{}, nil // what is asked next says why
	}
	settings := h.SettingsOf(repo.Path)
	t := h.readTheirs(repo.Path, settings)
	if len(t.sparse) == 0 || settings.HasSparse {
		return svc, t, nil
	}
	if slices.ContainsFunc(t.sparse, func(dir string) bool { return strings.Contains(dir, ",") }) {
		h.Say("worktree.sparsePaths is not used: a path has a comma")
		return svc, t, nil
	}
	sparse, err := h.Open(ctx, dir, map[string]string{sparseKey: strings.Join(t.sparse, ",")})
	if err != nil {
		h.Say(fmt.Sprintf("worktree.sparsePaths is not used: %v", err))
		return svc, t, nil
	}
	return sparse, t, svc.Close()
}

// begin says in a request where a new worktree begins, if Claude Code's settings do.
func (t theirs) begin(req *croft.CreateRequest) {
	switch t.baseRef {
	case "fresh":
		req.Base, req.Fetch = "origin/HEAD", croft.FetchFirst
	case "head":
		req.Base = "HEAD"
	}
}

// create makes a workspace. Where it cannot begin where Claude Code's settings want it to, it begins where Croft's do: Claude Code
// does not end for that either.
func (h Hook) create(ctx context.Context, svc croft.Service, req croft.CreateRequest) (*croft.Workspace, error) {
	ws, err := svc.Create(ctx, req)
	if errors.Is(err, croft.RoleNotFound) {
		req.RoleFiles = croft.RoleFilesSkip // nobody has written files for subagents
		ws, err = svc.Create(ctx, req)
	}
	if req.Fetch != "" && ctx.Err() == nil && isAboutStart(err) {
		h.Say(fmt.Sprintf("the remote was not fetched from: %v", err))
		req.Fetch = ""
		ws, err = svc.Create(ctx, req)
	}
	if req.Base != "" && errors.Is(err, croft.BaseNotFound) {
		h.Say(fmt.Sprintf("worktree.baseRef is not used: %v", err))
		req.Base = ""
		ws, err = svc.Create(ctx, req)
	}
	return ws, err
}

// isAboutStart reports whether a creation may have failed because of where the workspace begins: a fetch may fail in many ways.
func isAboutStart(err error) bool {
	return err != nil && !slices.ContainsFunc([]croft.Code{croft.WorktreeExists, croft.BranchExists, croft.InvalidName, croft.InvalidRequest}, func(code croft.Code) bool {
		return errors.Is(err, code)
	})
}
