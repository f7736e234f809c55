package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// Submodules of a new checkout are filled from the project's own copies of them, without a
// network. Of such a copy git gets only the objects, as those of an isolated checkout: its
// configuration, hooks, refs and index are not read, because an agent may have written them.
//
// A filled submodule has a git directory of its own inside its checkout, with all objects
// that its commit needs. So it goes wherever the checkout goes, into the trash, a snapshot
// and back, and nothing that is deleted in the project makes it incomplete.

// SubmoduleFill says how FillSubmodules fills the submodules of a checkout.
type SubmoduleFill struct {
	Commit   string // required: the commit that is checked out
	MaxBytes int64  // of the packs of all submodules together; 0: no limit
	MinFree  int64  // bytes of the file system that must be free before a submodule is filled
	Workers  int
}

// FilledSubmodule is what became of one submodule.
type FilledSubmodule struct {
	Path  string // from the top of the checkout
	Files int
	Bytes int64  // of its pack
	Why   string // why it was not filled; empty: it was
}

const (
	mostSubmodules    = 1000 // how many of one checkout are filled
	deepestSubmodule  = 16   // how many levels of submodules of submodules are filled
	longestModuleName = 1024
)

// FillSubmodules fills the submodules of a checkout that is being made, and theirs, as far
// as the project has their commits. What cannot be filled is left empty, and the answer says
// why. After an error submodules may be half filled.
func (w *Worktree) FillSubmodules(ctx context.Context, s SubmoduleFill) ([]FilledSubmodule, error) {
	special, err := w.Repo.readSpecialEntries(ctx, w.location())
	if err != nil || len(special.Links) == 0 {
		return nil, err
	}
	top, err := fsx.OpenDirIs(w.Path, cmp.Or(w.Made(), w.Identity))
	if err != nil {
		return nil, err
	}
	defer top.Close()
	host, remove, err := w.Repo.TempDir()
	if err != nil {
		return nil, err
	}
	defer remove()
	f := &submoduleFiller{SubmoduleFill: s, w: w, host: host, workers: max(s.Workers, 1)}
	if f.config, err = w.Repo.fileConfig(); err != nil {
		return nil, err
	}
	level := submoduleLevel{repo: w.Repo, project: w.Repo, commit: s.Commit, links: wantedLinks(special), top: top}
	if err := f.fillLevel(ctx, level); err != nil {
		return f.done, err
	}
	if w.IsIsolated() && slices.ContainsFunc(f.done, func(d FilledSubmodule) bool { return d.Why == "" }) {
		return f.done, activateSubmodules(top)
	}
	return f.done, nil
}

// wantedLinks returns the paths of submodules, without those that a sparse checkout leaves out.
func wantedLinks(s index.Special) []string {
	left := map[string]bool{}
	for _, e := range s.Hidden {
		left[e.Path] = e.Sparse && e.Mode == odb.LinkMode
	}
	return slices.DeleteFunc(slices.Clone(s.Links), func(path string) bool { return left[path] })
}

// activeSubmodules is the setting by which `git submodule` examines all submodules.
const activeSubmodules = "[submodule]\n\tactive = .\n"

// activateSubmodules adds activeSubmodules to the configuration of an isolated checkout, which has no
// settings of submodules. A linked one has those of the project.
func activateSubmodules(top *fsx.Dir) error {
	dot, err := top.OpenDir(".git")
	if err != nil {
		return err
	}
	defer dot.Close()
	return dot.Append("config", []byte(activeSubmodules), 0o666)
}

// submoduleFiller fills the submodules of one checkout.
type submoduleFiller struct {
	SubmoduleFill
	w       *Worktree
	host    string // a temporary directory of Croft's
	workers int
	config  []gitconfig.Entry // how the project's files are written to disk
	done    []FilledSubmodule
	made    int   // temporary directories
	packed  int64 // bytes of the packs
}

// submoduleLevel is a checkout whose submodules are filled: that of the project, or of a submodule.
type submoduleLevel struct {
	repo    *Repository // has the commit
	project *Repository // the project's own copy: where the git directories of its submodules are
	commit  string
	links   []string // the paths of the submodules, with slashes
	top     *fsx.Dir // the files
	prefix  string   // of their paths, from the top of the whole checkout
	depth   int
}

