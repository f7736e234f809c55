package config

import (
	"slices"
	"strings"
)

// nearest is the key or table that was probably meant, or "". A name that is
// right but in the wrong table counts as near.
func nearest(keys []Key, name string) string {
	const longestTypo = 64
	if len(name) > longestTypo {
		return ""
	}
	name = strings.ToLower(name)
	best, bestScore := "", len(name)/3+1
	consider := func(candidate string, score int) {
		if score < bestScore {
			best, bestScore = candidate, score
		}
	}
	for _, key := range keys {
		if table := key.table(); table != "" {
			consider(table, editDistance(name, table))
		}
		consider(key.Name, editDistance(name, key.Name))
		consider(key.Name, editDistance(lastPart(name), key.last())+1)
	}
	return best
}

// editDistance is the number of letters to insert, delete or replace to get from
// one word to the other.
func editDistance(from, to string) int {
	source, target := []rune(from), []rune(to)
	row := make([]int, len(target)+1)
	for j := range row {
		row[j] = j
	}
	for i, s := range source {
		diagonal := row[0]
		row[0] = i + 1
		for j, t := range target {
			replace := diagonal
			if s != t {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(target)]
}

// fileKeys is the keys that some file may have.
func fileKeys(keys []Key) []Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return k.Guard == GuardNoFile })
}
