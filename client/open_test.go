package client_test

import (
	"errors"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/client"
)

// TestOpenNeedsADaemon: options without the place of a daemon are refused at once, not by the
// first call.
func TestOpenNeedsADaemon(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:7450", "unix:///run/croft.sock", "http://", "ftp://127.0.0.1", "http://[::1", "croft"} {
		if _, err := client.Open(t.Context(), client.Options{Address: address}); !errors.Is(err, croft.InvalidRequest) {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, o := range []client.Options{{Address: "http://127.0.0.1:7450"}, {Address: "https://example.com/croft"}, {Socket: "/run/croft.sock"}} {
		c, err := client.Open(t.Context(), o)
		if err != nil {
			t.Errorf("%+v: %v", o, err)
			continue
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
