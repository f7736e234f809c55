package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/croft-sh/croft/internal/tui"
)

// keyboard types keys one after the other.
type keyboard struct {
	keys   []tui.Key
	closed int
}

func (k *keyboard) Next(context.Context) (tui.Key, error) {
	if len(k.keys) == 0 {
		return tui.Key{}, errors.New("nobody types")
	}
	key := k.keys[0]
	k.keys = k.keys[1:]
	return key, nil
}

func (k *keyboard) Suspend() {}
func (k *keyboard) Close()   { k.closed++ }

// typed are the keys of a text; "\n" is enter, and "\x1b" escape.
func typed(text string) *keyboard {
	k := &keyboard{}
	for _, r := range text {
		kind, ok := map[rune]tui.Kind{'\n': tui.Enter, '\x1b': tui.Escape, '\t': tui.Down}[r]
		if ok {
			r = 0
		}
		k.keys = append(k.keys, tui.Key{Kind: kind, Rune: r})
	}
	return k
}

// pickable has some workspaces, and remembers those that were unlocked and removed.
func pickable() (svc *fake, done *[]string) {
	done = new([]string)
	of := func(name string, status croft.Condition) croft.Workspace {
		ws := fixLogin()
		ws.ID, ws.Name, ws.Status, ws.Path = croft.ID(name), name, status, "/elsewhere/"+name
		ws.Work = &croft.Work{Seen: []croft.Aspect{croft.AspectCommits, croft.AspectFiles}}
		return ws
	}
	locked, again := of("locked", croft.ConditionLocked), of("locked-too", croft.ConditionLocked)
	locked.IsLocked, again.IsLocked = true, true
	all := []croft.Workspace{of("empty", croft.ConditionEmpty), locked, of("ahead\x1b[2J", croft.ConditionAhead), again, of("other", croft.ConditionAhead)}
	svc = &fake{
		workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) {
			return append([]croft.Workspace{}, all...), nil
		},
		unlock: func(req croft.LockRequest) (*croft.Workspace, error) {
			*done = append(*done, req.Workspace)
			return &all[1], nil
		},
		remove: func(req croft.RemoveRequest) (*croft.RemoveResult, error) {
			*done = append(*done, req.Workspaces...)
			return &croft.RemoveResult{}, nil
		},
		workspace: func(req croft.WorkspaceRequest) (*croft.Workspace, error) {
			if req.Ref == "" {
				return nil, &croft.Error{Code: croft.WorktreeNotFound, Message: "not inside a workspace, and no name was given"}
			}
			*done = append(*done, req.Ref)
			return &all[0], nil
		},
		trash: func(string) ([]croft.TrashItem, error) {
			return []croft.TrashItem{{ID: "abcd", Name: "gone", RemovedAt: noon}, {ID: "efgh", Name: "gone", RemovedAt: noon}}, nil
		},
		restore: func(req croft.RestoreRequest) (*croft.Workspace, error) {
			*done = append(*done, req.Ref)
			return &all[0], nil
		},
	}
	return svc, done
}

// withKeys is a call at a terminal, where keys are typed.
func withKeys(svc *fake, keys *keyboard) *run {
	r := newRun(svc)
	r.env.Terminal, r.env.ErrWidth, r.env.Width = TerminalInteractive, 80, 80
	r.env.Size = func() (int, int) { return 80, 24 }
	r.env.ErrSize = r.env.Size
	r.env.Keys = func() (tui.Keyboard, error) { return keys, nil }
	return r
}

// TestPickAName: a name that is missing is chosen from those for which the command makes sense, and the command is shown with it.
func TestPickAName(t *testing.T) {
	for line, want := range map[string]struct{ keys, done, shown string }{
		"unlock":       {"\n", "locked", "croft unlock locked"},
		"unlock -q":    {"too\n", "locked-too", ""},
		"path":         {"emp\n", "empty", "croft path empty"},
		"restore":      {"\t\n", "efgh", "croft restore efgh"},
		"remove --yes": {"oth \n", "other", "croft remove --yes other"},
		"remove -f":    {" \t \n", "ahead\x1b[2J empty", "remove -f"},
	} {
		svc, done := pickable()
		keys := typed(want.keys)
		r := withKeys(svc, keys)
		r.call(t, strings.Fields(line)...)
		if got := strings.Join(*done, " "); got != want.done || r.exit != croft.ExitOK || keys.closed == 0 {
			t.Errorf("%s: %q with exit %d, want %q\n%s", line, got, r.exit, want.done, r.stderr.String())
		}
		if text := r.stderr.String(); !strings.Contains(text, want.shown) || strings.Contains(text, "\x1b[2J") {
			t.Errorf("%s shows %q, want %q", line, text, want.shown)
		}
	}
}

