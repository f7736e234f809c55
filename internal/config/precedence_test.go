package config_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/config"
)

// sample is a value for a key from each source. A repository's value tightens
// the user's and the default where the key is guarded.
type sample struct{ user, repo, env, flag string }

// samples has one row for every key, which TestPrecedence checks.
func samples(dir string) map[string]sample {
	at := func(name string) string { return filepath.Join(dir, name) }
	return map[string]sample{
		"layout":                    {"agents", "swarm", "sibling", "rounds"},
		"path":                      {"u/{name}", "r/{name}", "e/{name}", "f/{name}"},
		"branch":                    {"u/{name}", "r/{name}", "e/{name}", "f/{name}"},
		"prefix":                    {"u", "r", "e", "f"},
		"roles.dir":                 {"u", "r", "e", "f"},
		"roles.files":               {"u.md", "r.md,s.md", "e.md", "f.md,.claude/x.md"},
		"limits.max_workers":        {"9", "8", "20", "30"},
		"limits.min_free_bytes":     {"67108865", "67108866", "1", "2"},
		"limits.min_free_inodes":    {"1001", "1002", "1", "2"},
		"trash.retention":           {"169h", "170h", "1h", "1h30m"},
		"trash.max_bytes":           {"21474836481", "21474836482", "1", "2"},
		"trash.max_inodes":          {"2000001", "2000002", "1", "2"},
		"trash.regenerable":         {"u", "r", "e,x/e*", "f"},
		"trash.regenerable_after":   {"2h", "3h", "1m", "2m"},
		"trash.saved_for":           {"721h", "722h", "1h", "2h"},
		"trash.notice":              {"25h", "26h", "1h", "2h"},
		"snapshot.ignored":          {"*.u", "*.r,*.s", "*.e", "*.f"},
		"snapshot.secrets":          {".u", ".r", ".e", ".f,.g"},
		"lease.ttl":                 {"2m", "3m", "4m", "1m30s"},
		"lease.max_ttl":             {"2h", "3h", "4h", "1h30m"},
		"gc.auto":                   {"false", "false", "true", "false"},
		"daemon.use":                {"never", "auto", "never", "auto"},
		"history.retention":         {"24h", "48h", "72h", "1h30m"},
		"checkout.links":            {"u", "r,s", "e", "f"},
		"checkout.sparse":           {"u", "r/s,t/", "/", "f"},
		"checkout.scratch":          {".u", ".r", ".e", ".f"},
		"checkout.workers":          {"1", "2", "3", "4"},
		"pool.size":                 {"1", "2", "4", "5"},
		"pool.max_bytes":            {"1", "2", "3", "4"},
		"pool.max_inodes":           {"1", "2", "3", "4"},
		"checkout.isolated_objects": {"hardlink", "copy", "hardlink", "copy"},
		"git.path":                  {at("u"), at("r"), at("e"), at("f")},
		"git.filters":               {"lfs", "evil", "lfs,crypt", "crypt"},
		"git.timeout":               {"1h", "2h", "3h", "4h"},
		"git.fence":                 {"off", "auto", "off", "auto"},
		"push.agents":               {"true", "false", "false", "true"},
		"merge.strategy":            {"no-ff", "squash", "no-ff", "squash"},
		"merge.message":             {"u", "r", "e", "f"},
		"merge.checks":              {"u", "r, r\ns", "e", "f"},
		"merge.check_timeout":       {"2m", "3m", "4m", "1m30s"},
		"merge.check_cache":         {"u", "r/s", "e", "f"},
		"merge.check_env":           {"U", "R", "E,E_*", "F"},
		"merge.protect":             {"true", "true", "false", "true"},
		"merge.batch":               {"1", "2", "3", "4"},
		"merge.slots":               {"2", "3", "4", "5"},
		"commit.message":            {"u", "r", "e", "f"},
		"containers.workdir":        {"/u", "/r", "/e", "/f"},
		"provision.include":         {"false", "true", "false", "true"},
		"provision.secrets":         {"true", "true", "false", "true"},
		"provision.submodules":      {"true", "false", "true", "false"},
		"provision.max_bytes":       {"9", "8", "20", "30"},
		"provision.max_files":       {"9", "8", "20", "30"},
		"provision.min_free":        {"1%", "2%", "3", "4"},
		"provision.foreign":         {"off", "ask", "conductor.json", ".config/wt.toml"},
		"provision.links_file":      {"true", "false", "true", "false"},
		"provision.env_file":        {".u", ".r", ".e", ".f"},
		"provision.timeout":         {"9m", "8m", "20m", "30m"},
		"provision.wait":            {"files", "all", "files", "all"},
		"ports.count":               {"9", "8", "20", "30"},
		"ports.range":               {"20000-20999", "21000-21999", "22000-22999", "23000-23999"},
		"ports.names":               {"u", "r,s", "e", "f"},
		"commit.max_bytes":          {"9", "8", "20", "30"},
		"commit.hold_back":          {"*.u", "*.r", "*.e", "*.f"},
		"state_dir":                 {at("u"), at("r"), at("e"), at("f")},
		"data_dir":                  {at("u"), at("r"), at("e"), at("f")},
	}
}

