// Landing merges the work of every agent that has finished with success. It follows the events,
// and keeps its place among them in a file: killed and run again, it goes on there. What it had
// done and not noted yet has the same key, and so is not done twice.
//
//	landing -place /var/lib/landing/place
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
)

func main() {
	place := flag.String("place", "landing.place", "the file that has the cursor of the last event")
	isOnce := flag.Bool("once", false, "end with the last event there is")
	flag.Parse()
	follow := map[bool]croft.Follow{false: croft.FollowNew, true: croft.FollowNone}[*isOnce]
	if err := (landing{place: *place, follow: follow}).run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "landing:", err)
		os.Exit(1)
	}
}

type landing struct {
	svc    croft.Service
	place  string
	follow croft.Follow
}

func (l landing) run(ctx context.Context) (err error) {
	if l.svc, err = connect.Open(ctx, ".", nil); err != nil {
		return err
	}
	defer l.svc.Close()
	repo, err := l.svc.Repo(ctx, croft.RepoRequest{})
	if err != nil {
		return err
	}
	req := croft.EventsRequest{Repo: repo.ID, Kinds: []string{croft.EventWorkspaceFinished}, Follow: l.follow}
	after, err := os.ReadFile(l.place)
	if req.After = croft.Cursor(after); errors.Is(err, fs.ErrNotExist) {
		req.After, err = l.list(ctx)
	}
	for err == nil {
		for e, failure := range l.svc.Events(ctx, req) {
			if err = failure; err == nil && e.After != nil && e.After.Workspace != nil {
				err = l.land(ctx, *e.After.Workspace)
			}
			if err == nil {
				err = l.note(e.Cursor)
			}
			if err != nil {
				break
			}
		}
		if !errors.Is(err, croft.CursorExpired) {
			return err
		}
		req.After, err = l.list(ctx) // what happened since is not kept any more
	}
	return err
}

// list lands what has finished by now, and returns the place from which events tell the rest.
func (l landing) list(ctx context.Context) (from croft.Cursor, err error) {
	req := croft.WorkspacesRequest{MergeStatuses: []croft.MergeStatus{croft.MergePending}}
	for {
		list, err := l.svc.Workspaces(ctx, req)
		if err != nil {
			return "", err
		}
		from = cmp.Or(from, list.Cursor)
		for _, ws := range list.Items {
			if err := l.land(ctx, ws); err != nil {
				return "", err
			}
		}
		if req.After = list.Next; list.Next == "" {
			return from, l.note(from)
		}
	}
}

// land merges the work as it was when the agent finished. What cannot be merged is left to
// people: it is no error.
func (l landing) land(ctx context.Context, ws croft.Workspace) error {
	if ws.Finished == nil || ws.Finished.Outcome != croft.Succeeded {
		return nil
	}
	m, err := l.svc.SubmitMerge(ctx, croft.MergeRequest{Key: "land " + string(ws.ID) + ws.Finished.Head, Workspace: string(ws.ID), Head: ws.Finished.Head})
	if err == nil {
		m, err = l.svc.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID})
	}
	if e := croft.AsError("land", err); e != nil && !e.Code.Retryable() {
		fmt.Println(ws.Name, e) // its agent goes on and will finish again, others removed it, it is broken, …
		return nil
	}
	if err == nil {
		fmt.Println(ws.Name, m.Status, m.Reason, m.Commit)
	}
	return err
}

// note replaces the file in one step.
func (l landing) note(c croft.Cursor) error {
	if err := os.WriteFile(l.place+".new", []byte(c), 0o600); err != nil {
		return err
	}
	return os.Rename(l.place+".new", l.place)
}
