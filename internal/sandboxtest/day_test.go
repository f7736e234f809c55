//go:build linux

package sandboxtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestDay is a day of somebody with ten agents in one repository, from the first croft run to an empty list: work
// that lands, two agents that collide, which is seen before the merge, a check that fails, a question that is answered, three pull
// requests, a merge that is taken back, an agent that does what it must not, and a crash of the machine, which is the
// death of every process at once. The agents are shell programs; in the long form they are Codex and Claude Code
// themselves, each in its own sandbox, with models that follow a script.
func TestDay(t *testing.T) {
	t.Run("shell agents", func(t *testing.T) { newDay(t, newHost(t), shellAgent).pass() })
	t.Run("real agents", func(t *testing.T) {
		d := newDay(t, newRealHost(t), realAgent)
		d.pass()
	})
}

// agentCommand returns the command of an agent that runs a line of shell in its workspace, and its variables.
type agentCommand func(d *day, n int, line string) (command, env []string)

func shellAgent(_ *day, _ int, line string) (command, env []string) {
	return []string{"sh", "-c", line}, nil
}

// realAgent is Codex and Claude Code in turn.
func realAgent(d *day, n int, line string) (command, env []string) {
	if n%2 == 0 {
		return d.codex(line)
	}
	return d.claude(line)
}

// worked is at the end of a line of shell, and says that it was run.
const worked = " && echo IT-'WORKED'"

// model makes a model that has its agent call a tool until that works.
func (d *day) model(s step) *model {
	m := newModel(d.t, s)
	m.prints = "IT-WORKED"
	d.t.Cleanup(func() {
		if d.t.Failed() {
			d.t.Logf("%s: %v", s.input, m.answers(d.t))
		}
	})
	return m
}

func (d *day) codex(line string) (command, env []string) {
	d.t.Helper()
	m := d.model(step{tool: "exec_command", input: fmt.Sprintf(`{"cmd":%q,"yield_time_ms":30000}`, line+worked)})
	home := d.t.TempDir()
	writeFile(d.t, filepath.Join(home, "config.toml"), codexSettings(m))
	return []string{d.program("codex"), "exec", "--skip-git-repo-check", "go"}, []string{"CODEX_HOME=" + home, "SCRIPTED_KEY=x"}
}

func (d *day) claude(line string) (command, env []string) {
	d.t.Helper()
	m := d.model(step{tool: "Bash", input: fmt.Sprintf(`{"command":%q,"description":"work"}`, line+worked)})
	settings := `{"sandbox":{"enabled":true,"autoAllowBashIfSandboxed":true,"allowUnsandboxedCommands":false}}`
	// Each has a home of its own: several that write one configuration at once may do nothing.
	return []string{"env", "HOME=" + agentHome(d.t), d.program("claude"), "-p", "go", "--settings", settings, "--allowedTools", "Bash", "--output-format", "json"},
		[]string{
			"ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=scripted", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		}
}

func (d *day) program(name string) string {
	return filepath.Join(d.programs, "node_modules", ".bin", name)
}

// day is a project with a remote at a host of pull requests, and checks that a person has approved.
type day struct {
	host
	t     *testing.T
	agent agentCommand
	bare  string // the remote
	hub   string // what the host of pull requests knows
	mark  string // in the arguments of processes that agents leave
}

// hubTool answers as GitHub's own tool: pull requests are files, one for each.
const hubTool = `#!/usr/bin/env python3
import json, os, sys
hub = os.environ["HUB"]
def pulls():
    return [json.load(open(os.path.join(hub, f))) for f in sorted(os.listdir(hub)) if f.endswith(".json")]
if sys.argv[1] != "api":
    sys.exit(0)
method = next(a[9:] for a in sys.argv if a.startswith("--method="))
path = next(a for a in sys.argv if a.startswith("repos/"))
if method == "POST":
    asked = json.load(sys.stdin)
    n = len(pulls()) + 1
    sha = os.popen("git --git-dir=" + os.environ["HUB_BARE"] + " rev-parse refs/heads/" + asked["head"].split(":")[-1]).read().strip()
    pull = {"number": n, "html_url": "https://github.com/acme/app/pull/%d" % n, "state": "open", "draft": False, "title": asked["title"], "body": asked.get("body"),
        "merged_at": None, "merge_commit_sha": None, "head": {"ref": asked["head"].split(":")[-1], "sha": sha, "label": "acme:" + asked["head"].split(":")[-1]}, "base": {"ref": asked["base"]}}
    json.dump(pull, open(os.path.join(hub, "%d.json" % n), "w"))
    print(json.dumps(pull))
elif "?" in path:
    print(json.dumps([p for p in pulls() if p["head"]["ref"] in path.replace("%2F", "/")]))
else:
    print(json.dumps(next(p for p in pulls() if str(p["number"]) == path.split("/")[-1])))
`

