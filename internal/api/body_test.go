package api

import (
	"errors"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// TestReadJSON: what two readers could take for two requests is refused, at every depth, and
// leaves the request as it was.
func TestReadJSON(t *testing.T) {
	for _, body := range []string{
		`{"name":"a","name":"b"}`, `{"Name":"a"}`, `{"NAME":"a","name":"b"}`, `{"nam\u0065":"a","name":"b"}`, `{"meta":{"a":"1","a":"2"}}`, `{"names":"a"}`,
		`{"name":"a"}{}`, `{"name":"a"} x`, `[]`, `"a"`, `1`, `{`, `{"name"`, `{"name":}`, `{"meta":[]}`, strings.Repeat(`{"meta":`, 20_000), strings.Repeat("[", 1_000_000), "\xff", `{"name":"a",}`,
	} {
		var req croft.CreateRequest
		if err := ReadJSON([]byte(body), &req); !errors.Is(err, croft.InvalidRequest) {
			t.Errorf("%.60s: %v, %+v", body, err, req)
		}
		var all croft.CreateAllRequest
		if err := ReadJSON([]byte(`{"workspaces":[`+body+`]}`), &all); !errors.Is(err, croft.InvalidRequest) {
			t.Errorf("inside: %.60s: %v", body, err)
		}
	}
	for _, body := range []string{"", " \n", "{}", `{"name":"a","meta":{"Name":"x","name":"y","k":"v"}}`, ` {"name" : "a" } `, `{"meta":null}`} {
		var req croft.CreateRequest
		if err := ReadJSON([]byte(body), &req); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// FuzzReadJSON: no body makes the reader panic or run away.
func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(`{"name":"a","meta":{"a":"b"}}`))
	f.Add([]byte(`{"workspaces":[{"name":"a"},{"name":"b"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var req croft.CreateAllRequest
		_ = ReadJSON(data, &req) // it may be refused
	})
}
