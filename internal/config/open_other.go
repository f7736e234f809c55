//go:build !unix

package config

import "os"

const (
	openPlain  = os.O_RDONLY
	openNoLink = os.O_RDONLY
)
