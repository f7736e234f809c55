package dashboard

import (
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []time.Duration
		want time.Duration
	}{{nil, 0}, {[]time.Duration{4}, 4}, {[]time.Duration{9, 2}, 5}, {[]time.Duration{9, 1, 2}, 2}} {
		if got := median(c.of); got != c.want {
			t.Errorf("the median of %v is %v", c.of, got)
		}
	}
}
