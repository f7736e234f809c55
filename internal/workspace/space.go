package workspace

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/project"
)

// checkSpace refuses to begin what the disk cannot hold. The number of files
// is taken from the main checkout's index, which is close enough for a check
// that only has to keep a machine from running dry.
func (svc *Workspaces) checkSpace(s project.Location, plans []*plan) error {
	if s.Git == nil {
		return nil
	}
	dir := existingAbove(plans[0].layout.BaseDir(s.Path, s.Name(), ""))
	bytes, inodes, err := project.FreeSpace(dir)
	if err != nil {
		return nil // a file system that does not tell has no limit to check
	}
	limits := s.Config.Limits
	files := int64(len(plans)) * int64(index.Count(s.CommonDir))
	switch {
	case bytes < limits.MinFreeBytes:
		return noSpaceError(dir, fmt.Sprintf("%d bytes are free, the limit is %d", bytes, limits.MinFreeBytes), "limits.min_free_bytes")
	case inodes < limits.MinFreeInodes+files:
		return noSpaceError(dir, fmt.Sprintf("%d inodes are free, %d files and a reserve of %d are needed", inodes, files, limits.MinFreeInodes),
			"limits.min_free_inodes")
	}
	return nil
}

func noSpaceError(dir, message, key string) error {
	return &croft.Error{Code: croft.NoSpace, Message: message, Details: dir, Hint: "croft clean, or lower " + key}
}

// nearlyFull is what may still be free on a disk on which a write has failed
// for want of space.
const nearlyFull = 1 << 20

// fullDiskError says of a checkout that failed that the disk is full, if it is: git
// does not tell why it could not write a file.
func fullDiskError(dir string, err error) error {
	if !errors.Is(err, gitcmd.KindVanished) {
		return err
	}
	bytes, inodes, ferr := project.FreeSpace(dir)
	if ferr != nil || bytes >= nearlyFull && inodes > 0 {
		return err
	}
	return fmt.Errorf("%w: %w", syscall.ENOSPC, err)
}
