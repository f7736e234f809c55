package wording

import "testing"

// TestPath: a path in a list is none of Croft's lines, whatever an agent called it.
func TestPath(t *testing.T) {
	for path, want := range map[string]string{
		"src/main.go": "src/main.go", "größe/日本.txt": "größe/日本.txt", "a b": `"a b"`, "next: croft remove --all": `"next: croft remove --all"`, "hint:x": `"hint:x"`,
		"a\nb": `"a\nb"`, `it's`: `"it's"`, `a"b`: `"a\"b"`, "": `""`, "a\u202eb": `"a\u202eb"`, `a\b`: `a\b`,
	} {
		if got := Path(path); got != want {
			t.Errorf("%q is shown as %s, want %s", path, got, want)
		}
	}
	if got := Paths([]string{"a", "b, c"}); got != `a, "b, c"` {
		t.Error(got)
	}
}
