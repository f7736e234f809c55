package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

func TestWorkspace(t *testing.T) {
	s := newSite(t)
	ws := s.make("fix", map[string]string{"src/main.txt": "one\n2\nthree\n", "new.txt": "a\nb\n"})
	s.finish(ws)
	page := s.get(s.at(ws, ""))
	want(t, "the changes", page, "<h1><bdi>fix</bdi></h1>", "ready to merge", "Merge into main", "2 files", `<td class="cd">two</td>`, `<td class="cd">2</td>`,
		`<tr class="d"><td class="ln o">2</td><td class="ln"></td><td class="sg">−</td>`, `/merge?head=`, "Discard…")
	want(t, "commits", s.get(s.at(ws, "commits")), "<bdi>work of fix</bdi>", "Started from")
	want(t, "activity", s.get(s.at(ws, "activity")), "Today", "made")
	want(t, "checks", s.get(s.at(ws, "checks")), "asks for no checks")

	s.post(s.at(ws, "snapshot"), "reason", "before lunch")
	snapshots := s.get(s.at(ws, "snapshots"))
	want(t, "snapshots", snapshots, "before lunch", "Restore…")
	id := regexp.MustCompile(`name="snapshot" value="([a-z0-9]+)"`).FindStringSubmatch(snapshots)
	gittest.WriteFile(t, filepath.Join(ws.Path, "new.txt"), "gone\n")
	s.post(s.at(ws, "snapshots"), "snapshot", id[1])
	if page := s.get(s.at(ws, "")); strings.Contains(page, ">gone<") {
		t.Error("the snapshot was not restored")
	}

	if to := s.post(s.at(ws, "lock"), "back", s.at(ws, "activity")); to != s.at(ws, "activity") {
		t.Errorf("lock leads to %q", to)
	}
	want(t, "a locked workspace", s.get(s.at(ws, "")), "locked", "/unlock")
	s.post(s.at(ws, "unlock"))
}

func TestMergeHoldCancelUndo(t *testing.T) {
	s := newSite(t)
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	page := s.get(s.at(ws, ""))
	action := regexp.MustCompile(`action="([^"]*/merge\?head=[0-9a-f]+)"`).FindStringSubmatch(page)
	if action == nil {
		t.Fatal("no form that merges what is shown")
	}
	s.commit(ws, "more", map[string]string{"b.txt": "b\n"})
	if a := s.send(action[1]); a.status != http.StatusConflict || !strings.Contains(a.body, "WORK_CHANGED") {
		t.Errorf("work that was not shown is merged: %d", a.status)
	}
	s.post(s.at(ws, "merge"))
	s.post(s.at(ws, "hold"), "reason", "after the demo")
	want(t, "a held merge", s.get(s.at(ws, "")), "held", "after the demo", "Release", "Cancel the merge")
	s.post(s.at(ws, "release"))
	s.post(s.at(ws, "cancel"))
	if page := s.get(s.at(ws, "")); strings.Contains(page, "Cancel the merge") {
		t.Error("the merge was not canceled")
	}

	s.merge(ws)
	later := s.make("later", map[string]string{"c.txt": "c\n"})
	s.merge(later)
	want(t, "a merged workspace", s.get(s.at(ws, "")), "merged", "1 merged after this", "Undo merge…", "Restore workspace")
	ask := s.get(s.at(ws, "revert"))
	want(t, "the question", ask, "Take <bdi>fix</bdi> back from <bdi>main</bdi>?", "1 merged after this", "<bdi>later</bdi>")
	tip := s.git.Git("rev-parse", "main")
	revert := regexp.MustCompile(`action="([^"]*/m/[a-z0-9]+/revert)"`).FindStringSubmatch(ask)
	want(t, "the question", ask, `name="target" value="`+strings.TrimSpace(tip)+`"`)
	if a := s.send(revert[1], "target", strings.Repeat("0", 40)); a.status != http.StatusConflict || !strings.Contains(a.body, "TARGET_MOVED") {
		t.Errorf("an undo for another commit: %d", a.status)
	} else {
		want(t, "the question that is asked again", a.body, "main was at 0000000 when you were asked, and is at "+tip[:7]+" now", `name="target" value="`+strings.TrimSpace(tip)+`"`)
	}
	if a := s.send(revert[1]); a.status != http.StatusBadRequest {
		t.Errorf("an undo for no commit: %d", a.status)
	}
	if to := s.post(revert[1], "target", strings.TrimSpace(tip)); to != s.in("queue")+"?target=main" {
		t.Errorf("the undo leads to %q", to)
	}
	if _, err := s.svc.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil {
		t.Fatal(err)
	}
	want(t, "an undone merge", s.get(s.at(ws, "")), "reverted")
	s.post(s.at(ws, "restore"))
	if _, err := s.svc.Workspace(t.Context(), croft.WorkspaceRequest{Ref: croft.ByID(ws.ID)}); err != nil {
		t.Errorf("it was not restored: %v", err)
	}
}

