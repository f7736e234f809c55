package agents

import (
	"context"

	"github.com/croft-sh/croft"
)

// waiting is a Service whose calls wait for a merge no longer than the daemon runs. The merge
// stays in its queue.
type waiting struct {
	croft.Service
	stopping <-chan struct{}
}

func (w waiting) WaitMerge(ctx context.Context, req croft.WaitRequest) (*croft.Merge, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ended:
		case <-w.stopping:
			cancel()
		}
	}()
	m, err := w.Service.WaitMerge(ctx, req)
	if err != nil {
		select {
		case <-w.stopping:
			return nil, &croft.Error{Code: croft.Closed, Op: "merge", Message: "the daemon stops; the merge stays in its queue", Hint: "ask again", Err: err}
		default:
		}
	}
	return m, err
}
