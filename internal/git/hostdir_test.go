package git

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/isolated"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
)

// raceRuns is how often a race is run.
func raceRuns() int {
	if os.Getenv("CROFT_LONG") != "" {
		return 1000
	}
	return 200
}

// swapper replaces a file by one text after the other, as fast as it can, until it is
// stopped.
func swapper(t *testing.T, file string, texts ...string) (stop func()) {
	t.Helper()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			tmp := file + ".swap"
			if os.WriteFile(tmp, []byte(texts[i%len(texts)]), 0o644) == nil {
				_ = os.Rename(tmp, file)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return func() { close(done); <-ended }
}

// TestConfigurationIsReadOnce replaces the repository's configuration, and that of the
// worktree, while Croft works: git never reads a version that Croft has not read.
func TestConfigurationIsReadOnce(t *testing.T) {
	v := newVictim(t)
	good := readFile(t, filepath.Join(v.Dir, ".git", "config"))
	bad := good + v.payload(t, "raced") + "[extensions]\n\tworktreeConfig = true\n[core]\n\thooksPath = " + v.Home + "/hp\n"
	v.hooks(t, v.Home+"/hp")
	stop := swapper(t, filepath.Join(v.Dir, ".git", "config"), good, bad)
	defer stop()
	stopOwn := swapper(t, filepath.Join(v.wt.Admin, "config.worktree"), "", v.payload(t, "raced-own"))
	defer stopOwn()
	signature := object.Commit{Signature: object.Signature("A <a@b>", time.Unix(1, 0)), Message: "m"}
	for i := range raceRuns() {
		gittest.WriteFile(t, filepath.Join(v.wt.Path, "src/main.txt"), fmt.Sprintf("one\n%d\nthree\n", i))
		switch i % 4 {
		case 0:
			_, _ = v.wt.CommitWork(t.Context(), Work{Branch: onBranch(t, v.wt), Paths: []string{"src/main.txt"}, Commit: signature})
		case 1:
			_, _ = v.wt.Modified(t.Context(), "src/main.txt")
		default:
			_ = drain(v.wt.Status(t.Context(), UntrackedAll, RefreshNothing))
		}
		if ran := v.sang(t); len(ran) > 0 {
			t.Fatalf("run %d: %v ran", i, ran)
		}
	}
}

func TestPinnedKeysKeepTheirValues(t *testing.T) {
	for key, value := range map[string]string{
		"user.name": "Mallory", "user.email": "m@x", "user.signingkey": "/evil", "commit.gpgsign": "true", "gpg.format": "ssh",
		"author.name": "Mallory", "core.sharedRepository": "world", "extensions.noop": "x", "core.repositoryFormatVersion": "1",
		"core.sparseCheckout": "true", "lfs.url": "https://evil",
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			repo := open(t, r)
			w := addWorktree(t, r, repo, "wt")
			before := readFile(t, filepath.Join(repo.HostDir(), "config"))
			r.Git("config", key, value)
			err := repo.CheckConfig()
			changed, ok := errors.AsType[*gitcmd.ConfigChangedError](err)
			if !ok || len(changed.Changes) != 1 || !strings.EqualFold(changed.Changes[0].Key, key) || !slices.Equal(changed.Changes[0].Now, []string{value}) {
				t.Fatalf("%v (%+v), want the key", err, changed)
			}
			if readFile(t, filepath.Join(repo.HostDir(), "config")) != before {
				t.Error("git sees it before anybody accepted it")
			}
			head := r.Git("rev-parse", "wt")
			gittest.WriteFile(t, filepath.Join(w.Path, "new.txt"), "new\n")
			_, err = w.CommitWork(t.Context(), Work{Branch: onBranch(t, w), Paths: []string{"new.txt"}, Commit: object.Commit{Signature: object.Signature("A <a@b>", time.Unix(1, 0)), Message: "m"}})
			if !errors.As(err, &changed) || r.Git("rev-parse", "wt") != head {
				t.Errorf("a commit was made: %v", err)
			}
			if got := statusOf(t, w, UntrackedAll); !slices.Equal(got, []string{"?? new.txt"}) {
				t.Errorf("it cannot be read any more: %q", got)
			}
			report, err := repo.ConfigReport()
			if err != nil {
				t.Fatal(err)
			}
			r.Git("config", "user.useConfigOnly", "true")
			if err := repo.AcceptConfig(report); err == nil {
				t.Error("something was accepted that nobody saw")
			}
			r.Git("config", "--unset", "user.useConfigOnly")
			if err := errors.Join(repo.AcceptConfig(report), repo.CheckConfig()); err != nil {
				t.Errorf("accepted, and still: %v", err)
			}
		})
	}
}

