// Package direct keeps the checkout contract without isolation: the agent
// writes in the project itself. Nothing is made, so nothing is rolled back, and
// nothing is ever moved or deleted.
package direct

import (
	"context"
	"os"

	"github.com/croft-sh/croft/internal/checkout"
)

// Checkouts hands out the project's own directory.
type Checkouts struct{}

var _ checkout.Checkout = Checkouts{}

// Prepare checks that the directory is there.
func (Checkouts) Prepare(_ context.Context, s checkout.Spec) error {
	_, err := os.Stat(s.Path)
	return err
}

// Fill does nothing: the files are there.
func (Checkouts) Fill(context.Context, checkout.Spec) error { return nil }

// Verify has nothing to compare with.
func (Checkouts) Verify(context.Context, checkout.Spec) ([]string, error) { return nil, nil }

// Release does nothing.
func (Checkouts) Release(checkout.Spec) error { return nil }

// Changes are not known: several agents and the user write in the directory.
func (Checkouts) Changes(context.Context, checkout.Spec) ([]checkout.Change, error) { return nil, nil }

// Health looks whether the directory is there.
func (Checkouts) Health(s checkout.Spec) checkout.Health {
	if _, err := os.Stat(s.Path); err != nil {
		return checkout.Missing
	}
	return checkout.Intact
}

// MoveToTrash leaves the project where it is.
func (Checkouts) MoveToTrash(checkout.Spec, string) error { return nil }

// MoveBack has nothing to bring back.
func (Checkouts) MoveBack(checkout.Spec, string) error { return nil }

// Discard leaves the project where it is.
func (Checkouts) Discard(checkout.Spec) error { return nil }
