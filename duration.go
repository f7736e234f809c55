package croft

import (
	"encoding/json"
	"time"
)

// Duration is a time.Duration that is text in JSON, such as "1.5s".
type Duration time.Duration

// String returns the duration as time.Duration writes it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the duration as text.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// UnmarshalJSON reads a duration as text, or as a number of nanoseconds, which is how
// older records have it.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return d.UnmarshalText([]byte(text))
	}
	return json.Unmarshal(data, (*int64)(d))
}
