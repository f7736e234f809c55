//go:build unix

package pool

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/project"
)

// stocked is a project whose pool has so many spares, all of the same commit.
type stocked struct {
	*stock
	t      *testing.T
	repo   *gittest.Repo
	stamp  string
	commit string
}

func newStock(t *testing.T, size int) *stocked {
	t.Helper()
	return stockIn(t, gittest.New(t), size, "")
}

// stockIn fills the pool of a repository with a git.
func stockIn(t *testing.T, r *gittest.Repo, size int, path string) *stocked {
	t.Helper()
	r.Write("dir/a", "a\n")
	r.Write("dir/b", "b\n")
	r.Write("README.md", "read me\n")
	r.Commit("files")
	g := gitcmd.New(gitcmd.Options{
		Path: path, Environ: r.Env, ConfigDir: filepath.Join(r.Home, "state", "git"), Unfenced: path != "", // a git that is fenced can write no log
	})
	repo, err := git.Open(g, r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repo.Close() })
	s, err := stockOf(&project.Project{
		Path: r.Dir, CommonDir: repo.CommonDir, Git: repo, Dir: filepath.Join(r.Home, "state", "project"), Config: config.Config{Pool: config.Pool{Size: size}},
	})
	if err != nil {
		t.Fatal(err)
	}
	stamp, err := repo.FileStamp(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	st := &stocked{stock: s, t: t, repo: r, stamp: stamp, commit: r.Git("rev-parse", "HEAD")}
	st.fill()
	return st
}

// fill fills the pool with checkouts of the commit.
func (s *stocked) fill() {
	s.t.Helper()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if why, err := s.fillTo(s.t.Context(), s.stamp, s.commit, croft.PoolFill); why != "" || err != nil {
		s.t.Fatalf("it was filled until %q, %v", why, err)
	}
	s.wantWhole(s.r.Config.Pool.Size)
}

// wantWhole returns the spares that can be handed out, and wants so many.
func (s *stocked) wantWhole(n int) []*item {
	s.t.Helper()
	list, err := s.whole(s.stamp)
	if err != nil || len(list) != n {
		s.t.Fatalf("%d can be handed out, want %d; %v", len(list), n, err)
	}
	return list
}

func (s *stocked) take(commit string) (*Taken, string) {
	return (&Pool{}).Take(s.t.Context(), s.r, Wanted{Commit: commit, Beside: s.repo.Home})
}

// wantTaken takes a spare, which has to be as git makes it.
func (s *stocked) wantTaken(commit string, by croft.MadeBy) *Taken {
	s.t.Helper()
	taken, why := s.take(commit)
	if taken == nil || taken.By != by {
		s.t.Fatalf("taken: %+v, %s", taken, why)
	}
	if got := s.compare(taken, commit); got != "" {
		s.t.Errorf("the files are not those of the commit: %s", got)
	}
	return taken
}

// compare returns what git says of the files of a spare and its index.
func (s *stocked) compare(taken *Taken, commit string) string {
	s.t.Helper()
	at := []string{"--git-dir=" + s.r.CommonDir, "--work-tree=" + taken.Ready.Path}
	index := filepath.Join(s.t.TempDir(), "index")
	data, err := os.ReadFile(taken.Ready.Index)
	if err != nil {
		s.t.Fatal(err)
	}
	gittest.WriteFile(s.t, index, string(data))
	s.repo.Env = append(slices.Clone(s.repo.Env), "GIT_INDEX_FILE="+index)
	defer func() { s.repo.Env = s.repo.Env[:len(s.repo.Env)-1] }()
	out := s.repo.Git(append(at, "diff-index", "--name-only", "--cached", commit)...)
	_, _ = s.repo.TryGit(s.repo.Dir, append(at, "update-index", "-q", "--really-refresh")...)
	return out + s.repo.Git(append(at, "diff-files", "--name-only")...) + s.repo.Git(append(at, "ls-files", "--others")...)
}

// next commits a change of a file.
func (s *stocked) next(text string) string {
	s.t.Helper()
	s.repo.Write("dir/a", text)
	s.repo.Commit("next")
	return s.repo.Git("rev-parse", "HEAD")
}

func exists(path string) bool { return fsx.IsThere(path) }

