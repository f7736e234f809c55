package equip

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/provision"
	"github.com/croft-sh/croft/internal/provision/foreign"
)

const (
	linksFile     = ".worktreelink"
	conductorFile = ".conductor/settings.toml"
)

// foreignLink is a path that the file of another tool wants to be linked to the project's.
type foreignLink struct {
	source string // the file
	text   []byte // its content in the commit
	path   config.ProvisionPath
}

// addLinks adds the links that the files of other tools want, and remarks about those that cannot be made.
func (a *Asked) addLinks(files commitFiles, found foreign.Found) error {
	for _, s := range found.All() {
		if len(s.Links) == 0 {
			continue
		}
		if s.Source == linksFile && !files.r.Config.Provision.LinksFile {
			a.Remarks = append(a.Remarks, linksFile+" is not used: provision.links_file is false")
			continue
		}
		text, err := files.Read(s.Source)
		if err != nil {
			return err
		}
		for _, pattern := range s.Links {
			p := config.ProvisionPath{Path: strings.Trim(path.Clean(pattern), "/"), How: string(croft.ProvisionLink)}
			if why := p.Problem(); why != "" || strings.HasPrefix(pattern, "!") || strings.Contains(pattern, "**") {
				a.Remarks = append(a.Remarks, fmt.Sprintf("%s: %q is ignored: only paths are linked, with * and ? in their last part", s.Source, pattern))
				continue
			}
			a.links = append(a.links, foreignLink{s.Source, text, p})
		}
	}
	return nil
}

// linkedPaths returns the paths of other tools' files that are linked into a workspace: if a person has approved
// them, and the project's own checkout has the same file. notes says what is not.
func (svc *Equipment) linkedPaths(ctx context.Context, s project.Location, asked Asked) (paths []config.ProvisionPath, notes []string, err error) {
	if len(asked.links) == 0 {
		return nil, nil, nil
	}
	_, isApproved, err := svc.Approvals.SetupTrusted(ctx, s.Project, asked.Commands())
	if err != nil {
		return nil, nil, err
	}
	own := projectFiles{fsx.OpenTree(s.Path)}
	defer own.tree.Release()
	for _, l := range asked.links {
		switch text, err := own.Read(l.source); {
		case err != nil || !bytes.Equal(text, l.text):
			notes = append(notes, fmt.Sprintf("%s: %s is not linked: the project's own checkout has another file", l.source, l.path.Path))
		case !isApproved:
			notes = append(notes, fmt.Sprintf("%s: %s is not linked: nobody has approved it", l.source, l.path.Path))
		default:
			paths = append(paths, l.path)
		}
	}
	return paths, notes, nil
}

// markUnapproved records that links wait for a person's approval, in a workspace without commands.
func markUnapproved(rec *journal.Record, asked Asked, notes []string) {
	if len(notes) == 0 || len(asked.stepsFor(*rec)) > 0 {
		return
	}
	if rec.Workspace.Provision == nil {
		rec.Workspace.Provision = &croft.Provision{}
	}
	p := rec.Workspace.Provision
	p.State, p.Why = croft.ProvisionPending, "links have not been made"
}

// includePatterns returns the patterns of the files that a project's workspaces get copies of, and the file that
// has them. They are read from the project's checkout: what an agent commits does not count.
func includePatterns(r *project.Project) (patterns []byte, source string, err error) {
	if patterns, err = provision.ReadInclude(r.Path); err != nil {
		return nil, provision.IncludeFile, err
	}
	source = provision.IncludeFile
	allowed, isRead := foreignFiles(r.Config.Provision.Foreign)
	if !isRead || allowed != nil && !slices.Contains(allowed, conductorFile) {
		return patterns, source, nil
	}
	files := projectFiles{fsx.OpenTree(r.Path)}
	defer files.tree.Release()
	for _, s := range foreign.Read(files, []string{conductorFile}).All() {
		if len(s.Include) > 0 && len(patterns) == 0 {
			source = s.Source
		}
		for _, pattern := range s.Include {
			patterns = append(patterns, "\n"+pattern...)
		}
	}
	return patterns, source, nil
}

// hasInclude reports whether a project may have patterns of files.
func hasInclude(r *project.Project) bool {
	if provision.HasInclude(r.Path) {
		return true
	}
	tree := fsx.OpenTree(r.Path)
	defer tree.Release()
	_, err := tree.Lstat(conductorFile)
	return err == nil
}

// projectFiles reads the files of a project's checkout.
type projectFiles struct{ tree *fsx.Tree }

// Read returns the content of a file at a path with slashes.
func (f projectFiles) Read(name string) ([]byte, error) {
	info, err := f.tree.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	return f.tree.ReadFile(name, foreign.MaxFile+1)
}
