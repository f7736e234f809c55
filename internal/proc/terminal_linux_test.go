package proc

import (
	"strings"
	"testing"
)

// TestTerminalNone: a process without a terminal leads a session of its own, and is still ended
// with its group.
func TestTerminalNone(t *testing.T) {
	t.Parallel()
	c := sh("read -r pid comm state ppid pgrp session tty rest </proc/self/stat; echo $$ $session $tty")
	c.Terminal = TerminalNone
	res, err := Run(t.Context(), c)
	f := strings.Fields(string(res.Stdout))
	if err != nil || len(f) != 3 || f[0] != f[1] || f[2] != "0" {
		t.Errorf("pid, session and terminal: %q, %v", f, err)
	}
}