func TestAnotherAddressIsNotFetchedFrom(t *testing.T) {
	r := gittest.New(t)
	r.Git("clone", "--quiet", "--bare", r.Dir, r.Beside("remote.git"))
	r.Git("remote", "add", "origin", r.Beside("remote.git"))
	repo := open(t, r)
	if err := repo.Fetch(t.Context(), "origin"); err != nil {
		t.Fatal(err)
	}
	r.Git("config", "remote.origin.url", r.Beside("evil.git"))
	var changed *gitcmd.ConfigChangedError
	if err := repo.Fetch(t.Context(), "origin"); !errors.As(err, &changed) || changed.Changes[0].Key != "remote.origin.url" {
		t.Errorf("%v, want the key", err)
	}
	if err := repo.CheckConfig(); err != nil {
		t.Errorf("an address keeps Croft from working: %v", err)
	}
}

// TestUnapprovedFilterStoresNothing: content for which the repository names a filter that
// may not run is neither stored unfiltered nor written.
func TestUnapprovedFilterStoresNothing(t *testing.T) {
	for name, define := range map[string]func(r *gittest.Repo, command string){
		"config":  func(r *gittest.Repo, command string) { r.Git("config", "filter.shout.clean", command) },
		"process": func(r *gittest.Repo, command string) { r.Git("config", "filter.shout.process", command) },
		"include": func(r *gittest.Repo, command string) {
			gittest.WriteFile(t, filepath.Join(r.Dir, "shared.cfg"), "[filter \"shout\"]\n\tclean = "+command+"\n")
			r.Git("config", "include.path", "../shared.cfg")
		},
		"includeIf": func(r *gittest.Repo, command string) {
			gittest.WriteFile(t, filepath.Join(r.Dir, "shared.cfg"), "[filter \"shout\"]\n\tclean = "+command+"\n")
			r.Git("config", "includeIf.gitdir:**.path", "../shared.cfg")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			r.Write(".gitattributes", "*.shout filter=shout\n")
			r.Commit("attributes")
			repo := open(t, r)
			w := addWorktree(t, r, repo, "wt")
			command := script(t, filepath.Join(r.Home, "shout"), "tr a-z A-Z")
			define(r, command)
			gittest.WriteFile(t, filepath.Join(w.Path, "a.shout"), "loud\n")
			head := r.Git("rev-parse", "wt")
			commit := func() error {
				_, err := w.CommitWork(t.Context(), Work{Branch: onBranch(t, w), Paths: []string{"a.shout"}, Commit: object.Commit{Signature: object.Signature("A <a@b>", time.Unix(1, 0)), Message: "m"}})
				return err
			}
			if err := commit(); !errors.Is(err, gitcmd.KindFilter) || r.Git("rev-parse", "wt") != head {
				t.Fatalf("commit: %v, want KindFilter", err)
			}
			if name == "process" {
				return // a filter process cannot be a script
			}
			report, err := repo.ConfigReport()
			if err != nil || len(report.Filters) != 1 || !slices.Equal(report.Filters[0].Now, []string{command}) {
				t.Fatalf("%+v, %v", report, err)
			}
			if err := errors.Join(repo.AcceptConfig(report), commit()); err != nil {
				t.Fatal(err)
			}
			if got := r.Git("show", "wt:a.shout"); got != "LOUD" {
				t.Errorf("an accepted filter stored %q", got)
			}
			if name != "config" {
				return
			}
			define(r, command+"; true")
			gittest.WriteFile(t, filepath.Join(w.Path, "a.shout"), "louder\n")
			if err := commit(); !errors.Is(err, gitcmd.KindFilter) {
				t.Errorf("with another command: %v, want KindFilter", err)
			}
		})
	}
}

