package actor

import (
	"errors"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// TestCut: the recorded name of an agent is cut into what it was made of, and no other
// name loses a part.
func TestCut(t *testing.T) {
	const id = "0123456789abcdef"
	w := croft.Workspace{Name: "fix <x>", Agent: "claude", ID: id}
	if shown, in := Cut(In(w)); shown != "claude in fix <x>" || in != id {
		t.Errorf("Cut(%q) = %q, %q", In(w), shown, in)
	}
	if name := In(croft.Workspace{Name: "fix", Agent: "fix", ID: id}); name != "agent in fix <"+id+">" {
		t.Errorf("In = %q", name)
	}
	for _, name := range []string{"user", "ada <ada@example.com>", "<" + id + ">", "a <" + id, "a <" + id[1:] + ">", "a <0123456789ABCDEF>"} {
		if shown, in := Cut(name); shown != name || in != "" {
			t.Errorf("Cut(%q) = %q, %q", name, shown, in)
		}
	}
	if m := (croft.Merge{Actor: "claude in fix", ActorWorkspace: id}); Of(m) != "claude in fix <"+id+">" {
		t.Errorf("Of = %q", Of(m))
	}
}

// TestCheck: no name that a caller chooses looks like that of an agent, or breaks a commit.
func TestCheck(t *testing.T) {
	for _, a := range []croft.Actor{
		{Name: "claude in fix <0123456789abcdef>"},
		{Name: "a\nb"},
		{Name: strings.Repeat("x", 201)},
		{Name: "\xff"},
		{Author: &croft.Author{Name: "claude in fix <0123456789abcdef>", Email: "x@example.com"}},
		{Author: &croft.Author{Name: "Ada", Email: "a> b <c"}},
		{Author: &croft.Author{Name: " ", Email: "x"}},
		{Author: &croft.Author{Name: "Ada"}},
	} {
		if err := Check(a); !errors.Is(err, croft.InvalidName) {
			t.Errorf("%+v, %+v: %v", a, a.Author, err)
		}
	}
	ada := &croft.Author{Name: " Ada ", Email: "ada@example.com"}
	if err := Check(croft.Actor{Name: "ada", Author: ada}); err != nil || Author(ada) != "Ada <ada@example.com>" || Author(nil) != "" {
		t.Errorf("%v, %q", err, Author(ada))
	}
}
