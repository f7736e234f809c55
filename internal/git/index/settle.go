package index

import (
	"errors"
	"time"
)

// ErrDiffers says that a file is not the one that its entry in an index is about.
var ErrDiffers = errors.New("a file is not as it is staged")

// settledBy is by how much the files of a settled checkout are older than they were when they were written: more than any
// file system rounds times by.
const settledBy = 3 * time.Second
