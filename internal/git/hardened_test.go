package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/writers"
)

// TestInheritedVariablesHaveNoEffect runs with every variable that configures git pointing
// at another repository, as inside a hook, or at a program.
func TestInheritedVariablesHaveNoEffect(t *testing.T) {
	r := gittest.New(t)
	decoy := gittest.New(t)
	decoy.Git("branch", "decoy")
	canary := filepath.Join(r.Home, "canary")
	evil := script(t, filepath.Join(r.Home, "evil"), "touch "+canary)
	repo := open(t, r, func(o *gitcmd.Options) {
		o.Environ = append(slices.Clone(o.Environ),
			"GIT_DIR="+decoy.Dir+"/.git", "GIT_WORK_TREE="+decoy.Dir, "GIT_COMMON_DIR="+decoy.Dir+"/.git",
			"GIT_INDEX_FILE="+decoy.Dir+"/.git/index", "GIT_OBJECT_DIRECTORY="+decoy.Dir+"/.git/objects",
			"GIT_ALTERNATE_OBJECT_DIRECTORIES="+decoy.Dir+"/.git/objects", "GIT_NAMESPACE=decoy", "GIT_CEILING_DIRECTORIES=/",
			"GIT_PREFIX=src/", "GIT_QUARANTINE_PATH="+decoy.Dir, "GIT_INTERNAL_SUPER_PREFIX=src/", "GIT_LITERAL_PATHSPECS=0",
			"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0="+evil,
			"GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1="+filepath.Dir(evil),
			"GIT_CONFIG_PARAMETERS='core.fsmonitor="+evil+"'", "GIT_CONFIG="+evil,
			"GIT_EXTERNAL_DIFF="+evil, "GIT_PAGER="+evil, "GIT_EDITOR="+evil, "GIT_TRACE="+canary, "GIT_TRACE2="+canary,
			"git_dir="+decoy.Dir+"/.git", "PAGER="+evil, "EDITOR="+evil, "LC_ALL=xx_XX", "LANGUAGE=de",
			"GIT_EXEC_PATH=/nonexistent", "GIT_TEMPLATE_DIR="+decoy.Dir, "GIT_OPTIONAL_LOCKS=1", "GIT_DEFAULT_HASH=sha256",
		)
	})
	w := addWorktree(t, r, repo, "wt")
	gittest.WriteFile(t, filepath.Join(w.Path, "README.md"), "changed\n")
	if got, want := statusOf(t, w, UntrackedAll), []string{".M README.md"}; !slices.Equal(got, want) {
		t.Errorf("status: %q, want %q", got, want)
	}
	if err := repo.UpdateRefs(t.Context(), refs.Update{Ref: "refs/croft/x", New: r.Git("rev-parse", "HEAD")}); err != nil {
		t.Error(err)
	}
	if refs, err := repo.Refs(t.Context(), "refs/"); err != nil || len(refs) != 3 {
		t.Errorf("refs: %v, %v, want those of this repository: main, wt and the new one", refs, err)
	}
	if out := decoy.Git("for-each-ref", "refs/croft"); out != "" {
		t.Errorf("the other repository got %s", out)
	}
	if exists(canary) {
		t.Error("a program or a trace of the environment ran")
	}
}

