package scope

import (
	"reflect"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
)

// TestKeysAreOwn: no key of an agent is one that others use, in whichever call.
func TestKeysAreOwn(t *testing.T) {
	service := reflect.TypeFor[croft.Service]()
	var reached []string
	for name, d := range decisions {
		method, ok := service.MethodByName(name)
		if d.workspace != narrow || !ok || method.Type.NumIn() != 2 {
			continue
		}
		req := reflect.New(method.Type.In(1)).Elem()
		key := req.FieldByName("Key")
		if !key.IsValid() {
			continue
		}
		key.SetString("k")
		for field, value := range map[string]string{"Workspace": "mine0000", "Ref": "mine0000", "Review": "mine-1", "Operation": "mine-1", "Outcome": string(croft.Succeeded)} {
			if f := req.FieldByName(field); f.IsValid() {
				f.SetString(value)
			}
		}
		for field, value := range map[string]croft.Ref{"Workspaces": "mine0000", "Merges": "id:mine-1"} {
			if f := req.FieldByName(field); f.IsValid() {
				f.Set(reflect.ValueOf([]croft.Ref{value}))
			}
		}
		r := &recorder{}
		_, err := invoke(t, Workspace(r, "mine0000"), name, req.Interface())
		at := slices.IndexFunc(r.calls, func(c recorded) bool { return c.method == name })
		if at < 0 {
			t.Logf("%s is not made: %v", name, err)
			continue
		}
		reached = append(reached, name)
		if got := reflect.ValueOf(r.calls[at].req).FieldByName("Key").String(); got != "mine0000:k" {
			t.Errorf("%s has the key %q", name, got)
		}
	}
	if len(reached) < 18 {
		t.Errorf("only %q were made", reached)
	}
}

// TestKeyOfAFinishByLease: also one that names its workspace by a lease has a key of its own.
func TestKeyOfAFinishByLease(t *testing.T) {
	r := &recorder{}
	req := croft.FinishRequest{Key: "k", Lease: &croft.Lease{ID: "mine-1"}, Outcome: croft.Succeeded}
	if _, err := Workspace(r, "mine0000").Finish(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(r.calls, func(c recorded) bool { return c.method == "Finish" })
	if at < 0 || r.calls[at].req.(croft.FinishRequest).Key != "mine0000:k" {
		t.Errorf("%+v", r.calls)
	}
}
