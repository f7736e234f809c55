// Package battery holds long tests of the program as a whole: many processes
// at once, processes that are killed, disks that are full, names that were
// chosen to do harm, and times beside those of plain git. They build the real
// binary and run it with the real git.
//
// The short form runs under go test, the full one with CROFT_LONG=1. Every
// battery prints its figures on a line that begins with "battery:"; the ones
// that count are kept in docs/figures.md.
package battery
