package config_test

import (
	"errors"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
)

const hour = time.Hour

func TestParseDuration(t *testing.T) {
	tests := []struct {
		text, shown string
		want        time.Duration
	}{
		{"168h", "168h", 168 * hour},
		{"7d", "168h", 168 * hour},
		{"1d12h", "36h", 36 * hour},
		{"60s", "1m", time.Minute},
		{"1h30m", "1h30m", 90 * time.Minute},
		{"90s", "1m30s", 90 * time.Second},
		{"1h5s", "1h0m5s", hour + 5*time.Second},
		{"1.5h", "1h30m", 90 * time.Minute},
		{"250ms", "250ms", 250 * time.Millisecond},
		{"0s", "0s", 0},
		{"10m", "10m", 10 * time.Minute},
	}
	for _, test := range tests {
		got, err := config.ParseDuration(test.text)
		if err != nil || time.Duration(got) != test.want || got.String() != test.shown {
			t.Errorf("%q is %s (%v), want %s", test.text, got, err, test.shown)
		}
		again, err := config.ParseDuration(got.String())
		if err != nil || again != got {
			t.Errorf("%q, printed and read again, is %s (%v)", test.text, again, err)
		}
	}
}

func TestParseDurationRefuses(t *testing.T) {
	for _, text := range []string{"", "7", "d", "-7d", "7 d", "1h2d", "1.5d", "7w", "1e3s", "300000000h", "106752d", "h"} {
		if got, err := config.ParseDuration(text); !errors.Is(err, croft.InvalidRequest) {
			t.Errorf("%q is %s (%v), want InvalidRequest", text, got, err)
		}
	}
}
