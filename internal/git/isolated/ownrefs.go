package isolated

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// When an isolated checkout is removed, one commit keeps everything that its agent made
// besides the branch that it was given: other branches, tags and stashes. The parents of
// the commit are the commits that the refs name, and its tree has the names:
//
//	refs      a line for each ref, as in packed-refs
//	head      the content of HEAD, if it was on one of these refs
//	stash     the reflog of refs/stash, with a line for each stash
//	tags/     a file for each annotated tag, with its text
//	objects/  objects that refs name which are neither commits nor tags

// ownRefs is what an agent made besides its branch.
type ownRefs struct {
	head  string
	refs  map[string]string
	stash string
	more  []string // objects that are kept without a name
}

// stashLog is the reflog of refs/stash: a line for each stash, the newest last.
const stashLog = "logs/refs/stash"

// maxStashLog bounds how many bytes of the stash's reflog are kept.
const maxStashLog = 1 << 20

// readStash reads the reflog of refs/stash, or its last maxStashLog bytes.
func (p *private) readStash() string {
	b, err := p.read(stashLog)
	if err != nil {
		return ""
	}
	if len(b) > maxStashLog {
		_, b, _ = bytes.Cut(b[len(b)-maxStashLog:], []byte("\n"))
	}
	return string(b)
}

// KeepOwn stores the commit that keeps what the agent of an isolated checkout made
// besides its branch, and returns "" if there is nothing. The caller makes the ref. If
// the agent's git directory cannot be read, the commit keeps what the last pull found.
func (w *Worktree) KeepOwn(ctx context.Context) (string, error) {
	if !w.IsIsolated() {
		return "", nil
	}
	if _, err := w.LastKnown(ctx); err != nil {
		return "", err
	}
	own := w.ownRefs()
	isWhole, err := w.Repo.hasAll(ctx, own)
	if err != nil {
		return "", err
	}
	if !isWhole { // since the pull git has pruned an object that no ref names, such as a tag
		if err := w.ResetSync(); err != nil {
			return "", err
		}
		if _, err := w.LastKnown(ctx); err != nil {
			return "", err
		}
	}
	return w.Repo.storeOwn(ctx, own)
}

// ownRefs reads what the agent made: from its git directory, or from the state of the last
// pull if that cannot be read.
func (w *Worktree) ownRefs() ownRefs {
	last := w.readSyncFile()
	now := last.Private
	if p, err := w.openPrivate(); err == nil {
		if state, err := p.state(); err == nil && p.checkLayout() == nil {
			now = state
		}
		p.close()
	}
	return last.ownPart(now)
}

// ownPart returns the refs and stashes of now that the agent made itself.
func (last SyncState) ownPart(now privateState) ownRefs {
	own := ownRefs{refs: map[string]string{}, stash: now.Stash}
	for name, oid := range now.Refs {
		if name != "refs/heads/"+last.Branch && last.Pushed[name] != oid && last.Shown[name] != oid {
			own.refs[name] = oid
		}
	}
	if ref, isOn := strings.CutPrefix(now.Head, "ref: "); isOn && own.refs[ref] != "" {
		own.head = now.Head
	}
	_, head := now.resolve()
	own.addInnerHeads(now.Inner, last.Base, head, now.Refs["refs/heads/"+last.Branch])
	return own
}

// hasAll reports whether the repository has every object that own names.
func (r *Repository) hasAll(ctx context.Context, own ownRefs) (bool, error) {
	for _, oid := range own.refs {
		if _, err := r.Info(ctx, oid); errors.Is(err, object.ErrMissing) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return true, nil
}

// ownStore builds the commit that keeps what an agent made.
type ownStore struct {
	repo    *Repository
	batch   *object.Batch
	parents []string
	tags    []object.TreeEntry
	objects []object.TreeEntry
	seen    map[string]bool // objects that were added → whether they exist
}

func (r *Repository) storeOwn(ctx context.Context, own ownRefs) (string, error) {
	s := &ownStore{repo: r, batch: r.Batch(), seen: map[string]bool{}}
	defer s.batch.Discard()
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(own.refs)) {
		isThere, err := s.add(ctx, own.refs[name])
		if err != nil {
			return "", err
		}
		if isThere {
			fmt.Fprintf(&lines, "%s %s\n", own.refs[name], name)
		}
	}
	for _, oid := range slices.Concat(worktree.StashOIDs(own.stash), own.more) {
		if _, err := s.add(ctx, oid); err != nil {
			return "", err
		}
	}
	if lines.Len() == 0 && len(s.parents)+len(s.tags)+len(s.objects) == 0 {
		return "", nil
	}
	tree, err := s.tree(map[string]string{"refs": lines.String(), "head": own.head, "stash": own.stash})
	if err != nil {
		return "", err
	}
	oid, err := s.batch.WriteCommit(object.Commit{
		Tree: tree, Parents: s.parents, Signature: mergetree.SyntheticAuthor, Message: "Branches, tags and stashes of a removed isolated workspace",
	})
	if err != nil {
		return "", err
	}
	return oid, s.batch.Flush()
}

// add makes the commit keep an object, and reports whether the object exists.
func (s *ownStore) add(ctx context.Context, oid string) (isThere bool, err error) {
	if isThere, known := s.seen[oid]; known || !object.IsOID(oid) || len(oid) != s.repo.ObjectFormat().HexLen() {
		return isThere, nil
	}
	s.seen[oid] = false
	info, err := s.repo.Info(ctx, oid)
	if errors.Is(err, object.ErrMissing) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	switch info.Type {
	case "commit":
		s.parents = append(s.parents, oid)
	case "tree":
		s.objects = append(s.objects, object.TreeEntry{Mode: "40000", Name: oid, OID: oid})
	case "blob":
		s.objects = append(s.objects, object.TreeEntry{Mode: "100644", Name: oid, OID: oid})
	case "tag":
		if isThere, err := s.addTag(ctx, oid); err != nil || !isThere {
			return false, err
		}
	}
	s.seen[oid] = true
	return true, nil
}