func newDay(t *testing.T, h host, agent agentCommand) *day {
	t.Helper()
	d := &day{host: h, t: t, agent: agent, bare: filepath.Join(filepath.Dir(h.repo.Dir), "up.git"), hub: t.TempDir()}
	d.mark = filepath.Join(d.temp, "left-behind")
	d.do("discard", "w", "iso")
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte(hubTool), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, kv := range d.repo.Env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			d.repo.Env[i] = "PATH=" + bin + string(filepath.ListSeparator) + filepath.Dir(h.croft) + string(filepath.ListSeparator) + path
		}
	}
	d.repo.Env = append(d.repo.Env, "HUB="+d.hub, "HUB_BARE="+d.bare)
	d.repo.Git("init", "--quiet", "--bare", "-b", "main", d.bare)
	d.repo.Git("config", "--global", "url."+d.bare+".insteadOf", "https://github.com/acme/app.git")
	d.repo.Git("remote", "add", "origin", "https://github.com/acme/app.git")
	d.do("config", "accept", "--yes")
	gittest.WriteFile(t, filepath.Join(d.repo.Dir, "croft.toml"), "[merge]\nchecks = [\"! grep -rq BROKEN parts\"]\n")
	for _, part := range []string{"login", "search", "shared", "report", "mail", "page", "pay", "docs", "help", "wild"} {
		gittest.WriteFile(t, filepath.Join(d.repo.Dir, "parts", part+".txt"), part+"\n")
	}
	d.repo.Git("add", "--all")
	d.repo.Git("commit", "--quiet", "-m", "the parts")
	d.repo.Git("push", "--quiet", "origin", "main")
	return d
}

// do runs croft in the project, and requires that it succeeds.
func (d *day) do(args ...string) string {
	d.t.Helper()
	r := d.beside(d.t, args...)
	if r.exit != 0 {
		d.t.Fatalf("croft %s: %d\n%s%s", strings.Join(args, " "), r.exit, r.stdout, r.stderr)
	}
	return r.stdout
}

// refused runs croft in the project, and requires that it ends with a status.
func (d *day) refused(status int, args ...string) string {
	d.t.Helper()
	r := d.beside(d.t, args...)
	if r.exit != status {
		d.t.Fatalf("croft %s: %d, want %d\n%s%s", strings.Join(args, " "), r.exit, status, r.stdout, r.stderr)
	}
	return r.stdout + r.stderr
}

// approve runs a command of croft that a person has to confirm, by the hash that it shows first.
func (d *day) approve(command ...string) {
	d.t.Helper()
	shown := d.do(append(command, "-n", "--json")...)
	_, hash, _ := strings.Cut(shown, `"hash":"`)
	hash, _, _ = strings.Cut(hash, `"`)
	env := d.repo.Env
	d.repo.Env = append(slices.Clone(env), "CROFT_TRUST="+hash)
	d.do(command...)
	d.repo.Env = env
}

// start starts an agent in the background.
func (d *day) start(n int, name, line string, flags ...string) {
	d.t.Helper()
	command, env := d.agent(d, n, line)
	d.startCommand(name, env, command, flags...)
}

func (d *day) startCommand(name string, env, command []string, flags ...string) {
	d.t.Helper()
	with := *d
	repo := *d.repo
	repo.Env = slices.Concat(d.repo.Env, env)
	with.repo = &repo
	with.do(slices.Concat([]string{"run", "--detach"}, flags, []string{name, "--"}, command)...)
}

// show returns a workspace as croft sees it.
func (d *day) show(name string) croft.Workspace {
	d.t.Helper()
	var got struct {
		Workspace croft.Workspace `json:"workspace"`
	}
	if err := json.Unmarshal([]byte(d.do("show", "--json", name)), &got); err != nil {
		d.t.Fatal(err)
	}
	return got.Workspace
}

