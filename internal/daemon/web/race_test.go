//go:build race

package web_test

// every is how many of the texts of a walk through all parameters are passed over for one that is
// tried: the race detector makes each request many times slower, and the walks are made without it
// too.
const every = 8