// tomlText writes one key as a file has it.
func tomlText(key config.Key, text string) string {
	switch key.Type {
	case config.TypeInteger, config.TypeBoolean:
	case config.TypeCommands:
		text = "['" + strings.ReplaceAll(text, "\n", "', '") + "']"
	case config.TypeList:
		text = "['" + strings.ReplaceAll(text, ",", "', '") + "']"
	default:
		text = "'" + text + "'"
	}
	return "\n" + key.Name + " = " + text + "\n"
}

func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	table := samples(dir)
	for _, key := range config.Keys() {
		s, ok := table[key.Name]
		if !ok {
			t.Errorf("no samples for %s", key.Name)
			continue
		}
		t.Run(key.Name, func(t *testing.T) { testLayers(t, key, s) })
	}
}

// testLayers sets a key in every combination of sources.
func testLayers(t *testing.T, key config.Key, s sample) {
	for set := range 16 {
		user, repo, env, flag := set&1 != 0, set&2 != 0, set&4 != 0, set&8 != 0
		if key.Guard == config.GuardNoFile && (user || repo) {
			continue
		}
		p := newPlace(t)
		in := config.Input{Flags: map[string]string{}}
		want := config.Value{Key: key.Name, Value: key.Default, Source: config.Source{Kind: config.KindDefault}}
		if rest, ok := strings.CutPrefix(key.Default, "~/"); ok {
			want.Value = filepath.Join(p.home, filepath.FromSlash(rest))
		}
		if user {
			p.write(p.userFile(), tomlText(key, s.user))
			want.Value, want.Source = s.user, config.Source{Kind: config.KindUser, Name: p.userFile(), Line: 2}
		}
		if repo {
			p.write(p.repoFile(), tomlText(key, s.repo))
			if key.IsRepoSettable() {
				want.Value, want.Source = s.repo, config.Source{Kind: config.KindRepo, Name: p.repoFile(), Line: 2}
			}
		}
		if env {
			in.Environ = []string{key.Env()[0] + "=" + s.env}
			want.Value, want.Source = s.env, config.Source{Kind: config.KindEnv, Name: key.Env()[0]}
		}
		if flag {
			in.Flags[key.Name] = s.flag
			want.Value, want.Source = s.flag, config.Source{Kind: config.KindFlag}
		}
		loaded := p.load(in)
		if diff := cmp.Diff(want, value(t, loaded, key.Name)); diff != "" {
			t.Errorf("user=%v repo=%v env=%v flag=%v (-want +got):\n%s", user, repo, env, flag, diff)
		}
		if ignored := repo && !key.IsRepoSettable(); ignored != (len(loaded.Warnings()) == 1) {
			t.Errorf("user=%v repo=%v env=%v flag=%v: warnings %q", user, repo, env, flag, loaded.Warnings())
		}
	}
}