func (s *stocked) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestWhichAreWhole: only what was written by this user, with these settings, since the machine's start, and lies in the pool, is
// handed out.
func TestWhichAreWhole(t *testing.T) {
	t.Parallel()
	s := newStock(t, 1)
	i := s.wantWhole(1)[0]
	good := i.facts
	for name, change := range map[string]func(f *facts){
		"another stamp": func(f *facts) { f.Stamp += "x" },
		"another user":  func(f *facts) { f.User += "0" },
		"another start": func(f *facts) { f.Boot += "x" },
	} {
		bad := good
		change(&bad)
		list, err := os.ReadFile(i.own(samplesFile))
		s.must(err)
		s.must(i.setWhole(bad, samplesFile, list))
		if left, err := s.whole(s.stamp); len(left) > 0 || err != nil {
			t.Errorf("%s: handed out, %v", name, err)
		}
		s.must(i.setWhole(good, samplesFile, list))
		s.wantWhole(1)
	}
	text, err := json.Marshal(good)
	s.must(err)
	s.must(os.WriteFile(i.own(wholeFile), text[:len(text)-3], 0o600))
	s.wantWhole(0)
	s.must(os.WriteFile(i.own(wholeFile), text, 0o600))
	made := s.ledger().Find(i.id)
	for name, bad := range map[string]fsx.Made{
		"elsewhere":          {Path: filepath.Join(filepath.Dir(s.at), i.id), Identity: made.Identity},
		"without a path":     {Identity: made.Identity},
		"without its number": {Path: made.Path},
	} {
		s.must(errors.Join(s.ledger().Delete(i.id), s.ledger().Put(i.id, bad)))
		if left, err := s.whole(s.stamp); len(left) > 0 || err != nil {
			t.Errorf("%s: handed out, %v", name, err)
		}
	}
	s.must(s.ledger().Delete(i.id))
	s.wantWhole(0)
}

// TestHarmedSpares: a spare that is not as it was made is not taken, neither as one of several nor as the last one that is copied,
// and stays in the stock no longer.
func TestHarmedSpares(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(i *item) error{
		"another directory": func(i *item) error {
			return errors.Join(os.Rename(i.tree.Path, i.tree.Path+".was"), copyWithTimes(i.tree.Path+".was", i.tree.Path), i.takeSamples())
		},
		"no index":   func(i *item) error { return os.Remove(i.own(indexFile)) },
		"a new name": func(i *item) error { return os.WriteFile(filepath.Join(i.tree.Path, "dir/new"), nil, 0o600) },
		"no samples": func(i *item) error { return os.Remove(i.own(samplesFile)) },
		"not whole":  func(i *item) error { return os.Remove(i.own(wholeFile)) },
	} {
		for _, size := range []int{1, 2} {
			t.Run(fmt.Sprint(name, " of ", size), func(t *testing.T) {
				t.Parallel()
				s := newStock(t, size)
				for _, i := range s.wantWhole(size) {
					s.must(harm(i))
				}
				if taken, _ := s.take(s.commit); taken != nil {
					t.Errorf("taken: %+v", taken)
				}
				s.wantWhole(0)
			})
		}
	}
}

// takeSamples notes the files as they are now.
func (i *item) takeSamples() error {
	list, _, _, err := i.tree.Samples()
	text, jsonErr := json.Marshal(list)
	return errors.Join(err, jsonErr, i.setWhole(i.facts, samplesFile, text))
}

func copyWithTimes(from, to string) error { return os.CopyFS(to, os.DirFS(from)) }

