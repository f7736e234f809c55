package index

import (
	"cmp"
	"encoding/hex"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/croft-sh/croft/internal/git/object"
)

// Fault is an entry of an index file that git itself would not make, or not there. Git
// reads such entries, and then fails, crashes, or leaves the checkout.
type Fault struct {
	Path string
	Why  string
}

// The faults. An entry that is out of order is put in order; the others are left out.
const (
	faultOrder  = "it is out of order"
	faultPath   = "its path leads out of the checkout or into a git directory, or is too long"
	faultMode   = "it has a mode that git does not stage"
	faultTwice  = "the index has the path twice"
	faultBelow  = "the index has a file where its directory would be"
	faultIntent = "it is to be added, and has content already"
)

// OfTree returns the index of a tree, whose entries have full paths, in place of an index
// that cannot be read. The fault has no path, and says why.
func OfTree(files []object.TreeEntry, why string) *Index {
	x := &Index{Unreadable: why, Faults: []Fault{{Why: why}}, Entries: make([]Entry, 0, len(files))}
	for _, f := range files {
		e := Entry{Path: f.Name, Mode: f.Mode, OID: f.OID}
		e.stat[6] = modeNumber(f.Mode)
		e.Mode = modeText(e.stat[6]) // old trees have more modes than an index
		x.Entries = append(x.Entries, e)
	}
	x.leaveOutFaults()
	return x
}

// LeftOut returns the faults whose entries the index does not have.
func (x *Index) LeftOut() []Fault {
	return slices.DeleteFunc(slices.Clone(x.Faults), func(f Fault) bool { return f.Why == faultOrder })
}

// WithoutObjects returns the index without the entries that name one of the objects.
func (x *Index) WithoutObjects(oids map[string]error) *Index {
	rest := *x
	rest.Tree = "" // it is that of all entries
	rest.Entries = slices.DeleteFunc(slices.Clone(x.Entries), func(e Entry) bool { return oids[e.OID] != nil && e.Mode != "160000" })
	return &rest
}

// leaveOutFaults sorts the entries as git does, leaves out those that git would not make,
// and notes both as Faults. Of two that exclude each other the first stays.
func (x *Index) leaveOutFaults() {
	byPath := func(a, b Entry) int { return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Stage, b.Stage)) }
	for i := 1; i < len(x.Entries); i++ {
		if byPath(x.Entries[i-1], x.Entries[i]) > 0 {
			x.Faults = append(x.Faults, Fault{x.Entries[i].Path, faultOrder})
			slices.SortStableFunc(x.Entries, byPath)
			break
		}
	}
	kept, dir := x.Entries[:0], ""
	for _, e := range x.Entries {
		why := e.fault(dir)
		if last := len(kept) - 1; why == "" && last >= 0 && kept[last].Path == e.Path && (kept[last].Stage == e.Stage || kept[last].Stage == 0) {
			why = faultTwice
		}
		now := dirOf(e.Path)
		if why == "" && (now != dir || e.Stage > 0) && isBelowFile(kept, e) {
			why = faultBelow
		}
		if why != "" {
			x.Faults = append(x.Faults, Fault{e.Path, why})
			continue
		}
		if dir = now; e.Stage > 0 { // another stage may have a file in the place of the directory
			dir = ""
		}
		kept = append(kept, e)
	}
	clear(x.Entries[len(kept):])
	x.Entries = kept
	if len(x.Faults) > 0 {
		x.Tree = "" // it is that of all entries
	}
}

// dirOf returns the directory of a path, with its slash; "" at the top.
func dirOf(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }

// isBelowFile reports whether sorted entries have, in the stage of e, a file in the place
// of a directory of e.
func isBelowFile(entries []Entry, e Entry) bool {
	for i := range len(e.Path) {
		if e.Path[i] != '/' {
			continue
		}
		above := e.Path[:i]
		at, _ := slices.BinarySearchFunc(entries, above, func(e Entry, path string) int { return strings.Compare(e.Path, path) })
		for ; at < len(entries) && entries[at].Path == above; at++ {
			if entries[at].Stage == e.Stage {
				return true
			}
		}
	}
	return false
}

// fault returns why git would not make an entry, whatever the others are, or "". dir is a
// directory whose path is valid.
func (e Entry) fault(dir string) string {
	switch e.Mode {
	case "100644", "100755", "120000", "160000":
	default:
		return faultMode
	}
	if !isValidPath(e.Path, dir) {
		return faultPath
	}
	if e.Intended && e.Stage == 0 && e.OID != emptyBlob && e.OID != emptyBlob256 {
		return faultIntent
	}
	return ""
}

// The object of an entry that is only intended to be added, in both formats.
var (
	emptyBlob    = hex.EncodeToString(object.Format("").Hash("blob", nil))
	emptyBlob256 = hex.EncodeToString(object.SHA256.Hash("blob", nil))
)

// What no file has in a path: that many bytes, and that many characters in one part. On
// Linux a part has as many bytes.
const (
	maxPath = 4096
	maxName = 255
)

// IsValidPath reports whether git would stage a path, on any system.
func IsValidPath(path string) bool { return isValidPath(path, "") }

// isValidPath reports whether a path names a file in a checkout, on any system: it has
// no part that is empty, "." or "..", none that is a git directory on a file system
// that ignores case, or on Windows or macOS, and it is not longer than the path of a file
// can be. Of a path in dir only the rest is examined.
func isValidPath(path, dir string) bool {
	if len(path) > maxPath {
		return false
	}
	if dir != "" && strings.HasPrefix(path, dir) {
		path = path[len(dir):]
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || isTooLong(part) || isGitDir(part) {
			return false
		}
	}
	return filepath.Separator == '/' || filepath.IsLocal(path) && !strings.Contains(path, `\`)
}

func isTooLong(name string) bool {
	return len(name) > maxName && (runtime.GOOS == "linux" || utf8.RuneCountInString(name) > maxName)
}

// isGitDir reports whether a name, or a part of it behind a backslash, is that of a git
// directory where the file system ignores case, dots and spaces at the end, what follows
// a colon (NTFS), or characters without a width (HFS+).
func isGitDir(name string) bool {
	if isPlainName(name) {
		return false
	}
	name = strings.ToLower(strings.Map(visible, name))
	for part := range strings.SplitSeq(name, `\`) {
		part, _, _ = strings.Cut(part, ":")
		part = strings.TrimRight(part, ". ")
		if part == ".git" || part == "git~1" {
			return true
		}
	}
	return false
}

// isPlainName reports whether a name certainly is not that of a git directory: most are
// not by their first character.
func isPlainName(name string) bool {
	if name[0] == '.' || name[0]|0x20 == 'g' {
		return false
	}
	for i := range len(name) {
		if name[i] >= 0x80 || name[i] == '\\' {
			return false
		}
	}
	return true
}

// visible drops the characters that HFS+ ignores in names.
func visible(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}
