//go:build !linux

package git

const memoryDir = ""

func hasMemory() bool { return false }
