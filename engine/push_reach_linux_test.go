package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// hooked makes a bare repository whose hook keeps the environment that it is given.
func hooked(t *testing.T, r *gittest.Repo, name string) (bare, env string) {
	t.Helper()
	bare, env = r.Beside(name), filepath.Join(r.Home, name+".env")
	r.Git("init", "--quiet", "--bare", "-b", "main", bare)
	hook := filepath.Join(bare, "hooks", "pre-receive")
	gittest.WriteFile(t, hook, "#!/bin/sh\nenv >"+env+"\n")
	if err := os.Chmod(hook, 0o700); err != nil {
		t.Fatal(err)
	}
	return bare, env
}

// TestPushShowsHooksNoSecrets: the hooks of a repository at a path, which run as the user, are not given
// what belongs to other remotes: neither in a variable of Croft's nor in a setting.
func TestPushShowsHooksNoSecrets(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(bare string) string{
		"path": func(bare string) string { return bare },
		"file": func(bare string) string { return "file://" + bare },
		"rule": func(string) string { return "https://host.example/rule.git" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			bare, env := hooked(t, r, "path.git")
			r.Git("remote", "add", "origin", address(bare))
			r.Git("remote", "add", "hub", fmt.Sprintf("https://%s:%s@host.example/up.git", secretUser, secretToken))
			r.Git("config", "--global", fmt.Sprintf("url.https://x:%s@other.example/.insteadOf", secretToken), "other:")
			r.Git("config", "--global", "url."+bare+".insteadOf", "https://host.example/rule.git")
			r.Git("config", "--global", "http.extraHeader", "X-Token: "+secretToken)
			r.Git("config", "--global", "http.proxy", "ada:"+secretToken+"@proxy.example:1")
			r.Git("config", "--global", "credential.helper", "!f() { echo password="+secretToken+"; }; f")
			r.Git("remote", "add", "other", "other:up.git")
			r.Env = append(r.Env, "GIT_SSH_COMMAND=sshpass -p "+secretToken+" ssh")
			e := open(t, r.Dir, &engine.Options{Environ: r.Env})
			w := create(t, e, croft.CreateRequest{Name: "a"})
			gittest.WriteFile(t, filepath.Join(w.Path, "f.txt"), "one")
			if _, err := e.Push(t.Context(), croft.PushRequest{Workspace: "a"}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.SplitSeq(read(t, env), "\n") {
				if strings.Contains(line, secretToken) || strings.Contains(line, "CROFT_GIT_SECRET") {
					t.Errorf("the hook is given %s", line)
				}
			}
			wantNoSecret(t, r, nil, e)
		})
	}
}

// TestPushGivesEachRemoteItsOwn: of two remotes at one host each is reached with its own secret only,
// and a header for another host goes nowhere else.
func TestPushGivesEachRemoteItsOwn(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	host, _ := httpsRemote(t, r)
	r.Git("remote", "add", "known", fmt.Sprintf("https://%s:%s@%s/up.git", secretUser, secretToken, host))
	r.Git("remote", "add", "unknown", "https://"+host+"/up.git")
	r.Git("config", "--global", "http.https://elsewhere.example/.extraHeader", "Authorization: Bearer "+secretToken)
	seen := filepath.Join(r.Home, "seen")
	r.Git("config", "--global", "credential.https://"+host+".helper", "!f() { env >>"+seen+"; }; f")
	e := open(t, r.Dir, &engine.Options{Environ: r.Env})
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "f.txt"), "one")
	_, err := e.Push(t.Context(), croft.PushRequest{Workspace: "a", Remote: "unknown"})
	wantCode(t, err, croft.RemoteUnreachable)
	if text := read(t, seen); strings.Contains(text, secretToken) {
		t.Error("a helper for one remote is given what belongs to another")
	}
	if got, err := e.Push(t.Context(), croft.PushRequest{Workspace: "a", Remote: "known"}); err != nil || got.Outcome != croft.PushCreated {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestPlantedPassword: a password that an agent writes into the address of a remote is not used until
// a person has accepted it, nor is another one after that; one that is gone is no change.
func TestPlantedPassword(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	host, _ := httpsRemote(t, r)
	address := func(user, password string) string {
		return fmt.Sprintf("https://%s:%s@%s/up.git", user, password, host)
	}
	gittest.WriteFile(t, filepath.Join(r.Home, "creds"), address(secretUser, secretToken)+"\n")
	r.Git("config", "--global", "credential.helper", "store --file="+filepath.Join(r.Home, "creds"))
	r.Git("remote", "add", "origin", "https://"+host+"/up.git")
	e := open(t, r.Dir, &engine.Options{Environ: r.Env})
	w := create(t, e, croft.CreateRequest{Name: "a"})
	n := 0
	push := func() error {
		n++
		gittest.WriteFile(t, filepath.Join(w.Path, "f.txt"), fmt.Sprint(n))
		_, err := e.Push(t.Context(), croft.PushRequest{Workspace: "a"})
		return err
	}
	if err := push(); err != nil {
		t.Fatal(err)
	}
	r.Git("config", "remote.origin.url", address("mallory", "planted"))
	wantCode(t, push(), croft.ConfigChanged)
	planted, err := e.GitConfig(t.Context(), croft.GitConfigRequest{})
	if err != nil || len(planted.Changes) != 1 || planted.Changes[0].Key != "remote.origin.url" || strings.Contains(fmt.Sprint(planted), "planted") {
		t.Fatalf("%+v, %v", planted, err)
	}
	// What is accepted is what was seen.
	r.Git("config", "remote.origin.url", address(secretUser, secretToken))
	_, err = e.AcceptGitConfig(t.Context(), croft.AcceptGitConfigRequest{Hash: planted.Hash})
	wantCode(t, err, croft.ConfigChanged)
	now, err := e.GitConfig(t.Context(), croft.GitConfigRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.AcceptGitConfig(t.Context(), croft.AcceptGitConfigRequest{Hash: now.Hash}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.Home, "creds")); err != nil {
		t.Fatal(err)
	}
	if err := push(); err != nil {
		t.Errorf("with the accepted password: %v", err)
	}
	r.Git("config", "remote.origin.url", address(secretUser, "other"))
	wantCode(t, push(), croft.ConfigChanged)
	gittest.WriteFile(t, filepath.Join(r.Home, "creds"), address(secretUser, secretToken)+"\n")
	r.Git("config", "remote.origin.url", "https://"+host+"/up.git")
	if err := push(); err != nil {
		t.Errorf("with a helper instead: %v", err)
	}
	wantNoSecret(t, r, []any{planted, now}, e)
}
