package gitcmd

import (
	"testing"
)

func TestClassify(t *testing.T) {
	for stderr, want := range map[string]Kind{
		"":                            "",
		"fatal: not a git repository": "",
		"error: unable to write file x: No space left on device\nfatal: could not":                   KindNoSpace,
		"fatal: sha1 file '<stdout>' write error. Out of diskspace":                                  KindNoSpace,
		"fatal: write error: Disk quota exceeded":                                                    KindNoSpace,
		"fatal: detected dubious ownership in repository at '/x'":                                    KindOwner,
		"fatal: f: clean filter 'git-crypt' failed":                                                  KindFilter,
		"fatal: f: smudge filter git-crypt failed":                                                   KindFilter,
		"error: external filter 'x' failed 1":                                                        KindFilter,
		"error: unable to create temporary file: Permission denied":                                  KindDenied,
		"fatal: Unable to create '/x/index.lock': Read-only file system":                             KindDenied,
		"fatal: prepare: cannot lock ref 'refs/x': reference already exists":                         KindRefStale,
		"fatal: prepare: cannot lock ref 'refs/x': is at 1 but expected 2":                           KindRefStale,
		"fatal: prepare: cannot lock ref 'refs/x': unable to resolve reference 'refs/x'":             KindRefStale,
		"fatal: cannot lock ref 'refs/a/b': 'refs/a' exists; cannot create 'refs/a/b'":               KindRefStale,
		"fatal: Unable to create '/x/.git/refs/x.lock': File exists.\n\nAnother git process":         KindLocked,
		"error: could not lock config file .git/config: File exists":                                 KindLocked,
		"error: bad signature 0x67617262\nfatal: index file corrupt":                                 KindIndex,
		"BUG: read-cache.c:346: unsupported ce_mode: 0":                                              KindIndex,
		"fatal: /x/sharedindex.1: index file open failed: Permission denied":                         KindDenied,
		"fatal: /x/sharedindex.1: index file open failed: No such file or directory":                 KindIndex,
		"error: unable to create temporary file: No such file or directory\nfatal: failed to insert": KindVanished,
	} {
		if got := classify(stderr); got != want {
			t.Errorf("%q: %q, want %q", stderr, got, want)
		}
	}
}
