package answer

import (
	"bytes"
	"testing"

	"github.com/croft-sh/croft"
)

// TestLongList: a long list is written as a short one is.
func TestLongList(t *testing.T) {
	type result struct {
		Workspaces []croft.Workspace `json:"workspaces"`
		Unseen     []croft.ID        `json:"unseen"`
	}
	one := croft.Workspace{ID: "a", Name: "<\x1b[2J é \u2028>", Branch: "b", Work: &croft.Work{}}
	short, err := Marshal(1, result{Workspaces: []croft.Workspace{one}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	item := bytes.TrimSuffix(bytes.TrimPrefix(short, []byte(`{"version":1,"workspaces":[`)), []byte("],\"unseen\":[]}\n"))
	list := result{}
	for range fewItems + 1 {
		list.Workspaces = append(list.Workspaces, one)
	}
	want := `{"version":1,"workspaces":[` + string(bytes.Repeat(append(bytes.Clone(item), ','), fewItems)) + string(item) + "],\"unseen\":[]}\n"
	got, err := Marshal(1, list, nil)
	if err != nil || string(got) != want {
		t.Errorf("%v\n%.600s\n%.600s", err, got, want)
	}
	if list.Workspaces[0].Meta != nil {
		t.Error("the caller's list was changed")
	}
}
