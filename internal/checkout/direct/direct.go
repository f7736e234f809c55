// Package direct keeps the checkout contract without isolation: the agent writes in the
// project itself. It makes nothing, so it never rolls back, moves or deletes anything.
package direct

import (
	"context"
	"os"

	"github.com/croft-sh/croft/internal/checkout"
)

// Checkouts hands out the project's own directory.
type Checkouts struct{}

var _ checkout.Checkout = Checkouts{}

// Prepare checks that the project's directory exists.
func (Checkouts) Prepare(_ context.Context, s checkout.Spec) error {
	_, err := os.Stat(s.Path)
	return err
}

// Fill does nothing: the files exist.
func (Checkouts) Fill(context.Context, checkout.Spec) error { return nil }

// Verify does nothing: there is no base to compare with.
func (Checkouts) Verify(context.Context, checkout.Spec) ([]string, error) { return nil, nil }

// Release does nothing: the project is not protected.
func (Checkouts) Release(checkout.Spec) error { return nil }

// Changes returns none: several agents and the user write in the directory, so it is
// unknown whose changes they are.
func (Checkouts) Changes(context.Context, checkout.Spec) ([]checkout.Change, error) { return nil, nil }

// Health reports whether the project's directory exists.
func (Checkouts) Health(s checkout.Spec) checkout.Health {
	if _, err := os.Stat(s.Path); err != nil {
		return checkout.Missing
	}
	return checkout.Intact
}

// MoveToTrash does nothing: the project stays where it is.
func (Checkouts) MoveToTrash(checkout.Spec, string) error { return nil }

// MoveBack does nothing: the project was not moved.
func (Checkouts) MoveBack(checkout.Spec, string) error { return nil }

// Discard does nothing: the project stays.
func (Checkouts) Discard(checkout.Spec) error { return nil }
