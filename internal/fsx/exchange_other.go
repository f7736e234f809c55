//go:build !linux

package fsx

import "errors"

// Exchange fails: this system is not known to exchange two entries in one step.
func (d *Dir) Exchange(_ string, _ *Dir, _ string) error { return errors.ErrUnsupported }

// MoveNew fails as Exchange does.
func (d *Dir) MoveNew(_ string, _ *Dir, _ string) error { return errors.ErrUnsupported }

// RemoveEmpty fails as Exchange does.
func (d *Dir) RemoveEmpty(string) error { return errors.ErrUnsupported }

// CannotExchange reports whether [Dir.Exchange] or [Dir.MoveNew] failed because of where the entries lie.
func CannotExchange(err error) bool { return errors.Is(err, errors.ErrUnsupported) }

// Writers says whether a process has a file open for writing.
type Writers string

// The answers to who writes a file.
const (
	WritersNone    Writers = "none"
	WritersSome    Writers = "some"
	WritersUnknown Writers = "unknown"
)

// WritersOf does not know.
func (d *Dir) WritersOf(string) Writers { return WritersUnknown }

// MakesAs does not know: nothing is exchanged here.
func (d *Dir) MakesAs(*Dir) bool { return false }
