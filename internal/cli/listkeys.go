package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/tui"
)

// watchKeys are the keys that are typed while a list is shown. They are not echoed, and most of them mean nothing.
type watchKeys struct {
	board   tui.Keyboard
	suspend chan struct{}
	end     context.CancelFunc
	read    chan struct{} // closed when no more keys are read
}

// watchKeys takes the terminal, if it can be read key by key, and calls stop when a key says so.
func (a *app) watchKeys(ctx context.Context, stop context.CancelFunc) (*watchKeys, error) {
	if !a.canPick() {
		return nil, nil
	}
	board, err := a.env.Keys()
	if err != nil {
		return nil, croft.AsError("list", err)
	}
	k := &watchKeys{board: board, suspend: make(chan struct{}), read: make(chan struct{})}
	ctx, k.end = context.WithCancel(ctx)
	go k.follow(ctx, stop)
	return k, nil
}

func (k *watchKeys) follow(ctx context.Context, stop context.CancelFunc) {
	defer close(k.read)
	for {
		key, err := k.board.Next(ctx)
		switch {
		case err != nil:
			return // the list is shown without keys
		case key.Kind == tui.Interrupt, key.Kind == tui.Rune && key.Rune == 'q':
			stop()
			return
		case key.Kind == tui.Suspend:
			select {
			case k.suspend <- struct{}{}:
			case <-ctx.Done():
			}
		}
	}
}

// suspended tells that this process is to be stopped.
func (k *watchKeys) suspended() <-chan struct{} {
	if k == nil {
		return nil
	}
	return k.suspend
}

// close gives the terminal back.
func (k *watchKeys) close() {
	if k == nil {
		return
	}
	k.end()
	<-k.read // it still reads from the terminal
	k.board.Close()
}
