package scope

import (
	"strconv"
	"testing"

	"github.com/croft-sh/croft"
)

// TestCollectKeepsTheLimit: a page has no more items than the caller wants, all pages together
// have all items that pass, and no page costs more than a bounded number of others.
func TestCollectKeepsTheLimit(t *testing.T) {
	const all = 1000
	asked := 0
	list := func(p croft.Page) (*croft.List[int], error) {
		asked++
		from, _ := strconv.Atoi(p.After)
		limit := p.Limit
		if limit == 0 {
			limit = all
		}
		out := &croft.List[int]{}
		for i := from; i < min(from+limit, all); i++ {
			out.Items = append(out.Items, i)
		}
		if from+limit < all {
			out.Next = strconv.Itoa(from + limit)
		}
		return out, nil
	}
	for _, row := range []struct{ limit, every, pages int }{
		{0, 1, 1}, {0, 7, 1}, {3, 1, 334}, {3, 7, 144}, {50, 400, 5}, {2, 600, 6},
	} {
		seen, pages := 0, 0
		for page := (croft.Page{Limit: row.limit}); ; {
			asked = 0
			got, err := collect(page, list, func(i *int) bool { return *i%row.every == 0 })
			if err != nil {
				t.Fatal(err)
			}
			if row.limit > 0 && len(got.Items) > row.limit || asked > maxPages+1 {
				t.Fatalf("%+v: %d items by %d calls", row, len(got.Items), asked)
			}
			seen, pages = seen+len(got.Items), pages+1
			if got.Next == "" {
				break
			}
			page.After = got.Next
		}
		if want := (all + row.every - 1) / row.every; seen != want || pages > row.pages {
			t.Errorf("%+v: %d items on %d pages, want %d", row, seen, pages, want)
		}
	}
}
