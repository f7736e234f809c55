//go:build !linux

package proc

import (
	"context"
	"errors"
)

// StartTerminal starts a process whose input and output are a terminal in raw
// mode. It fails with errors.ErrUnsupported where that cannot be had, which is
// everywhere but on Linux.
func StartTerminal(context.Context, Command) (*Process, error) { return nil, errors.ErrUnsupported }
