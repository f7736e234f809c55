package view

import (
	"slices"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/condition"
)

// TestSettledForecast: the target is among what a workspace collides with, once, if what is known last says so.
func TestSettledForecast(t *testing.T) {
	yes, no := condition.Forecast{IsKnown: true, Collides: true}, condition.Forecast{IsKnown: true}
	for name, c := range map[string]struct {
		look, last   condition.Forecast
		before, want []string
	}{
		"found by the look":   {yes, condition.Forecast{}, []string{"other"}, []string{"main", "other"}},
		"found by both":       {yes, yes, []string{"main", "other"}, []string{"main", "other"}},
		"over since the last": {no, yes, []string{"main", "other"}, []string{"other"}},
		"shown alone":         {no, yes, nil, nil},
		"not looked at":       {condition.Forecast{}, yes, []string{"main"}, []string{"main"}},
	} {
		s := sight{forecast: c.look, work: croft.Work{Seen: []croft.Aspect{croft.AspectFiles}}}
		w := croft.Workspace{Target: "main", Collides: slices.Clone(c.before)}
		if s.settleForecast(&w, c.last); !slices.Equal(w.Collides, c.want) {
			t.Errorf("%s: %v, want %v", name, w.Collides, c.want)
		}
	}
}
