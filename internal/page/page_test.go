package page

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

type item struct {
	id string
	at time.Time
}

func keyOf(i item) Key { return Key{ID: i.id, At: i.at} }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func itemsOf(n int) []item {
	var list []item
	for i := range n {
		list = append(list, item{fmt.Sprintf("i%02d", i), noon.Add(time.Duration(i) * time.Second)})
	}
	return list
}

// TestCut: pages of every size, one after the other, are the whole list.
func TestCut(t *testing.T) {
	for n := range 8 {
		all := itemsOf(n)
		for limit := range 9 {
			var got []item
			p := croft.Page{Limit: limit}
			for pages := 0; ; pages++ {
				list, err := Cut(all, p, Oldest, keyOf)
				if err != nil || list.Items == nil || limit > 0 && len(list.Items) > limit || pages > n {
					t.Fatalf("%d items by %d: page %d: %+v, %v", n, limit, pages, list, err)
				}
				got = append(got, list.Items...)
				if list.Next == "" {
					break
				}
				p.After = list.Next
			}
			if !slices.Equal(got, all) {
				t.Errorf("%d items by %d: %v", n, limit, got)
			}
		}
	}
}

// TestCutAfterRemovedItem: the last item of a page has left the list. In a list by time the
// next page begins with the item after it; in others the result is CursorExpired.
func TestCutAfterRemovedItem(t *testing.T) {
	all := itemsOf(5)
	newest := slices.Clone(all)
	slices.Reverse(newest)
	for _, c := range []struct {
		order Order
		list  []item
		want  string
	}{{Oldest, all, "i02"}, {Newest, newest, "i02"}} {
		first, err := Cut(c.list, croft.Page{Limit: 2}, c.order, keyOf)
		if err != nil {
			t.Fatal(err)
		}
		left := slices.Delete(slices.Clone(c.list), 1, 2)
		next, err := Cut(left, croft.Page{Limit: 2, After: first.Next}, c.order, keyOf)
		if err != nil || len(next.Items) != 2 || next.Items[0].id != c.want {
			t.Errorf("order %d: %+v, %v", c.order, next, err)
		}
	}
	first, err := Cut(all, croft.Page{Limit: 2}, Listed, keyOf)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Cut(slices.Delete(slices.Clone(all), 1, 2), croft.Page{After: first.Next}, Listed, keyOf); !errors.Is(err, croft.CursorExpired) {
		t.Errorf("a list without an order: %v", err)
	}
}

// TestCutRefuses: a cursor that no list has handed out is refused.
func TestCutRefuses(t *testing.T) {
	token := func(text string) croft.Page {
		return croft.Page{After: base64.RawURLEncoding.EncodeToString([]byte(text))}
	}
	for _, p := range []croft.Page{{Limit: -1}, {After: "i01"}, {After: "!"}, token("1:page.item:!:i01"), token("2:page.item::i01"), token("1:page.item:i01"), token("1:page.other::i01")} {
		if _, err := Cut(itemsOf(3), p, Oldest, keyOf); !errors.Is(err, croft.InvalidRequest) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}
