package listjson

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
)

func manyWorkspaces() []croft.Workspace {
	texts := []string{"", "plain", `a"b`, `\`, `\\"`, `x\"`, "[{,]}", "]", "}", "{", ",", "<&>", "\u2028 \x00 é", strings.Repeat(`"\`, 50)}
	var list []croft.Workspace
	for i, text := range texts {
		list = append(list, croft.Workspace{
			ID: croft.ID(text), Name: text, Branch: text, Meta: map[string]string{text: text}, Path: "/" + text, Mode: croft.ModeWorktree,
			CreatedAt: time.Unix(int64(i), 5).UTC(), Next: &croft.Next{What: text}, Work: &croft.Work{Seen: []croft.Aspect{croft.AspectFiles}, Ahead: i},
		})
	}
	return list
}

// TestSameAsEncodingJSON: a list is encoded and decoded as encoding/json does it, whatever its texts are.
func TestSameAsEncodingJSON(t *testing.T) {
	all := manyWorkspaces()
	for n := range len(all) + 1 {
		list := croft.List[croft.Workspace]{Items: append([]croft.Workspace{}, all[:n]...), Unseen: []croft.ID{"a", `]"`}, Next: "n"}
		want, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		frame := list
		frame.Items = []croft.Workspace{}
		around, err := json.Marshal(frame)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Encode(around, "items", list.Items)
		if err != nil || string(got) != string(want) {
			t.Fatalf("%d: %v\n%s\n%s", n, err, got, want)
		}
		var plain, ours croft.List[croft.Workspace]
		if err := json.Unmarshal(want, &plain); err != nil {
			t.Fatal(err)
		}
		if err := Decode(want, &ours); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain, ours); diff != "" {
			t.Fatalf("%d: (-encoding/json +ours)\n%s", n, diff)
		}
	}
	all[1].CreatedAt = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) // which RFC 3339 does not have
	if _, err := Encode([]byte(`{"items":[]}`), "items", all); err == nil {
		t.Error("what cannot be encoded was left out")
	}
	if _, err := Encode([]byte(`{"other":[]}`), "items", all); err == nil {
		t.Error("a list was put into another field")
	}
}

// TestBroken: what encoding/json refuses is refused, and what it reads in another order or form is read.
func TestBroken(t *testing.T) {
	for _, text := range []string{
		``, `{`, `{"items":[`, `{"items":[{"id":"a"}`, `{"items":[{"id":"a"},]}`, `{"items":[,{"id":"a"}]}`, `{"items":[{"id":"a"}]`, `{"items":[{"id":"a}]}`,
		`{"items":[{"id":1}]}`, `{"items":[{"id":"a"]}]}`, `{"items":[{"id":"a"}]}x`, `{"items":[{"id":"a"}],"unseen":[}`, `{"items":[{"id":"a"}}]}`, `{"items":[1]}`,
		`{"items":[{"id":"a"} {"id":"b"}]}`, `{"items":[] ]}`, `{"items":[ ]}`, `{"items":[]}`, `{ "items": [ {"id":"a"} ] }`, `{"items":[ {"id":"a"} , {"id":"b\\"} ]}`,
		`{"unseen":["u"],"items":[{"id":"a"}]}`, `{"some":["a","b","c"],"items":[{"id":"a"}]}`, `{"a":["b","c","d"],"items":[{"id":"a"}]}`, `{"items":[null]}`, `{"items":null}`, `{"items":[{"id":"a"}],"items":[{"id":"b"}]}`, `[]`,
	} {
		var plain, ours croft.List[croft.Workspace]
		want, got := json.Unmarshal([]byte(text), &plain), Decode([]byte(text), &ours)
		if (want == nil) != (got == nil) {
			t.Errorf("%s: encoding/json says %v, ours %v", text, want, got)
		}
		if want == nil && strings.Count(text, `"items"`) == 1 {
			if diff := cmp.Diff(plain, ours); diff != "" {
				t.Errorf("%s: (-encoding/json +ours)\n%s", text, diff)
			}
		}
	}
}
