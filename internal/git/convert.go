package git

import (
	"context"
	"strings"
)

// Conversion is what git does to a file when it writes it to a checkout.
type Conversion struct {
	Filter string // the name of a filter; "ident" or "encoding" for those of git's own
	CRLF   bool   // line ends may become those of Windows
}

// conversionAttributes decide about it, in the order in which they are asked.
var conversionAttributes = []string{"text", "crlf", "eol", "filter", "ident", "working-tree-encoding"}

// Conversions tells which of some paths git may write otherwise than they are
// stored, or may have stored otherwise than they are on disk, by the attributes
// in the index.
func (w *Worktree) Conversions(ctx context.Context, paths []string) (map[string]Conversion, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	const notThere = 1
	out, err := w.run(ctx, call{args: []string{"config", "--null", "--get-regexp", `^core\.(autocrlf|eol)$`}})
	if err != nil && exitCode(err) != notThere {
		return nil, err
	}
	var autocrlf, eol string
	for _, kv := range splitNUL(out) {
		switch key, value, _ := strings.Cut(kv, "\n"); key {
		case "core.autocrlf":
			autocrlf = value
		case "core.eol":
			eol = value
		}
	}
	auto := autocrlf != "" && autocrlf != "false"
	crlf := auto && autocrlf != "input" || !auto && (eol == "crlf" || nativeCRLF && eol != "lf")
	out, err = w.run(ctx, call{
		args: append([]string{"check-attr", "--cached", "-z", "--stdin"}, conversionAttributes...), stdin: strings.Join(paths, "\x00") + "\x00",
	})
	if err != nil {
		return nil, err
	}
	found := map[string]Conversion{}
	fields, n := splitNUL(out), 3*len(conversionAttributes)
	for ; len(fields) >= n; fields = fields[n:] {
		values := make([]string, len(conversionAttributes))
		for i := range values {
			values[i] = fields[3*i+2]
		}
		if c, ok := conversionOf(values, auto, crlf); ok {
			found[fields[0]] = c
		}
	}
	return found, nil
}

// conversionOf judges the attributes of one path. With auto, files without any
// attribute are converted too.
func conversionOf(values []string, auto, crlf bool) (Conversion, bool) {
	text, old, eol, filter, ident, encoding := values[0], values[1], values[2], values[3], values[4], values[5]
	const unspecified, unset = "unspecified", "unset"
	set := func(v string) bool { return v != unspecified && v != unset && v != "" }
	c := Conversion{}
	switch {
	case set(filter):
		c.Filter = filter
	case set(ident):
		c.Filter = "ident"
	case set(encoding):
		c.Filter = "encoding"
	}
	lines := text != unset && (text != unspecified || old != unset && (auto || set(old) || set(eol)))
	c.CRLF = lines && (eol == "crlf" || eol != "lf" && old != "input" && text != "input" && crlf)
	return c, c.Filter != "" || lines
}