// TestTakenOnce: a spare that was taken is in stock no more, also if its directory was not used: another process may have
// begun to change it. The next Refill deletes it.
func TestTakenOnce(t *testing.T) {
	t.Parallel()
	s := newStock(t, 3)
	first := s.wantTaken(s.commit, croft.MadeFromPool)
	s.wantWhole(2)
	s.must(s.sweep(s.stamp))
	if !exists(first.Ready.Path) || !exists(first.Ready.Index) {
		t.Fatal("what a process holds was deleted")
	}
	first.Done()
	first.Done()
	s.wantWhole(2)
	second := s.wantTaken(s.commit, croft.MadeFromPool)
	if second.Ready.Path == first.Ready.Path {
		t.Error("handed out twice")
	}
	s.must(os.Rename(second.Ready.Path, s.repo.Beside("workspace")))
	second.Done()
	if made := s.ledger().Find(second.item.id); made.Path != "" || exists(second.item.own("")) {
		t.Errorf("of what was moved away there is still %+v", made)
	}
	s.must(s.sweep(s.stamp))
	if exists(first.Ready.Path) || exists(first.item.own("")) {
		t.Error("what was given up is still there")
	}
	if !exists(s.repo.Beside("workspace/README.md")) {
		t.Error("a workspace was deleted")
	}
	copied := s.wantTaken(s.commit, croft.MadeByCopy)
	if list := s.wantWhole(1); copied.Ready.Path == list[0].tree.Path {
		t.Error("the last one was handed out")
	}
	copied.Done()
}

// TestTakenByMany: several that take at once get directories of their own, and one stays.
func TestTakenByMany(t *testing.T) {
	t.Parallel()
	s := newStock(t, 4)
	var mu sync.Mutex
	var wg sync.WaitGroup
	var all []*Taken
	seen := map[string]bool{}
	for range 12 {
		wg.Go(func() {
			taken, why := s.take(s.commit)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case taken == nil:
				t.Error(why)
			case seen[taken.Ready.Path]:
				t.Error("handed out twice: " + taken.Ready.Path)
			default:
				seen[taken.Ready.Path] = true
				all = append(all, taken)
			}
		})
	}
	wg.Wait()
	if left := s.wantWhole(1); seen[left[0].tree.Path] {
		t.Error("what is left was handed out")
	}
	for _, taken := range all {
		if got := s.compare(taken, s.commit); got != "" {
			t.Errorf("%s: %s", taken.By, got)
		}
		taken.Done()
	}
}

// TestTakenOfAnotherCommit: one of the commit is preferred; another one is brought to it, and is not handed out
// if git has read an object that is not the one of its name. No forged file stays in stock.
func TestTakenOfAnotherCommit(t *testing.T) { // alone: a process that a parallel test starts would hold locks for a moment longer
	s := newStock(t, 3)
	next := s.next("next\n")
	s.wantTaken(next, croft.MadeFromPool).Done()
	forged := s.next("good\n")
	oid := s.repo.Git("rev-parse", "HEAD:dir/a")
	file := filepath.Join(s.r.CommonDir, "objects", oid[:2], oid[2:])
	s.must(os.Remove(file))
	gittest.WriteFile(t, file, looseBlob(t, "evil\n"))
	for range 3 {
		if taken, why := s.take(forged); taken != nil || !strings.Contains(why, "not those of the commit") {
			t.Errorf("taken: %+v, %q", taken, why)
		}
	}
	list := s.wantWhole(1)
	if list[0].Commit != s.commit {
		t.Errorf("%s is in stock", list[0].Commit)
	}
	s.must(s.sweep(s.stamp))
	entries, err := os.ReadDir(s.at)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d directories are left, %v", len(entries), err)
	}
	s.wantTaken(next, croft.MadeByCopy).Done()
}

