package engine_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// The secrets of the test. Each is long enough to be found by nothing else.
const (
	secretUser  = "ada-9f3c"
	secretToken = "s3cr3t-5ab1e-t0ken-77e0c1"
)

// httpsRemote serves a bare repository over https, to those who know the secret.
func httpsRemote(t *testing.T, r *gittest.Repo) (host, bare string) {
	t.Helper()
	bare = r.Beside("up.git")
	r.Git("init", "--quiet", "--bare", "-b", "main", bare)
	r.GitIn(bare, "config", "http.receivepack", "true")
	backend := &cgi.Handler{
		Path: filepath.Join(r.Git("--exec-path"), "git-http-backend"), Root: "/",
		Env: append([]string{"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x"}, r.Env...),
	}
	var known atomic.Int32
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		user, password, _ := req.BasicAuth()
		if (user != secretUser || password != secretToken) && req.Header.Get("Authorization") != "Bearer "+secretToken {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		known.Add(1)
		time.Sleep(80 * time.Millisecond) // so that the processes are seen
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() {
		if known.Load() == 0 {
			t.Error("the server was never reached")
		}
	})
	ca := filepath.Join(r.Home, "ca.pem")
	cert, err := x509.ParseCertificate(srv.TLS.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})))
	r.Git("config", "--global", "http.sslCAInfo", ca)
	return strings.TrimPrefix(srv.URL, "https://"), bare
}

// watchArguments looks for the secret in the arguments of all processes until it is stopped, and
// returns where it was, and how many git processes that reach a remote were seen.
func watchArguments() (stop func() (found []string, seen int)) {
	done, ended := make(chan struct{}), make(chan struct{})
	var found []string
	seen := 0
	go func() {
		defer close(ended)
		for {
			lists, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, file := range lists {
				b, _ := os.ReadFile(file)
				text := strings.ReplaceAll(string(b), "\x00", " ")
				if strings.Contains(text, "remote-https") {
					seen++
				}
				if strings.Contains(text, secretToken) {
					found = append(found, text)
				}
			}
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() ([]string, int) {
		close(done)
		<-ended
		return found, seen
	}
}

// TestPushShowsNoSecrets: however git gets the user's secret, it is in the arguments of no process,
// in no file of Croft's state, in no event, in no act of the history and in no answer.
func TestPushShowsNoSecrets(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(r *gittest.Repo, host string){
		"in the remote's address": func(r *gittest.Repo, host string) {
			r.Git("remote", "set-url", "origin", fmt.Sprintf("https://%s:%s@%s/up.git", secretUser, secretToken, host))
		},
		"in a rule of the user's": func(r *gittest.Repo, host string) {
			r.Git("config", "--global", fmt.Sprintf("url.https://%s:%s@%s/.insteadOf", secretUser, secretToken, host), "https://"+host+"/")
		},
		"in a credential helper": func(r *gittest.Repo, _ string) {
			r.Git("config", "--global", "credential.helper", fmt.Sprintf("!f() { echo username=%s; echo password=%s; }; f", secretUser, secretToken))
		},
		"in a file of credentials": func(r *gittest.Repo, host string) {
			gittest.WriteFile(t, filepath.Join(r.Home, "creds"), fmt.Sprintf("https://%s:%s@%s\n", secretUser, secretToken, host))
			r.Git("config", "--global", "credential.helper", "store --file="+filepath.Join(r.Home, "creds"))
		},
		"in a header": func(r *gittest.Repo, host string) {
			r.Git("config", "--global", "http.https://"+host+"/.extraHeader", "Authorization: Bearer "+secretToken)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			host, bare := httpsRemote(t, r)
			r.Git("remote", "add", "origin", "https://"+host+"/up.git")
			set(r, host)
			e := open(t, r.Dir, &engine.Options{Environ: r.Env})
			w := create(t, e, croft.CreateRequest{Name: "a"})
			stop := watchArguments()
			answers := []any{}
			for _, text := range []string{"one", "two"} {
				gittest.WriteFile(t, filepath.Join(w.Path, "f.txt"), text)
				got, err := e.Push(t.Context(), croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen})
				if err != nil {
					t.Errorf("push: %v\n%s", err, croft.AsError("", err).Details)
				}
				answers = append(answers, got)
			}
			gittest.WriteFile(t, filepath.Join(bare, "hooks", "pre-receive"), "#!/bin/sh\necho no >&2\nexit 1\n")
			if err := os.Chmod(filepath.Join(bare, "hooks", "pre-receive"), 0o700); err != nil {
				t.Fatal(err)
			}
			gittest.WriteFile(t, filepath.Join(w.Path, "f.txt"), "three")
			_, err := e.Push(t.Context(), croft.PushRequest{Workspace: "a"})
			wantCode(t, err, croft.PushRejected)
			found, seen := stop()
			if isHelper := name == "in a credential helper"; len(found) > 0 && !isHelper || seen == 0 {
				t.Errorf("seen %d processes; those with the secret: %q", seen, found)
			}
			wantNoSecret(t, r, append(answers, err, show(t, e, "a")), e)
			if there := r.GitIn(bare, "rev-parse", "refs/heads/"+w.Branch+"^{commit}"); there == "" {
				t.Error("nothing was pushed")
			}
		})
	}
}

// wantNoSecret fails if the secret is in an answer, an event, an act, or a file of Croft's.
func wantNoSecret(t *testing.T, r *gittest.Repo, answers []any, e croft.Service) {
	t.Helper()
	for ev, err := range e.Events(t.Context(), croft.EventsRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, ev)
	}
	acts, err := e.History(t.Context(), croft.HistoryRequest{})
	config, cerr := e.GitConfig(t.Context(), croft.GitConfigRequest{})
	if err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
	for _, v := range append(answers, acts, config) {
		if b, _ := json.Marshal(v); strings.Contains(string(b), secretToken) {
			t.Errorf("an answer has the secret: %s", b)
		}
	}
	files := 0
	for _, dir := range []string{"state", "data"} {
		_ = filepath.WalkDir(filepath.Join(r.Home, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			files++
			if b, _ := os.ReadFile(path); strings.Contains(string(b), secretToken) {
				t.Errorf("%s has the secret", path)
			}
			return nil
		})
	}
	if files == 0 {
		t.Error("no files of the state were found")
	}
}
