package croft_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
)

// TestAll: the items of all pages come in their order, an error ends them, and a caller who wants
// no more is asked for no more.
func TestAll(t *testing.T) {
	pages := map[string]croft.List[int]{
		"":  {Items: []int{1, 2}, Next: "b"},
		"b": {Items: nil, Next: "c"},
		"c": {Items: []int{3}},
		"x": {Items: []int{8}, Next: "gone"},
	}
	failed := errors.New("gone")
	for _, row := range []struct {
		from  croft.Page
		most  int
		want  []int
		err   error
		asked []croft.Page
	}{
		{croft.Page{Limit: 2}, 9, []int{1, 2, 3}, nil, []croft.Page{{Limit: 2}, {Limit: 2, After: "b"}, {Limit: 2, After: "c"}}},
		{croft.Page{After: "b"}, 9, []int{3}, nil, []croft.Page{{After: "b"}, {After: "c"}}},
		{croft.Page{After: "x"}, 9, []int{8}, failed, []croft.Page{{After: "x"}, {After: "gone"}}},
		{croft.Page{}, 2, []int{1, 2}, nil, []croft.Page{{}}},
	} {
		var got []int
		var asked []croft.Page
		var last error
		for item, err := range croft.All(row.from, func(page croft.Page) (*croft.List[int], error) {
			asked = append(asked, page)
			list, ok := pages[page.After]
			if !ok {
				return nil, failed
			}
			return &list, nil
		}) {
			if last = err; err == nil {
				got = append(got, item)
			}
			if len(got) == row.most {
				break
			}
		}
		if !slices.Equal(got, row.want) || !errors.Is(last, row.err) || !slices.Equal(asked, row.asked) {
			t.Errorf("from %+v: %v, %v, asked %+v", row.from, got, last, asked)
		}
	}
}