// await waits until something is so.
func (d *day) await(what string, is func() bool) {
	d.t.Helper()
	for deadline := time.Now().Add(agentTime); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("%s: not after %s\n%s", what, agentTime, d.do("list", "--all"))
		}
	}
}

// awaitEnd waits until an agent has ended as it should, and its work is finished.
func (d *day) awaitEnd(names ...string) {
	d.t.Helper()
	for _, name := range names {
		d.await("the end of "+name, func() bool {
			w := d.show(name)
			return w.State == croft.Trashed || w.Run != nil && !w.Run.FinishedAt.IsZero()
		})
		if w := d.show(name); w.Run != nil && w.Run.How != croft.RunDone {
			d.t.Fatalf("%s: %+v\n%s", name, w.Run, d.do("logs", "--agent", name))
		}
	}
}

// wantListed requires a line of the list to have some words.
func (d *day) wantListed(name string, words ...string) {
	d.t.Helper()
	list := d.do("list", "--full")
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, name+" ") {
			continue
		}
		for _, word := range words {
			if !strings.Contains(line, word) {
				log := d.beside(d.t, "logs", "--agent", name)
				d.t.Errorf("%s: without %q\n%s\n%s%s", name, word, list, log.stdout, log.stderr)
			}
		}
		return
	}
	d.t.Errorf("%s is not listed\n%s", name, list)
}

// part returns a file of main.
func (d *day) part(name string) string {
	return d.repo.Git("show", "main:parts/"+name+".txt")
}

// awaitLanded waits until a file of main has a text.
func (d *day) awaitLanded(name, want string) {
	d.t.Helper()
	d.await(fmt.Sprintf("%q in %s", want, name), func() bool { return strings.Contains(d.part(name), want) })
}

// inParts is a line of shell that changes a file of the project.
func inParts(name, text string) string { return fmt.Sprintf("echo '%s' >> parts/%s.txt", text, name) }

func (d *day) pass() {
	d.t.Helper()
	for _, hour := range []struct {
		name string
		work func()
	}{
		{"ten agents begin", d.begin},
		{"a question is answered", d.answer},
		{"an agent does what it must not", d.misbehave},
		{"work lands", d.land},
		{"two collide", d.collide},
		{"a check fails", d.fail},
		{"three pull requests", d.pull},
		{"a merge is taken back", d.takeBack},
		{"the machine crashes", d.crash},
		{"the end is clean", d.close},
	} {
		begun := time.Now()
		hour.work()
		if d.t.Failed() {
			d.t.Fatalf("in the hour in which %s\n%s", hour.name, d.do("list", "--all"))
		}
		d.t.Logf("%s: %.1f s", hour.name, time.Since(begun).Seconds())
	}
}

func (d *day) begin() {
	d.approve("config", "trust")
	d.start(0, "login", inParts("login", "with a second factor"), "--merge")
	d.start(1, "search", inParts("search", "by words"), "--merge")
	d.start(2, "left", "echo left > parts/shared.txt")
	d.start(3, "right", "echo right > parts/shared.txt")
	d.start(4, "report", inParts("report", "BROKEN"))
	d.start(5, "page", inParts("page", "in colour"))
	d.start(6, "pay", inParts("pay", "by card"))
	d.start(7, "docs", inParts("docs", "in verse"))
	d.startCommand("mail", nil, []string{"sh", "-c", `croft agent report waiting -m 'Postgres or SQLite?'
		until test -e answer; do sleep 0.1; done
		croft agent report working
		echo "kept in $(cat answer)" >> parts/mail.txt; rm answer`})
	d.startCommand("wild", nil, []string{"sh", "-c", `git -C "$CROFT_REPO" branch sneaky
		echo junk > parts/wild.txt
		(cd /; env -i setsid sh -c 'while true; do sleep 0.2; done' ` + d.mark + ` &)
		trap '' TERM; while true; do sleep 0.2; done`})
}

func (d *day) answer() {
	d.await("the question", func() bool { return strings.Contains(d.do("list", "--needs-me"), "Postgres or SQLite?") })
	if asks := d.do("list", "--needs-me", "--json"); strings.Count(asks, `"questionId"`) > 1 || !strings.Contains(asks, `"name":"mail"`) || strings.Contains(asks, `"name":"left"`) {
		d.t.Errorf("who asks: %s", asks)
	}
	d.wantListed("mail", "waiting", "it asks you: Postgres or SQLite?")
	gittest.WriteFile(d.t, filepath.Join(d.path("mail"), "answer"), "SQLite")
	d.awaitEnd("mail")
	d.do("merge", "mail")
	if got := d.part("mail"); !strings.Contains(got, "kept in SQLite") {
		d.t.Errorf("mail has %q", got)
	}
}

