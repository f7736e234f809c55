package screen

import "strings"

// WrapSpans breaks spans between their words into lines of at most a number of columns. A span in the style
// of commands is never divided.
func WrapSpans(spans []Span, room int) []Cell {
	var lines []Cell
	var line Cell
	used, isSpaced := 0, false
	for _, span := range spans {
		for i, word := range wordsOf(span) {
			isApart := i > 0 || isSpaced || strings.HasPrefix(span.Text, " ")
			wide := Width(word)
			switch {
			case used == 0:
			case isApart && used+1+wide > room:
				lines, line, used = append(lines, line), nil, 0
			case isApart:
				line = append(line, Span{Text: " "})
				used++
			}
			line, used = append(line, Span{word, span.Style}), used+wide
		}
		isSpaced = strings.HasSuffix(span.Text, " ")
	}
	return append(lines, line)
}

// wordsOf are the words of a span; a command is one.
func wordsOf(span Span) []string {
	if span.Style == Cyan {
		return []string{span.Text}
	}
	return strings.Fields(span.Text)
}
