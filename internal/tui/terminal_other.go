//go:build !unix

package tui

import (
	"errors"
	"io"
	"os"
)

// Open fails: on this platform nothing is chosen key by key.
func Open(*os.File, io.Writer) (Keyboard, error) { return nil, errors.ErrUnsupported }