func TestDiscard(t *testing.T) {
	s := newSite(t)
	ws := s.make("spike", map[string]string{"a.txt": "a\n"})
	ask := s.get(s.at(ws, "discard"))
	want(t, "the question", ask, "Discard <bdi>spike</bdi>?", "1 commit", "Keep it")
	gittest.WriteFile(t, filepath.Join(ws.Path, "late.txt"), "late\n")
	again := s.send(s.at(ws, "discard"), hidden(ask)...)
	if again.status != http.StatusConflict {
		t.Errorf("uncommitted work that was not shown goes: %d\n%s", again.status, again.body)
	}
	want(t, "the question that is asked again", again.body, "Nothing was done, and you are asked again", "WORK_CHANGED",
		"spike had 1 commit and nothing uncommitted, and has 1 commit and 1 uncommitted file now", `aria-label="Main"`, "Discard <bdi>spike</bdi>?")
	ask = s.get(s.at(ws, "discard"))
	want(t, "the second question", ask, "1 file", `name="work" value="`+string(ws.ID)+`"`)
	if strings.Contains(ask, "asked again") {
		t.Error("a question that is asked for the first time says that it is asked again")
	}
	gittest.WriteFile(t, filepath.Join(ws.Path, "late.txt"), "LATE\n")
	again = s.send(s.at(ws, "discard"), hidden(ask)...)
	want(t, "a file that was written again", again.body, "spike has 1 commit and 1 uncommitted file as before, with other content")
	if a := s.send(s.at(ws, "discard"), "work", string(ws.ID)); a.status != http.StatusBadRequest {
		t.Errorf("a form that says nothing of the work: %d", a.status)
	}
	s.post(s.at(ws, "discard"), hidden(again.body)...)
	want(t, "a discarded workspace", s.get(s.at(ws, "")), "discarded", "Restore workspace")

	one, two := s.make("one", map[string]string{"1": "1"}), s.make("two", map[string]string{"2": "2"})
	w := func(ws *croft.Workspace) string { return string(s.repo) + "/" + string(ws.ID) }
	to := s.post("/bulk", "do", "discard", "w", w(one), "w", w(two))
	ask = s.get(to)
	want(t, "the question for two", ask, "Discard 2 workspaces?")
	s.commit(two, "more", map[string]string{"3": "3"})
	again = s.send("/discard", hidden(ask)...)
	want(t, "the question for what is left", again.body, "Discard <bdi>two</bdi>?", "1 workspace went to the trash.", "two had 1 commit", "has 2 commits")
	s.post("/discard", hidden(again.body)...)
	want(t, "the inbox", s.get("/"), "There is no workspace yet")
	if a := s.send("/bulk", "do", "merge"); a.status != http.StatusBadRequest {
		t.Errorf("nothing selected: %d", a.status)
	}
}

func TestConflictPage(t *testing.T) {
	s := newSite(t)
	a := s.make("a", map[string]string{"src/main.txt": "ours\ntwo\nthree\n"})
	b := s.make("b", map[string]string{"src/main.txt": "theirs\ntwo\nthree\n"})
	s.merge(a)
	s.merge(b)
	want(t, "a conflict", s.get(s.at(b, "")), "conflict", "changed the same places", "The places", "ours", "theirs", "main was not touched", "Resolve in its workspace")
	want(t, "the inbox", s.get("/"), "1 thing needs you", "Stuck on the way to their target")
	s.post(s.at(b, "resolve"))
	for _, staged := range []bool{false, true} {
		if staged {
			s.git.GitIn(b.Path, "add", "-A")
		}
		page := s.get(s.at(b, ""))
		want(t, "a conflict that is being resolved", page, "resolving", "1 file to resolve", "Take them out", "1 to resolve, 1 uncommitted")
		if strings.Contains(page, "↑1") {
			t.Error("there are figures of a half-merged workspace")
		}
		if strings.Contains(page, "erge into main") || strings.Contains(page, "Bring main into it") {
			t.Errorf("a merge is offered that would be refused, staged: %v", staged)
		}
	}
	gittest.WriteFile(t, filepath.Join(b.Path, "src/main.txt"), "both\ntwo\nthree\n")
	want(t, "a resolved conflict", s.get(s.at(b, "")), "all resolved, not committed", "Commit and merge into main")
}

