package dashboard

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/croft-sh/croft/internal/pattern"
)

// escapes are the sequences by which a program speaks to a terminal: CSI, OSC and other
// strings with their ends, and the short ones.
var escapes = pattern.New("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
	"|(?:\x1b[\\]P^_X]|[\u0090\u0098\u009d\u009e\u009f])[^\x07\x1b\u009c\n]*(?:\x07|\x1b\\\\|\u009c)?" +
	"|\x1b[ -/]*[0-~]")

// plain returns the output of a program as text: without escape sequences, and of a line that
// the program wrote over and over, what it wrote last.
func plain(data []byte) string {
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	text = escapes().ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.ContainsRune(text, '\r') {
		lines := strings.Split(text, "\n")
		for i, l := range lines {
			l = strings.TrimRight(l, "\r")
			lines[i] = l[strings.LastIndexByte(l, '\r')+1:]
		}
		text = strings.Join(lines, "\n")
	}
	return strings.Map(shownRune, text)
}

// shownRune replaces characters that are not seen but change how others are seen: controls,
// and those that turn the direction of text or have no width. The joiners of scripts and emoji stay.
func shownRune(r rune) rune {
	switch {
	case r == '\n', r == '\t':
		return r
	case r < ' ', r >= 0x7f && r < 0xa0:
		return '\uFFFD'
	case r == 0x061c, r == 0x200b, r == 0x200e, r == 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff,
		r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return '\uFFFD'
	}
	return r
}

// filter passes a page on with such characters replaced, whoever put them there. It holds
// back the beginning of a character that is cut by the end of a write.
type filter struct {
	w    io.Writer
	left []byte
}

func (f *filter) Write(p []byte) (int, error) {
	n := len(p)
	if len(f.left) > 0 {
		p = append(f.left, p...)
		f.left = nil
	}
	out := make([]byte, 0, len(p)+16)
	for len(p) > 0 {
		if c := p[0]; c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			out, p = append(out, c), p[1:]
			continue
		}
		if !utf8.FullRune(p) {
			f.left = append([]byte(nil), p...)
			break
		}
		r, size := utf8.DecodeRune(p)
		out, p = utf8.AppendRune(out, shownRune(r)), p[size:]
	}
	if _, err := f.w.Write(out); err != nil {
		return 0, err
	}
	return n, nil
}

// spanText is a length of time: 40s, 18m, 2h 14m, 2d.
func spanText(d time.Duration) string {
	switch s := int(d.Seconds()); {
	case s < 0:
		return "0s"
	case s < 60:
		return strconv.Itoa(s) + "s"
	case s < 3600:
		return strconv.Itoa(s/60) + "m"
	case s < 86400:
		return fmt.Sprintf("%dh %02dm", s/3600, s%3600/60)
	default:
		return strconv.Itoa(s/86400) + "d"
	}
}

// tookText is how long something took: 0.4 s, 1m 48s.
func tookText(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return spanText(d)
}

// sizeText is a number of bytes in powers of 1,000.
func sizeText(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	f, i := float64(n), 0
	for f >= 999.5 && i < len(units)-1 {
		f, i = f/1000, i+1
	}
	if i == 0 || f >= 99.5 {
		return fmt.Sprintf("%.0f %s", f, units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// numberText has commas from 10,000 on.
func numberText(n int) string {
	s := strconv.Itoa(n)
	if n < 10_000 {
		return s
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// countText is a number with its noun: 1 file, 2 files.
func countText(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return numberText(n) + " " + stem + "ies"
	}
	if strings.HasSuffix(noun, "ch") {
		return numberText(n) + " " + noun + "es"
	}
	return numberText(n) + " " + noun + "s"
}

// shortCommit is the beginning of a commit's name.
func shortCommit(commit string) string { return commit[:min(len(commit), 7)] }
