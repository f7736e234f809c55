package cli

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
)

// watcher is the part of croft.Service that `croft list --watch` calls.
type watcher interface {
	overviewer
	croft.Events
}

// What --watch does when.
const (
	watchEvery = time.Second            // it is shown anew
	watchPause = 100 * time.Millisecond // passes between two looks, however many events come
	watchBold  = 3 * time.Second        // a row stands out after its state has changed
)

// The escape sequences by which a list is shown in place of what the terminal has, and by which the
// terminal gets that back.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	beginFrame  = "\x1b[?2026h\x1b[H"
	endLine     = "\x1b[K\r\n"
	endFrame    = "\x1b[J\x1b[?2026l"
)

// watchList shows the list until the context ends.
func (a *app) watchList(ctx context.Context, svc watcher, o listOptions) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes := a.followChanges(ctx, svc, o)
	shown := watched{a: a, o: o, at: map[croft.ID]seen{}}
	if !a.json {
		keys, err := a.watchKeys(ctx, stop)
		if err != nil {
			return err
		}
		defer keys.close()
		shown.keys = keys
		fmt.Fprint(a.out, enterScreen)
		defer fmt.Fprint(a.out, leaveScreen)
	}
	for {
		result, err := a.readList(ctx, svc, o)
		if ctx.Err() != nil {
			return nil // the user has seen enough
		}
		if err != nil {
			return err
		}
		shown.show(ctx, svc, result)
		if a.out.err != nil {
			return nil // the reader has gone; output says so
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchPause):
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changes:
		case <-shown.keys.suspended():
			fmt.Fprint(a.out, leaveScreen)
			shown.keys.board.Suspend()
			fmt.Fprint(a.out, enterScreen)
		case <-time.After(watchEvery - watchPause):
		}
	}
}

// followChanges tells of events, until ctx ends. Several that come at once are told once. If they
// cannot be read, the list is looked at by the clock alone.
func (a *app) followChanges(ctx context.Context, svc watcher, o listOptions) <-chan struct{} {
	changes := make(chan struct{}, 1)
	req := croft.EventsRequest{From: croft.FromNow, Follow: croft.FollowNew}
	if o.filter.Repos != croft.ScopeAll {
		if repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: o.filter.Repo}); err == nil {
			req.Repo = repo.ID
		}
	}
	go func() {
		for _, err := range svc.Events(ctx, req) {
			if err != nil {
				return
			}
			select {
			case changes <- struct{}{}:
			default:
			}
		}
	}()
	return changes
}

// seen is how a workspace was when it was shown last, and since when.
type seen struct {
	ws    croft.Workspace
	state croft.Condition
	since time.Time
}

// watched is what was shown.
type watched struct {
	a    *app
	o    listOptions
	at   map[croft.ID]seen
	turn int
	isOn bool       // something was shown before
	keys *watchKeys // nil: nobody types
}

func (w *watched) show(ctx context.Context, svc overviewer, result *workspacesResult) {
	now, changed, before := time.Now(), map[croft.ID]bool{}, w.at
	w.at = map[croft.ID]seen{}
	for i := range result.Workspaces {
		ws := &result.Workspaces[i]
		was, ok := before[ws.ID]
		is := seen{ws: *ws, state: ws.Status, since: was.since}
		if w.isOn && (!ok || was.state != ws.Status) {
			is.since = now
		}
		w.at[ws.ID] = is
		changed[ws.ID] = !is.since.IsZero() && now.Sub(is.since) < watchBold
		if w.a.json && (!ok || !reflect.DeepEqual(was.ws, *ws)) {
			w.a.emitLine(workspacesResult{Workspaces: []croft.Workspace{*ws}})
		}
	}
	for id := range before {
		if _, ok := w.at[id]; !ok && w.a.json {
			w.a.emitLine(workspacesResult{Gone: []croft.ID{id}})
		}
	}
	w.isOn = true
	if !w.a.json {
		w.draw(ctx, svc, result, changed)
	}
}

// draw writes the list over what was shown, in one write.
func (w *watched) draw(ctx context.Context, svc overviewer, result *workspacesResult, changed map[croft.ID]bool) {
	a := w.a
	to := a.stdout()
	width, height := a.env.Size()
	if width > 0 {
		to.Width = width
	}
	isOfAll := w.o.filter.Repos == croft.ScopeAll
	var repos []croft.Repo
	if isOfAll {
		if known, err := svc.Repos(ctx, croft.ReposRequest{}); err == nil {
			repos = known.Items
		}
	}
	s := listing.Show(result.Workspaces, to, a.listedAt())
	s.Turn, s.Changed = w.turn, changed
	w.turn++
	hint := "ctrl-c ends"
	if w.keys != nil {
		hint = "q ends"
	}
	lines, end := []string{to.Paint("no workspaces", styleDim)}, []string{to.Paint(hint, styleDim)}
	if len(result.Workspaces) > 0 {
		lines, end = s.Lines(to, repos, isOfAll), nil
		for _, line := range s.CountLines(to.Width, to.Signs().Dot+" "+hint) {
			end = append(end, to.Line(line...))
		}
	}
	if room := height - len(end); height > 0 && len(lines) > room && room > 1 {
		more := len(lines) - room + 1
		lines = append(lines[:room-1], to.Paint(fmt.Sprintf("    and %d more", more), styleDim))
	}
	fmt.Fprint(a.out, beginFrame+strings.Join(append(lines, end...), endLine)+endFrame)
}
