package script

import "testing"

// TestScriptCommand sees that the first line of a script chooses what runs it.
func TestScriptCommand(t *testing.T) {
	for _, tt := range []struct{ text, mode, want string }{
		{"echo a\n", "100644", "sh ./a/x.sh"},
		{"echo a\n", ExecutableMode, "./a/x.sh"},
		{"#!/bin/bash\nset -o pipefail\n", "100644", "/bin/bash ./a/x.sh"},
		{"#!/bin/bash\r\n", ExecutableMode, "/bin/bash ./a/x.sh"},
		{"#! /usr/bin/env  bash\n", "100644", "/usr/bin/env bash ./a/x.sh"},
		{"#!/usr/bin/env -S node --test", "100644", "/usr/bin/env '-S node --test' ./a/x.sh"},
		{"#!/bin/sh;touch${IFS}y\n", "100644", "'/bin/sh;touch${IFS}y' ./a/x.sh"},
		{"#!/bin/\x1b[2Jbash\n", "100644", "sh ./a/x.sh"},
		{"#!\n", "100644", "sh ./a/x.sh"},
		{"", "100644", "sh ./a/x.sh"},
	} {
		if got := Command("a/x.sh", tt.text, tt.mode); got != tt.want {
			t.Errorf("%q, %s: %s, want %s", tt.text, tt.mode, got, tt.want)
		}
	}
}

// TestLinesCommand sees that lines are given to the shell that the first one names.
func TestLinesCommand(t *testing.T) {
	for _, tt := range []struct{ lines, want string }{
		{"echo a", "echo a"},
		{"#!/bin/sh\necho a", "#!/bin/sh\necho a"},
		{"#!/bin/bash\necho a", "/bin/bash -c '#!/bin/bash\necho a'"},
		{"#!/usr/bin/env zsh\necho a", "/usr/bin/env zsh -c '#!/usr/bin/env zsh\necho a'"},
		{"#!/bin/bash -eu\necho a", "/bin/bash -eu -c '#!/bin/bash -eu\necho a'"},
		{"#!/usr/bin/python3\nprint()", "#!/usr/bin/python3\nprint()"},
	} {
		if got := Lines(tt.lines); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.lines, got, tt.want)
		}
	}
}
