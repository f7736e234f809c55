package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// fakeHost is a host of pull requests: a bare repository that an address of the host leads to,
// and a tool in PATH that answers what the host's own would, from files.
type fakeHost struct {
	*gittest.Repo
	t       *testing.T
	name    string // github or gitlab
	bare    string
	project string // in the requests of the tool
	e       *engine.Engine
}

// fakeTool answers requests by their method. What it is asked, and with what, is kept.
const fakeTool = `#!/bin/sh
d=$HOME/host
printf '%s\n' "$*" >>"$d/calls"
env >"$d/env"
pwd >"$d/pwd"
test "$1" = api || { test -e "$d/queue" && cat "$d/queue" >&2 && exit 1; exit 0; }
test -e "$d/fails" && { cat "$d/fails" >&2; exit 1; }
case "$3 $4" in
"--method=GET "*"?"*) cat "$d/list" ;;
"--method=GET "*) cat "$d/one" ;;
*) cat >"$d/body" && { test ! -e "$d/opened" || mv "$d/opened" "$d/list"; } && cat "$d/one" ;;
esac
`

func newFakeHost(t *testing.T, name string) *fakeHost {
	r := gittest.New(t)
	h := &fakeHost{Repo: r, t: t, name: name, bare: r.Beside("up.git"), project: map[string]string{"github": "repos/acme/app/pulls", "gitlab": "projects/acme%2Fapp/merge_requests"}[name]}
	tool, address := map[string]string{"github": "gh", "gitlab": "glab"}[name], "https://"+name+".com/acme/app.git"
	bin := filepath.Join(r.Home, "bin")
	for _, dir := range []string{bin, filepath.Join(r.Home, "host")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, tool), []byte(fakeTool), 0o700); err != nil {
		t.Fatal(err)
	}
	r.Git("init", "--quiet", "--bare", "-b", "main", h.bare)
	r.Git("config", "--global", "url."+h.bare+".insteadOf", address)
	r.Git("remote", "add", "origin", address)
	r.Git("push", "--quiet", "origin", "main")
	env := slices.Clone(r.Env)
	for i, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			env[i] = "PATH=relative" + string(os.PathListSeparator) + bin + string(os.PathListSeparator) + path
		}
	}
	h.Env = env
	h.e = open(t, r.Dir, &engine.Options{Environ: env})
	h.answer("list", []any{})
	return h
}

func (h *fakeHost) file(name string) string { return filepath.Join(h.Home, "host", name) }

