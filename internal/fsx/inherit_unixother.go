//go:build unix && !linux

package fsx

func inheritRules(int, int) {}
