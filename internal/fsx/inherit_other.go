//go:build !unix

package fsx

// InheritAs lets what is made in a directory get the rules of access that it would get
// in another one. Not here.
func (d *Dir) InheritAs(*Dir) {}
