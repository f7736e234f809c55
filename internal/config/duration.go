package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/pattern"
)

// Duration is a span of time, never negative, that is written as a string such
// as "168h" or "7d". A day is 24 hours.
type Duration time.Duration

// durationPattern is also the pattern in the schema, so that an editor and
// Croft agree on what a duration is.
const durationPattern = `^([0-9]+d)?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))*$`

var durationForm = pattern.New(durationPattern)

// ParseDuration reads a duration. What is none is InvalidRequest.
func ParseDuration(text string) (Duration, error) {
	d, err := parseDuration(text)
	if err != nil {
		return 0, &croft.Error{
			Code: croft.InvalidRequest, Op: "config",
			Message: "a duration " + err.Error(),
		}
	}
	return d, nil
}

func parseDuration(text string) (Duration, error) {
	if text == "" || !durationForm().MatchString(text) {
		return 0, fmt.Errorf(`must be a duration such as "168h" or "7d", not %s`, quote(text))
	}
	tooLong := fmt.Errorf("is longer than can be told: %s", quote(text))
	var days, rest time.Duration
	clock := text
	if before, after, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseInt(before, 10, 64)
		if err != nil || n > math.MaxInt64/int64(24*time.Hour) {
			return 0, tooLong
		}
		days, clock = time.Duration(n)*24*time.Hour, after
	}
	if clock != "" {
		var err error
		if rest, err = time.ParseDuration(clock); err != nil {
			return 0, tooLong
		}
	}
	if rest > math.MaxInt64-days {
		return 0, tooLong
	}
	return Duration(days + rest), nil
}

// String leaves out the units that are zero: "168h", not "168h0m0s".
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText makes a duration a string in JSON and TOML.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
