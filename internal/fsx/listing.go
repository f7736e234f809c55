package fsx

import "os"

// Listing is a directory with the names of its entries, to read a small file of each: where there are
// thousands, to find the directory anew for every file takes as long as the rest.
type Listing struct {
	Names []string // in no order
	dir   *os.File
	fd    int // of dir
}

// List opens a directory, through a link too, and reads the names of its entries. The caller closes it. Where a pipe
// is in its place, nobody is waited for.
func List(path string) (*Listing, error) {
	d, err := openDirectory(path)
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	if err != nil {
		_ = d.Close()
		return nil, err
	}
	return &Listing{names, d, int(d.Fd())}, nil
}

// Close closes the directory.
func (l *Listing) Close() error { return l.dir.Close() }