// TestNetworkCallsHaveTheUsersCredentials checks the environment and the configuration of a
// git.
func TestNetworkCallsHaveTheUsersCredentials(t *testing.T) {
	r := gittest.New(t)
	r.Git("config", "--global", "core.sshCommand", "ssh -i ~/.ssh/work")
	r.Git("config", "--global", "credential.helper", "store")
	r.Git("config", "--global", "credential.https://example.com.helper", "!mine")
	r.Git("config", "credential.helper", "!evil")
	r.Git("config", "core.sshCommand", "evil")
	r.Git("config", "core.askPass", "evil")
	repo := open(t, r, func(o *gitcmd.Options) {
		o.Environ = append(slices.Clone(o.Environ), "GIT_ASKPASS=ask", "GIT_SSH_COMMAND=mine", "SSH_ASKPASS=window")
	})
	seen := func(network bool) (env []string, pairs []string) {
		env, err := repo.Git.HardenedEnviron(t.Context(), gitcmd.Target{Repo: repo.Core()}, gitcmd.Call{Network: network})
		if err != nil {
			t.Fatal(err)
		}
		for i, kv := range env {
			if key, ok := strings.CutPrefix(kv, "GIT_CONFIG_KEY_"); ok {
				_, key, _ := strings.Cut(key, "=")
				_, value, _ := strings.Cut(env[i+1], "=")
				if strings.HasPrefix(key, "credential.") || key == "core.sshCommand" || key == "core.askPass" {
					pairs = append(pairs, key+"="+value)
				}
			}
		}
		return env, pairs
	}
	env, pairs := seen(true)
	want := []string{
		"core.sshCommand=ssh -i ~/.ssh/work", "core.askPass=window",
		"credential.helper=", "credential.helper=store", "credential.https://example.com.helper=!mine",
	}
	if diff := cmp.Diff(want, pairs); diff != "" {
		t.Errorf("with the network (-want +got):\n%s", diff)
	}
	if !slices.Contains(env, "GIT_ASKPASS=ask") || !slices.Contains(env, "GIT_SSH_COMMAND=mine") {
		t.Errorf("the user's variables are missing: %q", env)
	}
	env, pairs = seen(false)
	if diff := cmp.Diff([]string{"core.sshCommand=ssh", "core.askPass=", "credential.helper="}, pairs); diff != "" {
		t.Errorf("without the network (-want +got):\n%s", diff)
	}
	if slices.Contains(env, "GIT_ASKPASS=ask") {
		t.Error("a call without the network got the user's GIT_ASKPASS")
	}
}

func TestRedirectedWorkTreeIsNotFollowed(t *testing.T) {
	for _, where := range []string{"config", "config.worktree of main", "config.worktree of the worktree"} {
		t.Run(where, func(t *testing.T) {
			r := gittest.New(t)
			repo := open(t, r)
			w := addWorktree(t, r, repo, "wt")
			precious := filepath.Join(r.Home, "precious")
			gittest.WriteFile(t, filepath.Join(precious, "README.md"), "precious\n")
			redirect := "[core]\n\tworktree = " + precious + "\n"
			switch where {
			case "config":
				r.Git("config", "core.worktree", precious)
			case "config.worktree of main":
				r.Git("config", "extensions.worktreeConfig", "true")
				gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "config.worktree"), redirect)
			default:
				r.Git("config", "extensions.worktreeConfig", "true")
				gittest.WriteFile(t, filepath.Join(w.Admin, "config.worktree"), redirect)
			}
			gittest.WriteFile(t, filepath.Join(w.Path, "README.md"), "changed\n")
			if got, want := statusOf(t, w, UntrackedAll), []string{".M README.md"}; !slices.Equal(got, want) {
				t.Errorf("status: %q, want %q", got, want)
			}
			if err := w.Checkout(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if got := readFile(t, filepath.Join(w.Path, "README.md")); got != "# app\n" {
				t.Errorf("the worktree has %q", got)
			}
			if got := files(t, precious); len(got) != 1 || !strings.HasSuffix(got["README.md"], "precious\n") {
				t.Errorf("the other directory was written: %q", got)
			}
			place, err := gitdir.Discover(w.Path)
			if err != nil || place.Root != r.Dir {
				t.Errorf("from the worktree the main checkout is %q, %v; want %q", place.Root, err, r.Dir)
			}
		})
	}
}

// TestBareByAccident: a git that runs in a hook's environment can leave core.bare behind,
// which stops plain git in all checkouts.
func TestBareByAccident(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	r.Git("config", "core.bare", "true")
	gittest.WriteFile(t, filepath.Join(w.Path, "new"), "")
	if got, want := statusOf(t, w, UntrackedAll), []string{"?? new"}; !slices.Equal(got, want) {
		t.Errorf("status: %q, want %q", got, want)
	}
	if err := w.Checkout(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

func TestHistoryCannotBeForged(t *testing.T) {
	r := gittest.New(t)
	first := r.Git("rev-parse", "HEAD")
	r.Git("checkout", "--quiet", "--orphan", "other")
	other := r.Commit("unrelated")
	r.Git("replace", "--graft", other, first)
	gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "info", "grafts"), other+" "+first+"\n")
	if _, err := r.TryGit(r.Dir, "merge-base", "--is-ancestor", first, other); err != nil {
		t.Fatalf("plain git is not deceived: %v", err)
	}
	repo := open(t, r)
	if yes, err := repo.IsAncestor(t.Context(), first, other); yes || err != nil {
		t.Errorf("IsAncestor = %v, %v: it believes a replacement or a graft", yes, err)
	}
	if ahead, behind, err := repo.AheadBehind(t.Context(), first, other); ahead != 1 || behind != 1 || err != nil {
		t.Errorf("AheadBehind = %d, %d, %v, want 1, 1", ahead, behind, err)
	}
	o, err := repo.Read(t.Context(), other)
	if err != nil || strings.Contains(string(o.Data), "parent") {
		t.Errorf("Read gives the replacement: %q, %v", o.Data, err)
	}
}

