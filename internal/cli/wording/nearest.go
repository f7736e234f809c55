package wording

// Nearest is the first of the names that are nearest to a word, if it is near enough to be meant:
// two changes at the most, and a third of the word.
func Nearest(word string, names []string) string {
	found, least := "", min(2, len([]rune(word))/3)+1
	for _, name := range names {
		if d := editDistance(word, name); d < least && d > 0 {
			found, least = name, d
		}
	}
	return found
}

// editDistance is how many letters have to be put in, taken out, replaced or swapped with their
// neighbours to make one word of another.
func editDistance(from, to string) int {
	a, b := []rune(from), []rune(to)
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