func (h *fakeHost) answer(name string, v any) {
	h.t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(h.file(name), b, 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// asked returns what the tool was asked, one request a line, without what is the same in all.
func (h *fakeHost) asked() string {
	b, _ := os.ReadFile(h.file("calls"))
	_ = os.Remove(h.file("calls"))
	return string(b)
}

// has makes the host answer with one pull request, as the host's API has it.
func (h *fakeHost) has(state, branch, head, mergeCommit string) {
	h.t.Helper()
	var pull map[string]any
	if h.name == "github" {
		pull = map[string]any{
			"id": 1, "node_id": "PR_1", "number": 12, "html_url": "https://github.com/acme/app/pull/12", "state": "open", "locked": false, "draft": false,
			"title": "A title", "body": nil, "user": map[string]any{"login": "ada"}, "merged_at": nil, "closed_at": nil, "merge_commit_sha": strings.Repeat("e", 40),
			"head": map[string]any{"label": "acme:" + branch, "ref": branch, "sha": head}, "base": map[string]any{"label": "acme:main", "ref": "main"},
		}
		if state != "open" {
			pull["state"] = "closed"
		}
		if state == "merged" {
			pull["merged_at"], pull["merge_commit_sha"] = "2026-11-18T12:00:00Z", mergeCommit
		}
	} else {
		pull = map[string]any{
			"id": 100, "iid": 12, "project_id": 5, "web_url": "https://gitlab.com/acme/app/-/merge_requests/12", "state": map[string]string{"open": "opened"}[state],
			"title": "A title", "description": nil, "source_branch": branch, "target_branch": "main", "source_project_id": 5, "target_project_id": 5,
			"sha": head, "merge_commit_sha": nil, "squash_commit_sha": nil, "merged_at": nil,
		}
		if state != "open" {
			pull["state"] = state
		}
		if state == "merged" && mergeCommit != "" {
			pull["merge_commit_sha"] = mergeCommit
		}
	}
	h.answer("one", pull)
	h.answer("list", []any{pull})
}

// withWork makes a workspace with two commits.
func (h *fakeHost) withWork(name string) croft.Workspace {
	h.t.Helper()
	w := create(h.t, h.e, croft.CreateRequest{Name: name})
	for _, file := range []string{"one", "two"} {
		gittest.WriteFile(h.t, filepath.Join(w.Path, name+"-"+file+".txt"), file+"\n")
		h.GitIn(w.Path, "add", "--all")
		h.GitIn(w.Path, "commit", "--quiet", "-m", "Add "+file)
	}
	return show(h.t, h.e, name)
}

func (h *fakeHost) push(req croft.PushRequest) *croft.Pushed {
	h.t.Helper()
	got, err := h.e.Push(h.t.Context(), req)
	if err != nil {
		h.t.Fatalf("push %s: %v", req.Workspace, err)
	}
	return got
}

func (h *fakeHost) refresh(name string) *croft.PullRequest {
	h.t.Helper()
	got, err := h.e.RefreshPush(h.t.Context(), croft.RefreshPushRequest{Workspace: name})
	if err != nil || got.PullRequest == nil {
		h.t.Fatalf("refresh %s: %+v, %v", name, got, err)
	}
	return got.PullRequest
}

// there returns what a branch at the host is at.
func (h *fakeHost) there(branch string) string {
	out, _ := h.TryGit(h.bare, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	return strings.TrimSpace(out)
}

// mergeThere merges a branch into main at the host, and returns the commit of the merge.
func (h *fakeHost) mergeThere(how, branch string) string {
	h.t.Helper()
	dir := h.Beside("host-" + how)
	h.Git("clone", "--quiet", h.bare, dir)
	gittest.WriteFile(h.t, filepath.Join(dir, "other.txt"), "meanwhile\n")
	h.GitIn(dir, "add", "--all")
	h.GitIn(dir, "commit", "--quiet", "-m", "meanwhile")
	switch how {
	case "merge":
		h.GitIn(dir, "merge", "--quiet", "--no-ff", "-m", "Merge", "origin/"+branch)
	case "squash":
		h.GitIn(dir, "merge", "--quiet", "--squash", "origin/"+branch)
		h.GitIn(dir, "commit", "--quiet", "-m", "Squashed")
	case "rebase":
		h.GitIn(dir, "cherry-pick", "origin/main..origin/"+branch)
	}
	at := h.GitIn(dir, "rev-parse", "HEAD")
	// What comes later changes the same files.
	gittest.WriteFile(h.t, filepath.Join(dir, strings.TrimPrefix(branch, "croft/")+"-one.txt"), "later\n")
	h.GitIn(dir, "commit", "--quiet", "-am", "later")
	h.GitIn(dir, "push", "--quiet", "origin", "HEAD:main")
	return at
}

// cleaned reports whether clean removes a workspace.
func (h *fakeHost) cleaned(name string) bool {
	h.t.Helper()
	res, err := h.e.Clean(h.t.Context(), croft.CleanRequest{DryRun: croft.DryRunOn})
	if err != nil {
		h.t.Fatal(err)
	}
	return slices.ContainsFunc(res.Removed, func(r croft.Removed) bool { return r.Name == name })
}

// told counts the events of a kind.
func (h *fakeHost) told(kind string) (n int) {
	h.t.Helper()
	for _, err := range h.e.Events(h.t.Context(), croft.EventsRequest{Kinds: []string{kind}}) {
		if err != nil {
			h.t.Fatal(err)
		}
		n++
	}
	return n
}

// endings are the ways in which a push, or its pull request, ends.
var endings = []struct {
	name string
	test func(t *testing.T, h *fakeHost)
}{
	{"pushed new", func(t *testing.T, h *fakeHost) {
		w := h.withWork("a")
		if got := h.push(croft.PushRequest{Workspace: "a"}); got.Outcome != croft.PushCreated || h.there(w.Branch) != w.Head {
			t.Errorf("%+v, there %s", got, h.there(w.Branch))
		}
	}},
	{"up to date", func(t *testing.T, h *fakeHost) {
		h.withWork("a")
		h.push(croft.PushRequest{Workspace: "a"})
		if got := h.push(croft.PushRequest{Workspace: "a"}); got.Outcome != croft.PushUpToDate || h.told(croft.EventWorkspacePushed) != 1 {
			t.Errorf("%+v, told %d times", got, h.told(croft.EventWorkspacePushed))
		}
	}},
	{"fast-forward", func(t *testing.T, h *fakeHost) {
		w := h.withWork("a")
		h.push(croft.PushRequest{Workspace: "a"})
		gittest.WriteFile(t, filepath.Join(w.Path, "more.txt"), "more\n") // uncommitted
		got := h.push(croft.PushRequest{Workspace: "a"})
		if now := show(t, h.e, "a"); got.Outcome != croft.PushFastForward || now.Head == w.Head || h.there(w.Branch) != now.Head {
			t.Errorf("%+v, there %s, head %s", got, h.there(w.Branch), now.Head)
		}
	}},
	{"rewritten by us", func(t *testing.T, h *fakeHost) {
		w := h.withWork("a")
		h.push(croft.PushRequest{Workspace: "a"})
		h.GitIn(w.Path, "reset", "--quiet", "--soft", "HEAD~2")
		h.GitIn(w.Path, "commit", "--quiet", "-m", "One instead of two")
		if got := h.push(croft.PushRequest{Workspace: "a"}); got.Outcome != croft.PushRewritten || h.there(w.Branch) != show(t, h.e, "a").Head {
			t.Errorf("%+v, there %s", got, h.there(w.Branch))
		}
	}},
	{"remote advanced", func(t *testing.T, h *fakeHost) {
		w := h.withWork("a")
		h.push(croft.PushRequest{Workspace: "a"})
		theirs := h.GitIn(h.bare, "commit-tree", "-p", w.Head, "-m", "theirs", w.Head+"^{tree}")
		h.GitIn(h.bare, "update-ref", "refs/heads/"+w.Branch, theirs)
		h.GitIn(w.Path, "commit", "--quiet", "--amend", "-m", "ours")
		_, err := h.e.Push(t.Context(), croft.PushRequest{Workspace: "a"})
		wantCode(t, err, croft.RemoteAdvanced)
		if h.there(w.Branch) != theirs {
			t.Errorf("there %s, want %s", h.there(w.Branch), theirs)
		}
	}},
	{"remote branch deleted", func(t *testing.T, h *fakeHost) {
		w := h.withWork("a")
		h.push(croft.PushRequest{Workspace: "a"})
		h.GitIn(h.bare, "update-ref", "-d", "refs/heads/"+w.Branch)
		if got := h.push(croft.PushRequest{Workspace: "a"}); got.Outcome != croft.PushRecreated || h.there(w.Branch) != w.Head {
			t.Errorf("%+v, there %s", got, h.there(w.Branch))
		}
	}},
	{"pull request opened", func(t *testing.T, h *fakeHost) {
		w := create(t, h.e, croft.CreateRequest{Name: "fix-login"})
		gittest.WriteFile(t, filepath.Join(w.Path, "f.txt"), "f\n")
		hostile := "--repo=evil/evil `touch pwned` $(touch pwned) \x1b[31m"
		h.GitIn(w.Path, "add", "--all")
		h.GitIn(w.Path, "commit", "--quiet", "-m", hostile+"\n\nWhy it is so.\n\nCroft-Workspace: x")
		head := h.GitIn(w.Path, "rev-parse", "HEAD")
		h.has("open", w.Branch, head, "")
		h.answer("list", []any{})
		got := h.push(croft.PushRequest{Workspace: "fix-login", PullRequest: croft.PullRequestOpen})
		pr := got.PullRequest
		if pr == nil || pr.Number != 12 || pr.State != croft.PullRequestIsOpen || pr.Base != "main" || pr.Head != head || !strings.Contains(pr.URL, "/12") {
			t.Fatalf("%+v", got)
		}
		var body map[string]string
		if err := json.Unmarshal([]byte(read(t, h.file("body"))), &body); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"title": "--repo=evil/evil `touch pwned` $(touch pwned)", "head": w.Branch, "base": "main", "body": "Why it is so."}
		if h.name == "gitlab" {
			want = map[string]string{"title": want["title"], "source_branch": w.Branch, "target_branch": "main", "description": "Why it is so."}
		}
		if fmt.Sprint(body) != fmt.Sprint(want) {
			t.Errorf("the request: %q, want %q", body, want)
		}
		if calls := h.asked(); strings.Contains(calls, "evil") || !strings.Contains(calls, "api --hostname="+h.name+".com --method=POST "+h.project) {
			t.Errorf("the tool was called with:\n%s", calls)
		}
		if h.told(croft.EventPullRequestOpened) != 1 || strings.TrimSpace(read(t, h.file("pwd"))) != "/" {
			t.Errorf("told %d times; the tool ran in %s", h.told(croft.EventPullRequestOpened), read(t, h.file("pwd")))
		}
		if now := show(t, h.e, "fix-login"); now.Status != croft.ConditionPending || now.Why != "pull request #12 is open" {
			t.Errorf("shown as %s, %q", now.Status, now.Why)
		}
	}},
	{"title of work that Croft committed", func(t *testing.T, h *fakeHost) {
		for name, subjects := range map[string][]string{"fix-login": nil, "search": {"Index the pages\n\nThey are slow."}, "two": {"One", "Two"}} {
			w := create(t, h.e, croft.CreateRequest{Name: name})
			for _, subject := range subjects {
				gittest.WriteFile(t, filepath.Join(w.Path, subject[:3]), "f\n")
				h.GitIn(w.Path, "add", "--all")
				h.GitIn(w.Path, "commit", "--quiet", "-m", subject)
			}
			gittest.WriteFile(t, filepath.Join(w.Path, "wip.txt"), "wip\n")
			h.has("open", w.Branch, w.Head, "")
			h.answer("list", []any{})
			h.push(croft.PushRequest{Workspace: name, PullRequest: croft.PullRequestOpen})
			var body map[string]string
			if err := json.Unmarshal([]byte(read(t, h.file("body"))), &body); err != nil {
				t.Fatal(err)
			}
			want := map[string][2]string{"fix-login": {"Fix login", ""}, "search": {"Index the pages", "They are slow."}, "two": {"Two", "- One\n- Two"}}[name]
			if got := [2]string{body["title"], body["body"] + body["description"]}; got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}},
	{"asked without a pull request", func(t *testing.T, h *fakeHost) {
		h.withWork("a")
		for _, want := range []string{"it was never pushed; croft push --pr a", "it was pushed, and has no pull request; croft push --pr a"} {
			got, err := h.e.RefreshPush(t.Context(), croft.RefreshPushRequest{Workspace: "a"})
			if err != nil || got.PullRequest != nil || len(got.Remarks) != 1 || !strings.HasPrefix(got.Remarks[0], want) {
				t.Errorf("%+v, %v, want %q", got, err, want)
			}
			h.push(croft.PushRequest{Workspace: "a"})
		}
	}},
	{"pull request found again and updated", func(t *testing.T, h *fakeHost) {
		w := h.withWork("a")
		h.has("open", w.Branch, w.Head, "")
		h.push(croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen})
		got := h.push(croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen})
		if calls := h.asked(); got.PullRequest == nil || got.PullRequest.Number != 12 || strings.Contains(calls, "POST") || strings.Contains(calls, "PATCH") {
			t.Errorf("%+v, the tool was called with:\n%s", got, calls)
		}
		h.push(croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen, Title: "Another"})
		if body := read(t, h.file("body")); body != `{"title":"Another"}` || h.told(croft.EventPullRequestOpened) != 1 {
			t.Errorf("the change: %s", body)
		}
		h.push(croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen, Queue: croft.QueueJoin})
		if calls := h.asked(); h.name == "github" && !strings.Contains(calls, "pr merge 12 --repo=github.com/acme/app --auto --match-head-commit="+w.Head) ||
			h.name == "gitlab" && !strings.Contains(calls, "--method=PUT "+h.project+"/12/merge ") {
			t.Errorf("the queue was joined by:\n%s", calls)
		}
	}},
	{"merged by merge", func(t *testing.T, h *fakeHost) { mergedBy(t, h, "merge", "ancestor") }},
	{"merged by squash", func(t *testing.T, h *fakeHost) { mergedBy(t, h, "squash", "merge", "squash") }},
	{"merged by rebase", func(t *testing.T, h *fakeHost) { mergedBy(t, h, "rebase", "merge", "patches") }},
	{"merged, says the host, without the content", func(t *testing.T, h *fakeHost) {
		w := h.withWork("a")
		h.has("open", w.Branch, w.Head, "")
		h.push(croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen})
		h.has("merged", w.Branch, w.Head, h.there("main"))
		if pr := h.refresh("a"); pr.State != croft.PullRequestMerged || pr.Proof != "" || h.cleaned("a") {
			t.Errorf("%+v, cleaned %t", pr, h.cleaned("a"))
		}
	}},
	{"closed", func(t *testing.T, h *fakeHost) {
		w := h.withWork("a")
		h.has("open", w.Branch, w.Head, "")
		h.push(croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen})
		h.has("closed", w.Branch, w.Head, "")
		if pr := h.refresh("a"); pr.State != croft.PullRequestClosed || h.cleaned("a") || h.told(croft.EventPullRequestClosed) != 1 {
			t.Errorf("%+v, cleaned %t", pr, h.cleaned("a"))
		}
	}},
	{"advanced after its merge", func(t *testing.T, h *fakeHost) {
		w := h.withWork("a")
		h.has("open", w.Branch, w.Head, "")
		h.push(croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen})
		h.has("merged", w.Branch, w.Head, h.mergeThere("squash", w.Branch))
		h.refresh("a")
		gittest.WriteFile(t, filepath.Join(w.Path, "late.txt"), "late\n")
		h.GitIn(w.Path, "add", "--all")
		h.GitIn(w.Path, "commit", "--quiet", "-m", "late")
		if h.cleaned("a") {
			t.Error("a workspace with commits after the merge would be removed")
		}
		if pr := h.refresh("a"); pr.State != croft.PullRequestAdvanced || pr.Proof == "" || h.cleaned("a") || h.told(croft.EventPullRequestAdvanced) != 1 {
			t.Errorf("%+v, cleaned %t", pr, h.cleaned("a"))
		}
		if now := show(t, h.e, "a"); now.Status != croft.ConditionAhead || now.Next.Command != "croft push --pr a" {
			t.Errorf("shown as %s, %q, %+v", now.Status, now.Why, now.Next)
		}
	}},
	{"rejected by the server", func(t *testing.T, h *fakeHost) {
		w := h.withWork("a")
		hook := "#!/bin/sh\nprintf 'protected \\033[31mbranch\\033[0m: see https://u:hunter2@host/x\\a\\n' >&2\nexit 1\n"
		if err := os.WriteFile(filepath.Join(h.bare, "hooks", "pre-receive"), []byte(hook), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := h.e.Push(t.Context(), croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen})
		wantCode(t, err, croft.PushRejected)
		if e := croft.AsError("", err); e.Details != "protected branch: see https://host/x" || !strings.Contains(e.Message, "pre-receive hook declined") {
			t.Errorf("%q, %q", e.Message, e.Details)
		}
		if h.there(w.Branch) != "" || h.asked() != "" || show(t, h.e, "a").Push != nil {
			t.Error("something was done all the same")
		}
	}},
	{"rewound behind a rejected push", func(t *testing.T, h *fakeHost) {
		w := h.withWork("a")
		first := h.push(croft.PushRequest{Workspace: "a"}).Push.Commit
		// A colleague adds a commit, which the workspace merges; the push of that is rejected, and the workspace is reset.
		other := h.Beside("colleague")
		h.GitIn(h.Home, "clone", "--quiet", "--branch", w.Branch, h.bare, other)
		gittest.WriteFile(t, filepath.Join(other, "theirs.txt"), "theirs\n")
		h.GitIn(other, "add", "--all")
		h.GitIn(other, "commit", "--quiet", "--message", "theirs")
		h.GitIn(other, "push", "--quiet")
		theirs := h.there(w.Branch)
		h.GitIn(w.Path, "pull", "--quiet", "--ff-only", h.bare, w.Branch)
		gittest.WriteFile(t, filepath.Join(w.Path, "more.txt"), "more\n")
		hook := filepath.Join(h.bare, "hooks", "pre-receive")
		if err := os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := h.e.Push(t.Context(), croft.PushRequest{Workspace: "a"})
		wantCode(t, err, croft.PushRejected)
		if err := os.Remove(hook); err != nil {
			t.Fatal(err)
		}
		h.GitIn(w.Path, "reset", "--quiet", "--hard", first)
		gittest.WriteFile(t, filepath.Join(w.Path, "else.txt"), "else\n")
		_, err = h.e.Push(t.Context(), croft.PushRequest{Workspace: "a"})
		wantCode(t, err, croft.RemoteAdvanced)
		if h.there(w.Branch) != theirs {
			t.Errorf("there is %s, and was %s", h.there(w.Branch), theirs)
		}
	}},
	{"refused by the host", func(t *testing.T, h *fakeHost) {
		w := h.withWork("a")
		gittest.WriteFile(t, h.file("fails"), "HTTP 401: Bad credentials (token ghp_0123456789abcdefghij)\n")
		_, err := h.e.Push(t.Context(), croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen})
		wantCode(t, err, croft.HostRefused)
		if strings.Contains(fmt.Sprintf("%+v", croft.AsError("", err)), "ghp_0") || h.there(w.Branch) != w.Head {
			t.Errorf("%+v, there %q", croft.AsError("", err), h.there(w.Branch))
		}
	}},
	{"without the tool", func(t *testing.T, h *fakeHost) {
		w := h.withWork("a")
		if err := os.RemoveAll(filepath.Join(h.Home, "bin")); err != nil {
			t.Fatal(err)
		}
		// Tools in the project and in a workspace, and at a place that depends on the directory, are not the user's.
		for _, dir := range []string{h.Dir, w.Path} {
			for _, tool := range []string{"gh", "glab"} {
				gittest.WriteFile(t, filepath.Join(dir, "bin", tool), fakeTool)
				_ = os.Chmod(filepath.Join(dir, "bin", tool), 0o700)
			}
		}
		env := append(slices.Clone(h.Env), "PATH="+strings.Join([]string{filepath.Join(h.Dir, "bin"), filepath.Join(w.Path, "bin"), "bin", "/usr/bin", "/bin"}, string(os.PathListSeparator)))
		e := open(t, h.Dir, &engine.Options{Environ: env})
		got, err := e.Push(t.Context(), croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen})
		if err != nil || got.PullRequest != nil || !strings.HasPrefix(got.Compare, "https://"+h.name+".com/acme/app/") || len(got.Remarks) != 1 || !strings.Contains(got.Remarks[0], "no pull request was opened") || h.asked() != "" {
			t.Errorf("%+v, %v", got, err)
		}
	}},
}