// addTag keeps the text of a tag, and the object that it names.
func (s *ownStore) addTag(ctx context.Context, oid string) (bool, error) {
	o, err := s.repo.Read(ctx, oid)
	if err != nil {
		return false, err
	}
	first, _, _ := strings.Cut(string(o.Data), "\n")
	isThere, err := s.add(ctx, strings.TrimPrefix(first, "object "))
	if err != nil || !isThere {
		return false, err
	}
	text, err := s.batch.WriteBlob(o.Data)
	s.tags = append(s.tags, object.TreeEntry{Mode: "100644", Name: oid, OID: text})
	return true, err
}

func (s *ownStore) tree(files map[string]string) (string, error) {
	var entries []object.TreeEntry
	for name, text := range files {
		if text == "" && name != "refs" {
			continue
		}
		oid, err := s.batch.WriteBlob([]byte(text))
		if err != nil {
			return "", err
		}
		entries = append(entries, object.TreeEntry{Mode: "100644", Name: name, OID: oid})
	}
	for name, list := range map[string][]object.TreeEntry{"tags": s.tags, "objects": s.objects} {
		if len(list) == 0 {
			continue
		}
		oid, err := s.batch.WriteTree(list)
		if err != nil {
			return "", err
		}
		entries = append(entries, object.TreeEntry{Mode: "40000", Name: name, OID: oid})
	}
	return s.batch.WriteTree(entries)
}

// RestoreOwn restores what [Worktree.KeepOwn] kept to the git directory of an isolated
// checkout that was made anew. It may be called again after a crash.
func (w *Worktree) RestoreOwn(ctx context.Context, commit string) error {
	if !w.IsIsolated() {
		return nil
	}
	own, err := w.Repo.readOwn(ctx, commit)
	if err != nil {
		return err
	}
	p, release, err := w.holdPrivate(ctx)
	if err != nil {
		return err
	}
	defer release()
	now, err := p.state()
	if err != nil {
		return err
	}
	if err := p.pushOwnObjects(ctx, own, now); err != nil {
		return err
	}
	return p.writeOwnRefs(own, now)
}

// readOwn reads what a commit of KeepOwn keeps, and stores its tags as objects again.
func (r *Repository) readOwn(ctx context.Context, commit string) (ownRefs, error) {
	own := ownRefs{refs: map[string]string{}}
	text := map[string]string{}
	for _, name := range []string{"refs", "head", "stash"} {
		o, err := r.Read(ctx, commit+":"+name)
		if err != nil && (name == "refs" || !errors.Is(err, object.ErrMissing)) {
			return own, err
		}
		text[name] = string(o.Data)
	}
	own.head, own.stash = text["head"], text["stash"]
	for line := range strings.Lines(text["refs"]) {
		if oid, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && gitdir.CanBeRef(name) {
			own.refs[name] = oid
		}
	}
	if _, err := r.Info(ctx, commit+":tags"); errors.Is(err, object.ErrMissing) {
		return own, nil
	}
	tags, err := r.ReadTree(ctx, commit+":tags")
	if err != nil {
		return own, err
	}
	b := r.Batch()
	defer b.Discard()
	for _, tag := range tags {
		o, err := r.Read(ctx, tag.OID)
		if err == nil {
			_, err = b.Write("tag", o.Size, bytes.NewReader(o.Data))
		}
		if err != nil {
			return own, err
		}
	}
	return own, b.Flush()
}

// pushOwnObjects transfers the objects that refs and stashes name to the agent's git directory.
func (p *private) pushOwnObjects(ctx context.Context, own ownRefs, now privateState) error {
	has := odb.OIDsOf(append(slices.Collect(maps.Values(now.Refs)), p.w.readSyncState().Base)...)
	named := odb.OIDsOf(slices.Concat(slices.Sorted(maps.Values(own.refs)), worktree.StashOIDs(own.stash))...)
	var wanted []string
	for _, oid := range has.Without(named.List) {
		if !p.isOID(oid) {
			continue
		}
		if _, err := p.w.Repo.Info(ctx, oid); errors.Is(err, object.ErrMissing) {
			continue
		} else if err != nil {
			return err
		}
		wanted = append(wanted, oid)
	}
	return p.push(ctx, wanted, has.List)
}

// writeOwnRefs writes refs to packed-refs: some of an agent's ref names may not be possible as
// file names. It also writes the reflog of the stash, and lets HEAD name the kept branch if
// HEAD is detached at its commit.
func (p *private) writeOwnRefs(own ownRefs, now privateState) error {
	names := gitdir.AvoidClashes(own.refs, now.Refs)
	all := maps.Clone(now.Refs)
	if all == nil {
		all = map[string]string{}
	}
	for name, oid := range own.refs {
		all[names[name]] = oid
	}
	var packed strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&packed, "%s %s\n", all[name], name)
	}
	if err := p.replace("packed-refs", []byte(packed.String())); err != nil {
		return err
	}
	for _, name := range names {
		if err := p.root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(asNotExist(err), os.ErrNotExist) {
			return err
		}
	}
	if own.stash != "" && own.refs[gitdir.StashRef] != "" {
		if err := p.replace(stashLog, []byte(own.stash)); err != nil {
			return err
		}
	}
	if ref, isOn := strings.CutPrefix(own.head, "ref: "); isOn && now.Head == own.refs[ref] {
		return p.replace("HEAD", []byte("ref: "+names[ref]+"\n"))
	}
	return nil
}
