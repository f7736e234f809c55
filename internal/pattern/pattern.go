// Package pattern has regular expressions that are compiled at their first use: a command pays
// only for those that it needs.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern returns a regular expression.
type Pattern func() *regexp.Regexp

// New returns the pattern of a text in the syntax of regexp. The first use of a text that is
// none panics.
func New(text string) Pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
