package equip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/pool"
	"github.com/croft-sh/croft/internal/provision"
)

const (
	settingsFile = "croft.toml"
	maxSettings  = 1 << 20

	// What is copied of a path that was to be cloned, where the file system cannot clone.
	fallbackBytes = 256 << 20
	fallbackFiles = 50_000
)

// askedBy returns what the croft.toml of a checkout asks for. In a fresh workspace it is that of the commit.
func askedBy(checkout string) (config.Provisioning, []string) {
	tree := fsx.OpenTree(checkout)
	defer tree.Release()
	text, err := tree.ReadFile(settingsFile, maxSettings)
	if err != nil {
		return config.Provisioning{}, nil
	}
	return config.ParseProvisioning(text)
}

// ownPaths returns those of paths that the project's own croft.toml names in the same way. An agent may have written
// the commit that a workspace begins with, and must not choose which of the project's files come in.
func ownPaths(checkout string, paths []config.ProvisionPath) (own []config.ProvisionPath, problems []string) {
	if len(paths) == 0 {
		return nil, nil
	}
	project, _ := askedBy(checkout)
	for _, p := range paths {
		if slices.ContainsFunc(project.Paths, func(o config.ProvisionPath) bool { return reflect.DeepEqual(o, p) }) {
			own = append(own, p)
			continue
		}
		problems = append(problems, fmt.Sprintf("croft.toml: the [[provision.path]] with path %q is ignored: the project's own checkout does not have it", p.Path))
	}
	return own, problems
}

// paths brings the paths in that a workspace's croft.toml names.
func (in *placing) paths(ctx context.Context, paths []config.ProvisionPath) error {
	if len(paths) == 0 {
		return nil
	}
	cp, err := in.svc.copier(in.r, *in.rec)
	if err != nil {
		return err
	}
	defer cp.Close()
	for _, p := range paths {
		for _, name := range expandPath(cp.From, p.Path) {
			done, copies, err := in.path(ctx, cp, p, name)
			if err := errors.Join(err, in.add(ctx, done, copies)); err != nil {
				return err
			}
		}
	}
	return nil
}