func looseBlob(t *testing.T, content string) string {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	fmt.Fprintf(z, "blob %d\x00%s", len(content), content)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestOneOfTheCommitIsTaken: among many of another commit.
func TestOneOfTheCommitIsTaken(t *testing.T) {
	t.Parallel()
	s := newStock(t, 4)
	was, all := s.commit, s.wantWhole(4)
	next := s.next("next\n")
	for n, i := range []*item{all[1], all[3]} { // the IDs are sorted
		lock, err := flock.TryExisting(i.own(lockFile))
		s.must(err)
		isThere, err := s.bring(t.Context(), i, lock, next)
		if s.must(err); !isThere {
			t.Fatal(n, " is not there")
		}
		u := &unfinished{item: s.item(i.id), lock: lock, stamp: s.stamp, commit: next, written: time.Now()}
		s.must(errors.Join(u.finish(t.Context()), lock.Unlock()))
	}
	for _, commit := range []string{next, was, next} {
		taken := s.wantTaken(commit, croft.MadeFromPool)
		if taken.item.Commit != commit {
			t.Errorf("of %s, want %s", taken.item.Commit, commit)
		}
		taken.Done()
	}
}

// TestBroughtOnce: a spare that is brought to another commit cannot be taken meanwhile, and one that was taken cannot be
// brought.
func TestBroughtOnce(t *testing.T) { // alone: a process that a parallel test starts would hold locks for a moment longer
	s := newStock(t, 1)
	next := s.next("next\n")
	i := s.wantWhole(1)[0]
	lock, err := flock.TryExisting(i.own(lockFile))
	s.must(err)
	if taken, why := s.take(s.commit); taken != nil || why != "the spare checkouts are being changed" {
		t.Errorf("taken: %+v, %q", taken, why)
	}
	if isThere, err := s.bring(t.Context(), i, lock, next); !isThere || err != nil {
		t.Fatal(isThere, err)
	}
	s.wantWhole(0)
	s.must(lock.Unlock())
	if taken, _ := s.take(next); taken != nil {
		t.Error("taken although nobody has compared it")
	}
	if isThere, err := s.bring(t.Context(), i, lock, next); isThere || err != nil {
		t.Errorf("brought although it is not in stock: %v", err)
	}
	s.must(s.sweep(s.stamp))
	if exists(i.tree.Path) {
		t.Error("it is still there")
	}
}

// TestSwept: what nobody holds and is not whole is deleted, and nothing else is.
func TestSwept(t *testing.T) {
	t.Parallel()
	s := newStock(t, 2)
	harmed, whole := s.wantWhole(2)[0], s.wantWhole(2)[1]
	gittest.WriteFile(t, filepath.Join(harmed.tree.Path, "dir/new"), "so that the sample of its directory is another one\n")
	begin := func() (*item, *flock.Lock) {
		t.Helper()
		i, lock, err := s.newItem()
		s.must(err)
		lock.ChildrenEnded() // a process of a parallel test holds nothing
		return i, lock
	}
	held, lock := begin()
	defer func() { _ = lock.Unlock() }()
	left, done := begin()
	s.must(done.Unlock())
	replaced, done := begin()
	s.must(errors.Join(done.Unlock(), os.Rename(replaced.tree.Path, s.repo.Beside("moved")), os.Mkdir(replaced.tree.Path, 0o700)))
	gittest.WriteFile(t, filepath.Join(replaced.tree.Path, "mine"), "mine\n")
	early, late := &item{stock: s.stock, id: "early"}, &item{stock: s.stock, id: "late"} // their makers died before they had a lock
	long := time.Now().Add(-time.Hour)
	s.must(errors.Join(os.MkdirAll(early.own(""), 0o700), os.MkdirAll(late.own(""), 0o700), os.Chtimes(early.own(""), long, long)))
	empty, full := &item{stock: s.stock, id: "empty"}, &item{stock: s.stock, id: "full"} // … before they had recorded their directories
	for _, i := range []*item{empty, full} {
		gittest.WriteFile(t, i.own(lockFile), "")
		s.must(os.Mkdir(filepath.Join(s.at, i.id), 0o700))
	}
	gittest.WriteFile(t, filepath.Join(s.at, "full", "mine"), "mine\n")
	gittest.WriteFile(t, filepath.Join(s.at, "strange", "mine"), "mine\n")
	s.must(s.sweep(s.stamp))
	for path, want := range map[string]bool{
		whole.tree.Path: true, whole.own(wholeFile): true, held.tree.Path: true, held.own(lockFile): true, left.tree.Path: false, left.own(""): false,
		harmed.tree.Path: false, harmed.own(""): false,
		filepath.Join(replaced.tree.Path, "mine"): true, s.repo.Beside("moved"): true, replaced.own(""): false, early.own(""): false, late.own(""): true,
		filepath.Join(s.at, "empty"): false, filepath.Join(s.at, "full", "mine"): true, filepath.Join(s.at, "strange", "mine"): true,
	} {
		if exists(path) != want {
			t.Errorf("%s is there: %v, want %v", path, !want, want)
		}
	}
	if made := s.ledger().Find(left.id); made.Path != "" {
		t.Errorf("the record of what was deleted is %+v", made)
	}
	s.must(s.sweep("another stamp"))
	if exists(whole.tree.Path) || !exists(held.tree.Path) {
		t.Error("what was written otherwise stays, or what is held goes")
	}
}

// TestFilledByOne: only one process fills a pool at a time.
func TestFilledByOne(t *testing.T) {
	t.Parallel()
	s := newStock(t, 1)
	s.r.Config.Pool.Size = 3
	filling, err := flock.Try(filepath.Join(s.dir, fillingFile))
	s.must(err)
	shown, err := (&Pool{}).Change(t.Context(), project.Location{Project: s.r}, croft.ChangePoolRequest{Do: croft.PoolFill})
	if s.must(err); !shown.Busy || len(shown.Spares) != 1 {
		t.Errorf("%+v", shown)
	}
	s.must(filling.Unlock())
	if shown, err = (&Pool{}).Show(t.Context(), project.Location{Project: s.r}, croft.PoolRequest{}); err != nil || shown.Busy {
		t.Errorf("%+v, %v", shown, err)
	}
}

// TestLimitsOfStock: the pool keeps within its limits, and says which one it has reached.
func TestLimitsOfStock(t *testing.T) {
	t.Parallel()
	s := newStock(t, 2)
	one := s.wantWhole(2)[0].facts
	for _, k := range []struct {
		name   string
		set    func(c *config.Config)
		others int
		why    string
	}{
		{"room for one more", func(c *config.Config) { c.Pool.MaxInodes, c.Pool.MaxBytes = 3*one.Files, 3*one.Bytes }, 0, ""},
		{"files", func(c *config.Config) { c.Pool.MaxInodes = 3*one.Files - 1 }, 0, "pool.max_inodes"},
		{"bytes", func(c *config.Config) { c.Pool.MaxBytes = 3*one.Bytes - 1 }, 0, "pool.max_bytes"},
		{"with those that are begun", func(c *config.Config) { c.Pool.MaxBytes = 3 * one.Bytes }, 1, "pool.max_bytes"},
		{"the disk", func(c *config.Config) { c.Limits.MinFreeBytes = 1 << 60 }, 0, "not much room"},
		{"files of the disk", func(c *config.Config) { c.Limits.MinFreeInodes = 1 << 60 }, 0, "not much room"},
	} {
		s.r.Config = config.Config{Pool: config.Pool{Size: 9}}
		k.set(&s.r.Config)
		if why := s.limit(s.stamp, k.others); (why == "") != (k.why == "") || !strings.Contains(why, k.why) {
			t.Errorf("%s: %q, want %q", k.name, why, k.why)
		}
	}
}

// TestDamagedSource: what a damaged spare has is not copied into another one, and it is not handed out any more.
func TestDamagedSource(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere no spare is copied")
	}
	t.Parallel()
	s := newStock(t, 1)
	i := s.wantWhole(1)[0]
	gittest.WriteFile(t, filepath.Join(i.tree.Path, "dir/a"), "evil\n")
	s.must(i.takeSamples()) // as if none had been taken of it
	if taken, why := s.take(s.commit); taken != nil {
		t.Errorf("taken: %+v, %q", taken, why)
	}
	s.r.Config.Pool.Size = 2
	if _, err := s.fillTo(t.Context(), s.stamp, s.commit, croft.PoolFill); !errors.Is(err, fsx.ErrOther) {
		t.Errorf("it was filled: %v", err)
	}
	s.wantWhole(0)
	s.must(s.sweep(s.stamp))
	s.fill()
	for _, i := range s.wantWhole(2) {
		if b, err := os.ReadFile(filepath.Join(i.tree.Path, "dir/a")); string(b) != "a\n" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
	}
}

