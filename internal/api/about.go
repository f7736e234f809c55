package api

// Paths beside those of the calls.
const (
	AboutPath    = "/v1/daemon"
	DocumentPath = "/v1/openapi.json"
	EventsPath   = "/v1/events"
)

// About describes a daemon, so that a client knows whether its calls would have the same
// result there as in its own process.
type About struct {
	Version  string `json:"version"`
	PID      int    `json:"pid"`
	StateDir string `json:"stateDir"`
	// Settings stands for the settings that the daemon read: a client with other ones calls
	// its own engine instead.
	Settings string `json:"settings"`
	// API stands for the OpenAPI document.
	API string `json:"api"`
}
