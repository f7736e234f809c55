package git

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
)

// errAskGit says that only git knows what a tree of the work would be: something may convert
// files, or the index has a form of its own.
var errAskGit = errors.New("only git can stage this")

// maxDraftFile is the size from which a file is left to git, which does not read it into
// memory as a whole.
const maxDraftFile = 16 << 20

// drafter makes the tree of work in a checkout without starting git, which costs more than
// all that there is to read. It stands for update-index and write-tree, and gives up with
// errAskGit wherever these might do anything but copy bytes. Nothing it reads is reached
// through a link.
type drafter struct {
	w       *Worktree
	session *mergetree.Session
	top     *fsx.Dir
	index   map[string]index.Entry // by path
	made    map[string]bool        // the blobs that it wrote

	isText     bool            // attributes outside of the checkout may say which files are text
	attributes map[string]bool // by directory: the attributes there may say it
}

// draftTree returns the tree that git would write of the index with the work added, or fails
// with errAskGit. The objects are in the session.
func (w *Worktree) draftTree(ctx context.Context, a *mergetree.Session, headTree string, work Work) (string, error) {
	x, err := w.ReadIndex(filepath.Join(w.Admin, "index"))
	if err != nil || len(x.Faults) > 0 || x.Unreadable != "" {
		return "", errAskGit
	}
	d := &drafter{w: w, session: a, index: make(map[string]index.Entry, len(x.Entries)), made: map[string]bool{}, attributes: map[string]bool{}}
	for _, e := range x.Entries {
		if e.Stage > 0 {
			return "", errAskGit
		}
		d.index[e.Path] = e
	}
	if err := d.readSettings(ctx); err != nil {
		return "", err
	}
	if d.top, err = fsx.OpenDir(w.Path); err != nil {
		return "", errAskGit
	}
	defer d.top.Close()
	entries := maps.Clone(d.index)
	for _, p := range work.Without {
		delete(entries, p)
	}
	var added []string
	for _, p := range slices.Concat(work.Gone, work.Paths) {
		if !index.IsValidPath(p) || d.index[p].Hidden {
			return "", errAskGit
		}
		e, err := d.stage(p)
		if err != nil {
			return "", err
		}
		if delete(entries, p); e.OID != "" {
			entries[p], added = e, append(added, p)
		}
	}
	list := slices.SortedFunc(maps.Values(entries), func(a, b index.Entry) int { return cmp.Compare(a.Path, b.Path) })
	if haveClash(list, entries, added) {
		return "", errAskGit // git makes room
	}
	tree, err := (&index.Index{Entries: list}).Trees(w.Repo.ObjectFormat())
	if err != nil {
		return "", errAskGit
	}
	return hex.EncodeToString(tree.OID), d.write(ctx, tree, headTree)
}

// haveClash reports whether one of the added paths is a file where another entry needs a
// directory, or the other way round.
func haveClash(list []index.Entry, entries map[string]index.Entry, added []string) bool {
	for _, p := range added {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if _, isFile := entries[dir]; isFile {
				return true
			}
		}
		at, _ := slices.BinarySearchFunc(list, p+"/", func(e index.Entry, below string) int { return cmp.Compare(e.Path, below) })
		if at < len(list) && strings.HasPrefix(list[at].Path, p+"/") {
			return true
		}
	}
	return false
}

// readSettings fails with errAskGit if a setting, or attributes outside of the checkout, may
// convert files, or give them other modes.
func (d *drafter) readSettings(ctx context.Context) (err error) {
	d.isText, err = d.w.textOutside(ctx)
	return err
}

// textOutside reports whether attributes outside of the checkout may say which files are text. It fails with errAskGit
// if they, or a setting, may convert files otherwise, or give them other modes.
func (w *Worktree) textOutside(ctx context.Context) (isText bool, err error) {
	now, err := w.Repo.SettingsOf(ctx, w.Admin)
	if err != nil {
		return false, err
	}
	is := func(key, value string) bool { return strings.EqualFold(now.Values[key], value) }
	isOn := func(key string) bool { return now.Values[key] == "" || is(key, "true") }
	files, known := systemAttributes(w.Repo.Git)
	if !known || runtime.GOOS == "windows" || isSet(now.Values["core.autocrlf"]) || is("core.eol", "crlf") || isSet(now.Values["core.ignorecase"]) ||
		now.Values["core.attributesfile"] != "" || !isOn("core.filemode") || !isOn("core.symlinks") {
		return false, errAskGit
	}
	files = append(files, filepath.Join(w.Repo.HostDir(), "info", "attributes"), filepath.Join(w.Repo.Git.ConfigHome(), "git", "attributes"))
	for _, f := range files {
		text, err := fsx.ReadFile(f, gitconfig.MaxSize)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil || attributesMatter(text) {
			return false, errAskGit
		}
		isText = isText || mentionsText(text)
	}
	return isText, nil
}

