//go:build !linux

package index

import (
	"errors"

	"github.com/croft-sh/croft/internal/git/object"
)

// Settle is only there on Linux.
func (f *Flat) Settle(int, object.Format) ([]FileStat, error) { return nil, errors.ErrUnsupported }

// SettleSince is only there on Linux.
func (f *Flat) SettleSince(*Flat, int, object.Format) ([]FileStat, error) {
	return nil, errors.ErrUnsupported
}
