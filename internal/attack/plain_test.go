//go:build unix

package attack

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPlainProject: a project without git has a FIFO and a link to a foreign
// directory in it. [W] configures a filter, replaces the link by a directory and
// a directory by a link to the same. Merging back must neither run the filter,
// write through a link, nor hang.
func TestPlainProject(t *testing.T) {
	h := newHost(t, plain)
	victim := h.precious("out")
	must(t, syscall.Mkfifo(filepath.Join(h.dir, "pipe"), 0o644))
	link(t, victim.dir, filepath.Join(h.dir, "lnk"))
	a := h.agent("p1")
	program := h.evil("plainfilter", "cat")
	a.git("config", "filter.e.clean", program)
	a.git("config", "filter.e.smudge", program)
	a.git("config", "core.fsmonitor", program)
	a.write(".gitattributes", "* filter=e\n")
	add(t, filepath.Join(a.dir, "f1.txt"), "more\n")
	must(t, os.RemoveAll(filepath.Join(a.dir, "lnk")))
	a.write("lnk/new", "PWN\n")
	link(t, victim.dir, filepath.Join(a.dir, "src"))
	for _, command := range []string{"list", "diff p1", "snapshot p1", "finish p1", "review p1", "apply p1 --all", "merge p1", "undo", "remove --force p1", "gc"} {
		r := h.croft(strings.Fields(command)...)
		h.mustBeSilent("croft " + command)
		victim.mustBeWhole("croft " + command)
		if r.code != 0 && !answered(r) {
			t.Errorf("croft %s refused without a code: %v", command, r)
		}
		if command != "merge p1" {
			continue
		}
		// All of it was copied back, each with its own kind.
		if text := read(t, filepath.Join(h.dir, "f1.txt")) + read(t, filepath.Join(h.dir, "lnk", "new")); text != "a\nb\nc\nmore\nPWN\n" {
			t.Errorf("what landed is %q: %v", text, r)
		}
		if target, err := os.Readlink(filepath.Join(h.dir, "src")); err != nil || target != victim.dir {
			t.Errorf("the link did not land: %v, %v", err, r)
		}
	}
}