// mentionsText reports whether an attributes file may say which files are text. Git takes
// carriage returns out of those.
func mentionsText(text []byte) bool {
	return bytes.Contains(text, []byte("text")) || bytes.Contains(text, []byte("eol"))
}

// mayBeText reports whether attributes may say that files in a directory are text.
func (d *drafter) mayBeText(dir string) (bool, error) {
	if known, ok := d.attributes[dir]; ok {
		return known, nil
	}
	isText := d.isText
	if dir != "." {
		above, err := d.mayBeText(path.Dir(dir))
		if err != nil {
			return false, err
		}
		isText = above
	}
	at, err := d.top.OpenBelow(dir)
	if err != nil {
		return false, errAskGit
	}
	defer at.Close()
	text, err := at.ReadFile(".gitattributes", gitconfig.MaxSize)
	switch {
	case errors.Is(err, os.ErrNotExist):
		// Git takes those of the index.
		if _, staged := d.index[path.Join(dir, ".gitattributes")]; staged {
			return false, errAskGit
		}
	case err != nil || attributesMatter(text):
		return false, errAskGit
	}
	d.attributes[dir] = isText || mentionsText(text)
	return d.attributes[dir], nil
}

// stage writes what lies at a path of the checkout, and returns its entry. The entry has no
// object if nothing is there, or only behind a link.
func (d *drafter) stage(p string) (index.Entry, error) {
	dir, name := path.Split(p)
	at, err := d.top.OpenBelow(path.Clean("./" + dir))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, fsx.ErrLink) {
		return index.Entry{}, nil
	}
	if err != nil {
		return index.Entry{}, errAskGit
	}
	defer at.Close()
	found, err := at.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return index.Entry{}, nil
	}
	if err != nil {
		return index.Entry{}, errAskGit
	}
	var data []byte
	mode := "100644"
	switch {
	case found.Mode&os.ModeSymlink != 0:
		if strings.HasPrefix(strings.ToLower(name), ".git") || strings.Contains(name, "~") {
			return index.Entry{}, errAskGit // git refuses links with some of these names
		}
		text, err := at.Readlink(name)
		if err != nil {
			return index.Entry{}, errAskGit
		}
		mode, data = "120000", []byte(text)
	case !found.Mode.IsRegular():
		return index.Entry{}, errAskGit
	default:
		if found.Mode&0o100 != 0 {
			mode = "100755"
		}
		isText, err := d.mayBeText(path.Clean("./" + dir))
		if err != nil {
			return index.Entry{}, err
		}
		if data, err = at.ReadFile(name, maxDraftFile); err != nil || isText && bytes.IndexByte(data, '\r') >= 0 {
			return index.Entry{}, errAskGit
		}
	}
	oid, err := d.session.WriteBlob(data)
	d.made[oid] = true
	return index.Entry{Path: p, Mode: mode, OID: oid}, err
}

// write writes the trees that the tree was, of HEAD, does not have. It fails with errAskGit
// if a staged file is missing: git says so.
func (d *drafter) write(ctx context.Context, t *index.Tree, was string) error {
	if hex.EncodeToString(t.OID) == was {
		return nil
	}
	now, err := object.ParseTree(t.Text, d.w.Repo.ObjectFormat().Size())
	if err != nil {
		return err
	}
	before := map[string]object.TreeEntry{}
	if was != "" {
		list, err := d.session.ReadTree(ctx, was)
		if err != nil {
			return err
		}
		for _, e := range list {
			before[e.Name] = e
		}
	}
	for _, e := range now {
		if e.Mode == "40000" || e.Mode == "160000" || d.made[e.OID] || before[e.Name].OID == e.OID {
			continue
		}
		if o, err := d.w.Repo.Info(ctx, e.OID); err != nil || o.Type != "blob" {
			return errAskGit
		}
	}
	for _, sub := range t.Subs {
		of := ""
		if e := before[sub.Name()]; e.Mode == "40000" {
			of = e.OID
		}
		if err := d.write(ctx, sub, of); err != nil {
			return err
		}
	}
	_, err = d.session.Quarantine().OwnObjects().Write("tree", t.Text)
	return err
}
