//go:build !unix

package refs

import (
	"time"

	"github.com/croft-sh/croft/internal/fsx"
)

// keepsTimes reports whether stat data tell that a file in a directory has not changed.
func keepsTimes(*fsx.Listing) bool { return false }

// rereadHead is readHead: nothing is known here.
func rereadHead(in *fsx.Listing, name string, _ map[string]head, _ time.Time) head {
	return readHead(in, name)
}
