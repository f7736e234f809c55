//go:build unix

package mcp

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHostile: what an agent writes into its workspace neither stops a server nor becomes
// anything but text in its answers.
func TestHostile(t *testing.T) {
	f := newFixture(t)
	f.write(f.a, "na\x1b]0;owned\x07me\u202e.txt", "line \x1b[2J\x9b31m\u202e\n")
	f.write(f.a, "bad\xff\xfe.txt", "x\n")
	f.write(f.a, strings.Repeat("d/", 60)+strings.Repeat("n", 200), "deep\n")
	if err := os.WriteFile(filepath.Join(f.a.Path, "huge.txt"), bytes.Repeat([]byte("a line that is changed\n"), 180_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		f.write(f.a, "many/"+strings.Repeat("m", 150)+strings.Repeat("x", i%7)+string(rune('a'+i%26))+time.Duration(i).String(), "m\n")
	}
	c := f.connect(f.scopeOf(KindAgent))
	f.callAll(c)
	if err := syscall.Mkfifo(filepath.Join(f.b.Path, ".gitignore"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.callAll(f.connect(Scope{Kind: KindAgent, Workspace: f.b.ID}))
}

// callAll calls the tools of an agent; what they answer must be text, and in time.
func (f *fixture) callAll(c *client) {
	for _, call := range []struct {
		tool string
		in   object
	}{
		{"status", object{}},
		{"diff", object{}},
		{"diff", object{"path": "huge.txt"}},
		{"diff", object{"path": "../../etc"}},
		{"diff", object{"path": "many"}},
		{"conflicts", object{}},
		{"save", object{"message": "m\x1b[31m"}},
		{"submit", object{"outcome": "done"}},
	} {
		begun := time.Now()
		out, failed := c.try(call.tool, call.in) // it checks what is said
		if took := time.Since(begun); took > 10*time.Second {
			f.t.Errorf("%s took %v", call.tool, took)
		}
		f.t.Logf("%s %v: %v, %+v", call.tool, call.in, len(out), failed)
	}
}

// TestPages: a patch and a list that are longer than an answer come in parts, and are whole.
func TestPages(t *testing.T) {
	f := newFixture(t)
	var text strings.Builder
	for i := range 4000 {
		text.WriteString(strings.Repeat("é", i%20) + " " + time.Duration(i).String() + "\n")
	}
	f.write(f.a, "long.txt", text.String())
	for i := range 250 {
		f.write(f.a, "many/"+strings.Repeat("m", 150)+time.Duration(i).String(), "m\n")
	}
	c := f.connect(f.scopeOf(KindAgent))
	patch, after, parts := "", any(nil), 0
	for {
		in := object{"path": "long.txt"}
		if after != nil {
			in["after"] = after
		}
		d := c.call("diff", in)
		patch += d["patch"].(string)
		parts++
		if after = d["next"]; after == nil {
			break
		}
	}
	if _, lines, _ := strings.Cut(patch, "@@\n"); parts < 3 || strings.ReplaceAll(lines, "\n+", "\n")[1:] != text.String() {
		t.Errorf("%d parts with %d bytes of %d", parts, len(patch), text.Len())
	}
	files, next := 0, any(nil)
	for {
		in := object{"limit": 200}
		if next != nil {
			in["after"] = next
		}
		d := c.call("diff", in)
		files += len(d["files"].([]any))
		if next = d["next"]; next == nil {
			break
		}
	}
	if files != 251 {
		t.Errorf("%d files", files)
	}
	first := c.call("diff", object{"path": "long.txt"})
	f.write(f.a, "long.txt", text.String()+"more\n")
	if _, failed := c.try("diff", object{"path": "long.txt", "after": first["next"]}); failed == nil || failed.Code != "CURSOR_EXPIRED" {
		t.Errorf("a part of other work: %+v", failed)
	}
	if _, failed := c.try("diff", object{"path": "long.txt", "after": "x"}); failed == nil || failed.Code != "INVALID_REQUEST" {
		t.Errorf("%+v", failed)
	}
}
