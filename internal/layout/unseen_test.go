package layout

import "testing"

// TestUnseenNames: no new workspace, session or role looks as if it had the name of another, or none.
func TestUnseenNames(t *testing.T) {
	for _, name := range []string{"fix\u034f", "\u3164", "\u115f", "\u1160x", "a\uffa0", "a\u2800", "fix\ufe0f", "fix\ufe01", "fix\U000E0101"} {
		for noun, check := range map[string]func(string) error{"name": CheckName, "session": CheckSession, "role": CheckRole} {
			if check(name) == nil {
				t.Errorf("%s %+q is taken", noun, name)
			}
		}
	}
	for _, name := range []string{"\u2764\ufe0f", "größe", "한글", "ज़ीं", "🚀"} {
		if err := CheckName(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := CheckBranch("fix\ufe0f"); err != nil {
		t.Errorf("a branch that is there is refused: %v", err)
	}
}
