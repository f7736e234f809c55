package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/proc"
)

// Tool is the tool of a host, as the user has it installed.
type Tool struct {
	Path string // absolute
	Host Host
	env  []string
}

// FindTool finds the tool of a host in the PATH of an environment. Entries that are not
// absolute, and those in a directory that an agent may write, are passed over.
func FindTool(h Host, environ []string, isAgents func(path string) bool) (Tool, bool) {
	name := h.ToolName()
	if name == "" {
		return Tool{}, false
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, dir := range filepath.SplitList(variable(environ, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		real, err := filepath.EvalSymlinks(path)
		if err != nil || isAgents(real) || isAgents(path) {
			continue
		}
		info, err := os.Stat(real)
		if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
			continue
		}
		return Tool{Path: path, Host: h, env: toolEnv(environ)}, true
	}
	return Tool{}, false
}

func variable(environ []string, name string) string {
	value := ""
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// otherProject are the variables that would lead a tool to another project or host.
var otherProject = []string{"GH_REPO", "GH_HOST", "GITLAB_REPO", "GITLAB_HOST", "GL_HOST", "GITLAB_URI", "GITLAB_GROUP", "GLAB_CONFIG_DIR_LOCAL", "PAGER", "GH_DEBUG", "DEBUG"}

// toolEnv returns the environment of a tool: the user's, without what is about git or
// another project, and without questions.
func toolEnv(environ []string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "CROFT_") || slices.Contains(otherProject, name)
	})
	return append(env, "GH_PROMPT_DISABLED=1", "NO_PROMPT=1", "NO_COLOR=1", "GH_NO_UPDATE_NOTIFIER=1", "GLAB_CHECK_UPDATE=false", "PAGER=cat", "GH_PAGER=cat")
}

// toolTime is how long one call of a tool may take.
const toolTime = 2 * time.Minute

// ToolError says that a tool failed.
type ToolError struct {
	Tool string
	Text string // what it printed; any text
	Code int
}

func (e *ToolError) Error() string { return fmt.Sprintf("%s exited with %d", e.Tool, e.Code) }

// IsNotFound reports whether the host knows no such thing.
func (e *ToolError) IsNotFound() bool {
	return strings.Contains(e.Text, "HTTP 404") || strings.Contains(e.Text, "404 Not Found") || strings.Contains(e.Text, "404 {")
}

// run runs the tool in a directory that no agent writes.
func (t Tool) run(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, toolTime)
	defer cancel()
	root := filepath.VolumeName(t.Path) + string(filepath.Separator)
	res, err := proc.Run(ctx, proc.Command{Path: t.Path, Args: args, Env: t.env, Dir: root, Stdin: strings.NewReader(stdin)})
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		text := strings.TrimSpace(string(exit.Stderr))
		if text == "" {
			text = strings.TrimSpace(string(res.Stdout))
		}
		return nil, &ToolError{Tool: t.Host.ToolName(), Text: text, Code: exit.Code}
	}
	return res.Stdout, err
}

// ask makes a request to the host's API, and decodes the answer. body is nil for a question.
func (t Tool) ask(ctx context.Context, method, path string, body, answer any) error {
	args := []string{"api", "--hostname=" + t.Host.Name, "--method=" + method, path}
	stdin := ""
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		stdin = string(b)
		args = append(args, "--header=Content-Type: application/json", "--input=-")
	}
	out, err := t.run(ctx, stdin, args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, answer); err != nil {
		return &ToolError{Tool: t.Host.ToolName(), Text: "its answer cannot be read: " + err.Error()}
	}
	return nil
}

// State is the state of a pull request at its host.
type State string

// The states.
const (
	Open   State = "open"
	Merged State = "merged"
	Closed State = "closed"
)

// Pull is a pull request as its host has it.
type Pull struct {
	Number      int
	URL         string
	State       State
	Base, Head  string // the branch that it goes to, and the commit that it is about
	MergeCommit string // of a merged one, if the host names it
	Title       string
}

// NewPull is a pull request to open. Empty fields of a change stay as they are.
type NewPull struct {
	Branch, Base, Title, Body string
}

// Pulls returns the pull requests of a branch of the project itself, the newest first.
func (t Tool) Pulls(ctx context.Context, branch string) ([]Pull, error) {
	var out []Pull
	if t.Host.Kind == GitLab {
		var list []gitlabPull
		err := t.ask(ctx, "GET", t.project()+"/merge_requests?"+url.Values{"source_branch": {branch}, "state": {"all"}, "per_page": {"50"}}.Encode(), nil, &list)
		for _, p := range list {
			if p.Source == p.Target {
				out = append(out, p.pull())
			}
		}
		return newestFirst(out), err
	}
	owner, _, _ := strings.Cut(t.Host.Project, "/")
	var list []githubPull
	err := t.ask(ctx, "GET", t.project()+"/pulls?"+url.Values{"head": {owner + ":" + branch}, "state": {"all"}, "per_page": {"50"}}.Encode(), nil, &list)
	for _, p := range list {
		if p.Head.Ref == branch { // a host that does not know the filter answers with all
			out = append(out, p.pull())
		}
	}
	return newestFirst(out), err
}

