//go:build !linux

package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"
)

func hostID() string {
	name, _ := os.Hostname()
	return name
}

// bootID is not read on this platform: a lease from before a restart is judged
// by its process alone.
func bootID() string { return "" }

func pidSpace() string { return "" }

func startOf(int) string { return "" }

// IsStopped cannot tell on this platform, and says so of no process.
func IsStopped(Identity) bool { return false }

func nameOf(int) string { return "" }

// Occupants cannot tell on this platform.
func Occupants(string) ([]Occupant, bool) { return nil, false }

// OccupantsOf cannot tell on this platform.
func OccupantsOf([]string) (map[string][]Occupant, bool) { return nil, false }

// AllOccupantsOf finds none: this platform cannot tell.
func AllOccupantsOf([]string) (map[string][]Occupant, bool) { return nil, false }

// Listeners cannot tell on this platform.
func Listeners([]int) (map[int][]Listener, bool) { return nil, false }

// IsAtWorkIn cannot tell on this platform, and says so of no process.
func IsAtWorkIn(int, string, string) bool { return true }

// BootTime is when this machine was started; zero if it cannot be told.
func BootTime() time.Time { return time.Time{} }

// Began is now: this platform does not tell when this process was started.
func Began() time.Time { return time.Now() }

// Running cannot tell on this platform.
func Running(string) ([]Neighbour, bool) { return nil, false }

// HasRunning cannot tell on this platform.
func HasRunning(string, func([]string) bool) (found, known bool) { return false, false }

// FindOpen cannot tell on this platform.
func FindOpen([]string) map[string]bool { return nil }

// CanSeeAll reports that it cannot tell on this platform.
func CanSeeAll() bool { return false }

// runConfined: only Linux can.
func runConfined(_ Command, start func() error) error { return start() }

func startDir(c Command) string { return c.Dir }

// CanConfine reports whether the kernel can confine processes.
func CanConfine() bool { return false }

// dieWithParent: only Linux can.
func dieWithParent(*exec.Cmd) (ended func()) { return func() {} }

// StartTerminal starts a process whose input and output are a terminal in raw
// mode. It fails with errors.ErrUnsupported where that cannot be had, which is
// everywhere but on Linux.
func StartTerminal(context.Context, Command) (*Process, error) { return nil, errors.ErrUnsupported }
