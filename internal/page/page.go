// Package page cuts lists into pages. A page names its last item by a token, so that
// the next page begins after that item also if others came or went meanwhile.
package page

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
)

// Order says how a list is sorted.
type Order int

// The orders of lists.
const (
	Oldest Order = iota // by the time of Key.At, the oldest item first
	Newest              // by the time of Key.At, the newest item first
	Listed              // by something else: an item that has left the list has no place in it
)

// Key identifies an item in its list.
type Key struct {
	ID string
	At time.Time
}

// In adapts work that lists all items in a project, so that it returns the page that
// is asked for.
func In[L, R, T any](p croft.Page, o Order, key func(T) Key, work func(context.Context, L, R) ([]T, error)) func(context.Context, L, R) (*croft.List[T], error) {
	return func(ctx context.Context, at L, req R) (*croft.List[T], error) {
		items, err := work(ctx, at, req)
		if err != nil {
			return nil, err
		}
		return Cut(items, p, o, key)
	}
}

// Of adapts work that lists all items, so that it returns the page that is asked for.
func Of[R, T any](p croft.Page, o Order, key func(T) Key, work func(context.Context, R) ([]T, error)) func(context.Context, R) (*croft.List[T], error) {
	return func(ctx context.Context, req R) (*croft.List[T], error) {
		items, err := work(ctx, req)
		if err != nil {
			return nil, err
		}
		return Cut(items, p, o, key)
	}
}

// Reach returns how many items from the beginning of a list Cut has to be given for a
// page that has a limit: -1 stands for all.
func Reach(p croft.Page) int {
	if p.After != "" || p.Limit < 0 || p.Limit >= math.MaxInt32 {
		return -1
	}
	return p.Limit + 1
}

// Cut returns the page of the items that is asked for. It fails with CursorExpired if
// the item before the page has left a list in the order Listed.
func Cut[T any](items []T, p croft.Page, o Order, key func(T) Key) (*croft.List[T], error) {
	if p.Limit < 0 {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("a page of %d items cannot be", p.Limit)}
	}
	if p.After != "" {
		last, err := parse(p.After, kindOf[T]())
		if err != nil {
			return nil, err
		}
		if items, err = after(items, last, o, key); err != nil {
			return nil, err
		}
	}
	out := &croft.List[T]{Items: items}
	if p.Limit > 0 && len(items) > p.Limit {
		out.Items = items[:p.Limit:p.Limit]
		out.Next = format(key(items[p.Limit-1]), kindOf[T]())
	}
	if out.Items == nil {
		out.Items = []T{}
	}
	return out, nil
}

// after returns the items that follow the one that last names.
func after[T any](items []T, last Key, o Order, key func(T) Key) ([]T, error) {
	for i, item := range items {
		if key(item).ID == last.ID {
			return items[i+1:], nil
		}
	}
	if o == Listed || last.At.IsZero() {
		return nil, &croft.Error{
			Code: croft.CursorExpired, Message: "the last item of the page before is not in the list any more",
			Details: "Nothing was changed. The list can be read again from its beginning.",
		}
	}
	for i, item := range items {
		if at := key(item).At; o == Oldest && at.After(last.At) || o == Newest && at.Before(last.At) {
			return items[i:], nil
		}
	}
	return nil, nil
}

// kindOf returns a word for the items of a list, so that a token of another list is told.
func kindOf[T any]() string { return reflect.TypeFor[T]().String() }

func format(k Key, kind string) string {
	at := ""
	if !k.At.IsZero() {
		at = strconv.FormatInt(k.At.UnixNano(), 36)
	}
	return base64.RawURLEncoding.EncodeToString([]byte("1:" + kind + ":" + at + ":" + k.ID))
}

func parse(token, kind string) (Key, error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	parts := strings.SplitN(string(text), ":", 4)
	if err != nil || len(parts) != 4 || parts[0] != "1" || parts[1] != kind {
		return Key{}, &croft.Error{Code: croft.InvalidRequest, Message: "the place where the page begins is not one that a list has named", Details: "after: " + token}
	}
	k := Key{ID: parts[3]}
	if parts[2] != "" {
		n, err := strconv.ParseInt(parts[2], 36, 64)
		if err != nil {
			return Key{}, &croft.Error{Code: croft.InvalidRequest, Message: "the place where the page begins is not one that a list has named", Details: "after: " + token}
		}
		k.At = time.Unix(0, n)
	}
	return k, nil
}
