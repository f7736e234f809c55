//go:build !race

package web_test

// every text of a walk through all parameters is tried.
const every = 1