// TestTakenFromAnOldList: what was in stock when it was listed may be another process's by now.
func TestTakenFromAnOldList(t *testing.T) {
	t.Parallel()
	s := newStock(t, 2)
	list := s.wantWhole(2)
	for _, i := range list {
		s.must(os.Remove(i.own(wholeFile)))
	}
	if i, _ := takeOf(list, s.commit); i != nil {
		t.Error("taken although it is not in stock")
	}
	if i, _ := shareOf(list); i != nil {
		t.Error("copied although it is not in stock")
	}
}

// TestStaysWhileCopied: a spare that is copied can be copied by others, and is not taken, brought to another commit or deleted.
func TestStaysWhileCopied(t *testing.T) {
	t.Parallel()
	s := newStock(t, 2)
	list := s.wantWhole(2)
	i, lock := shareOf(list)
	if i == nil {
		t.Fatal("nothing can be copied")
	}
	if other, again := shareOf(list); other != i || again.Unlock() != nil {
		t.Errorf("another one is copied: %v", other)
	}
	if other, _ := takeOf([]*item{i, list[0]}, s.commit); other != nil {
		t.Error("taken while it is copied")
	}
	u, err := s.begin(t.Context(), s.stamp, s.next("next\n"), 0)
	if s.must(err); u == nil || u.id == i.id {
		t.Errorf("brought while it is copied: %v", u)
	}
	s.must(errors.Join(s.sweep("another stamp"), lock.Unlock()))
	if !exists(i.tree.Path) || !exists(i.own(wholeFile)) || !exists(u.tree.Path) {
		t.Error("deleted while it is copied, or brought")
	}
	s.must(u.lock.Unlock())
}

