package dashboard

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/croft-sh/croft"
)

const (
	// driftTime is how long a page may compare files with their target.
	driftTime    = 2 * time.Second
	driftReaders = 4
)

// drift is what the target changed since a review.
type drift struct {
	IsMoved  bool            // the target is at another commit
	Now      string          // that commit
	Moved    map[string]bool // files of the page that it changed to something else than the review has
	Unknown  int             // files that were not compared in time
	Problem  string          // why nothing could be compared
	Compared int
}

func (d drift) has(path string) bool { return d.Moved[path] }

// driftOf compares the files of a page with what their target has now. The lane compares again before it applies
// them: the page only says early what it would refuse.
func (d *dashboard) driftOf(r *request, review *croft.Review) drift {
	out := drift{Moved: map[string]bool{}}
	if review.Target == "" {
		return out
	}
	ctx, cancel := context.WithTimeout(r.Context(), driftTime)
	defer cancel()
	plan, err := d.svc.Checks(ctx, croft.ChecksRequest{Repo: r.ref(), Target: review.Target})
	if err != nil {
		out.Problem = croft.AsError("checks", err).Message
		return out
	}
	out.Now = plan.Commit
	if out.IsMoved = plan.Commit != review.TargetCommit; !out.IsMoved {
		return out
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan *croft.ReviewFile)
	for range min(driftReaders, len(review.Files)) {
		wg.Go(func() {
			for f := range next {
				hasMoved, err := d.hasMoved(ctx, r, review, f)
				mu.Lock()
				switch {
				case err != nil:
					out.Unknown++
				default:
					out.Compared++
					if hasMoved {
						out.Moved[f.Path] = true
					}
				}
				mu.Unlock()
			}
		})
	}
	for i := range review.Files {
		next <- &review.Files[i]
	}
	close(next)
	wg.Wait()
	return out
}

// hasMoved reports whether the target has other content for a file than at the time of the review, and other
// content than the review would bring. A renamed file is also looked at under its old path.
func (d *dashboard) hasMoved(ctx context.Context, r *request, review *croft.Review, f *croft.ReviewFile) (bool, error) {
	paths := []string{f.Path}
	if f.OldPath != "" {
		paths = append(paths, f.OldPath)
	}
	for _, path := range paths {
		was, err := d.targetObject(ctx, croft.FileRequest{Repo: r.ref(), Review: review.ID, Path: path})
		if err != nil {
			return false, err
		}
		now, err := d.targetObject(ctx, croft.FileRequest{Repo: r.ref(), Workspace: croft.ByID(review.Workspace), Target: review.Target, Path: path})
		if err != nil {
			return false, err
		}
		if now != was && (path != f.Path || now != f.NewObject) {
			return true, nil
		}
	}
	return false, nil
}

// targetObject names what the target has at a path; empty: nothing.
func (d *dashboard) targetObject(ctx context.Context, req croft.FileRequest) (string, error) {
	req.Side, req.Limit = croft.SideTarget, 1
	file, err := d.svc.File(ctx, req)
	if errors.Is(err, croft.FileNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return file.Object, nil
}
