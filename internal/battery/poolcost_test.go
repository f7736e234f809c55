//go:build linux

package battery

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
)

// poolTimes are the times of one size of project.
type poolTimes struct {
	git    []time.Duration // git worktree add -b
	pool   []time.Duration // croft new, with a checkout in stock
	open   []time.Duration // the same in an open engine
	moved  []time.Duration // croft new, with one in stock to which a commit of 200 files is new
	copied []time.Duration // croft new, with one checkout in stock, which is copied
	plain  []time.Duration // croft new without a pool
	floor  []time.Duration // files of the same sizes, written from memory by as many goroutines as there are cores
	eight  []time.Duration // croft new a b c d e f g h, all from the stock
	each   []time.Duration // eight commands at once, each of which makes one from the stock
}

// TestPoolCost compares the ways in which a workspace gets its files with `git worktree add`. Nothing is removed between
// the runs, as in TestNew.
func TestPoolCost(t *testing.T) {
	sizes := []int{2000}
	if isLong() {
		sizes = []int{1000, 10_000, 100_000}
	}
	for _, files := range sizes {
		t.Run(fmt.Sprint(files), func(t *testing.T) { testPoolCost(t, files) })
	}
}

func testPoolCost(t *testing.T, files int) {
	p := bigProject(t, files)
	runs := size(3, 5)
	if files == 100_000 {
		runs = 3
	}
	got := p.timePool(t, files, runs)
	ratio := func(times []time.Duration) float64 { return float64(median(times)) / float64(median(got.git)) }
	report(t, "pool", "%d files, medians of %d: git worktree add %s; croft new from the pool %s, ratio %.4f; in an open engine %s, ratio %.4f; "+
		"to another commit %s, ratio %.3f; copied %s, ratio %.3f and %.2f of the write floor, %s; by git %s, ratio %.2f",
		files, runs, ms(median(got.git)), ms(median(got.pool)), ratio(got.pool), ms(median(got.open)), ratio(got.open),
		ms(median(got.moved)), ratio(got.moved), ms(median(got.copied)), ratio(got.copied), float64(median(got.copied))/float64(median(got.floor)),
		ms(median(got.floor)), ms(median(got.plain)), ratio(got.plain))
	if len(got.eight) > 0 {
		report(t, "pool", "%d files: eight from the pool by one command %s, by eight commands at once %s", files, ms(median(got.eight)), ms(median(got.each)))
	}
	if r := ratio(got.pool); r > 1 { // at 2,000 files on a machine with other work; it is 0.1 on a quiet one
		t.Errorf("%d files: croft new from the pool takes %.2f of git's time", files, r)
	}
	if r := ratio(got.copied); r > 1.2 {
		t.Errorf("%d files: croft new by a copy takes %.2f of git's time", files, r)
	}
}

