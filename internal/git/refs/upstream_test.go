package refs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestUpstreamAsGit compares what a branch tracks with git's answer, for configurations that people and tools write.
func TestUpstreamAsGit(t *testing.T) {
	const fetch = "\n[remote \"origin\"]\nurl = /nowhere\nfetch = +refs/heads/*:refs/remotes/origin/*\n"
	configs := map[string]bool{ // whether git need not be asked
		"":    true,
		fetch: true,
		"[branch \"side\"]\nremote = origin\nmerge = refs/heads/main\n" + fetch:                                                                    true,
		"[branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n" + fetch:                                                                    true,
		"[BRANCH \"main\"]\nREMOTE = origin\nMerge = refs/heads/a/b\n" + fetch:                                                                     true,
		"[branch.main]\nremote = origin\nmerge = refs/heads/main\n" + fetch:                                                                        true,
		"[branch \"main\"]\nrebase = true\n" + fetch:                                                                                               true,
		"[branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n" + strings.Replace(fetch, "+", "", 1):                                       true,
		"[branch \"main\"]\nremote = up/stream\nmerge = refs/heads/main\n[remote \"up/stream\"]\nfetch = +refs/heads/*:refs/remotes/up/stream/*\n": false,

		"[branch \"main\"]\nremote = origin\n" + fetch:                                                                            false,
		"[branch \"main\"]\nmerge = refs/heads/main\n" + fetch:                                                                    false,
		"[branch \"main\"]\nremote = .\nmerge = refs/heads/side\n" + fetch:                                                        false,
		"[branch \"main\"]\nremote = origin\nmerge = refs/tags/one\n" + fetch:                                                     false,
		"[branch \"main\"]\nremote = origin\nmerge = main\n" + fetch:                                                              false,
		"[branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n":                                                           false,
		"[branch \"main\"]\nremote = origin\nmerge = refs/heads/main\nmerge = refs/heads/side\n" + fetch:                          false,
		"[branch \"main\"]\nremote = origin\nremote = other\nmerge = refs/heads/main\n" + fetch:                                   false,
		"[branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n" + fetch + "fetch = +refs/notes/*:refs/notes/*\n":          false,
		"[branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n[remote \"origin\"]\nfetch = refs/heads/main:refs/x/main\n": false,
		"[branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n" + fetch + "fetch = ^refs/heads/main\n":                    false,
		"[branch \"main\"]\nremote = origin\nmerge = refs/heads/../x\n" + fetch:                                                   false,
	}
	for text, isPlain := range configs {
		r := gittest.New(t)
		file := filepath.Join(r.Dir, ".git", "config")
		was, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, append(was, text...), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		repo := open(t, r)
		for _, branch := range []string{"main", "side", "none"} { // side is no branch, but may track one
			want, werr := repo.Repository.Upstream(t.Context(), branch)
			got, gerr := repo.Upstream(t.Context(), branch)
			if got != want || (gerr == nil) != (werr == nil) {
				t.Errorf("Upstream(%s) = %q, %v; git says %q, %v, with\n%s", branch, got, gerr, want, werr, text)
			}
		}
		h, err := repo.EnsureHostDir()
		if err != nil {
			t.Fatal(err)
		}
		if _, got := plainUpstream(h.Entries, "main"); got != isPlain {
			t.Errorf("plain = %t, want %t, with\n%s", got, isPlain, text)
		}
	}
}