func TestDefaults(t *testing.T) {
	p := newPlace(t)
	want := config.Config{
		Layout: "default",
		Roles:  config.Roles{Dir: "roles", Files: []string{"CLAUDE.md", "AGENTS.md"}},
		Limits: config.Limits{MinFreeBytes: 64 << 20, MinFreeInodes: 1000},
		Trash: config.Trash{
			Retention: config.Duration(168 * hour), MaxBytes: 20 << 30, MaxInodes: 2_000_000,
			Regenerable: []string{
				"node_modules", "bower_components", "target", "build", "dist", ".venv", "venv", ".tox", ".nox", "__pycache__",
				".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".next", ".nuxt", ".svelte-kit", ".turbo", ".parcel-cache", "DerivedData",
			},
			RegenerableAfter: config.Duration(hour), SavedFor: config.Duration(720 * hour), Notice: config.Duration(24 * hour),
		},
		Snapshot: config.Snapshot{Ignored: []string{}, Secrets: []string{".env", ".env.*"}},
		Lease:    config.Lease{TTL: config.Duration(hour / 60), MaxTTL: config.Duration(hour)},
		GC:       config.GC{Auto: true},
		Pool:     config.Pool{Size: 3, MaxBytes: 4 << 30, MaxInodes: 500_000},
		Daemon:   config.Daemon{Use: "auto"},
		History:  config.History{Retention: config.Duration(90 * 24 * hour)},
		Checkout: config.Checkout{Links: []string{}, Sparse: []string{}, IsolatedObjects: "copy"},
		Git:      config.Git{Filters: []string{}, Timeout: config.Duration(hour / 2), Fence: "auto"},
		Merge: config.Merge{
			Strategy: "no-ff", Message: "Merge branch '{branch}'", Checks: []string{}, CheckTimeout: config.Duration(hour / 2),
			CheckCache: []string{}, CheckEnv: []string{}, Batch: 16, Slots: 1,
		},
		Commit:     config.Commit{Message: "Work of {name}", MaxBytes: 5 << 20, HoldBack: []string{"@secrets"}},
		Containers: config.Containers{Workdir: "/workspace"},
		Provision: config.Provision{
			Include: true, MaxBytes: 2 << 30, MaxFiles: 200_000, MinFree: "10%", Foreign: "ask", EnvFile: ".croft.env", Timeout: config.Duration(hour / 6), Wait: "all",
		},
		Ports:    config.Ports{Range: "20000-29999", Names: []string{}},
		StateDir: filepath.Join(p.home, ".local", "state", "croft"),
		DataDir:  filepath.Join(p.home, ".local", "share", "croft"),
	}
	set := p.load(config.Input{})
	if diff := cmp.Diff(want, set.Config()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if got := set.Warnings(); len(got) != 0 {
		t.Errorf("warnings without any file: %q", got)
	}
}

// TestConfigCarriesValues sets every key to a value that is not its default and checks the
// field in Config, so that no two keys share a field.
func TestConfigCarriesValues(t *testing.T) {
	p := newPlace(t)
	in := config.Input{Flags: map[string]string{
		"layout": "l", "path": "p", "branch": "b", "prefix": "x",
		"roles.dir": "d", "roles.files": "f, g",
		"limits.max_workers": "1", "limits.min_free_bytes": "2", "limits.min_free_inodes": "3",
		"trash.max_bytes": "7", "trash.max_inodes": "8", "trash.regenerable": "r, s", "trash.regenerable_after": "9h", "trash.saved_for": "10h", "trash.notice": "11h",
		"trash.retention": "4d", "snapshot.ignored": "*.log", "snapshot.secrets": ".token", "lease.ttl": "5s", "lease.max_ttl": "14h", "gc.auto": "false", "daemon.use": "never", "history.retention": "12h", "checkout.workers": "6", "checkout.links": "k", "checkout.sparse": "s", "checkout.scratch": ".k", "checkout.isolated_objects": "hardlink",
		"pool.size": "10", "pool.max_bytes": "11", "pool.max_inodes": "12",
		"git.path": filepath.Join(p.home, "git"), "git.filters": "h", "git.timeout": "13h", "git.fence": "off", "push.agents": "true",
		"merge.strategy": "squash", "merge.message": "m", "merge.checks": "make\ngo test", "merge.check_timeout": "1h",
		"merge.check_cache": "node_modules, a/b", "merge.check_env": "NPM_TOKEN", "merge.protect": "true", "merge.batch": "7", "merge.slots": "8",
		"commit.message": "c", "commit.max_bytes": "9", "commit.hold_back": "*.x",
		"containers.workdir": "/w",
		"provision.include":  "false", "provision.secrets": "true", "provision.submodules": "true", "provision.max_bytes": "1", "provision.max_files": "2", "provision.min_free": "3%",
		"provision.foreign": "off", "provision.links_file": "true", "provision.env_file": ".e", "provision.timeout": "4s", "provision.wait": "files", "ports.count": "5", "ports.range": "3000-4000", "ports.names": "a",
		"state_dir": "~/s", "data_dir": "~/t",
	}}
	if len(in.Flags) != len(config.Keys()) {
		t.Errorf("the test sets %d keys of %d", len(in.Flags), len(config.Keys()))
	}
	want := config.Config{
		Layout: "l", Path: "p", Branch: "b", Prefix: "x",
		Roles:  config.Roles{Dir: "d", Files: []string{"f", "g"}},
		Limits: config.Limits{MaxWorkers: 1, MinFreeBytes: 2, MinFreeInodes: 3},
		Trash: config.Trash{
			Retention: config.Duration(96 * hour), MaxBytes: 7, MaxInodes: 8, Regenerable: []string{"r", "s"},
			RegenerableAfter: config.Duration(9 * hour), SavedFor: config.Duration(10 * hour), Notice: config.Duration(11 * hour),
		},
		Containers: config.Containers{Workdir: "/w"},
		Provision:  config.Provision{Secrets: true, Submodules: true, MaxBytes: 1, MaxFiles: 2, MinFree: "3%", Foreign: "off", LinksFile: true, EnvFile: ".e", Timeout: config.Duration(hour / 900), Wait: "files"},
		Ports:      config.Ports{Count: 5, Range: "3000-4000", Names: []string{"a"}},
		Snapshot:   config.Snapshot{Ignored: []string{"*.log"}, Secrets: []string{".token"}},
		Lease:      config.Lease{TTL: config.Duration(hour / 720), MaxTTL: config.Duration(14 * hour)},
		History:    config.History{Retention: config.Duration(12 * hour)},
		Checkout:   config.Checkout{Workers: 6, Links: []string{"k"}, Sparse: []string{"s"}, Scratch: ".k", IsolatedObjects: "hardlink"},
		Pool:       config.Pool{Size: 10, MaxBytes: 11, MaxInodes: 12},
		Daemon:     config.Daemon{Use: "never"},
		Git:        config.Git{Path: filepath.Join(p.home, "git"), Filters: []string{"h"}, Timeout: config.Duration(13 * hour), Fence: "off"},
		Push:       config.Push{Agents: true},
		Merge: config.Merge{
			Strategy: "squash", Message: "m", Checks: []string{"make", "go test"}, CheckTimeout: config.Duration(hour),
			CheckCache: []string{"node_modules", "a/b"}, CheckEnv: []string{"NPM_TOKEN"}, Protect: true, Batch: 7, Slots: 8,
		},
		Commit:   config.Commit{Message: "c", MaxBytes: 9, HoldBack: []string{"*.x"}},
		StateDir: filepath.Join(p.home, "s"),
		DataDir:  filepath.Join(p.home, "t"),
	}
	if diff := cmp.Diff(want, p.load(in).Config()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValuesAreSortedAndComplete(t *testing.T) {
	var got, want []string
	for _, v := range newPlace(t).load(config.Input{}).Values() {
		got = append(got, v.Key)
	}
	for _, key := range config.Keys() {
		want = append(want, key.Name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys of Values (-want +got):\n%s", diff)
	}
}

func TestForRepoLeavesTheSetAlone(t *testing.T) {
	p, other := newPlace(t), newPlace(t)
	p.write(p.repoFile(), "layout = 'swarm'\nroles.files = ['A.md']\ngc.auto = false\n")
	base, err := config.Load(config.Input{Home: p.home})
	if err != nil {
		t.Fatal(err)
	}
	first := base.ForRepo(p.root)
	first.Config().Roles.Files[0] = "changed by a caller"
	second := first.ForRepo(other.root)
	if got := base.Config().Layout; got != "default" {
		t.Errorf("ForRepo changed the set that it was called on: layout %q", got)
	}
	if got := first.Config(); got.Layout != "swarm" || got.Roles.Files[0] != "A.md" {
		t.Errorf("the set of the first repository changed: %+v", got)
	}
	if got := second.Config().Layout; got != "default" || len(second.Warnings()) != 0 {
		t.Errorf("another repository inherits layout %q and warnings %q", got, second.Warnings())
	}
}

// TestAtTarget: the merge rules come from the target; variables and flags do not weaken
// them.
func TestAtTarget(t *testing.T) {
	p := newPlace(t)
	base, err := config.Load(config.Input{Home: p.home, Flags: map[string]string{"merge.checks": "true", "layout": "swarm"}})
	if err != nil {
		t.Fatal(err)
	}
	at, err := base.AtTarget("main:croft.toml", []byte("[merge]\nchecks = ['make test, all']\nslots = 9\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := at.Config()
	if diff := cmp.Diff([]string{"make test, all"}, got.Merge.Checks); diff != "" || got.Merge.Slots != 1 || got.Layout != "swarm" {
		t.Errorf("checks %q, slots %d, layout %q", got.Merge.Checks, got.Merge.Slots, got.Layout)
	}
	for value, want := range map[string]bool{"true": true, "false": false} {
		for name, in := range map[string]config.Input{
			"flag": {Home: p.home, Flags: map[string]string{"merge.protect": value}}, "variable": {Home: p.home, Environ: []string{"CROFT_MERGE_PROTECT=" + value}},
		} {
			set, err := config.Load(in)
			if err != nil {
				t.Fatal(err)
			}
			for text, targets := range map[string]bool{"": false, "[merge]\nprotect = true\n": true} {
				if at, err := set.AtTarget("main:croft.toml", []byte(text)); err != nil || at.Config().Merge.Protect != (want || targets) {
					t.Errorf("%s %s, target's %t: %v, %v", name, value, targets, at.Config().Merge.Protect, err)
				}
			}
		}
	}
	if none, err := base.AtTarget("main:croft.toml", nil); err != nil || len(none.Config().Merge.Checks) != 0 {
		t.Errorf("without a file: %v, %v", none.Config().Merge.Checks, err)
	}
	if _, err := base.AtTarget("main:croft.toml", []byte("[merge]\nchekcs = []\n")); err == nil {
		t.Error("a key of the gate that is not known was accepted")
	}
	if _, err := base.AtTarget("main:croft.toml", []byte("[merge]\nbatch = 'many'\n")); err == nil {
		t.Error("a value that cannot be used was accepted")
	}
	if _, err := base.AtTarget("main:croft.toml", []byte("newer = 1\n[newest]\nx = 1\n")); err != nil {
		t.Errorf("a key of a newer Croft outside of the gate: %v", err)
	}
}