func TestChecksAndLog(t *testing.T) {
	s := newSite(t, "echo looks good", "test ! -e a.txt || { printf '\\033[31mred\\033[0m <b>bold</b>\\n'; exit 1; }")
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	m := s.merge(ws)
	if m.Reason != croft.CheckFailed {
		t.Fatalf("the merge ended with %v", m)
	}
	page := s.get(s.at(ws, "checks"))
	want(t, "the checks", page, "checks failed", "passed", "failed", "red &lt;b&gt;bold&lt;/b&gt;", "Check again")
	all := ""
	for _, link := range regexp.MustCompile(`href="(/r/[^"]*/log\?check=[a-z0-9]+)"`).FindAllStringSubmatch(page, -1) {
		_, text, _ := strings.Cut(s.get(link[1]), `id="out"`)
		all += text
	}
	want(t, "the logs", all, "looks good", "\nred &lt;b&gt;bold&lt;/b&gt;\n")
	if strings.Contains(all, "\x1b") || strings.Contains(all, "\n[31m") {
		t.Error("an escape sequence is in the log")
	}
}

func TestLongDiff(t *testing.T) {
	s := newSite(t)
	var long strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	ws := s.make("long", map[string]string{"long.txt": long.String(), "short.txt": "x\n"})
	page := s.get(s.at(ws, ""))
	if len(page) > 60_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	address := s.at(ws, "file?path="+url.QueryEscape("long.txt"))
	want(t, "the page", page, "20,000 changed lines are not shown", `href="`+address+`"`, `data-src="`+strings.ReplaceAll(address, "&", "&amp;")+`&amp;part=1"`)
	file := s.get(address)
	want(t, "the first lines", file, ">line 0<", ">line 1499<", "Lines 1 to 1500 of 20,000")
	if strings.Contains(file, ">line 1500<") {
		t.Error("the page of a file has too many lines")
	}
	want(t, "the last lines", s.get(address+"&from=19500"), ">line 19999<")
	if part := s.get(address + "&part=1"); strings.Contains(part, "<html") || !strings.Contains(part, ">line 0<") {
		t.Error("the part for the script is not only the lines")
	}
	if a := s.do(http.MethodGet, s.at(ws, "file?path=nosuch"), nil); a.status != http.StatusNotFound {
		t.Errorf("a file that there is not: %d", a.status)
	}
}

// TestDirtyWork: a page says that a merge commits what is not committed.
func TestDirtyWork(t *testing.T) {
	s := newSite(t)
	ws := s.make("fix", nil)
	gittest.WriteFile(t, filepath.Join(ws.Path, "a.txt"), "a\n")
	want(t, "a workspace with uncommitted work", s.get(s.at(ws, "")), "Commit and merge into main", "Merging commits 1 file first")
	s.commit(ws, "work", map[string]string{"a.txt": "a\n"})
	gittest.WriteFile(t, filepath.Join(ws.Path, "b.txt"), "b\n")
	s.git.Write("a.txt", "other\n")
	s.git.Commit("in the way")
	if _, err := s.svc.Conflicts(t.Context(), croft.ConflictsRequest{}); err != nil {
		t.Fatal(err)
	}
	page := s.get(s.at(ws, ""))
	want(t, "uncommitted work that collides with its target", page, "Resolve in its workspace")
	if strings.Contains(page, "erge into main") {
		t.Error("a merge is offered that meets a conflict")
	}
}

// TestChecksBefore: before checks have run, their page says which there are, and whether they may.
func TestChecksBefore(t *testing.T) {
	s := newSite(t)
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	want(t, "without checks", s.get(s.at(ws, "checks")), "<bdi>main</bdi> asks for no checks")
	s.git.Write("croft.toml", "[merge]\nchecks = [\"test ! -e a.txt # <b>\"]\n")
	s.git.Commit("checks")
	want(t, "checks to allow", s.get(s.at(ws, "checks")), "asks for 1 check", "Nobody has allowed them yet", "settings#trust", "test ! -e a.txt # &lt;b&gt;")
	plan, err := s.svc.Checks(t.Context(), croft.ChecksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	m := s.merge(ws)
	s.post(s.in("trust"), "target", "main", "hash", plan.Hash)
	want(t, "checks that are allowed", s.get(s.at(ws, "checks")), "They run when it is merged")
	if _, err := s.svc.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil { // as the daemon's keeper does
		t.Fatal(err)
	}
	if now := s.wait(m.ID); now.Reason != croft.CheckFailed {
		t.Errorf("the merge that asked was not tried again: %s", now.Reason)
	}
}