// TestLinksAreNotWrittenThrough: Croft writes its files in the common directory through no
// link.
func TestLinksAreNotWrittenThrough(t *testing.T) {
	for _, name := range []string{"config", "croft", "croft/exclude", "info/exclude", "info"} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			repo := open(t, r)
			addWorktree(t, r, repo, "wt")
			precious := filepath.Join(r.Home, "precious")
			file := filepath.Join(r.Dir, ".git", filepath.FromSlash(name))
			if info, err := os.Stat(file); err == nil && info.IsDir() || name == "croft" {
				if err := os.Mkdir(precious, 0o755); err != nil {
					t.Fatal(err)
				}
			} else {
				gittest.WriteFile(t, precious, "[core]\n")
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.RemoveAll(file), os.Symlink(precious, file)); err != nil {
				t.Fatal(err)
			}
			err := repo.LocalExclude(t.Context(), "croft-*", []string{"/CLAUDE.md"})
			if strings.HasPrefix(name, "info") {
				err = repo.Exclude("/x/")
			}
			if err == nil || !errors.Is(err, fsx.ErrNotPlain) && !errors.Is(err, fsx.ErrNotRegular) {
				t.Errorf("%v, want a refusal", err)
			}
			if info, _ := os.Stat(precious); info.IsDir() && len(entriesOf(t, precious)) > 0 || !info.IsDir() && readFile(t, precious) != "[core]\n" {
				t.Error("it was written through the link")
			}
		})
	}
}

// TestSelfTest: Croft does not use a git that reads other configuration than it is given.
func TestSelfTest(t *testing.T) {
	r := gittest.New(t)
	for name, text := range map[string]string{
		"the common directory": `unset GIT_COMMON_DIR; exec git "$@"`,
		"hooks":                `exec git -c core.hooksPath="${GIT_OBJECT_DIRECTORY%/objects}/hooks" "$@"`,
	} {
		wrapper := script(t, filepath.Join(r.Home, "wrapped"), text)
		repo := open(t, r, func(o *gitcmd.Options) {
			o.Path, o.ConfigDir = wrapper, filepath.Join(r.Home, "state", name)
		})
		for range 2 {
			if _, err := repo.Refs(t.Context()); !errors.Is(err, gitcmd.ErrUnsafeGit) {
				t.Errorf("%s: %v, want ErrUnsafeGit", name, err)
			}
		}
	}
	repo := open(t, r)
	if _, err := repo.Refs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(repo.Git.Options.ConfigDir, "selftest-*")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// TestMergesIgnoreAttributesInGitDirectory: a .gitattributes file in the common directory
// itself has no effect on merges.
func TestMergesIgnoreAttributesInGitDirectory(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	r.Git("branch", "other")
	r.Write("README.md", "mine\n")
	mine := r.Commit("mine")
	r.Git("switch", "--quiet", "other")
	r.Write("README.md", "theirs\n")
	theirs := r.Commit("theirs")
	gittest.WriteFile(t, filepath.Join(r.Dir, ".git", ".gitattributes"), "* merge=union\n")
	a, err := repo.OpenMergeTree(writers.OnDisk)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if m, err := a.Merge(t.Context(), mine, theirs); err != nil || m.IsClean() {
		t.Errorf("%+v, %v: the conflict was merged away", m, err)
	}
}

func TestMainDirectoryLeadsNowhere(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	other := gittest.New(t)
	gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "commondir"), other.Dir+"/.git\n")
	if _, err := repo.Refs(t.Context()); !errors.Is(err, gitcmd.ErrForeignAdmin) {
		t.Errorf("%v, want ErrForeignAdmin", err)
	}
}

