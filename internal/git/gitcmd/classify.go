package gitcmd

import (
	"strings"
)

// Kind is the class of a failure that git reports only in a message. This file is the only
// one that reads messages; every call runs with LC_MESSAGES=C.
type Kind string

// The kinds. The empty kind means nothing more than that git failed.
const (
	KindLocked    Kind = "locked"    // a lock file of another git is in the way
	KindNoSpace   Kind = "no space"  // the disk is full
	KindIO        Kind = "io"        // the disk failed
	KindDenied    Kind = "denied"    // no permission
	KindBusy      Kind = "busy"      // the system uses the file: it is a mount point, or a program that is running
	KindOwner     Kind = "owner"     // the repository belongs to another user
	KindFilter    Kind = "filter"    // a required content filter did not run
	KindRefStale  Kind = "ref stale" // a ref was not at the expected object
	KindUnrelated Kind = "unrelated" // two commits have no common ancestor
	KindForged    Kind = "forged"    // the content of an object does not match its name
	KindMissing   Kind = "missing"   // an object does not exist
	KindVanished  Kind = "vanished"  // an object directory was removed while it was written to
	KindTooLarge  Kind = "too large" // a pack is larger than was allowed
	KindIndex     Kind = "index"     // git cannot read an index, or crashes at it
)

// Error makes a Kind an error, for errors.Is.
func (k Kind) Error() string { return string(k) }

var phrases = []struct {
	text string
	kind Kind
}{
	{"No space left on device", KindNoSpace},
	{"Disk quota exceeded", KindNoSpace},
	{"Out of diskspace", KindNoSpace},
	{"Input/output error", KindIO},
	{"pack exceeds maximum allowed size", KindTooLarge},
	{"refusing to merge unrelated histories", KindUnrelated},
	{"error: hash mismatch ", KindForged},
	{"fatal: bad object ", KindMissing},
	{"fatal: unable to read tree", KindMissing},
	{"error: invalid object ", KindMissing},
	{"unable to read sha1 file of ", KindMissing},
	{"detected dubious ownership", KindOwner},
	{"clean filter '", KindFilter},
	{"smudge filter ", KindFilter},
	{"external filter '", KindFilter},
	{"Permission denied", KindDenied},
	{"Read-only file system", KindDenied},
	{"Operation not permitted", KindDenied},
	{"Device or resource busy", KindBusy},
	{"Text file busy", KindBusy},
	{"reference already exists", KindRefStale},
	{"but expected ", KindRefStale},
	{"unable to resolve reference", KindRefStale},
	{"' exists; cannot create '", KindRefStale},
	{".lock': File exists", KindLocked},
	{"could not lock config file", KindLocked},
	{"Unable to create temporary file", KindVanished},
	{"unable to create temporary file", KindVanished},
	{"unable to write file", KindVanished},
	{"index file corrupt", KindIndex},
	{"index file smaller than expected", KindIndex},
	{"index file open failed: No such file", KindIndex}, // the shared part of a split one
	{"bad signature 0x", KindIndex},
	{"bad index version ", KindIndex},
	{"bad index file sha1 signature", KindIndex},
	{"unknown index entry format ", KindIndex},
	{"malformed name field in the index", KindIndex},
	{"broken index, expect ", KindIndex},
	{"cache entry has null sha1: ", KindIndex},
	{"BUG: read-cache.c:", KindIndex},
	{"BUG: split-index.c:", KindIndex},
	{"BUG: sparse-index.c:", KindIndex},
}

// classify returns the kind of a failure from git's standard error.
func classify(stderr string) Kind {
	for _, p := range phrases {
		if strings.Contains(stderr, p.text) {
			return p.kind
		}
	}
	return ""
}
