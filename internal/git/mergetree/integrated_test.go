package mergetree

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
)

func TestIntegrated(t *testing.T) {
	work := func(r *gittest.Repo) {
		r.Git("checkout", "--quiet", "-b", "work")
		r.Write("a.txt", "a\n")
		r.Commit("a")
		r.Write("b.txt", "b\n")
		r.Commit("b")
		r.Git("checkout", "--quiet", "main")
		r.Write("other.txt", "main moves\n")
		r.Commit("other")
	}
	for name, tt := range map[string]struct {
		land func(r *gittest.Repo)
		want Integration
	}{
		"NotAtAll":   {func(*gittest.Repo) {}, NotIntegrated},
		"Merged":     {func(r *gittest.Repo) { r.Git("merge", "--quiet", "--no-edit", "work") }, ByAncestry},
		"Squashed":   {func(r *gittest.Repo) { r.Git("merge", "--quiet", "--squash", "work"); r.Commit("squash") }, ByMerge},
		"Rebased":    {func(r *gittest.Repo) { r.Git("cherry-pick", "main..work") }, ByMerge},
		"HalfPicked": {func(r *gittest.Repo) { r.Git("cherry-pick", "work~1") }, NotIntegrated},
		"RebasedThenChanged": {func(r *gittest.Repo) {
			r.Git("cherry-pick", "main..work")
			r.Write("a.txt", "changed later\n")
			r.Write("b.txt", "so was this\n")
			r.Commit("later")
		}, ByPatches},
		"SquashedThenChanged": {func(r *gittest.Repo) {
			r.Git("merge", "--quiet", "--squash", "work")
			r.Commit("squash")
			r.Write("a.txt", "changed later\n")
			r.Write("b.txt", "so was this\n")
			r.Commit("later")
		}, BySquash},
		"Reverted": {func(r *gittest.Repo) {
			r.Git("merge", "--quiet", "--squash", "work")
			r.Commit("squash")
			r.Write("a.txt", "half of it\n")
			r.Git("rm", "--quiet", "b.txt")
			r.Commit("half back")
		}, BySquash},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			work(r)
			tt.land(r)
			repo, err := openWith(gitcmd.New(gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "git")}), r.Dir)
			if err != nil {
				t.Fatal(err)
			}
			defer repo.Close()
			before := objects(t, r)
			got, err := repo.Integrated(context.Background(), r.Git("rev-parse", "work"), r.Git("rev-parse", "main"))
			if err != nil || got != tt.want {
				t.Errorf("Integrated = %q, %v; want %q", got, err, tt.want)
			}
			if after := objects(t, r); after != before {
				t.Errorf("%d objects before, %d after", before, after)
			}
		})
	}
}

// objects counts the files in the object directory.
func objects(t *testing.T, r *gittest.Repo) (n int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(r.Dir, ".git", "objects"), func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
