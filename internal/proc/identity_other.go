//go:build !linux

package proc

import (
	"os"
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

func nameOf(int) string { return "" }

// Occupants cannot tell on this platform.
func Occupants(string) ([]Occupant, bool) { return nil, false }

// BootTime is when this machine was started; zero if it cannot be told.
func BootTime() time.Time { return time.Time{} }