func (d *day) misbehave() {
	d.await("the branch that an agent made", func() bool { return strings.Contains(d.do("show", "wild"), "sneaky was made") })
	d.do("stop", "--grace", "300ms", "wild")
	if left := d.left(d.mark); len(left) > 0 {
		d.t.Errorf("processes are left: %v", left)
	}
	d.wantListed("wild", "killed")
	d.do("discard", "wild")
	d.repo.Git("branch", "-D", "sneaky")
}

func (d *day) land() {
	d.awaitEnd("login", "search", "left", "right", "report", "page", "pay", "docs")
	d.awaitLanded("login", "with a second factor")
	d.awaitLanded("search", "by words")
	for _, name := range []string{"left", "right", "report", "page", "pay", "docs"} {
		d.wantListed(name, "pending")
	}
}

func (d *day) collide() {
	if text := d.do("conflicts"); !strings.Contains(text, "left") || !strings.Contains(text, "right") || !strings.Contains(text, "parts/shared.txt") {
		d.t.Errorf("before the merge: %s", text)
	}
	d.do("merge", "left")
	d.refused(croft.ExitConflict, "merge", "right")
	d.wantListed("right", "conflict", "croft merge --resolve right")
	d.do("merge", "--resolve", "right")
	d.start(3, "right", "echo 'left and right' > parts/shared.txt", "--merge")
	d.awaitEnd("right")
	d.awaitLanded("shared", "left and right")
}

func (d *day) fail() {
	d.refused(croft.ExitConflict, "merge", "report")
	d.wantListed("report", "check failed", "croft logs report")
	if got := d.part("report"); strings.Contains(got, "BROKEN") {
		d.t.Errorf("it landed: %q", got)
	}
	d.start(4, "report", "sed -i s/BROKEN/monthly/ parts/report.txt", "--merge")
	d.awaitEnd("report")
	d.awaitLanded("report", "monthly")
}

func (d *day) pull() {
	d.repo.Git("push", "--quiet", "origin", "main")
	d.do("push", "--pr", "page", "pay", "docs")
	d.wantListed("page", "pull request #1 is open")
	d.wantListed("docs", "pull request #3 is open")
	d.mergeAtHub("1", "--squash")
	d.mergeAtHub("2", "--no-ff")
	d.changeAtHub("3", map[string]any{"state": "closed"})
	d.do("push", "--status")
	d.wantListed("page", "merged", "by pull request #1")
	d.wantListed("pay", "merged", "by pull request #2")
	d.wantListed("docs", "pull request #3 was closed")
	d.do("discard", "docs")
	d.repo.Git("pull", "--quiet", "--ff-only", "origin", "main")
	d.do("queue", "accept", "main")
}

// mergeAtHub merges a pull request at its host.
func (d *day) mergeAtHub(number, how string) {
	d.t.Helper()
	clone := d.t.TempDir()
	d.repo.Git("clone", "--quiet", d.bare, clone)
	pull := d.pullAtHub(number)
	head := pull["head"].(map[string]any)
	d.repo.GitIn(clone, "merge", "--quiet", how, "origin/"+head["ref"].(string))
	if how == "--squash" {
		d.repo.GitIn(clone, "commit", "--quiet", "-m", pull["title"].(string))
	}
	d.repo.GitIn(clone, "push", "--quiet", "origin", "main")
	d.changeAtHub(number, map[string]any{"state": "closed", "merged_at": "2026-11-18T12:00:00Z", "merge_commit_sha": d.repo.GitIn(clone, "rev-parse", "HEAD")})
}

func (d *day) pullAtHub(number string) (pull map[string]any) {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.hub, number+".json"))
	if err = errors.Join(err, json.Unmarshal(text, &pull)); err != nil {
		d.t.Fatal(err)
	}
	return pull
}