// fillLevel fills the submodules of a checkout, and theirs.
func (f *submoduleFiller) fillLevel(ctx context.Context, l submoduleLevel) error {
	commits, err := l.repo.linkedCommits(ctx, l.commit, l.links[:min(len(l.links), mostSubmodules)])
	if err != nil {
		return err
	}
	names, err := l.repo.submoduleNames(ctx, l.commit)
	if err != nil {
		return err
	}
	for _, path := range l.links {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(f.done) == mostSubmodules {
			f.done = append(f.done, FilledSubmodule{Path: l.prefix + path, Why: fmt.Sprintf("only %d submodules are filled", mostSubmodules)})
		}
		if len(f.done) > mostSubmodules {
			return nil
		}
		at := len(f.done)
		f.done = append(f.done, FilledSubmodule{Path: l.prefix + path})
		err := f.fill(ctx, l, path, names[path], commits[path])
		if refused, ok := errors.AsType[*notFilledError](err); ok {
			f.done[at] = FilledSubmodule{Path: l.prefix + path, Why: refused.why}
			f.done = f.done[:at+1] // those of its own submodules went with it
			continue
		}
		if err != nil {
			return fmt.Errorf("submodule %q: %w", l.prefix+path, err)
		}
	}
	return nil
}

// linkedCommits returns the commits of submodules by their paths.
func (r *Repository) linkedCommits(ctx context.Context, commit string, links []string) (map[string]string, error) {
	const atOnce = 100 // arguments have a limited size
	commits := map[string]string{}
	for some := range slices.Chunk(links, atOnce) {
		out, err := r.RunGit(ctx, append([]string{"--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--"}, some...)...)
		if err != nil {
			return nil, err
		}
		for _, line := range gitdir.SplitNUL(out) {
			about, path, _ := strings.Cut(line, "\t")
			if f := strings.Fields(about); len(f) == 3 && f[0] == odb.LinkMode && object.IsOID(f[2]) {
				commits[path] = f[2]
			}
		}
	}
	return commits, nil
}

// notFilledError says why a submodule stays empty.
type notFilledError struct{ why string }

func (e *notFilledError) Error() string { return e.why }

func notFilled(format string, args ...any) error {
	return &notFilledError{fmt.Sprintf(format, args...)}
}

// isModuleName reports whether a name of a .gitmodules can be a directory below modules. An agent can
// write any name.
func isModuleName(name string) bool {
	if name == "" || len(name) > longestModuleName || strings.ContainsRune(name, 0) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	return !slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' }), func(part string) bool {
		return part == "." || part == ".." || strings.EqualFold(part, ".git")
	})
}

// fill fills one submodule and its own, or fails with a *notFilledError and leaves it empty.
func (f *submoduleFiller) fill(ctx context.Context, l submoduleLevel, path, name, commit string) error {
	switch {
	case len(commit) != l.repo.ObjectFormat().HexLen():
		return notFilled("the commit has no submodule there")
	case name == "":
		return notFilled("the commit's .gitmodules does not name it")
	case !isModuleName(name):
		return notFilled("its name in .gitmodules is none that git would use")
	case l.depth >= deepestSubmodule:
		return notFilled("it is too deep in other submodules")
	}
	module, isThere := l.project.moduleOf(path, name)
	if !isThere {
		return notFilled("the project has no copy of it")
	}
	if err := f.w.Repo.Git.CheckOwnerOf(ctx, module, []string{module}); err != nil {
		return notFilled("the project's copy of it belongs to another user")
	}
	dir, err := l.top.OpenBelow(path)
	if errors.Is(err, os.ErrNotExist) {
		return notFilled("the checkout does not have its directory")
	}
	if err != nil {
		return notFilled("its directory cannot be used: %v", err)
	}
	defer dir.Close()
	if !dir.IsEmpty() {
		return notFilled("its directory is not empty")
	}
	if free, _, err := fsx.FreeSpace(dir.Path()); err == nil && free < f.MinFree {
		return notFilled("less than provision.min_free is free")
	}
	f.made++
	temp := filepath.Join(f.host, strconv.Itoa(f.made))
	sub, err := f.makeRepository(l, temp, dir, name, commit, module)
	if err != nil {
		return err
	}
	defer sub.Close()
	if err := f.fetch(ctx, sub, commit, module); err != nil {
		return err
	}
	err = f.checkOut(ctx, l, sub, dir, path, module, commit)
	if err == nil {
		err = f.place(temp, dir)
	}
	if err != nil {
		return emptied(dir, err) // the rest is in the temporary directory
	}
	return failpoint.Hit("git.submodule.filled")
}

// emptied removes the files of a submodule that cannot be filled. A failure of git's, which the content of the
// submodule may be the reason of, makes it an empty one.
func emptied(dir *fsx.Dir, err error) error {
	names, lerr := dir.Names()
	if lerr != nil {
		return errors.Join(err, lerr)
	}
	for _, name := range names {
		if rerr := dir.RemoveAll(name); rerr != nil {
			return errors.Join(err, rerr)
		}
	}
	return err
}

