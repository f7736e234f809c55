package git

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestAdvanceLosesNoSave saves files while a checkout goes along: by rename, in place, and at paths that the new commit
// adds. Whether it goes along or is refused, each file has afterwards what was saved last. CROFT_LONG=1 takes a minute.
func TestAdvanceLosesNoSave(t *testing.T) {
	long := 3 * time.Second
	if os.Getenv("CROFT_LONG") != "" {
		long = time.Minute
	}
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 1))
	r := gittest.New(t)
	var paths []string
	change := map[string]string{}
	for i := range 24 {
		name := fmt.Sprintf("dir%d/file%d", i%3, i)
		paths = append(paths, name)
		switch i % 4 {
		case 0: // added
			change[name] = "added\n"
		case 1: // deleted
			r.Write(name, "goes\n")
		default:
			r.Write(name, "old\n")
			change[name] = "new\n"
		}
	}
	old := r.Commit("second")
	var gone []string
	for i := 1; i < len(paths); i += 4 {
		gone = append(gone, paths[i])
	}
	now := next(r, change, gone...)
	repo := open(t, r)
	outcome, takes := map[string]int{}, 20*time.Millisecond
	for began := time.Now(); time.Since(began) < long && !t.Failed(); {
		r.Git("reset", "--quiet", "--hard", old)
		r.Git("clean", "--quiet", "-d", "--force")
		a, err := repo.Hosts("main")[0].Prepare(t.Context(), old, now)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		saved := map[string]string{}
		var saving sync.WaitGroup
		pause, n := time.Duration(rnd.Int64N(2*int64(takes))), 1+rnd.IntN(4)
		how := rnd.Perm(len(paths))[:n]
		saving.Go(func() {
			time.Sleep(pause)
			for _, i := range how {
				saved[paths[i]] = saveAnyhow(t, filepath.Join(r.Dir, paths[i]), i+n)
			}
		})
		start := time.Now()
		err = a.Apply(t.Context())
		if err == nil {
			outcome["moved"]++
			takes = time.Since(start)
		} else {
			outcome["refused"]++
		}
		a.Cancel()
		saving.Wait()
		for path, want := range saved {
			b, err := os.ReadFile(filepath.Join(r.Dir, path))
			if !strings.Contains(string(b), want) {
				t.Errorf("seed %d: %s was saved as %q after %v, and is %q, %v; the move: %v", seed, path, want, pause, b, err, outcome)
			}
		}
	}
	t.Logf("seed %d: %v", seed, outcome)
	if outcome["moved"] == 0 || outcome["refused"] == 0 {
		t.Error("all saves were as early, or as late")
	}
}

// saveAnyhow saves a file and returns the line that it has from then on.
func saveAnyhow(t *testing.T, path string, n int) string {
	line := fmt.Sprintf("mine %d\n", n)
	var err error
	switch n % 3 {
	case 0:
		err = os.WriteFile(path+"~", []byte(line), 0o644)
		if err == nil {
			err = os.Rename(path+"~", path)
		}
	case 1:
		err = os.WriteFile(path, []byte(line), 0o644)
	default:
		var f *os.File
		if f, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err == nil {
			_, err = f.WriteString(line)
			_ = f.Close()
		}
	}
	if os.IsNotExist(err) { // the directory was deleted, or was not made yet
		return ""
	}
	if err != nil {
		t.Error(err)
	}
	return line
}
