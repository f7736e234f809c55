package object

import (
	"compress/zlib"
	"io"
)

// inflater decompresses one object after the other in the same memory.
type inflater struct{ z io.ReadCloser }

// open returns a reader of decompressed data. It is valid until the next call.
func (i *inflater) open(in io.Reader) (io.Reader, error) {
	var err error
	if i.z == nil {
		i.z, err = zlib.NewReader(in)
	} else {
		err = i.z.(zlib.Resetter).Reset(in, nil)
	}
	if err != nil {
		i.z = nil
	}
	return i.z, err
}
