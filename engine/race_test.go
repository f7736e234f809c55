//go:build race

package engine_test

// raceFactor is the largest factor by which the race detector slows a process down.
const raceFactor = 4