func TestForeignAdminDirectory(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	other := gittest.New(t)
	for name, text := range map[string]string{
		"another repository": other.Dir + "/.git\n", "empty": "", "nowhere": "/nonexistent\n",
	} {
		gittest.WriteFile(t, filepath.Join(w.Admin, "commondir"), text)
		for _, err := range w.Status(t.Context(), UntrackedAll, RefreshNothing) {
			if !errors.Is(err, gitcmd.ErrForeignAdmin) {
				t.Errorf("%s: %v, want ErrForeignAdmin", name, err)
			}
		}
		if err := w.Checkout(t.Context(), 1); !errors.Is(err, gitcmd.ErrForeignAdmin) {
			t.Errorf("%s: %v, want ErrForeignAdmin", name, err)
		}
	}
	gittest.WriteFile(t, filepath.Join(w.Admin, "commondir"), filepath.Join(r.Dir, ".git")+"\n")
	if err := w.Checkout(t.Context(), 1); err != nil {
		t.Errorf("with the absolute path of the right one: %v", err)
	}
}

// TestAllowedFilterRunsExactly: a filter of the repository's runs if the user allowed
// exactly its command, and not another command under the same name.
func TestAllowedFilterRunsExactly(t *testing.T) {
	r := gittest.New(t)
	command := filepath.Join(r.Home, "crypt")
	repo := open(t, r, func(o *gitcmd.Options) { o.Filters = []string{command} })
	r.Write(".gitattributes", "*.txt filter=crypt\n")
	r.Commit("attributes")
	w := addWorktree(t, r, repo, "wt")
	canary := filepath.Join(r.Home, "canary")
	r.Git("config", "filter.crypt.clean", script(t, command, "touch "+canary+"; cat"))
	gittest.WriteFile(t, filepath.Join(w.Path, "src/main.txt"), "one\nTWO\nthree\n") // of the same size, so that git reads it
	statusOf(t, w, UntrackedAll)
	if !exists(canary) {
		t.Error("an allowed filter did not run")
	}
	if err := os.Remove(canary); err != nil {
		t.Fatal(err)
	}
	r.Git("config", "filter.crypt.clean", command+" more")
	gittest.WriteFile(t, filepath.Join(w.Path, "src/main.txt"), "one\nTwo\nthree\n")
	if err := drain(w.Status(t.Context(), UntrackedAll, RefreshNothing)); !errors.Is(err, gitcmd.KindFilter) {
		t.Errorf("a filter that nobody allowed: %v, want KindFilter", err)
	}
	if exists(canary) {
		t.Error("a filter that nobody allowed ran")
	}
}

