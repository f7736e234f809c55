package words

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// TestEveryWordIsChecked: every enumerated field of a request is in the table, or is
// checked by its reader.
func TestEveryWordIsChecked(t *testing.T) {
	elsewhere := map[reflect.Type]bool{
		reflect.TypeFor[croft.ID]():        true, // no word
		reflect.TypeFor[croft.Cursor]():    true, // no word
		reflect.TypeFor[croft.Strategy]():  true, // lane's checkSubmission
		reflect.TypeFor[croft.Retention](): true, // a number, too: checked where a session is made
		reflect.TypeFor[croft.Code]():      true,
	}
	seen := map[reflect.Type]bool{}
	var look func(at reflect.Type, in string)
	look = func(at reflect.Type, in string) {
		if seen[at] {
			return
		}
		seen[at] = true
		switch at.Kind() {
		case reflect.Struct:
			for field := range at.Fields() {
				look(field.Type, in)
			}
		case reflect.Slice:
			look(at.Elem(), in)
		case reflect.String:
			if _, ok := knownWords()[at]; !ok && at.PkgPath() != "" && !elsewhere[at] {
				t.Errorf("%s: the words of %s are not known", in, at)
			}
		}
	}
	service := reflect.TypeFor[croft.Service]()
	requests := 0
	for method := range service.Methods() {
		m := method.Type
		for k := 1; k < m.NumIn(); k++ {
			if m.In(k).Kind() == reflect.Struct {
				requests++
				look(m.In(k), method.Name)
			}
		}
	}
	if requests < 20 {
		t.Errorf("%d requests were looked at", requests)
	}
}

// TestLongMessageIsRefused: an agent's message of megabytes does not come into the records.
func TestLongMessageIsRefused(t *testing.T) {
	for size, want := range map[int]bool{maxMessage: true, maxMessage + 1: false} {
		text := strings.Repeat("m", size)
		for _, req := range []any{
			croft.MergeRequest{Message: text}, croft.FinishRequest{Message: text}, croft.ApplyRequest{Message: text}, croft.RevertRequest{Message: text},
		} {
			if err := Check(req); (err == nil) != want || err != nil && !errors.Is(err, croft.InvalidRequest) {
				t.Errorf("%T with %d bytes: %v", req, size, err)
			}
		}
	}
}
