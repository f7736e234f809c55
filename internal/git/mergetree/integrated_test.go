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

// TestIntegratedWithMergeCommits: the target has the patch of every ordinary commit, and has
// changed the files since. That proves nothing if a merge commit has changes of its own.
func TestIntegratedWithMergeCommits(t *testing.T) {
	commit := func(r *gittest.Repo, path, text string) {
		r.Write(path, text)
		r.Commit(path)
	}
	branch := func(r *gittest.Repo, name, path, text string) {
		r.Git("checkout", "--quiet", "-b", name, "main")
		commit(r, path, text)
	}
	for name, tt := range map[string]struct {
		work func(r *gittest.Repo) // ends on the branch work
		pick []string
		want Integration
	}{
		"TargetMerged": {func(r *gittest.Repo) {
			branch(r, "work", "a", "a\n")
			r.Git("checkout", "--quiet", "main")
			commit(r, "other", "main moves\n")
			r.Git("checkout", "--quiet", "work")
			r.Git("merge", "--quiet", "--no-edit", "main")
			commit(r, "b", "b\n")
		}, []string{"work^^", "work"}, ByPatches},
		"FileOfTheMerge": {func(r *gittest.Repo) {
			branch(r, "work", "a", "a\n")
			r.Git("checkout", "--quiet", "main")
			commit(r, "other", "main moves\n")
			r.Git("checkout", "--quiet", "work")
			r.Git("merge", "--quiet", "--no-commit", "main")
			commit(r, "only-in-the-merge", "work\n")
		}, []string{"work^"}, NotIntegrated},
		"Resolution": {func(r *gittest.Repo) {
			branch(r, "side", "b", "side\n")
			branch(r, "work", "a", "a\n")
			commit(r, "b", "work\n")
			r.Git("merge", "--quiet", "--no-commit", "-s", "ours", "side")
			commit(r, "b", "both\n")
		}, []string{"work^^", "work^", "", "side"}, NotIntegrated},
		"ChangesDropped": {func(r *gittest.Repo) {
			branch(r, "side", "b", "side\n")
			branch(r, "work", "a", "a\n")
			r.Git("merge", "--quiet", "--no-edit", "-s", "ours", "side")
		}, []string{"work^", "side"}, BySquash},
		"ThreeParents": {func(r *gittest.Repo) {
			branch(r, "side", "b", "b\n")
			branch(r, "more", "c", "c\n")
			branch(r, "work", "a", "a\n")
			r.Git("merge", "--quiet", "--no-edit", "side", "more")
		}, []string{"work^", "side", "more"}, NotIntegrated},
		"Unrelated": {func(r *gittest.Repo) {
			r.Git("checkout", "--quiet", "--orphan", "side")
			r.Git("rm", "-r", "--force", "--quiet", ".")
			commit(r, "b", "b\n")
			branch(r, "work", "a", "a\n")
			r.Git("merge", "--quiet", "--no-edit", "--allow-unrelated-histories", "side")
		}, []string{"work^", "side"}, ByPatches},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			tt.work(r)
			head := r.Git("rev-parse", "work")
			r.Git("checkout", "--quiet", "main")
			commit(r, "last", "so that a pick is not a fast-forward\n")
			for _, c := range tt.pick {
				if c == "" { // the next commit makes the same file
					r.Git("rm", "--quiet", "b")
					r.Commit("b goes")
					continue
				}
				r.Git("cherry-pick", c)
			}
			for _, path := range []string{"a", "b", "c"} {
				r.Write(path, "changed later\n")
			}
			r.Commit("later")
			got, err := open(t, r).Integrated(t.Context(), head, r.Git("rev-parse", "main"))
			if err != nil || got != tt.want {
				t.Errorf("Integrated = %q, %v; want %q", got, err, tt.want)
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
