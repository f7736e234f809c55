package workspace

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/project"
)

// checkSpace refuses a creation for which the disk has not enough space. It takes the
// number of files from the main checkout's index, which is close enough.
func (svc *Workspaces) checkSpace(s project.Location, plans []*plan) error {
	if s.Git == nil {
		return nil
	}
	dir := existingAbove(plans[0].layout.BaseDir(s.Path, s.Name(), ""))
	bytes, inodes, err := fsx.FreeSpace(dir)
	if err != nil {
		return nil // this file system does not report its space
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

// nearlyFull is the number of free bytes below which fullDiskError takes the disk for
// full: a write that failed may have needed more than was left.
const nearlyFull = 1 << 20

// fullDiskError returns ENOSPC with the error of a checkout if the disk is full,
// because git does not say why it could not write a file. Otherwise it returns err.
func fullDiskError(dir string, err error) error {
	if !errors.Is(err, gitcmd.KindVanished) {
		return err
	}
	bytes, inodes, ferr := fsx.FreeSpace(dir)
	if ferr != nil || bytes >= nearlyFull && inodes > 0 {
		return err
	}
	return fmt.Errorf("%w: %w", syscall.ENOSPC, err)
}
