package pattern

import "testing"

// TestCompiledAtFirstUse: a text that is no pattern is met when it is used, and a pattern is compiled once.
func TestCompiledAtFirstUse(t *testing.T) {
	bad := New("(")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a text that is no pattern was used")
			}
		}()
		bad()
	}()
	good := New("^a+$")
	first := good()
	if !first.MatchString("aa") || first != good() {
		t.Error("it is another pattern at each use")
	}
}
