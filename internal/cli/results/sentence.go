package results

import (
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/screen"
)

// Sentence divides a sentence of Croft's into prose and the commands in it, which a terminal shows in their
// colour and never divides. A command begins at its program's name, after a colon, a comma, or a word such
// as "or"; it ends before a word of the sentence. In quotes begins none.
func Sentence(text string) []screen.Span {
	var spans []screen.Span
	words := strings.Split(text, " ")
	prose := []string{}
	isQuoted := false // what stands in quotes is a path, or what somebody else said
	for i := 0; i < len(words); i++ {
		n := 0
		if !isQuoted {
			n = commandLength(words, i)
		}
		if n == 0 {
			prose = append(prose, words[i])
			isQuoted = isQuoted != endsQuoted(words[i])
			continue
		}
		if len(prose) > 0 {
			spans = append(spans, screen.Span{Text: strings.Join(prose, " ") + " "})
			prose = nil
		}
		text := strings.Join(words[i:i+n], " ")
		whole := strings.TrimRight(text, ",;")
		spans = append(spans, Command(whole))
		if i += n - 1; i < len(words)-1 || whole != text {
			prose = []string{text[len(whole):]}
		}
	}
	if len(prose) > 0 {
		spans = append(spans, screen.Span{Text: strings.Join(prose, " ")})
	}
	return spans
}

// endsQuoted reports whether a word has an odd number of quotes that no backslash stands before.
func endsQuoted(word string) bool {
	return strings.Count(strings.NewReplacer(`\\`, "", `\"`, "").Replace(word), `"`)%2 == 1
}

// commandLength is how many words the command has that begins at a word; 0: none does.
func commandLength(words []string, at int) int {
	if words[at] != "croft" || at+1 == len(words) || words[at+1] == "" || !strings.Contains("abcdefghijklmnopqrstuvwxyz-", words[at+1][:1]) {
		return 0
	}
	if at > 0 && !strings.ContainsAny(words[at-1][max(len(words[at-1])-1, 0):], ":,;") && !slices.Contains([]string{"or", "then", "by", "before", "run", "is", "with"}, words[at-1]) {
		return 0
	}
	n := 1
	for _, word := range words[at+1:] {
		if slices.Contains([]string{"or", "and", "brings", "shows", "says", "has", "until", "takes", "there"}, word) || strings.HasPrefix(word, "(") {
			break
		}
		if n++; strings.HasSuffix(word, ",") || strings.HasSuffix(word, ";") {
			break
		}
	}
	return n
}
