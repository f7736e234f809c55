package dashboard

import (
	"slices"
	"strings"
	"unicode"
)

const (
	wordsMost  = 120       // of a line; those of a longer one are not compared
	wordsSteps = 2_000_000 // for one file: comparing takes as many as a line has words, times those of the other
)

// diffPart is a part of a line that its other version has, too, or has not.
type diffPart struct {
	Text      string
	IsChanged bool
}

// markWords finds the words that differ between lines that were deleted and the same number of lines that were added
// in their place.
func markWords(lines []diffLine, steps *int) {
	for i := 0; i < len(lines); {
		deleted := runOf(lines[i:], "d")
		added := runOf(lines[i+deleted:], "a")
		if deleted > 0 && deleted == added {
			for j := i; j < i+deleted; j++ {
				lines[j].Parts, lines[j+deleted].Parts = compareWords(lines[j].Text, lines[j+deleted].Text, steps)
			}
		}
		i += max(deleted+added, 1)
	}
}

// runOf is how many lines of a class come first.
func runOf(lines []diffLine, class string) int {
	n := 0
	for n < len(lines) && lines[n].Class == class {
		n++
	}
	return n
}

// compareWords returns the parts of two versions of a line, or nothing if they have little in common, or are too long.
func compareWords(old, now string, steps *int) (a, b []diffPart) {
	x, y := wordsOf(old), wordsOf(now)
	if len(x) > wordsMost || len(y) > wordsMost || *steps < len(x)*len(y) {
		return nil, nil
	}
	*steps -= len(x) * len(y)
	inX, inY := common(x, y)
	same := 0
	for i, word := range x {
		if inX[i] {
			same += len(strings.TrimSpace(word))
		}
	}
	if 3*same < max(len(strings.TrimSpace(old)), len(strings.TrimSpace(now))) {
		return nil, nil
	}
	return partsOf(x, inX), partsOf(y, inY)
}

// wordsOf cuts a line into words, runs of spaces, and single characters.
func wordsOf(line string) []string {
	var words []string
	last := -1 // the kind of the character before
	for _, r := range line {
		kind := 2
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			kind = 0
		case unicode.IsSpace(r):
			kind = 1
		}
		if kind == last && kind < 2 {
			words[len(words)-1] += string(r)
		} else {
			words = append(words, string(r))
		}
		last = kind
	}
	return words
}

// common marks the words of a longest common subsequence in both.
func common(x, y []string) (inX, inY []bool) {
	length := make([][]int, len(x)+1) // of that of the words from here on
	for i := range length {
		length[i] = make([]int, len(y)+1)
	}
	for i, a := range slices.Backward(x) {
		for j, b := range slices.Backward(y) {
			if a == b {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	inX, inY = make([]bool, len(x)), make([]bool, len(y))
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			inX[i], inY[j] = true, true
			i++
			j++
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return inX, inY
}

// partsOf joins words into parts. Spaces between two changed words are changed with them.
func partsOf(words []string, isCommon []bool) []diffPart {
	var parts []diffPart
	for i, word := range words {
		isChanged := !isCommon[i] ||
			strings.TrimSpace(word) == "" && i > 0 && i+1 < len(words) && !isCommon[i-1] && !isCommon[i+1]
		if n := len(parts); n > 0 && parts[n-1].IsChanged == isChanged {
			parts[n-1].Text += word
		} else {
			parts = append(parts, diffPart{word, isChanged})
		}
	}
	return parts
}