func (p *project) timePool(t *testing.T, files, runs int) (got poolTimes) {
	t.Helper()
	set := map[string]string{"pool.max_bytes": "0", "pool.max_inodes": "0", "pool.size": strconv.Itoa(3)}
	svc, err := connect.Open(t.Context(), p.dir, &connect.Options{Environ: p.environ(), Flags: set})
	mustDo(t, err)
	defer svc.Close()
	flags := func(n int, args ...string) []string {
		return append(args, "--set", "pool.max_bytes=0", "--set", "pool.max_inodes=0", "--set", "pool.size="+strconv.Itoa(n))
	}
	took := func(want croft.MadeBy, n int, name string) time.Duration {
		t.Helper()
		r := p.croft(flags(n, "new", name)...)
		w, err := svc.Workspace(t.Context(), croft.WorkspaceRequest{Ref: name})
		if r.code != 0 || r.err != nil || err != nil || w.MadeBy != want {
			t.Fatalf("croft new %s: %v, %+v, %v", name, r, w, err)
		}
		return r.took
	}
	p.mustCroft(flags(0, "new", "warm")...)
	// Each begins when all that was written before is on disk: whoever syncs first waits for it otherwise.
	rested := func(measure func() time.Duration) time.Duration {
		unix.Sync()
		return measure()
	}
	for i := range runs {
		p.mustCroft(flags(4, "pool", "--fill")...)
		got.pool = append(got.pool, rested(func() time.Duration { return took(croft.MadeFromPool, 4, fmt.Sprint("pool", i)) }))
		got.git = append(got.git, rested(func() time.Duration { return p.timeBare(t, fmt.Sprint("bare", i)) }))
		unix.Sync()
		start := time.Now()
		w, err := svc.Create(t.Context(), croft.CreateRequest{Name: fmt.Sprint("open", i)})
		got.open = append(got.open, time.Since(start))
		if err != nil || w.MadeBy != croft.MadeFromPool {
			t.Fatalf("Create = %+v, %v", w, err)
		}
		p.commitFiles(t, i, min(200, files/10))
		got.moved = append(got.moved, rested(func() time.Duration { return took(croft.MadeFromPool, 4, fmt.Sprint("moved", i)) }))
		p.mustCroft(flags(1, "pool", "--fill")...) // it brings the last one to the commit
		got.copied = append(got.copied, rested(func() time.Duration { return took(croft.MadeByCopy, 1, fmt.Sprint("copied", i)) }))
		got.plain = append(got.plain, rested(func() time.Duration { return took(croft.MadeByGit, 0, fmt.Sprint("plain", i)) }))
		got.floor = append(got.floor, rested(func() time.Duration { return p.timeWrites(t, fmt.Sprint("floor", i)) }))
	}
	if files > 10_000 { // a stock of ten is a lot of disk
		return got
	}
	for i := range runs {
		p.mustCroft(flags(10, "pool", "--fill")...)
		var names []string
		for n := range 8 {
			names = append(names, fmt.Sprintf("eight%d%d", i, n))
		}
		unix.Sync()
		r := p.croft(flags(10, append([]string{"new"}, names...)...)...)
		if r.code != 0 || r.err != nil {
			t.Fatalf("croft new of eight: %v", r)
		}
		got.eight = append(got.eight, r.took)
		p.mustCroft(flags(10, "pool", "--fill")...)
		unix.Sync()
		got.each = append(got.each, p.timeAtOnce(8, func(n int) result { return p.croft(flags(10, "new", fmt.Sprintf("each%d%d", i, n))...) }))
		for n := range 8 {
			names = append(names, fmt.Sprintf("each%d%d", i, n))
		}
		for _, name := range names {
			if w, err := svc.Workspace(t.Context(), croft.WorkspaceRequest{Ref: croft.Ref(name)}); err != nil || w.MadeBy != croft.MadeFromPool {
				t.Fatalf("%s: %+v, %v", name, w, err)
			}
		}
	}
	return got
}

// timeAtOnce runs several commands at once.
func (p *project) timeAtOnce(count int, run func(n int) result) time.Duration {
	start := time.Now()
	var all sync.WaitGroup
	for n := range count {
		all.Go(func() { run(n) })
	}
	all.Wait()
	return time.Since(start)
}

// timeWrites writes files of the sizes that the checkout has, in as many directories.
func (p *project) timeWrites(t *testing.T, name string) time.Duration {
	t.Helper()
	type file struct {
		path string
		size int64
	}
	var files []file
	var dirs []string
	into, most := filepath.Join(p.top, name), int64(0)
	mustDo(t, filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			return fs.SkipDir
		}
		rel, err := filepath.Rel(p.dir, path)
		if err != nil || d.IsDir() {
			dirs = append(dirs, filepath.Join(into, rel))
			return err
		}
		info, err := d.Info()
		if err == nil {
			files = append(files, file{filepath.Join(into, rel), info.Size()})
			most = max(most, info.Size())
		}
		return err
	}))
	content := make([]byte, most)
	start := time.Now()
	for _, dir := range dirs {
		mustDo(t, os.Mkdir(dir, 0o777))
	}
	var next atomic.Int64
	var all errgroup.Group
	for range runtime.NumCPU() {
		all.Go(func() error {
			const batch = 128 // as CopyTo does
			for {
				at := int(next.Add(batch)) - batch
				if at >= len(files) {
					return nil
				}
				for _, f := range files[at:min(at+batch, len(files))] {
					if err := os.WriteFile(f.path, content[:f.size], 0o666); err != nil {
						return err
					}
				}
			}
		})
	}
	mustDo(t, all.Wait())
	return time.Since(start)
}

func (p *project) timeBare(t *testing.T, name string) time.Duration {
	t.Helper()
	r := p.run(p.dir, "git", "worktree", "add", "--quiet", "-b", "bare/"+name, filepath.Join(p.top, "bare", name))
	if r.code != 0 || r.err != nil {
		t.Fatalf("bare git: %v", r)
	}
	return r.took
}

// commitFiles commits changes of files in the project's checkout.
func (p *project) commitFiles(t *testing.T, round, n int) {
	t.Helper()
	for i := range n {
		p.write(fmt.Sprintf("d%02d/e%03d/f%d.txt", i/9/64, i/9, i%9), fmt.Sprintf("%d of round %d\n", i, round))
	}
	p.git(p.dir, "commit", "--quiet", "--all", "--message", fmt.Sprint("round ", round))
}
