package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/help"
)

// TestEveryValueIsCompleted: no flag of any command makes the shell offer files that are none, or nothing by mistake.
func TestEveryValueIsCompleted(t *testing.T) {
	for _, cmd := range everyCommand(testRoot()) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if _, ok := cmd.GetFlagCompletionFunc(flag.Name); !ok && flag.Value.Type() != "bool" && !flag.Hidden && cmd.Root().PersistentFlags().Lookup(flag.Name) == nil {
				t.Errorf("croft %s --%s has no completion", help.Key(cmd), flag.Name)
			}
		})
		if (strings.Contains(cmd.Use, " NAME") || strings.Contains(cmd.Use, "[NAME")) && cmd.ValidArgsFunction == nil {
			t.Errorf("croft %s completes no names", help.Key(cmd))
		}
		if cmd.Use == cmd.Name() && cmd.HasParent() && !cmd.HasSubCommands() && cmd.ValidArgsFunction == nil {
			t.Errorf("croft %s takes nothing, and files are completed", help.Key(cmd))
		}
	}
}

func TestCompletionTableNamesCommands(t *testing.T) {
	known := map[string]bool{}
	for _, cmd := range everyCommand(testRoot()) {
		known[help.Key(cmd)] = true
	}
	for key := range (&app{}).argumentCompletions() {
		if !known[key] {
			t.Errorf("there is no command %q", key)
		}
	}
}

// TestCompletionSaysNothingOfErrors: who presses Tab wants no error text.
func TestCompletionSaysNothingOfErrors(t *testing.T) {
	svc := &fake{workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) {
		return nil, &croft.Error{Code: croft.StateUnavailable, Message: "boom"}
	}}
	r := newRun(svc).call(t, "__complete", "show", "")
	if out := r.stdout.String() + r.stderr.String(); strings.Contains(out, "boom") {
		t.Errorf("%s", out)
	}
}

// TestCompletionOfAnAgentsWords: what an agent may have chosen reaches the shell as text that can be printed.
func TestCompletionOfAnAgentsWords(t *testing.T) {
	offer := described("a\x1b[2Jb", "c\rd\u202e")
	if strings.ContainsAny(offer, "\x1b\r\u202e") {
		t.Errorf("%q", offer)
	}
}

// TestPackedBranchesOpensNoPipe: an agent that can write the git directory does not make the shell wait.
func TestPackedBranchesOpensNoPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "packed-refs"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan []string, 1)
	go func() { done <- packedBranches(dir, "") }()
	select {
	case names := <-done:
		if len(names) > 0 {
			t.Errorf("%v", names)
		}
	case <-time.After(5 * time.Second):
		t.Error("it waits for the pipe")
	}
}

func TestBranchesOfFiles(t *testing.T) {
	dir := t.TempDir()
	heads := filepath.Join(dir, "refs", "heads")
	for path, text := range map[string]string{
		filepath.Join(heads, "main"): "x\n", filepath.Join(heads, "feature", "a"): "x\n", filepath.Join(heads, "main.lock"): "",
		filepath.Join(dir, "packed-refs"): "# pack-refs with: peeled\n0000 refs/heads/packed\n0000 refs/tags/v1\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, filepath.Join(heads, "link")); err != nil {
		t.Fatal(err)
	}
	names := append(looseBranches(dir, ""), packedBranches(dir, "")...)
	slices.Sort(names)
	if want := []string{"feature/a", "main", "packed"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

// TestCompletionFilters: a command is offered the workspaces for which it makes sense; of what nobody has looked at, all.
func TestCompletionFilters(t *testing.T) {
	of := func(name string, status croft.Condition) croft.Workspace {
		ws := fixLogin()
		ws.Name, ws.Status, ws.Work = name, status, &croft.Work{Seen: []croft.Aspect{croft.AspectCommits, croft.AspectFiles}}
		return ws
	}
	locked, ahead, unseen, running := of("locked", croft.ConditionLocked), of("ahead", croft.ConditionAhead), of("unseen", croft.ConditionEmpty), of("running", croft.ConditionWorking)
	locked.IsLocked, ahead.Work.Added, ahead.Work.Deleted, unseen.Work, running.Run = true, 12, 3, nil, &croft.Run{}
	failed, pending := of("failed", croft.ConditionCheckFailed), of("pending", croft.ConditionConflict)
	failed.MergeStatus, failed.MergeReason, failed.Work.Added = croft.MergePending, croft.CheckFailed, 1
	pending.MergeStatus, pending.MergeReason, pending.Work.Deleted = croft.MergePending, croft.Conflict, 1
	all := []croft.Workspace{of("empty", croft.ConditionEmpty), of("merged", croft.ConditionMerged), locked, ahead, unseen, running, failed, pending}
	for line, want := range map[string]string{
		"merge":  "ahead\tahead +12 -3|failed\tcheck failed +1|pending\tconflict -1|unseen\tnot looked at",
		"finish": "ahead\tahead +12 -3|failed\tcheck failed +1|pending\tconflict -1|running\tworking|unseen\tnot looked at",
		"logs":   "failed\tcheck failed +1|running\tworking",
		"unlock": "locked\tlocked",
		"lock":   "ahead\tahead +12 -3|empty\tempty|failed\tcheck failed +1|merged\tmerged|pending\tconflict -1|running\tworking|unseen\tnot looked at",
		"stop":   "running\tworking",
	} {
		svc := &fake{workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) { return slices.Clone(all), nil }}
		out := newRun(svc).call(t, "__complete", line, "").stdout.String()
		offers, _, _ := strings.Cut(out, "\n:")
		if got := strings.ReplaceAll(offers, "\n", "|"); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
