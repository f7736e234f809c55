package daemon

import (
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
)

// shares bounds how many requests of tokens a listener answers at once, streams and calls that wait
// among them: one token has a fifth of the connections at most, and all tokens that are not for
// everything have three quarters. So an agent keeps neither the others nor the user out. The user
// and the tokens for everything are not bounded.
type shares struct {
	ofOne, ofAll int

	mu      sync.Mutex
	byToken map[croft.ID]int
	all     int
}

func newShares(most int) *shares {
	return &shares{ofOne: max(most/5, 1), ofAll: max(most*3/4, 1), byToken: map[croft.ID]int{}}
}

func isBounded(by caller.Caller) bool { return by.Token != "" && by.Access != croft.AccessAll }

// enter counts a request, and reports false if its caller has too many.
func (s *shares) enter(by caller.Caller) bool {
	if !isBounded(by) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byToken[by.Token] >= s.ofOne || s.all >= s.ofAll {
		return false
	}
	s.byToken[by.Token]++
	s.all++
	return true
}

// leave ends a request that was counted.
func (s *shares) leave(by caller.Caller) {
	if !isBounded(by) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.byToken[by.Token]--; s.byToken[by.Token] == 0 {
		delete(s.byToken, by.Token)
	}
}