// TestTakenUnderALock: two that take at once would each leave the other's.
func TestTakenUnderALock(t *testing.T) {
	t.Parallel()
	s := newStock(t, 2)
	lock, err := s.lock(t.Context())
	s.must(err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if taken, why := (&Pool{}).Take(ctx, s.r, Wanted{Commit: s.commit, Beside: s.repo.Home}); taken != nil || why == "" {
		t.Errorf("taken while another process takes: %+v", taken)
	}
	s.must(lock.Unlock())
	s.wantWhole(2)
}

// TestTakenForAnotherFileSystem: a spare is taken only where it can be moved to.
func TestTakenForAnotherFileSystem(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc")
	}
	t.Parallel()
	s := newStock(t, 2)
	if taken, why := (&Pool{}).Take(t.Context(), s.r, Wanted{Commit: s.commit, Beside: "/proc"}); taken != nil || !strings.Contains(why, "another file system") {
		t.Errorf("%+v, %q", taken, why)
	}
	s.wantWhole(2)
}

// TestMarkGoesFirst: a spare whose files are being deleted is not in stock, whenever that ends.
func TestMarkGoesFirst(t *testing.T) {
	t.Parallel()
	s := newStock(t, 1)
	i := s.wantWhole(1)[0]
	s.must(os.Rename(i.own(wholeFile), i.own("was")))
	gittest.WriteFile(t, filepath.Join(i.own(wholeFile), "f"), "so that it cannot be removed\n")
	if err := i.remove(); err == nil || !exists(filepath.Join(i.tree.Path, "README.md")) {
		t.Errorf("the files are gone, and the mark is not: %v", err)
	}
}

// TestGitsHoldTheLock: a git that outlives its croft holds the lock on the spare that it writes, so that nobody deletes that, or
// hands it out.
func TestGitsHoldTheLock(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc")
	}
	r := gittest.New(t)
	log, script := filepath.Join(r.Home, "log"), filepath.Join(r.Home, "git")
	gittest.WriteFile(t, script, `#!/bin/sh
case $GIT_INDEX_FILE in */spares/*) { echo "$@"; readlink /proc/$$/fd/* | grep -q '/spares/.*/lock$' && echo held || echo free; } >> `+log+`;; esac
exec git "$@"
`)
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	s := stockIn(t, r, 2, script)
	want := func(step string, ran ...string) {
		t.Helper()
		b, err := os.ReadFile(log)
		isMissing := func(command string) bool { return !strings.Contains(string(b), command) }
		if text := string(b); err != nil || slices.ContainsFunc(ran, isMissing) || strings.Contains(text, "\nfree\n") {
			t.Errorf("%s: %v\n%s", step, err, text)
		}
		s.must(os.Remove(log))
	}
	want("filled", "read-tree", "update-index")
	next := s.next("next\n")
	s.wantTaken(next, croft.MadeFromPool).Done()
	want("taken", "read-tree")
	u, err := s.begin(t.Context(), s.stamp, next, 0)
	s.must(err)
	s.must(errors.Join(u.finish(t.Context()), u.lock.Unlock()))
	want("brought", "read-tree", "update-index")
}
