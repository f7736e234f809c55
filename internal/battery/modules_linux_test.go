package battery

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/npmtest"
)

const modulesSettings = "[[provision.path]]\npath = \"node_modules\"\nhow = \"clone\"\nkey = [\"package-lock.json\"]\n"

// modulePackages makes packages with files as large as those of npm's own packages are: a median of 1.9 KB, a mean of 6.4 KB.
func modulePackages(packages int) []npmtest.Package {
	const files = 49 // and package.json
	rnd := rand.New(rand.NewPCG(9, uint64(packages)))
	var list []npmtest.Package
	for i := range packages {
		p := npmtest.Package{Name: fmt.Sprintf("pkg-%03d", i), Files: map[string]string{}}
		for j := range files {
			length := int(min(math.Exp(7.56+1.55*rnd.NormFloat64()), 1<<20))
			p.Files[fmt.Sprintf("lib/%d/f%d.js", j/12, j)] = string(content(rnd, max(length, 1)))
		}
		list = append(list, p)
	}
	return list
}

func namesOf(packages []npmtest.Package) []string {
	var names []string
	for _, p := range packages {
		names = append(names, p.Name)
	}
	return names
}

// mountImage mounts a file system of its own for as long as the test runs, or reports that it cannot.
func mountImage(t *testing.T, kind string, options ...string) (dir string, ok bool) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Logf("battery: skipped: a file system of its own needs root")
		return "", false
	}
	image, dir := filepath.Join(t.TempDir(), "disk"), filepath.Join(t.TempDir(), "mount")
	mustDo(t, os.WriteFile(image, nil, 0o600))
	mustDo(t, os.Truncate(image, 4<<30)) // it takes as much as is written
	mustDo(t, os.Mkdir(dir, 0o755))
	for _, args := range [][]string{append(append([]string{"mkfs." + kind, "-q"}, options...), image), {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.CommandContext(bounded(t), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Logf("battery: skipped: %v: %v: %s", args, err, out)
			return "", false
		}
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir, true
}

// usedBytes returns what is used of a file system whose writes are done.
func usedBytes(t *testing.T, dir string) int64 {
	t.Helper()
	unix.Sync()
	var st unix.Statfs_t
	mustDo(t, unix.Statfs(dir, &st))
	return int64(st.Blocks-st.Bfree) * st.Bsize
}

// modulesProject makes a project whose workspaces get its node_modules as clones.
func modulesProject(t *testing.T, top string, registry *npmtest.Registry, names []string) *project {
	t.Helper()
	p := newProjectIn(t, top)
	p.git(p.work(), "init", "--quiet", "--initial-branch=main", p.dir)
	writeManifest(t, p.dir, registry, names)
	p.write(".gitignore", "node_modules/\n")
	p.write("croft.toml", modulesSettings)
	p.git(p.dir, "add", "--all")
	p.git(p.dir, "commit", "--quiet", "--message", "first")
	return p
}

// writeManifest writes what npm ci needs.
func writeManifest(t *testing.T, dir string, registry *npmtest.Registry, names []string) {
	t.Helper()
	table := map[string]string{}
	for _, name := range names {
		table[name] = "1.0.0"
	}
	text, err := json.Marshal(map[string]any{"name": "app", "version": "1.0.0", "dependencies": table})
	mustDo(t, err)
	gittest.WriteFile(t, filepath.Join(dir, "package.json"), string(text))
	gittest.WriteFile(t, filepath.Join(dir, "package-lock.json"), registry.LockFile("app", names...))
	gittest.WriteFile(t, filepath.Join(dir, ".npmrc"), registry.Config())
}

// newProvisioned makes a workspace, and returns how its node_modules came in.
func (p *project) newProvisioned(name string) (croft.ProvisionedPath, time.Duration) {
	p.t.Helper()
	r := p.croft("new", name)
	var made struct {
		Workspaces []croft.Workspace `json:"workspaces"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &made); err != nil || len(made.Workspaces) != 1 || made.Workspaces[0].Provision == nil {
		p.t.Fatalf("%v: %v", err, r)
	}
	return made.Workspaces[0].Provision.Paths[0], r.took
}

// TestModulesCloned: a workspace with node_modules whose files share their blocks with the project's takes few blocks of
// its own, all that Croft writes for it included. The copy that it is compared with is that of cp.
func TestModulesCloned(t *testing.T) {
	packages := modulePackages(size(40, 400))
	registry := npmtest.Serve(t, packages...)
	for _, tt := range []struct {
		kind  string
		meta  string // the option -m of mkfs
		bound float64
	}{
		{"xfs", "reflink=1", 0.2},
		{"btrfs", "single", 0.2},
		{"btrfs", "dup", 0.3}, // small files are a part of the metadata, which is on the disk twice
	} {
		t.Run(tt.kind+" "+tt.meta, func(t *testing.T) {
			top, ok := mountImage(t, tt.kind, "-m", tt.meta)
			if !ok {
				return
			}
			p := modulesProject(t, top, registry, namesOf(packages))
			files := 0
			for _, pkg := range packages {
				for name, text := range pkg.Files {
					p.write("node_modules/"+pkg.Name+"/"+name, text)
					files++
				}
			}
			p.mustCroft("new", "first", "--base", "main") // with it comes the state
			before := usedBytes(t, top)
			got, took := p.newProvisioned("a")
			cloned := usedBytes(t, top) - before
			if got.How != croft.ProvisionClone || got.Files != files || got.Why != "" || len(got.Skipped) > 0 {
				t.Fatalf("%+v", got)
			}
			before = usedBytes(t, top)
			start := time.Now()
			if r := p.run(p.dir, "cp", "-a", "--reflink=never", "node_modules", filepath.Join(top, "copy")); r.code != 0 {
				t.Fatal(r)
			}
			copyTook := time.Since(start)
			copied := usedBytes(t, top) - before
			share := float64(cloned) / float64(copied)
			report(t, "node_modules", "%s, %d files: croft new that clones them takes %.1f MiB and %s, cp without clones %.1f MiB and %s: %.0f %% of the blocks",
				tt.kind+" with "+tt.meta, files, float64(cloned)/(1<<20), ms(took), float64(copied)/(1<<20), ms(copyTook), 100*share)
			if share > tt.bound {
				t.Errorf("it takes %.2f of a copy's blocks, the bound is %.2f", share, tt.bound)
			}
		})
	}
}

// TestModulesCopied: where files share no blocks, a copy of node_modules comes in by far less time than npm takes to install
// the same files from its cache.
func TestModulesCopied(t *testing.T) {
	runs := size(3, 5)
	packages := modulePackages(size(40, 400))
	registry := npmtest.Serve(t, packages...)
	top, ok := mountImage(t, "ext4")
	if !ok {
		return
	}
	p := modulesProject(t, top, registry, namesOf(packages))
	if r := p.run(p.dir, "npm", "ci"); r.code != 0 {
		t.Fatal(r)
	}
	asked := registry.Requests()
	var npm, croftNew []time.Duration
	files := 0
	for i := range runs {
		dir := filepath.Join(top, fmt.Sprintf("plain-%d", i))
		writeManifest(t, dir, registry, namesOf(packages))
		r := p.run(dir, "npm", "ci", "--offline")
		if r.code != 0 {
			t.Fatal(r)
		}
		npm = append(npm, r.took)
		got, took := p.newProvisioned(fmt.Sprintf("w%d", i))
		if got.How != croft.ProvisionCopy || got.Wanted != croft.ProvisionClone || got.Why == "" || len(got.Skipped) > 0 {
			t.Fatalf("%+v", got)
		}
		croftNew, files = append(croftNew, took), got.Files
	}
	if registry.Requests() != asked {
		t.Error("npm has asked the registry")
	}
	ratio := float64(median(croftNew)) / float64(median(npm))
	report(t, "node_modules", "ext4, %d files, medians of %d: croft new that copies them %s, npm ci --offline %s, ratio %.3f",
		files, runs, ms(median(croftNew)), ms(median(npm)), ratio)
	if ratio > 0.25 {
		t.Errorf("croft new takes %.2f of the time of npm ci", ratio)
	}
}

// childTime is the processor time of the processes that have ended so far.
func childTime(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	mustDo(t, unix.Getrusage(unix.RUSAGE_CHILDREN, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestModulesFromStock: where files share no blocks, a copy of node_modules that was made beforehand comes in by a small
// part of the time that it takes to copy it. What is left is to look at each file of both.
func TestModulesFromStock(t *testing.T) {
	runs := size(3, 5)
	packages := modulePackages(size(40, 400))
	top, ok := mountImage(t, "ext4", "-i", "4096") // ten copies more have to have room
	if !ok {
		return
	}
	p := newProjectIn(t, top)
	p.git(p.work(), "init", "--quiet", "--initial-branch=main", p.dir)
	p.write(".gitignore", "node_modules/\n")
	p.write("croft.toml", "[[provision.path]]\npath = \"node_modules\"\nhow = \"clone\"\n")
	p.git(p.dir, "add", "--all")
	p.git(p.dir, "commit", "--quiet", "--message", "first")
	files := 0
	for _, pkg := range packages {
		for name, text := range pkg.Files {
			p.write("node_modules/"+pkg.Name+"/"+name, text)
			files++
		}
	}
	made := func(name string, stock int) (took, used time.Duration) {
		t.Helper()
		set := []string{"--set", "gc.auto=false", "--set", fmt.Sprint("pool.size=", stock), "--set", "provision.min_free=0"}
		if stock > 0 {
			p.mustCroft(append([]string{"pool", "--fill"}, set...)...)
		}
		before := childTime(t)
		r := p.croft(append([]string{"new", name}, set...)...)
		used = childTime(t) - before
		var got struct {
			Workspaces []croft.Workspace `json:"workspaces"`
		}
		if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || len(got.Workspaces) != 1 || got.Workspaces[0].Provision == nil {
			t.Fatalf("%v: %v", err, r)
		}
		path := got.Workspaces[0].Provision.Paths[0]
		if want := min(stock, 1) * files; path.Files != files || path.FromPool != want || path.How != croft.ProvisionCopy {
			t.Fatalf("%+v", path)
		}
		return r.took, used
	}
	_, _ = made("warm", 0)
	var copied, stocked, copiedUse, stockedUse []time.Duration
	for i := range runs {
		took, used := made(fmt.Sprint("copied", i), 0)
		copied, copiedUse = append(copied, took), append(copiedUse, used)
		took, used = made(fmt.Sprint("stocked", i), 1)
		stocked, stockedUse = append(stocked, took), append(stockedUse, used)
	}
	ratio := float64(median(stocked)) / float64(median(copied))
	report(t, "node_modules", "ext4, %d files, medians of %d: croft new that copies them %s (processor %s), from the stock %s (%s), ratio %.3f (%.3f)",
		files, runs, ms(median(copied)), ms(median(copiedUse)), ms(median(stocked)), ms(median(stockedUse)), ratio, float64(median(stockedUse))/float64(median(copiedUse)))
	if ratio > 0.5 { // of 2,000 files, on a machine with other work
		t.Errorf("croft new from the stock takes %.2f of the time of a copy", ratio)
	}
}
