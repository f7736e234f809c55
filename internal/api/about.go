package api

import (
	"crypto/sha256"
	"encoding/hex"
)

// Paths beside those of the calls.
const (
	AboutPath    = "/v1/daemon"
	DocumentPath = "/v1/openapi.json"
	EventsPath   = "/v1/events"
	SocketPath   = "/v1/events/socket"
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

// Fingerprint stands for an OpenAPI document: a client and a daemon with the same one speak
// the same.
func Fingerprint(document []byte) string {
	sum := sha256.Sum256(document)
	return hex.EncodeToString(sum[:])
}
