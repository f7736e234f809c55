//go:build race

package engine_test

// raceFactor is how much more a process computes under the race detector, at
// most.
const raceFactor = 4