func (d *day) changeAtHub(number string, change map[string]any) {
	d.t.Helper()
	pull := d.pullAtHub(number)
	maps.Copy(pull, change)
	text, err := json.Marshal(pull)
	if err = errors.Join(err, os.WriteFile(filepath.Join(d.hub, number+".json"), text, 0o600)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *day) takeBack() {
	d.do("revert", "search")
	if got := d.part("search"); got != "search" {
		d.t.Errorf("search has %q", got)
	}
}

// crash kills everything that runs for the project, in the middle of an agent's work and of a merge.
func (d *day) crash() {
	slow := filepath.Join(d.temp, "slow")
	gittest.WriteFile(d.t, slow, "")
	gittest.WriteFile(d.t, filepath.Join(d.repo.Dir, "croft.toml"), fmt.Sprintf("[merge]\nchecks = [\"! grep -rq BROKEN parts\", \"test ! -e %s || sleep 60\"]\n", slow))
	d.repo.Git("commit", "--quiet", "-am", "a slow check")
	d.do("queue", "accept", "main")
	d.approve("config", "trust")
	d.startCommand("help", nil, []string{"sh", "-c", "echo half >> parts/help.txt; while true; do sleep 0.2; done"})
	d.startCommand("slow", nil, []string{"sh", "-c", "echo slow > parts/slow.txt"}, "--merge")
	d.await("half of the work", func() bool {
		text, err := os.ReadFile(filepath.Join(d.path("help"), "parts", "help.txt"))
		return err == nil && strings.Contains(string(text), "half")
	})
	d.await("the slow check", func() bool { return d.show("slow").Status == croft.ConditionChecking })
	d.killAll()
	if err := os.Remove(slow); err != nil {
		d.t.Fatal(err)
	}
	d.await("what is known of the agent", func() bool { r := d.show("help").Run; return r.How == croft.RunLost && !r.EndedAt.IsZero() })
	d.wantListed("help", "orphan", "its agent has ended without saying how")
	d.startCommand("help", nil, []string{"sh", "-c", "echo rest >> parts/help.txt"}, "--merge")
	d.awaitEnd("help")
	d.do("queue", "run")
	for part, want := range map[string]string{"help": "help\nhalf\nrest", "slow": "slow"} {
		if got := d.part(part); got != want {
			d.t.Errorf("%s has %q", part, got)
		}
	}
}

// killAll kills every process that has the state directory of the day in its environment, until there is none.
func (d *day) killAll() {
	d.t.Helper()
	variable := "CROFT_STATE_DIR=" + d.stateDir()
	for range 100 {
		killed := 0
		dirs, _ := filepath.Glob("/proc/[0-9]*")
		for _, dir := range dirs {
			text, err := os.ReadFile(filepath.Join(dir, "environ"))
			pid, _ := strconv.Atoi(filepath.Base(dir))
			if err == nil && pid != os.Getpid() && slices.Contains(strings.Split(string(text), "\x00"), variable) && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
		if killed == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	d.t.Fatal("processes do not end")
}

// left returns processes with a word in their arguments.
func (d *day) left(word string) (left []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), word) {
			left = append(left, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return left
}

func (d *day) close() {
	d.do("clean", "--yes")
	if list := d.do("list", "--json"); strings.Contains(list, `"name"`) {
		d.t.Errorf("the list is not empty: %s", list)
	}
	d.do("doctor")
	if got := d.repo.Git("worktree", "list", "--porcelain"); strings.Count(got, "worktree ") != 1 {
		d.t.Errorf("worktrees are left:\n%s", got)
	}
	if got := d.repo.Git("branch", "--format=%(refname:short)"); got != "main" {
		d.t.Errorf("branches are left:\n%s", got)
	}
	if got := d.repo.Git("status", "--porcelain"); got != "" {
		d.t.Errorf("not clean:\n%s", got)
	}
	d.repo.Git("fsck", "--no-dangling")
	for part, want := range map[string]string{"page": "page\nin colour", "pay": "pay\nby card", "docs": "docs", "wild": "wild"} {
		if got := d.part(part); got != want {
			d.t.Errorf("%s has %q", part, got)
		}
	}
	for _, word := range []string{d.mark, d.stateDir(), filepath.Base(d.repo.Dir) + ".croft"} {
		if left := d.left(word); len(left) > 0 {
			d.t.Errorf("processes are left: %v", left)
		}
	}
	if _, err := os.Stat(d.path("help")); !errors.Is(err, fs.ErrNotExist) {
		d.t.Errorf("help is still there: %v", err)
	}
}