// TestPickRows: what was removed is chosen from rows that say when and why, and how long it is kept.
func TestPickRows(t *testing.T) {
	svc, _ := pickable()
	svc.trash = func(string) ([]croft.TrashItem, error) {
		return []croft.TrashItem{{ID: "abcd", Name: "gone", As: croft.ConditionMerged, RemovedAt: noon.Add(-time.Hour), ExpiresAt: noon.Add(7 * 24 * time.Hour)}}, nil
	}
	r := withKeys(svc, typed("\x1b")).call(t, "restore")
	for _, part := range []string{"REMOVED", "1h ago", "merged", "7d"} {
		if !strings.Contains(r.stderr.String(), part) {
			t.Errorf("no %q among what restore shows: %q", part, r.stderr.String())
		}
	}
	heading, lines := listing.Merged([]croft.Merge{{WorkspaceName: "a", Target: "main", Commit: "1234567890", EndedAt: noon.Add(-time.Minute)}}, screen.Stream{Width: 80}, noon)
	if want := "    a     1m ago  main  1234567"; len(lines) != 1 || !strings.Contains(heading, "MERGED") || strings.TrimSpace(lines[0]) != strings.TrimSpace(want) {
		t.Errorf("%q and %q, want %q", heading, lines, want)
	}
	for _, name := range []string{"save", "stop", "adopt"} {
		if p, ok := (&app{}).picks()[name]; !ok || p.isMeant == nil && p.offers == nil {
			t.Errorf("croft %s does not ask which one", name)
		}
	}
}

// TestPickIsLeft: who leaves the list has done nothing.
func TestPickIsLeft(t *testing.T) {
	svc, done := pickable()
	keys := typed("\x1b")
	r := withKeys(svc, keys).call(t, "unlock")
	if len(*done) > 0 || r.exit != croft.ExitCanceled || keys.closed == 0 || !strings.HasSuffix(r.stderr.String(), "nothing was chosen\n") {
		t.Errorf("%v, exit %d, %q", *done, r.exit, r.stderr.String())
	}
}

// TestPickNeedsATerminal: elsewhere a missing name is an error with the names, and a hint that runs.
func TestPickNeedsATerminal(t *testing.T) {
	for line, want := range map[string]string{
		"unlock":    "croft: which workspace? to unlock: locked, locked-too\nhint: croft unlock locked\n",
		"path":      "croft: which workspace? to go to: ahead\uFFFD[2J, other, empty, locked, locked-too\nhint: croft path 'ahead\uFFFD[2J'\n",
		"restore":   "croft: which workspace? to restore: gone, efgh\nhint: croft restore gone\n",
		"remove -n": "croft: which workspace? to remove: ahead\uFFFD[2J, other, empty\nhint: croft remove -n 'ahead\uFFFD[2J'\n",
	} {
		for _, change := range []func(*Env){func(e *Env) { e.Terminal = TerminalNone }, func(e *Env) { e.IsDumb = true }, func(e *Env) { e.Keys = nil }} {
			svc, done := pickable()
			r := withKeys(svc, typed("\n"))
			change(&r.env)
			r.call(t, strings.Fields(line)...)
			if r.stderr.String() != want || r.exit != croft.ExitUsage || len(*done) > 0 {
				t.Errorf("%s: exit %d, %q, want %q", line, r.exit, r.stderr.String(), want)
			}
		}
	}
	svc, _ := pickable()
	svc.trash = func(string) ([]croft.TrashItem, error) { return nil, nil }
	withKeys(svc, typed("\n")).call(t, "restore").want(t, croft.ExitUsage, "", "croft: which workspace? there is none to restore\nhint: croft list\n")
}
