//go:build !linux

package spare

import (
	"context"
	"errors"
)

// CopyTo fails with [errors.ErrUnsupported]: git writes every spare here.
func (t *Tree) CopyTo(_ context.Context, _ *Tree, _ int) error { return errors.ErrUnsupported }
