package api

import "github.com/croft-sh/croft"

// OnlyWaits reports whether a call waits for what others do: nothing is lost if it ends early
// and is made again at the next daemon, and a daemon that stops need not wait for it.
func OnlyWaits(request any) bool {
	switch r := request.(type) {
	case croft.WaitRequest:
		return true
	case croft.DriveRequest:
		return r.Until == croft.UntilStopped
	}
	return false
}
