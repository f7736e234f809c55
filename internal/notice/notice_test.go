package notice

import (
	"fmt"
	"slices"
	"testing"
)

// TestFewAreKept: the last sentences are kept, those of a file as it is now, and one is given once.
func TestFewAreKept(t *testing.T) {
	var l List
	for i := range 2 * most {
		l.Add(fmt.Sprint(i))
		l.Add(fmt.Sprint(i))
	}
	l.SetOnce("once")
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint("line ", i)
	}
	l.SetFile("a", many)
	l.SetFile("b", many[:2])
	all := l.All()
	if len(all) != mostOfFile+1+most+1 || all[0] != "line 0" || all[mostOfFile] != "995 more of its lines are like that" || all[mostOfFile+1] != fmt.Sprint(most) || all[len(all)-1] != "once" {
		t.Errorf("%q", all)
	}
	l.SetFile("a", []string{"other"})
	l.SetFile("b", nil)
	if all := l.All(); len(all) != 1+most || all[0] != "other" || slices.Contains(all, "once") {
		t.Errorf("%q", all)
	}
}

// TestOfCall: the sentences of a call are its own.
func TestOfCall(t *testing.T) {
	one, other := ForCall(t.Context()), ForCall(t.Context())
	OfCall(one).Add("one")
	if list := OfCall(one).All(); len(list) != 1 || len(OfCall(other).All()) != 0 || OfCall(t.Context()) != nil {
		t.Errorf("%q, and of others %q, %v", list, OfCall(other).All(), OfCall(t.Context()))
	}
}
