// Package notice keeps the sentences for the user that belong to no call's result. A process may
// live for long, and agents decide about some of them, by a croft.toml that they have merged: few
// are kept. What one call is about is for its caller alone, where a process has several: see ForCall.
package notice

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// most is how many sentences are kept, the last ones, and mostOfFile how many of one file.
const (
	most       = 50
	mostOfFile = 5
)

// List has sentences. Its zero value has none.
type List struct {
	mu     sync.Mutex
	last   []string
	ofFile map[string][]string
	once   string
}

// Add adds a sentence. The same one is kept once.
func (l *List) Add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.last, text) {
		l.last = append(l.last[max(0, len(l.last)+1-most):], text)
	}
}

// SetFile sets what is wrong with a file now, instead of what was.
func (l *List) SetFile(file string, problems []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(problems) == 0 {
		delete(l.ofFile, file)
		return
	}
	if more := len(problems) - mostOfFile; more > 0 {
		problems = append(slices.Clone(problems[:mostOfFile]), fmt.Sprintf("%d more of its lines are like that", more))
	}
	if l.ofFile == nil {
		l.ofFile = map[string][]string{}
	}
	l.ofFile[file] = problems
}

// SetOnce sets the one sentence that is given once.
func (l *List) SetOnce(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.once = text
}

// All returns the sentences.
func (l *List) All() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, file := range slices.Sorted(maps.Keys(l.ofFile)) {
		for _, text := range l.ofFile[file] {
			if !slices.Contains(out, text) { // a file of the user's counts for each project
				out = append(out, text)
			}
		}
	}
	out = append(out, l.last...)
	if l.once != "" {
		out = append(out, l.once)
	}
	l.once = ""
	return out
}

type ofCall struct{}

// ForCall returns a context of a call whose sentences are in a list of its own.
func ForCall(ctx context.Context) context.Context {
	return context.WithValue(ctx, ofCall{}, &List{})
}

// OfCall returns the list of the call that a context is of, or nil if that has none.
func OfCall(ctx context.Context) *List {
	l, _ := ctx.Value(ofCall{}).(*List)
	return l
}
