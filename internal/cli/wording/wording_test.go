package wording

import (
	"testing"
	"time"
)

// TestSince: from two weeks on a time is a date, with the year if that is another one.
func TestSince(t *testing.T) {
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		days       int
		since, ago string
	}{
		{13, "13d", "13d ago"},
		{14, "6 Mar", "6 Mar"},
		{100, "10 Dec 2025", "10 Dec 2025"},
	} {
		then := now.AddDate(0, 0, -c.days)
		if since, ago := Since(now, then), Ago(now, then); since != c.since || ago != c.ago {
			t.Errorf("%d days: %q and %q, want %q and %q", c.days, since, ago, c.since, c.ago)
		}
	}
	if since := Since(now, time.Time{}); since != "-" {
		t.Errorf("at no time: %q", since)
	}
}

// TestCountOf: from 10,000 on a number has commas.
func TestCountOf(t *testing.T) {
	if got := CountNoun(10_500, "file") + ", " + CountNoun(int64(9_999), "file") + ", " + CountNoun(1, "file"); got != "10,500 files, 9999 files, 1 file" {
		t.Error(got)
	}
}