// makeRepository makes the git directory of a submodule, without objects, in a directory of Croft's.
func (f *submoduleFiller) makeRepository(l submoduleLevel, temp string, dir *fsx.Dir, name, commit, module string) (*Repository, error) {
	common := filepath.Join(temp, "git")
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "refs/remotes/croft", "info"} {
		if err := os.MkdirAll(filepath.Join(common, filepath.FromSlash(sub)), 0o777); err != nil {
			return nil, err
		}
	}
	files := map[string]string{
		"HEAD": commit + "\n", "config": f.configOf(l, name),
		// The commit is not the agent's work: whatever looks for that finds that it came from elsewhere.
		"refs/remotes/croft/base": commit + "\n",
	}
	if shallow := shallowOf(module, l.repo.ObjectFormat()); shallow != "" {
		files["shallow"] = shallow
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(common, filepath.FromSlash(name)), []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	place := gitdir.Place{Root: dir.Path(), CommonDir: common, GitDir: common, WorkDir: dir.Path()}
	return At(f.w.Repo.Git, place, filepath.Join(temp, "host")), nil
}

// configOf returns the configuration of a submodule. Its address is that of the project's own
// configuration, as text that no git of Croft's uses; an isolated checkout gets none.
func (f *submoduleFiller) configOf(l submoduleLevel, name string) string {
	var b bytes.Buffer
	for _, e := range f.config {
		gitconfig.Write(&b, e)
	}
	gitconfig.Write(&b, gitconfig.Entry{Key: "core.logallrefupdates", Value: "true"})
	b.WriteString(activeSubmodules)
	if f.w.IsIsolated() {
		return b.String()
	}
	url := ""
	entries, _ := gitconfig.ReadFile(l.project.CommonPath("config"))
	for _, e := range entries {
		if e.Key == "submodule."+name+".url" {
			url = e.Value
		}
	}
	origin := gitconfig.Entry{Key: "remote.origin.url", Value: url}
	if url == "" || origin.Class() != gitconfig.ClassPinned {
		return b.String()
	}
	gitconfig.Write(&b, origin)
	gitconfig.Write(&b, gitconfig.Entry{Key: "remote.origin.fetch", Value: "+refs/heads/*:refs/remotes/origin/*"})
	return b.String()
}

// shallowOf returns the commits at which the history of a submodule ends, as lines.
func shallowOf(module string, format object.Format) string {
	const most = 4 << 20
	text, err := fsx.ReadFile(filepath.Join(module, "shallow"), most)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if oid := strings.TrimSpace(line); object.IsOID(oid) && len(oid) == format.HexLen() {
			b.WriteString(oid + "\n")
		}
	}
	return b.String()
}

// fetch brings a commit and all that it needs from the project's copy into the new git directory. Git computes the
// name of each object that it receives.
func (f *submoduleFiller) fetch(ctx context.Context, sub *Repository, commit, module string) error {
	from := []string{"GIT_OBJECT_DIRECTORY=" + filepath.Join(module, "objects")}
	if borrows(module) {
		return notFilled("the project's copy of it borrows objects from elsewhere")
	}
	found, err := sub.Present(ctx, []string{commit}, from)
	if err == nil && len(found) == 0 {
		return notFilled("the project's copy of it does not have its commit")
	}
	args := []string{"index-pack", "--stdin"}
	if f.MaxBytes > 0 {
		args = append(args, "--max-input-size="+strconv.FormatInt(max(f.MaxBytes-f.packed, 1), 10))
	}
	if err == nil {
		_, err = sub.TransferPack(ctx, odb.Transfer{Wanted: []string{commit}, From: from, Into: gitcmd.Call{Args: args, Config: odb.NotTrusted}})
	}
	if err == nil {
		err = sub.checkComplete(ctx, commit, "--tags")
	}
	if err == nil && borrows(module) { // it was made so meanwhile
		return notFilled("the project's copy of it borrows objects from elsewhere")
	}
	if err != nil {
		return f.blame(ctx, err, "the project's copy of it is not whole")
	}
	return failpoint.Hit("git.submodule.fetched")
}

// borrows reports whether a repository has objects of another one: an agent that can write it would read any repository of the
// user by that.
func borrows(module string) bool {
	objects := filepath.Join(module, "objects")
	if fsx.IsThere(filepath.Join(objects, "info", "alternates")) || fsx.IsThere(filepath.Join(objects, "info", "http-alternates")) {
		return true
	}
	entries, err := os.ReadDir(objects)
	return err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Type()&os.ModeSymlink != 0 })
}

