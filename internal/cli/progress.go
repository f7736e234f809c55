package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	progressAfter = time.Second
	progressEvery = 250 * time.Millisecond
)

// progress shows on a terminal that something takes its time: one line that
// is rewritten and at the end erased. The returned function ends it.
func (a *app) progress(what string) (stop func()) {
	if a.env.Terminal != TerminalInteractive || a.quiet || a.json {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		showProgress(a.env.Stderr, what, quit)
	}()
	return func() {
		close(quit)
		<-done
	}
}

// showProgress writes over its own line with blanks: every terminal can do
// that, and not every one knows the sequence that erases a line.
func showProgress(w io.Writer, what string, quit <-chan struct{}) {
	start := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	width := 0
	for {
		select {
		case <-quit:
			if width > 0 {
				fmt.Fprint(w, "\r"+strings.Repeat(" ", width)+"\r")
			}
			return
		case <-tick.C:
			if spent := time.Since(start); spent > progressAfter {
				line := fmt.Sprintf("%s … %ds", what, int(spent.Seconds()))
				width = utf8.RuneCountInString(line) // it never gets shorter
				fmt.Fprint(w, "\r"+line)
			}
		}
	}
}
