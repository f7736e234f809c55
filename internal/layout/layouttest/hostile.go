// Package layouttest makes names that were chosen to do harm, for the tests of
// whatever takes a name from outside.
package layouttest

import (
	"math/rand/v2"
	"strings"
)

// Hostile returns n strings that a caller might pass as a name, an ID, a role,
// a branch, a label or a path in order to break something: traversal, options,
// names that git or an operating system reserves, control characters, bytes
// that are no UTF-8, lengths over every limit, twins that differ only in case,
// and characters that look like others. The same seed gives the same strings.
// Some of them are harmless, so that a check that refuses everything is
// noticed.
func Hostile(seed uint64, n int) []string {
	g := generator{rand.New(rand.NewPCG(seed, 0x63726f6674))}
	out := make([]string, 0, n)
	for len(out) < n {
		s := g.randomName()
		out = append(out, s)
		if len(out) < n && g.IntN(8) == 0 {
			out = append(out, g.mixCase(s))
		}
	}
	return out
}

type generator struct{ *rand.Rand }

func (g generator) randomName() string {
	switch g.IntN(11) {
	case 0:
		return g.pick(known())
	case 1:
		return g.traversal()
	case 2:
		return g.pick(options()) + g.pick([]string{"", g.word(), "=" + g.word(), " " + g.word()})
	case 3:
		return g.surround(g.pick(specials()))
	case 4:
		return g.surround(string([]byte{byte(g.IntN(32)), byte(g.IntN(2) * 127)}))
	case 5:
		return g.surround(g.bytes(1 + g.IntN(6)))
	case 6:
		return g.longName()
	case 7:
		return g.pick(devices()) + g.pick([]string{"", ".", ".txt", " ", ":", "/" + g.word(), "." + g.word()})
	case 8:
		return g.surround(g.pick(lookalikes()))
	case 9:
		return g.mixCase(g.pick(known()))
	default:
		return g.word() + g.pick([]string{"", "/", "-", "."}) + g.word()
	}
}

func (g generator) pick(from []string) string { return from[g.IntN(len(from))] }

func (g generator) word() string {
	return g.pick([]string{
		"a", "researcher", "feat", "login", "PROJ-123", "main", "über", "日本", "x.y", "v1_2", "Ω", "e\u0301",
	})
}

// surround puts a text before, after, in the middle of or in place of a word.
func (g generator) surround(s string) string {
	switch g.IntN(4) {
	case 0:
		return s + g.word()
	case 1:
		return g.word() + s
	case 2:
		return g.word() + s + g.word()
	default:
		return s
	}
}

func (g generator) traversal() string {
	up := g.pick([]string{"../", "..\\", "./", "/", "//", "..//", "%2e%2e/", "..%2f", "..\x00/", "\u2024\u2024/"})
	to := g.pick([]string{"", "etc/passwd", ".git", ".git/hooks/pre-commit", ".GIT/config", "..", ".", g.word()})
	start := g.pick([]string{"", "", g.word() + "/", "/", "C:\\", "C:", "\\\\host\\share\\", "~/", "{home}/"})
	return start + strings.Repeat(up, 1+g.IntN(8)) + to
}

func (g generator) bytes(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.IntN(256))
	}
	return string(b)
}

// longName returns a text near or over the limits of names, branches and file names.
func (g generator) longName() string {
	sizes := []int{79, 80, 81, 99, 100, 101, 199, 200, 201, 255, 256, 300, 4096}
	unit := g.pick([]string{"a", "é", "日", "a/", "-", ".", "a.", "\u0301", "con."})
	return strings.Repeat(unit, sizes[g.IntN(len(sizes))]/len(unit)+g.IntN(2))
}

// mixCase changes the case of some letters.
func (g generator) mixCase(s string) string {
	b := []byte(s)
	for i, c := range b {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if letter && g.IntN(2) == 0 {
			b[i] = c ^ 0x20
		}
	}
	return string(b)
}

func known() []string {
	return []string{
		"", " ", ".", "..", "...", "@", "@{", "@{-1}", "@{upstream}", "HEAD", "HEAD~1", "HEAD^", "head", "FETCH_HEAD",
		"ORIG_HEAD", "refs/heads/main", "refs/croft/archive/x", "Refs/Heads/x", ":/fix", ":!x", "^main", "main..other",
		"main...other", "a.lock", "a.LOCK", "x/y.lock/z", ".hidden", "x/.hidden", ".git", ".GIT", "git~1", "a/", "/a",
		"a//b", "a.", "a./b", "a b", "a\\b", "a~b", "a^b", "a:b", "a?b", "a*b", "a[b", "-", "--", "-x/-y", "x/-y",
		"{name}", "{unknown}", "{", "}", "{}", "{{name}}", "$(id)", "`id`", ";id", "|id", "&&id", "$HOME", "%PATH%",
		"'", "\"", "a'b", "\r\n", "a\nb", "a\tb", "\x00", "a\x00b", "\x7f", "\x1b[31mred", "NaN", "null", "undefined",
		"0123456789abcdef0123456789abcdef01234567", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "k3v9x0q2m4n6p8r1",
	}
}

func options() []string {
	return []string{
		"-", "--", "-f", "-b", "-D", "--force", "--detach", "--upload-pack", "--exec", "--output", "-c", "--git-dir",
		"--end-of-options", "-\u200d", "\u2212f", "\u2013-force",
	}
}

func specials() []string {
	return []string{
		"..", "/", "\\", "//", "@{", "~", "^", ":", "?", "*", "[", " ", "\t", "\n", "\r", "\x00", "\x01", "\x7f",
		"\u0085", "\u009b", "<", ">", "\"", "|", "'", "$", "`", "!", "#", "%", "&", "(", ")", ";", "=", "+", ",",
		"{", "}", ".lock", ".lock/", "/.", "./", "/-", "-/", ".", "-", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x80",
	}
}

func devices() []string {
	return []string{
		"con", "CON", "nul", "NuL", "prn", "aux", "AUX", "com1", "COM9", "lpt1", "LPT9", "com\u00b9", "LPT\u00b3",
		"conin$", "CONOUT$", "com0", "console", "auxiliary", "null", "\\\\.\\nul", "\\\\?\\C:\\",
	}
}

func lookalikes() []string {
	return []string{
		"\u202e", "\u202d", "\u2066", "\u2069", "\u200e", "\u200f", "\u061c", "\u200b", "\u200c", "\u200d", "\u2060",
		"\ufeff", "\u2028", "\u2029", "\u00a0", "\u3000", "\u00ad", "\u2024", "\u2025", "\u2026", "\uff0e\uff0e",
		"\uff0f", "\u2044", "\u2215", "\u29f5", "\uff3c", "\u2010", "\uff0d", "\u0130", "\u0131", "\u212a", "\u017f",
		"\u00df", "\u1e9e", "\ufb01", "e\u0301", "\u00e9", "\u0430", "\u03f4", ".g\u200cit", "\u200c.git", "\u200d..",
		"\ufffd", "\U000e0001", "\U0010ffff", "\ufe0f", "👩\u200d💻", "\u0300\u0300\u0300", "\u1160", "\u3164",
	}
}
