//go:build !unix

package socket

func closeOnExec(int) {}
