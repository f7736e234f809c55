package refs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
)

// maxPackedRefs bounds the size of packed-refs.
const maxPackedRefs = 1 << 30

// lockPacked locks packed-refs until the transaction ends, if it deletes refs: a process
// that packs refs meanwhile would restore a deleted one.
func (t *refTx) lockPacked(ctx context.Context) error {
	if !t.hasDeletions() {
		return nil
	}
	f, err := t.createLock(ctx, "packed-refs.lock")
	if err != nil {
		return err
	}
	return f.Close()
}

// stagePacked writes packed-refs.new without the refs that the transaction deletes, if any
// of them is packed.
func (t *refTx) stagePacked() error {
	drop := map[string]bool{}
	for _, s := range t.steps {
		if s.deletes() {
			drop[s.Ref] = true
		}
	}
	if len(drop) == 0 {
		return nil
	}
	packed := t.packedNow()
	for ref := range drop {
		_, isPacked, err := packed.find(ref)
		if err != nil {
			return err
		}
		if !isPacked {
			delete(drop, ref)
		}
	}
	if len(drop) == 0 {
		return nil
	}
	old, err := t.files.ReadFile("packed-refs", maxPackedRefs)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	t.repack = true
	return t.writePacked(mergePacked(old, drop, nil))
}

// writePacked writes packed-refs.new. The transaction holds packed-refs.lock, so an
// existing file of this name was left by a process that was killed.
func (t *refTx) writePacked(text []byte) error {
	d, err := t.files.Dir("")
	if err != nil {
		return err
	}
	if err := d.Remove("packed-refs.new"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := d.CreateShared("packed-refs.new")
	if err != nil {
		return err
	}
	t.held = append(t.held, "packed-refs.new") // release removes it if the transaction fails
	_, err = f.Write(text)
	if err == nil {
		err = fsx.SyncOpen(f)
	}
	return errors.Join(err, f.Close())
}

// renamePacked renames packed-refs.new to packed-refs.
func (t *refTx) renamePacked() error {
	err := t.files.Rename("packed-refs.new", "packed-refs")
	if err == nil {
		t.forget("packed-refs.new")
	}
	return err
}

// packedRecord is a packed ref: its line, and the line of the peeled object if the ref
// names an annotated tag.
type packedRecord struct{ name, text string }

// mergePacked returns the text of packed-refs without the refs in drop and with those in
// add, sorted by name. The other records keep their text.
func mergePacked(old []byte, drop map[string]bool, add []packedRecord) []byte {
	slices.SortFunc(add, func(a, b packedRecord) int { return strings.Compare(a.name, b.name) })
	head, rest := cutHeader(old)
	records := recordsOf(rest)
	if !strings.Contains(head, " sorted") {
		list := slices.Collect(records)
		slices.SortStableFunc(list, func(a, b rawRecord) int { return bytes.Compare(a.name, b.name) })
		records = slices.Values(list)
		head = strings.TrimRight(head, " \n") + " sorted \n"
	}
	var out bytes.Buffer
	out.Grow(len(old) + len(add)*100)
	out.WriteString(head)
	for r := range records {
		for len(add) > 0 && add[0].name < string(r.name) {
			out.WriteString(add[0].text)
			add = add[1:]
		}
		if len(add) > 0 && add[0].name == string(r.name) || drop[string(r.name)] {
			continue
		}
		out.Write(r.text)
	}
	for _, r := range add {
		out.WriteString(r.text)
	}
	return out.Bytes()
}

// packedHeader is the first line of packed-refs. It says that every annotated tag has its
// peeled object.
const packedHeader = "# pack-refs with: peeled fully-peeled sorted \n"

// cutHeader splits off the first line of packed-refs, which has the traits of the file.
// head is "" if there is no such line.
func cutHeader(data []byte) (head string, rest []byte) {
	if len(data) == 0 {
		return packedHeader, nil
	}
	if line, rest, ok := bytes.Cut(data, []byte("\n")); ok && bytes.HasPrefix(line, []byte("# pack-refs with:")) {
		return string(line) + "\n", rest
	}
	return "# pack-refs with: \n", data
}

// rawRecord is a packedRecord that refers to the bytes of the file.
type rawRecord struct{ name, text []byte }

// recordsOf yields the records of packed-refs. It skips lines that are no records.
func recordsOf(data []byte) func(yield func(rawRecord) bool) {
	return func(yield func(rawRecord) bool) {
		for len(data) > 0 {
			end := bytes.IndexByte(data, '\n') + 1
			if end == 0 {
				return // the file is truncated
			}
			line := data[:end-1]
			for end < len(data) && data[end] == '^' {
				next := bytes.IndexByte(data[end:], '\n') + 1
				if next == 0 {
					return
				}
				end += next
			}
			space := bytes.IndexByte(line, ' ')
			if space > 0 && object.IsOID(string(line[:space])) && !yield(rawRecord{line[space+1:], data[:end]}) {
				return
			}
			data = data[end:]
		}
	}
}

// PackRefs packs the refs below a prefix once manyRefs of them are loose, as git's own gc
// does with all refs.
func (r *Repository) PackRefs(ctx context.Context, prefix string) error {
	if !r.HasNativeRefs() {
		return nil
	}
	w := &r.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &refTx{w: w, files: fsx.OpenTree(r.CommonDir), until: time.Now().Add(w.lockTimeout())}
	defer t.files.Close()
	loose, err := t.looseRefsBelow(strings.TrimSuffix(prefix, "/"), refDepth)
	if err != nil || len(loose) <= manyRefs {
		return err
	}
	locks := []string{"packed-refs.lock", "packed-refs.new"}
	for _, ref := range loose {
		locks = append(locks, ref+".lock")
	}
	if err := w.begin(locks); err != nil {
		return err
	}
	defer w.lease.WriteIdle()
	err = t.pack(ctx, loose)
	if rerr := t.release(); err == nil {
		err = rerr
	}
	return err
}

// looseRefsBelow lists the loose refs below a directory.
func (t *refTx) looseRefsBelow(dir string, depth int) ([]string, error) {
	d, err := t.files.Dir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := d.Open(".")
	if err != nil {
		return nil, err
	}
	entries, err := list.ReadDir(-1)
	_ = list.Close()
	if err != nil {
		return nil, err
	}
	var refs []string
	for _, e := range entries {
		name := dir + "/" + e.Name()
		switch {
		case e.IsDir() && depth > 0:
			below, err := t.looseRefsBelow(name, depth-1)
			if err != nil {
				return nil, err
			}
			refs = append(refs, below...)
		case e.Type().IsRegular() && gitdir.IsRefName(name):
			refs = append(refs, name)
		}
	}
	return refs, nil
}

// pack packs loose refs, and removes their files once packed-refs is on disk. It holds the
// lock of packed-refs until then, so no process can delete a ref from packed-refs and
// create it again as a file.
func (t *refTx) pack(ctx context.Context, loose []string) error {
	f, err := t.createLock(ctx, "packed-refs.lock")
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	old, err := t.files.ReadFile("packed-refs", maxPackedRefs)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var add []packedRecord
	values := map[string]string{}
	for _, ref := range loose {
		record, oid, err := t.packedRecordOf(ctx, ref)
		if err != nil {
			return err
		}
		if oid != "" {
			add, values[ref] = append(add, record), oid
		}
	}
	if err := t.writePacked(mergePacked(old, nil, add)); err != nil {
		return err
	}
	if err := t.renamePacked(); err != nil {
		return err
	}
	if err := fsx.SyncAll(t.files.Path("")); err != nil {
		return err
	}
	for ref, oid := range values {
		if err := t.pruneLoose(ref, oid); err != nil {
			return err
		}
	}
	return nil
}

// packedRecordOf returns the record of a loose ref for packed-refs, and its object. oid is
// empty if the ref is to stay as it is: its file is gone, it is a symbolic ref, or an
// object is missing.
func (t *refTx) packedRecordOf(ctx context.Context, ref string) (r packedRecord, oid string, err error) {
	b, err := t.files.ReadFile(ref, maxRefFile)
	if err != nil {
		return r, "", nil //nolint:nilerr // the ref stays loose
	}
	oid, _ = gitdir.ParseRefFile(b)
	if !object.IsOID(oid) || len(oid) != t.w.repo.ObjectFormat().HexLen() {
		return r, "", nil
	}
	info, err := t.w.repo.Info(ctx, oid)
	if errors.Is(err, object.ErrMissing) {
		return r, "", nil
	}
	if err != nil {
		return r, "", err
	}
	r = packedRecord{ref, oid + " " + ref + "\n"}
	if info.Type == "tag" {
		leads, err := t.w.repo.Info(ctx, oid+"^{}")
		if errors.Is(err, object.ErrMissing) {
			return r, "", nil
		}
		if err != nil {
			return r, "", err
		}
		r.text += "^" + leads.OID + "\n"
	}
	return r, oid, nil
}

// pruneLoose removes the file of a ref that was packed, unless another process has locked
// the ref or it has another value by now.
func (t *refTx) pruneLoose(ref, oid string) error {
	f, err := t.tryLock(ref + ".lock")
	if err != nil {
		return nil //nolint:nilerr // the file may stay
	}
	_ = f.Close()
	b, err := t.files.ReadFile(ref, maxRefFile)
	if now, _ := gitdir.ParseRefFile(b); err == nil && now == oid {
		err = t.files.Remove(ref)
	}
	if rerr := t.files.Remove(ref + ".lock"); rerr == nil {
		t.forget(ref + ".lock")
	}
	t.files.RemoveEmptyUpwards(gitdir.ParentDir(ref), func(dir string) bool { return strings.Count(dir, "/") < 2 })
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
