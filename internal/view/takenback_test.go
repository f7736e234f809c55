package view

import (
	"slices"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// TestInForce: which reverts a merge must undo to bring the whole work back.
func TestInForce(t *testing.T) {
	merged := journal.Merge{Merge: croft.Merge{Kind: croft.KindMerge}}
	revert := func(id croft.ID) journal.Merge {
		return journal.Merge{Merge: croft.Merge{ID: id, Kind: croft.KindRevert}}
	}
	again := func(of croft.ID) journal.Merge {
		return journal.Merge{Merge: croft.Merge{ID: "again " + of, Kind: croft.KindRevert, Reverts: of}, Again: true}
	}
	for name, c := range map[string]struct {
		landed []journal.Merge
		want   []croft.ID
	}{
		"nothing landed":          {},
		"a merge":                 {landed: []journal.Merge{merged}},
		"one of two":              {landed: []journal.Merge{merged, merged, revert("x")}, want: []croft.ID{"x"}},
		"both":                    {landed: []journal.Merge{merged, merged, revert("x"), revert("y")}, want: []croft.ID{"x", "y"}},
		"both, one brought back":  {landed: []journal.Merge{merged, merged, revert("x"), revert("y"), again("x")}, want: []croft.ID{"y"}},
		"both, merged again":      {landed: []journal.Merge{merged, merged, revert("x"), revert("y"), merged}},
		"merged again, and taken": {landed: []journal.Merge{merged, revert("x"), merged, revert("y")}, want: []croft.ID{"y"}},
	} {
		var got []croft.ID
		for _, m := range RevertsInForce(c.landed) {
			got = append(got, m.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestWithoutUndone: what was before a merge that was undone, whether that undo is in force or not.
func TestWithoutUndone(t *testing.T) {
	merged := func(id croft.ID) journal.Merge {
		return journal.Merge{Merge: croft.Merge{ID: id, Kind: croft.KindMerge}}
	}
	revert := func(id, of croft.ID) journal.Merge {
		return journal.Merge{Merge: croft.Merge{ID: id, Kind: croft.KindRevert, Reverts: of}}
	}
	undo := func(id, of croft.ID) journal.Merge {
		m := revert(id, of)
		m.Undoes = "act"
		return m
	}
	for name, c := range map[string]struct {
		landed []journal.Merge
		want   []croft.ID
	}{
		"undone":                    {landed: []journal.Merge{merged("m"), undo("u", "m")}},
		"undone, and that undone":   {landed: []journal.Merge{merged("m"), undo("u", "m"), undo("v", "u")}, want: []croft.ID{"m"}},
		"and that":                  {landed: []journal.Merge{merged("m"), undo("u", "m"), undo("v", "u"), undo("w", "v")}},
		"reverted":                  {landed: []journal.Merge{merged("m"), revert("r", "m")}, want: []croft.ID{"m", "r"}},
		"reverted, and that undone": {landed: []journal.Merge{merged("m"), revert("r", "m"), undo("u", "r")}, want: []croft.ID{"m"}},
		"reverted, undone, undone":  {landed: []journal.Merge{merged("m"), revert("r", "m"), undo("u", "r"), undo("v", "u")}, want: []croft.ID{"m", "r"}},
		"merged again, undone":      {landed: []journal.Merge{merged("m"), revert("r", "m"), merged("n"), undo("u", "n")}, want: []croft.ID{"m", "r"}},
	} {
		var got []croft.ID
		for _, m := range withoutUndone(c.landed) {
			got = append(got, m.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