// TestHardenedOptions: every call gets these options, whatever the repository says: no
// grafts, no server, no fetching of missing objects, and no commit-graph where history
// decides.
func TestHardenedOptions(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	tells := func(repo *Repository, c gitcmd.Call) map[string]string {
		t.Helper()
		cmd, err := repo.Git.Command(t.Context(), gitcmd.Target{Repo: repo.Core()}, c)
		if err != nil {
			t.Fatal(err)
		}
		told := map[string]string{}
		for _, kv := range cmd.Env {
			name, value, _ := strings.Cut(kv, "=")
			if key, ok := strings.CutPrefix(name, "GIT_CONFIG_KEY_"); ok {
				name, value = value, environOf(cmd.Env, "GIT_CONFIG_VALUE_"+key)
			}
			told[name] = value
		}
		return told
	}
	for _, c := range []gitcmd.Call{{Args: []string{"status"}}, {Args: []string{"merge-tree", "a", "b"}}, {Args: []string{"reset"}, Locks: true}} {
		told := tells(repo, c)
		if told["GIT_GRAFT_FILE"] != writers.NoGrafts || told["GIT_ALLOW_PROTOCOL"] != "none" || told["GIT_NO_LAZY_FETCH"] != "1" || told["GIT_NO_REPLACE_OBJECTS"] != "1" {
			t.Errorf("git %v is told %v", c.Args, told)
		}
	}
	for _, verb := range []string{"merge-base", "merge-tree", "rev-list", "cherry", "log"} {
		told := tells(repo, gitcmd.Call{Args: []string{verb}})
		if told["core.commitGraph"] != "false" || told["core.multiPackIndex"] != "false" {
			t.Errorf("git %s is told %v", verb, told)
		}
	}
	if told := tells(repo, gitcmd.Call{Args: []string{"fetch"}, Network: true}); strings.Contains(told["GIT_ALLOW_PROTOCOL"], "ext") || told["GIT_ALLOW_PROTOCOL"] == "none" {
		t.Errorf("a fetch is told %v", told)
	}
	// A partial clone may fetch missing objects, by the same protocols.
	lacking := gittest.New(t)
	lacking.Git("config", "core.repositoryFormatVersion", "1")
	lacking.Git("config", "extensions.partialClone", "origin")
	if told := tells(open(t, lacking), gitcmd.Call{Args: []string{"status"}}); told["GIT_NO_LAZY_FETCH"] != "" || told["GIT_ALLOW_PROTOCOL"] != "file:https:ssh" {
		t.Errorf("in a partial clone git is told %v", told)
	}
}

func environOf(env []string, name string) string {
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// TestSettingsThatAreNotCopied: a remote whose transport is a program, a remote that looks
// like an option, and protections that are switched off.
func TestSettingsThatAreNotCopied(t *testing.T) {
	r := gittest.New(t)
	for key, value := range map[string]string{
		"remote.ext.url": "ext::sh -c evil", "remote.option.url": "--upload-pack=evil", "remote.good.url": "https://example.com/x",
		"remote.lfs.lfsurl": "ext::evil", "core.protectNTFS": "false", "core.protectHFS": "true",
	} {
		r.Git("config", key, value)
	}
	repo := open(t, r)
	if _, err := repo.RunGit(t.Context(), "rev-parse", "HEAD"); err != nil {
		t.Fatal(err)
	}
	carried := strings.ToLower(readFile(t, filepath.Join(repo.HostDir(), "config")))
	for _, bad := range []string{"ext::", "upload-pack", "protectntfs"} {
		if strings.Contains(carried, bad) {
			t.Errorf("%s is carried:\n%s", bad, carried)
		}
	}
	for _, good := range []string{"https://example.com/x", "protecthfs"} {
		if !strings.Contains(carried, good) {
			t.Errorf("%s is not carried:\n%s", good, carried)
		}
	}
}

// TestForgedOffsetTable: git can be told by the repository's configuration to read an index on several threads, and then
// believes the index as to how many entries each thread reads. An agent writes both.
func TestForgedOffsetTable(t *testing.T) {
	r := gittest.New(t)
	for i := range 200 {
		r.Write(fmt.Sprintf("d%d/f%d", i%7, i), "x\n")
	}
	r.Commit("many")
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	r.Git("config", "index.threads", "4")
	r.Git("config", "--global", "index.threads", "4")
	r.GitIn(w.Path, "update-index", "--force-write-index")
	file := filepath.Join(w.Admin, "index")
	data := []byte(readFile(t, file))
	at := bytes.Index(data, []byte("IEOT"))
	if at < 0 {
		t.Fatal("git wrote no table of offsets")
	}
	// The signature, a size and a version; then an offset and a number for each block.
	size := int(binary.BigEndian.Uint32(data[at+4:]))
	for block := at + 12; block+8 <= at+8+size; block += 8 {
		binary.BigEndian.PutUint32(data[block+4:], 1<<24)
	}
	gittest.WriteFile(t, file, string(data))
	if out, err := r.TryGit(w.Path, "status", "--porcelain"); err == nil {
		t.Logf("this git believes no table: %q", out)
	}
	gittest.WriteFile(t, filepath.Join(w.Path, "README.md"), "changed\n")
	if got, want := statusOf(t, w, UntrackedAll), []string{".M README.md"}; !slices.Equal(got, want) {
		t.Errorf("status: %q, want %q", got, want)
	}
}