// blame returns a *notFilledError for an error for which the project's copy of a submodule may be the reason, and any
// other unchanged: a full disk, or the end of the call.
func (f *submoduleFiller) blame(ctx context.Context, err error, why string) error {
	switch {
	case ctx.Err() != nil || errors.Is(err, gitcmd.KindNoSpace) || errors.Is(err, gitcmd.KindIO):
		return err
	case errors.Is(err, gitcmd.KindTooLarge):
		return notFilled("provision.max_bytes would be exceeded")
	}
	return notFilled("%s: %s", why, oneLine(err))
}

// oneLine returns the text of an error in one line, of a bounded length.
func oneLine(err error) string {
	const most = 200
	text := strings.Join(strings.Fields(err.Error()), " ")
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// noLFS makes a checkout leave the pointers of git-lfs as they are: it would ask a server for the content.
var noLFS = [][2]string{{"filter.lfs.smudge", ""}, {"filter.lfs.process", ""}, {"filter.lfs.clean", ""}, {"filter.lfs.required", "false"}}

// checkOut writes the files of a submodule, and fills its own submodules.
func (f *submoduleFiller) checkOut(ctx context.Context, l submoduleLevel, sub *Repository, dir *fsx.Dir, path, module, commit string) error {
	id, err := dir.Identity()
	if err != nil {
		return err
	}
	target := gitcmd.Target{Repo: sub.Core(), Work: dir.Path(), Identities: func() []fsx.Identity { return []fsx.Identity{id} }}
	_, err = sub.Git.Run(ctx, target, gitcmd.Call{
		Args:   []string{"read-tree", "--reset", "-u", commit},
		Config: slices.Concat(noLFS, [][2]string{{"checkout.workers", strconv.Itoa(f.workers)}}), Locks: true, Inherit: f.w.Inherit,
	})
	if err != nil {
		return f.blame(ctx, err, "its files cannot be written")
	}
	at := checkoutAt{gitDir: sub.CommonDir, work: dir.Path()}
	special, err := sub.readSpecialEntries(ctx, at)
	if err != nil {
		return f.blame(ctx, err, "its index cannot be read")
	}
	changed, err := sub.Git.Run(ctx, target, gitcmd.Call{
		Args: []string{"status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all"}, Config: noLFS,
	})
	if err != nil {
		return f.blame(ctx, err, "its files cannot be compared")
	}
	if len(changed) > 0 {
		return notFilled("its files cannot be written as its commit has them")
	}
	own := &f.done[len(f.done)-1]
	own.Files, own.Bytes = index.Count(sub.CommonDir)-len(special.Links), packSize(sub.CommonDir)
	f.packed += own.Bytes
	if len(special.Links) == 0 {
		return nil
	}
	inProject := At(f.w.Repo.Git, gitdir.PlaceAt(module, l.project.rootOf(path, module)), filepath.Join(filepath.Dir(sub.CommonDir), "module"))
	return f.fillLevel(ctx, submoduleLevel{
		repo: sub, project: inProject, commit: commit, links: special.Links, top: dir, prefix: l.prefix + path + "/", depth: l.depth + 1,
	})
}

// packSize returns the size of the packs in a git directory.
func packSize(common string) (size int64) {
	packs, _ := os.ReadDir(filepath.Join(common, "objects", "pack"))
	for _, p := range packs {
		if info, err := p.Info(); err == nil && strings.HasSuffix(p.Name(), ".pack") {
			size += info.Size()
		}
	}
	return size
}

// place moves the git directory of a submodule into its checkout, and syncs it to disk.
func (f *submoduleFiller) place(temp string, dir *fsx.Dir) error {
	from, err := fsx.OpenOwn(temp)
	if err != nil {
		return err
	}
	defer from.Close()
	id, err := from.IdentityOf("git")
	if err == nil {
		err = from.MoveOrCopy("git", id, dir, ".git", worktree.LargestAdmin)
	}
	if err != nil {
		return err
	}
	at := filepath.Join(dir.Path(), ".git")
	paths := []string{dir.Path(), at}
	for _, name := range []string{"HEAD", "config", "index", "refs/remotes/croft/base", "refs/remotes/croft", "objects/pack"} {
		paths = append(paths, filepath.Join(at, filepath.FromSlash(name)))
	}
	packs, err := os.ReadDir(filepath.Join(at, "objects", "pack"))
	for _, p := range packs {
		paths = append(paths, filepath.Join(at, "objects", "pack", p.Name()))
	}
	return errors.Join(err, fsx.SyncAll(paths...))
}