func TestHostDirectoryIsPrivate(t *testing.T) {
	r := gittest.New(t)
	r.Git("config", "core.fsmonitor", "evil")
	r.Git("config", "include.path", "evil")
	repo := open(t, r)
	if _, err := repo.Refs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(repo.HostDir()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if text := readFile(t, filepath.Join(repo.HostDir(), "config")); strings.Contains(text, "evil") {
		t.Errorf("it has\n%s", text)
	}
	report, err := repo.ConfigReport()
	if want := []string{"core.fsmonitor", "include.path"}; err != nil || !slices.Equal(report.Ignored, want) {
		t.Errorf("ignored %q, %v, want %q", report.Ignored, err, want)
	}
}

// TestHostDirectoryFollows has several processes see one change of the configuration after
// the other.
func TestHostDirectoryFollows(t *testing.T) {
	r := gittest.New(t)
	one, two := open(t, r), open(t, r)
	eol := func(repo *Repository, want string) {
		t.Helper()
		if _, err := repo.EnsureHostDir(); err != nil {
			t.Fatal(err)
		}
		if text := readFile(t, filepath.Join(repo.HostDir(), "config")); strings.Contains(text, "eol = \"crlf\"") != (want == "crlf") {
			t.Errorf("want eol %q:\n%s", want, text)
		}
	}
	eol(one, "")
	config := filepath.Join(r.Dir, ".git", "config")
	before := readFile(t, config)
	r.Git("config", "core.eol", "crlf")
	eol(two, "crlf")
	gittest.WriteFile(t, config, before)
	eol(one, "")
	gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "info", "exclude"), "*.log\n")
	gittest.WriteFile(t, filepath.Join(r.Dir, "debug.log"), "")
	if got := statusOf(t, two.Main(), UntrackedAll); len(got) > 0 {
		t.Errorf("status: %q", got)
	}
	if err := os.RemoveAll(one.HostDir()); err != nil {
		t.Fatal(err)
	}
	if got := statusOf(t, one.Main(), UntrackedAll); len(got) > 0 {
		t.Errorf("without the directory: %q", got)
	}
}

func TestUnknownExtensionIsRefused(t *testing.T) {
	r := gittest.New(t)
	r.Git("config", "core.repositoryFormatVersion", "1")
	r.Git("config", "extensions.fromTheFuture", "true")
	var unknown *gitconfig.UnknownExtensionError
	if _, err := open(t, r).Refs(t.Context()); !errors.As(err, &unknown) || unknown.Name != "fromthefuture" {
		t.Errorf("%v, want an UnknownExtensionError", err)
	}
}

// TestSignedCommitIsGits signs a commit with a key of the user's, as plain git does, and
// with one that the repository pinned.
func TestSignedCommitIsGits(t *testing.T) {
	r := gittest.New(t)
	key := filepath.Join(r.Home, "key")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key).CombinedOutput(); err != nil {
		t.Skipf("no ssh-keygen: %v: %s", err, out)
	}
	for _, where := range []string{"--global", "--local"} {
		r.Git("config", where, "gpg.format", "ssh")
		r.Git("config", where, "user.signingKey", key)
		r.Git("config", where, "commit.gpgSign", "true")
		repo := open(t, r, func(o *gitcmd.Options) { o.ConfigDir = filepath.Join(r.Home, "state", where) })
		id, err := repo.Identity(t.Context())
		if err != nil || !id.Signs {
			t.Fatalf("%s: %+v, %v", where, id, err)
		}
		head := r.Git("rev-parse", "HEAD")
		at := object.Signature(id.Author, time.Unix(1_600_000_000, 0).UTC())
		oid, err := repo.CommitSigned(t.Context(), object.Commit{Tree: r.Git("rev-parse", "HEAD^{tree}"), Parents: []string{head}, Author: at, Signature: at, Message: "signed"}, gitcmd.Call{})
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		name, address, _ := strings.Cut(strings.TrimSuffix(id.Author, ">"), " <")
		plain := *r
		plain.Env = append(slices.Clone(r.Env), "GIT_AUTHOR_DATE=1600000000 +0000", "GIT_COMMITTER_DATE=1600000000 +0000",
			"GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+address, "GIT_COMMITTER_NAME="+name, "GIT_COMMITTER_EMAIL="+address)
		if want := plain.Git("commit-tree", "-S", "-p", head, "-m", "signed", "HEAD^{tree}"); oid != want {
			t.Errorf("%s: %s, want %s:\n%s", where, r.Git("cat-file", "commit", oid), want, r.Git("cat-file", "commit", want))
		}
	}
}