func newestFirst(list []Pull) []Pull {
	slices.SortFunc(list, func(a, b Pull) int { return b.Number - a.Number })
	return list
}

// Pull returns a pull request by its number.
func (t Tool) Pull(ctx context.Context, number int) (Pull, error) {
	return t.one(ctx, "GET", number, nil)
}

// Open opens a pull request.
func (t Tool) Open(ctx context.Context, p NewPull) (Pull, error) {
	body := map[string]string{"title": p.Title}
	if t.Host.Kind == GitLab {
		body["source_branch"], body["target_branch"], body["description"] = p.Branch, p.Base, p.Body
	} else {
		body["head"], body["base"], body["body"] = p.Branch, p.Base, p.Body
	}
	return t.one(ctx, "POST", 0, body)
}

// Change changes the title and the description of a pull request, as far as they are given.
func (t Tool) Change(ctx context.Context, number int, p NewPull) (Pull, error) {
	body, text, method := map[string]string{}, "body", "PATCH"
	if t.Host.Kind == GitLab {
		text, method = "description", "PUT"
	}
	if p.Title != "" {
		body["title"] = p.Title
	}
	if p.Body != "" {
		body[text] = p.Body
	}
	return t.one(ctx, method, number, body)
}

// one makes a request about one pull request; number zero stands for a new one.
func (t Tool) one(ctx context.Context, method string, number int, body any) (Pull, error) {
	path := t.project() + "/pulls"
	if t.Host.Kind == GitLab {
		path = t.project() + "/merge_requests"
	}
	if number != 0 {
		path += "/" + strconv.Itoa(number)
	}
	if t.Host.Kind == GitLab {
		var p gitlabPull
		err := t.ask(ctx, method, path, body, &p)
		return p.pull(), err
	}
	var p githubPull
	err := t.ask(ctx, method, path, body, &p)
	return p.pull(), err
}

// Join hands a pull request to the merge queue of its host, or, where there is none, has the host
// merge it once its requirements are met. It is merged with that commit or not at all.
func (t Tool) Join(ctx context.Context, p Pull) error {
	if t.Host.Kind == GitLab {
		var answer struct{}
		body := map[string]any{"merge_when_pipeline_succeeds": true, "auto_merge": true, "sha": p.Head}
		return t.ask(ctx, "PUT", t.project()+"/merge_requests/"+strconv.Itoa(p.Number)+"/merge", body, &answer)
	}
	_, err := t.run(ctx, "", "pr", "merge", strconv.Itoa(p.Number), "--repo="+t.Host.Name+"/"+t.Host.Project, "--auto", "--match-head-commit="+p.Head)
	return err
}

// project returns the path of the project in the API.
func (t Tool) project() string {
	if t.Host.Kind == GitLab {
		return "projects/" + url.PathEscape(t.Host.Project)
	}
	return "repos/" + t.Host.Project
}

// githubPull is a pull request in GitHub's REST API.
type githubPull struct {
	Number   int        `json:"number"`
	URL      string     `json:"html_url"`
	State    string     `json:"state"`
	Title    string     `json:"title"`
	MergedAt *time.Time `json:"merged_at"`
	Merge    *string    `json:"merge_commit_sha"` // of an open one: that of a trial
	Head     struct {
		Ref string `json:"ref"`
		SHA string `json:"sha"`
	} `json:"head"`
	Base struct {
		Ref string `json:"ref"`
	} `json:"base"`
}

func (p githubPull) pull() Pull {
	out := Pull{Number: p.Number, URL: p.URL, State: Open, Base: p.Base.Ref, Head: p.Head.SHA, Title: p.Title}
	switch {
	case p.MergedAt != nil:
		out.State = Merged
		if p.Merge != nil {
			out.MergeCommit = *p.Merge
		}
	case p.State == "closed":
		out.State = Closed
	}
	return out
}

// gitlabPull is a merge request in GitLab's REST API.
type gitlabPull struct {
	Number int     `json:"iid"`
	URL    string  `json:"web_url"`
	State  string  `json:"state"`
	Title  string  `json:"title"`
	Base   string  `json:"target_branch"`
	SHA    string  `json:"sha"`
	Merge  *string `json:"merge_commit_sha"`
	Squash *string `json:"squash_commit_sha"`
	Source int     `json:"source_project_id"`
	Target int     `json:"target_project_id"`
}

func (p gitlabPull) pull() Pull {
	out := Pull{Number: p.Number, URL: p.URL, State: Open, Base: p.Base, Head: p.SHA, Title: p.Title}
	switch p.State {
	case "merged":
		out.State = Merged
		for _, commit := range []*string{p.Squash, p.Merge} {
			if commit != nil && *commit != "" {
				out.MergeCommit = *commit // the merge commit has the squashed one
			}
		}
	case "closed":
		out.State = Closed
	}
	return out
}
