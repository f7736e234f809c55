package croft

import "iter"

// Page chooses a part of a list. The zero value asks for its beginning.
type Page struct {
	// Limit is how many items are wanted at most. Without one an implementation answers
	// with as many as it likes.
	Limit int `json:"limit,omitempty"`
	// After is Next of the page before.
	After string `json:"after,omitempty"`
}

// List is one page of a list.
type List[T any] struct {
	Items []T `json:"items"`
	// Next is for Page.After, to ask for the page that follows; empty: there is none. It
	// is opaque. If the item that it stands for has left a list whose order is not that
	// of time, the request for the page fails with CursorExpired.
	Next string `json:"next,omitempty"`
	// Cursor is the place in the stream of events that the list reflects: it has what the
	// events up to there changed, and may have what later ones did. Of several pages the
	// cursor of the first is the one to follow from. It is empty if no events tell of the
	// items.
	Cursor Cursor `json:"cursor,omitempty"`
	// Unseen are the items, those included that a filter left out, that were not or not
	// wholly looked at in the time that the request gave: their conditions may be others.
	Unseen []ID `json:"unseen,omitempty"`
}

// GetRequest names one thing to describe.
type GetRequest struct {
	Repo Ref `json:"repo,omitempty"`
	Ref  Ref `json:"ref"`
}

// All yields the items of a list, page by page, from a page on. ask asks for one page. An error is
// the last thing that is yielded.
func All[T any](from Page, ask func(Page) (*List[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page := from; ; {
			list, err := ask(page)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range list.Items {
				if !yield(item, nil) {
					return
				}
			}
			if page.After = list.Next; page.After == "" {
				return
			}
		}
	}
}