// mergedBy: the host has merged a pull request. That is noticed and proven by content, although
// the project itself has not fetched it, and the workspace can go.
func mergedBy(t *testing.T, h *fakeHost, how string, proofs ...string) {
	w := h.withWork("a")
	h.has("open", w.Branch, w.Head, "")
	h.push(croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen})
	if h.cleaned("a") {
		t.Error("it would be removed before it is merged")
	}
	h.has("merged", w.Branch, w.Head, h.mergeThere(how, w.Branch))
	h.GitIn(h.bare, "update-ref", "-d", "refs/heads/"+w.Branch)
	refs := h.Git("for-each-ref")
	pr := h.refresh("a")
	if pr.State != croft.PullRequestMerged || !slices.Contains(proofs, pr.Proof) || h.told(croft.EventPullRequestMerged) != 1 {
		t.Errorf("%+v, told %d times", pr, h.told(croft.EventPullRequestMerged))
	}
	if now := h.Git("for-each-ref"); now != refs {
		t.Errorf("refs were written:\n%s\nbefore:\n%s", now, refs)
	}
	if got := h.push(croft.PushRequest{Workspace: "a", PullRequest: croft.PullRequestOpen}); got.Outcome != croft.PushMerged || h.there(w.Branch) != "" {
		t.Errorf("pushed again after the merge: %+v", got)
	}
	if now := show(t, h.e, "a"); now.Status != croft.ConditionMerged || now.Why != "by pull request #12" {
		t.Errorf("shown as %s, %q", now.Status, now.Why)
	}
	if !h.cleaned("a") {
		t.Error("it is not cleaned")
	}
}

// TestPushEndings: every way in which a push and its pull request can end is noticed, told of
// and recorded, at both hosts.
func TestPushEndings(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"github", "gitlab"} {
		for _, ending := range endings {
			t.Run(name+"/"+ending.name, func(t *testing.T) {
				t.Parallel()
				ending.test(t, newFakeHost(t, name))
			})
		}
	}
}
