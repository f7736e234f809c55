package lane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/project"
)

// Once acts for a key, unless that was used before: then the merge that came of
// it is the answer, whatever has become of the workspace. Of several who come
// with one key at once, in this process and in others, one acts, and the others
// wait for what comes of it.
func (svc *Lanes) Once(ctx context.Context, key *journal.Key, req any, act func() (*croft.Merge, error)) (*croft.Merge, error) {
	if key.Key == "" {
		return act()
	}
	if err := layout.CheckKey(key.Key); err != nil {
		return nil, err
	}
	key.Request = project.DigestOf(req)
	if m, err := svc.mergedBefore(ctx, *key); m != nil || err != nil {
		return m, err
	}
	l, err := svc.lockKey(ctx, *key)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = os.Remove(l.File().Name())
		_ = l.Unlock()
	}()
	if m, err := svc.mergedBefore(ctx, *key); m != nil || err != nil {
		return m, err
	}
	return act()
}

// mergedBefore is the merge that a key was used for, or nil.
func (svc *Lanes) mergedBefore(ctx context.Context, key journal.Key) (*croft.Merge, error) {
	used, err := svc.Journal.FindKey(ctx, key.Repo, key.Verb, key.Key)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case used.Request != key.Request:
		return nil, project.KeyConflict(key.Key)
	}
	m, err := svc.Journal.Merge(ctx, used.Operation)
	if err != nil {
		return nil, err
	}
	return &m.Merge, nil
}

// lockKey waits until nobody else acts for a key. Its file goes with the lock, so
// the one that is locked has to be the one that others find.
func (svc *Lanes) lockKey(ctx context.Context, key journal.Key) (*flock.Lock, error) {
	sum := sha256.Sum256([]byte(key.Verb + "\x00" + key.Key))
	path := filepath.Join(svc.DirOf(key.Repo), "keys", hex.EncodeToString(sum[:12]))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	for {
		l, err := flock.Acquire(ctx, path)
		if err != nil || l.IsAt(path) {
			return l, err
		}
		_ = l.Unlock()
	}
}