// TestSparsePerCheckout: a checkout of Croft's has the sparse settings of its agent; the
// main checkout has those that it had when Croft first saw it.
func TestSparsePerCheckout(t *testing.T) {
	for _, mode := range []string{"--cone", "--no-cone"} {
		t.Run(mode, func(t *testing.T) {
			r := gittest.New(t)
			r.Write("a/x", "x\n")
			r.Write("b/y", "y\n")
			r.Commit("files")
			r.Git("sparse-checkout", "set", mode, "a")
			repo := open(t, r)
			w := addWorktree(t, r, repo, "wt")
			if !exists(filepath.Join(w.Path, "a", "x")) || exists(filepath.Join(w.Path, "b", "y")) {
				t.Error("the checkout is not sparse as the main one is")
			}
			if got := statusOf(t, w, UntrackedAll); len(got) > 0 {
				t.Errorf("status: %q", got)
			}
			r.GitIn(w.Path, "sparse-checkout", "set", mode, "b")
			if err := w.Checkout(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if exists(filepath.Join(w.Path, "a", "x")) || !exists(filepath.Join(w.Path, "b", "y")) || len(statusOf(t, w, UntrackedAll)) > 0 {
				t.Error("the checkout is not as its agent has it")
			}
			if err := repo.CheckConfig(); err != nil {
				t.Error(err)
			}
			r.Git("sparse-checkout", "disable")
			var changed *gitcmd.ConfigChangedError
			if err := repo.CheckConfig(); !errors.As(err, &changed) {
				t.Errorf("%v, want a ConfigChangedError", err)
			}
			r.Git("worktree", "add", "--quiet", "-b", "foreign", r.Beside("foreign"))
			foreign := filepath.Join(repo.CommonDir, "worktrees", "foreign")
			sparse := func(gitDir string) bool {
				h, err := repo.EnsureHostDir()
				if err != nil {
					t.Fatal(err)
				}
				kv, err := repo.CheckoutConfig(h, gitDir)
				return err == nil && slices.Contains(kv, [2]string{"core.sparsecheckout", "true"})
			}
			if !sparse(repo.CommonDir) || sparse(foreign) {
				t.Error("the main checkout is not sparse as it was, or another one is")
			}
			r.GitIn(r.Beside("foreign"), "sparse-checkout", "set", mode, "a")
			if sparse(foreign) {
				t.Error("somebody's checkout is sparse as nobody accepted it")
			}
		})
	}
}

// onBranch returns the branch that a worktree has checked out.
func onBranch(t *testing.T, w *Worktree) string {
	t.Helper()
	branch, _, err := w.Repo.RefSnapshot().Head(w.Admin)
	if err != nil {
		t.Fatal(err)
	}
	return branch
}

func entriesOf(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestReftable has the refs in a format that only git reads.
func TestReftable(t *testing.T) {
	r := gittest.New(t)
	dir := r.Beside("reftable")
	if _, err := r.TryGit(filepath.Dir(dir), "init", "--quiet", "--ref-format=reftable", "--initial-branch=main", dir); err != nil {
		t.Skip("this git knows no reftable")
	}
	r.Dir = dir
	r.Write("README.md", "# app\n")
	head := r.Commit("first")
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	if got := plainStatus(t, r, w.Path); len(got) > 0 || r.GitIn(w.Path, "rev-parse", "HEAD") != head {
		t.Errorf("plain git has %q there", got)
	}
	gittest.WriteFile(t, filepath.Join(w.Path, "new"), "new\n")
	oid, err := w.CommitWork(t.Context(), Work{Branch: "wt", Paths: []string{"new"}, Commit: object.Commit{Signature: object.Signature("A <a@b>", time.Unix(1, 0)), Message: "m"}})
	if err != nil || r.Git("rev-parse", "wt") != oid {
		t.Errorf("%s, %v", oid, err)
	}
	if list, err := repo.List(t.Context()); err != nil || len(list) != 2 || list[1].Branch != "wt" || list[1].Head != oid {
		t.Errorf("%+v, %v", list, err)
	}
	if out := r.Git("fsck", "--strict"); out != "" {
		t.Error(out)
	}
}

// TestPartialClone: missing objects are fetched from the remote that was configured when
// Croft first saw the repository.
func TestPartialClone(t *testing.T) {
	r := gittest.New(t)
	r.Git("config", "uploadpack.allowFilter", "true")
	r.Git("config", "uploadpack.allowAnySHA1InWant", "true")
	r.Git("config", "--global", "protocol.file.allow", "always")
	partial := r.Beside("partial")
	r.Git("clone", "--quiet", "--filter=blob:none", "--no-checkout", "file://"+r.Dir, partial)
	r.Dir = partial
	repo := open(t, r)
	if err := repo.CanIsolate(); !errors.Is(err, isolated.ErrCannotIsolate) {
		t.Errorf("CanIsolate: %v", err)
	}
	w := addWorktree(t, r, repo, "wt")
	if got := readFile(t, filepath.Join(w.Path, "README.md")); got != "# app\n" {
		t.Errorf("the file is %q", got)
	}
}
