package config

import "testing"

// TestSparseDirectories: directories of the repository, or everything, and nothing else.
func TestSparseDirectories(t *testing.T) {
	for _, good := range [][]string{nil, {"/"}, {"src"}, {"src/"}, {"a/b", "c d"}, {".github"}, {"..x"}} {
		if err := checkSparse(good, KindRepo); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range [][]string{{""}, {"."}, {".."}, {"../x"}, {"a/../b"}, {"a//b"}, {"/src"}, {"src", "/"}, {".git"}, {".GIT/hooks"}, {"a\nb"}, {"a\x00"}, {`a\b`}, {"./a"}} {
		if err := checkSparse(bad, KindRepo); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	err := checkSparse([]string{"ok", "../x", "svc/*"}, KindRepo)
	if err == nil || err.Error() != `"../x", "svc/*" are not directories in the repository; / alone means everything` {
		t.Errorf("all of the bad ones are named: %v", err)
	}
}
