package git

import (
	"errors"
	"os"

	"github.com/croft-sh/croft/internal/fsx"
)

// maxPlain bounds what is read of one file of git's own. An index of a million
// files has 100 MB.
const maxPlain = 2 << 30

// readPlain reads a file of git's own where an agent may write: no link, no
// pipe, nothing that is not a file.
func readPlain(path string) ([]byte, error) { return fsx.ReadFile(path, maxPlain) }

// openPlain opens such a file.
func openPlain(path string) (*os.File, error) { return fsx.Open(path) }

// writeNew writes a file anew, in the place of whatever has its name: a link is
// replaced, and not followed.
func writeNew(path string, data []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
