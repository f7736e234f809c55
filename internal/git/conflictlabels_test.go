package git

import "testing"

// TestNamedSides: the markers of a conflict get the names of branches; lines that only look
// like markers stay, byte for byte.
func TestNamedSides(t *testing.T) {
	t.Parallel()
	const oid = "0123456789012345678901234567890123456789"
	pairs := [][2]label{{{isLabel("HEAD"), "croft/fix"}, {isLabel(oid), "main"}}}
	undone := append(pairs, [2]label{{isObjectName, "main"}, {isObjectName, "croft/fix"}})
	for text, want := range map[string]string{
		"":      "",
		"one\n": "one\n",
		"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> " + oid + "\n":                                   "<<<<<<< croft/fix\na\n=======\nb\n>>>>>>> main\n",
		"<<<<<<< HEAD\r\na\r\n=======\r\nb\r\n>>>>>>> " + oid:                                  "<<<<<<< croft/fix\r\na\r\n=======\r\nb\r\n>>>>>>> main",
		"<<<<<<< HEAD:old.txt\n=======\n>>>>>>> " + oid + ":new.txt\n":                         "<<<<<<< croft/fix:old.txt\n=======\n>>>>>>> main:new.txt\n",
		"<<<<<<<<<< HEAD\n>>>>>>> " + oid + "\n==========\n>>>>>>>>>> " + oid + "\n":           "<<<<<<<<<< croft/fix\n>>>>>>> " + oid + "\n==========\n>>>>>>>>>> main\n",
		"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n":                                         "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n",
		"<<<<<<< HEAD\nno end\n":                                                               "<<<<<<< HEAD\nno end\n",
		"<<<<<<< HEAD\n<<<<<<< HEAD\n=======\n>>>>>>> " + oid + "\n":                           "<<<<<<< HEAD\n<<<<<<< croft/fix\n=======\n>>>>>>> main\n",
		"<<<<<<< HEAD\n=======\n>>>>>>> " + oid + "\nx\n<<<<<<< HEAD\n=======\n>>>>>>> " + oid: "<<<<<<< croft/fix\n=======\n>>>>>>> main\nx\n<<<<<<< croft/fix\n=======\n>>>>>>> main",
	} {
		if got := string(replaceLabels([]byte(text), pairs)); got != want {
			t.Errorf("of %q becomes %q, want %q", text, got, want)
		}
	}
	text := "<<<<<<< " + oid + "\n=======\n>>>>>>> " + oid + "\n"
	if got := string(replaceLabels([]byte(text), undone)); got != "<<<<<<< main\n=======\n>>>>>>> croft/fix\n" {
		t.Errorf("of %q becomes %q", text, got)
	}
}