// expandPath returns the names in the project that the last part of a path matches, or the path itself.
func expandPath(from *fsx.Tree, pattern string) []string {
	dir, last := path.Split(pattern)
	if !strings.ContainsAny(last, "*?[") {
		return []string{pattern}
	}
	entries, err := from.Entries(strings.TrimSuffix(dir, "/"))
	var names []string
	for _, e := range entries {
		if ok, merr := path.Match(last, e.Name()); err == nil && merr == nil && ok && !strings.EqualFold(e.Name(), ".git") {
			names = append(names, dir+e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// path brings one path in: as it was asked for, or else as the table's else says.
func (in *placing) path(ctx context.Context, cp *provision.Copier, p config.ProvisionPath, name string) (croft.ProvisionedPath, []provision.Copy, error) {
	done := croft.ProvisionedPath{Path: name, Wanted: croft.ProvisionHow(p.How), How: croft.ProvisionHow(p.How)}
	skip := func(why string) (croft.ProvisionedPath, []provision.Copy, error) {
		done.How, done.Why = croft.ProvisionSkip, why
		return done, nil, nil
	}
	if _, err := cp.From.Lstat(name); err != nil {
		return skip("the project has no such file")
	}
	differing := differingKey(cp.From.ReadFile, cp.To.ReadFile, p.Key)
	switch {
	case differing != "" && p.Else != "copy":
		return skip(differing + otherKey)
	case differing != "":
		done.How, done.Why = croft.ProvisionCopy, differing+otherKey
	case done.How == croft.ProvisionLink:
		return in.link(cp, done)
	}
	if isChanged(in.known, cp.From, cp.To, name) {
		return skip(changedThere)
	}
	files, size, err := filesBelow(ctx, cp.From, name)
	if err != nil {
		return done, nil, err
	}
	if done.How != croft.ProvisionClone {
		copies, err := in.copyAll(ctx, cp, files, fsx.ContentCopied, &done)
		return done, copies, err
	}
	uncloned := pool.Order{Batch: provision.Batch{Dir: name, Names: files, How: fsx.ContentCopied}, OrCopied: isCopiedInstead(p, size, len(files))}
	isTaken, err := in.takeUncloned(ctx, cp, uncloned)
	if err != nil {
		return done, nil, err
	}
	var cloned []provision.Copy
	if err = fsx.ErrNoClone; !isTaken {
		cloned, err = in.copyAll(ctx, cp, files, fsx.ContentCloned, &done)
	}
	if !errors.Is(err, fsx.ErrNoClone) {
		if len(cloned) == 0 { // all came in earlier
			done.How, done.Why = in.broughtAs(done)
		}
		return done, cloned, err
	}
	const why = "this file system shares no blocks between files"
	done = croft.ProvisionedPath{Path: done.Path, Wanted: done.Wanted, How: croft.ProvisionCopy, Why: why}
	switch {
	case p.Else == "skip":
		done.How = croft.ProvisionSkip
		return done, cloned, nil
	case p.Else == "" && isTooMuch(size, len(files)):
		done.How, done.Why = croft.ProvisionSkip, fmt.Sprintf("%s, and %d files of %d MiB are too much to copy; else = \"copy\" copies them", why, len(files), size>>20)
		return done, cloned, nil
	}
	in.know(cloned) // links, which need no blocks
	copies, err := in.copyAll(ctx, cp, files, fsx.ContentCopied, &done)
	return done, append(cloned, copies...), err
}

// isTooMuch reports whether a path that was to be cloned is too large to be copied instead.
func isTooMuch(size int64, files int) bool { return size > fallbackBytes || files > fallbackFiles }

// changedThere is why no files are added to a directory that came in earlier: those of two versions do not go together.
const changedThere = "it was changed in the workspace; delete it there to get the project's"

// isChanged reports whether one of the files that came in below a directory was changed in the workspace.
func isChanged(known map[string]provision.Copy, from, to *fsx.Tree, dir string) bool {
	for name, c := range known {
		if !strings.HasPrefix(name, dir+"/") {
			continue
		}
		switch provision.Drift(c, from, to) {
		case croft.DriftEdited, croft.DriftDiverged, croft.DriftMoved:
			return true
		}
	}
	return false
}

// broughtAs returns how a path came in earlier, and why so.
func (in *placing) broughtAs(done croft.ProvisionedPath) (how croft.ProvisionHow, why string) {
	for _, was := range pathsOf(*in.rec) {
		if was.Path == done.Path && was.How != croft.ProvisionSkip {
			return was.How, was.Why
		}
	}
	return done.How, done.Why
}

// know adds copies to those that came in earlier.
func (in *placing) know(copies []provision.Copy) {
	if in.known == nil {
		in.known = map[string]provision.Copy{}
	}
	for _, c := range copies {
		in.known[c.Path] = c
	}
}

// otherKey follows the name of a key file that differs.
const otherKey = " is another one in the workspace"

// differingKey returns the first key file that is not the same in the project and in the workspace, or the empty string.
func differingKey(project, workspace func(name string, most int64) ([]byte, error), keys []string) string {
	const most = 64 << 20
	for _, key := range keys {
		a, err := project(key, most)
		b, err2 := workspace(key, most)
		if isGone := errors.Is(err, os.ErrNotExist) && errors.Is(err2, os.ErrNotExist); !isGone && (err != nil || err2 != nil || !bytes.Equal(a, b)) {
			return key
		}
	}
	return ""
}

// whyNotLinked says why a path is linked into no workspace of a mode. It is empty if it may be.
func whyNotLinked(name string, mode croft.Mode) string {
	if base := path.Base(name); base == ".venv" || base == "venv" {
		return "a virtual environment names the project's directory: tests in the workspace would import the project's files"
	}
	if mode == croft.ModeIsolated {
		return "an isolated workspace has no links to the project"
	}
	return ""
}

// sharedPaths returns the paths that other workspaces share with the project by links, and that an isolated one gets copies of.
func sharedPaths(rec journal.Record) (paths []config.ProvisionPath) {
	for _, done := range pathsOf(rec) {
		if done.Why == provision.WhyNotShared && rec.Workspace.Mode == croft.ModeIsolated {
			paths = append(paths, config.ProvisionPath{Path: done.Path, How: string(croft.ProvisionCopy)})
		}
	}
	return paths
}

// link links a path of the project into the workspace.
func (in *placing) link(cp *provision.Copier, done croft.ProvisionedPath) (croft.ProvisionedPath, []provision.Copy, error) {
	refuse := func(why string) (croft.ProvisionedPath, []provision.Copy, error) {
		done.How, done.Why = croft.ProvisionSkip, why
		return done, nil, nil
	}
	if why := whyNotLinked(done.Path, in.rec.Workspace.Mode); why != "" {
		return refuse(why)
	}
	target := filepath.Join(cp.From.Path(""), filepath.FromSlash(done.Path))
	isKnown := slices.Contains(in.rec.Links, done.Path)
	if at, err := cp.To.Readlink(done.Path); isKnown && err == nil && at == target {
		return done, nil, nil
	}
	if err := cp.To.Symlink(target, done.Path); err != nil {
		return refuse("the workspace has something at its path, or no directory for it")
	}
	if !isKnown {
		in.rec.Links = append(in.rec.Links, done.Path)
	}
	return done, nil, nil
}

// filesBelow lists the files and links at a path and below it, sorted, and how many bytes they have. A nested repository is one
// entry that ends in a slash. Links are not followed.
func filesBelow(ctx context.Context, from *fsx.Tree, name string) (files []string, size int64, err error) {
	info, err := from.Lstat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, 0, err
	}
	dirs := []string{name}
	for len(dirs) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		entries, err := from.Entries(dir)
		if err != nil {
			continue // it was removed or exchanged meanwhile, or may not be read
		}
		if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.EqualFold(e.Name(), ".git") }) {
			files = append(files, dir+"/")
			continue
		}
		for _, e := range entries {
			if e.IsDir() {
				dirs = append(dirs, dir+"/"+e.Name())
				continue
			}
			files = append(files, dir+"/"+e.Name())
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				size += info.Size()
			}
		}
	}
	slices.Sort(files)
	return files, size, nil
}
