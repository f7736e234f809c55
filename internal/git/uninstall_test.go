package git

import "testing"

// TestWithoutRoles: only sections that Croft wrote are deleted; all else stays, byte for
// byte.
func TestWithoutRoles(t *testing.T) {
	t.Parallel()
	const ours = "[includeif \"gitdir:/r/.git/worktrees/croft-*\"]\n\tpath = \"croft/gitconfig\"\n"
	for text, want := range map[string]string{
		"":                                 ".",
		"[core]\n\tbare = false\n":         ".",
		"[core]\n\tbare = false\n" + ours:  "[core]\n\tbare = false\n",
		ours + ours + "[user]\n\tname = a": "[user]\n\tname = a",
		"[a]\n" + ours + "[b]\n":           "[a]\n[b]\n",
		// A user added to the section, or it includes another file.
		ours + "\tpath = mine\n":                           ".",
		"[includeIf \"gitdir:~/x\"]\n\tpath = mine\n[b]\n": ".",
	} {
		if want == "." {
			want = text
		}
		if got := withoutRoleIncludes(text); got != want {
			t.Errorf("of %q is left %q, want %q", text, got, want)
		}
	}
}
