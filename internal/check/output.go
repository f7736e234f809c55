package check

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft"
)

const (
	outputFirst = 100 * time.Millisecond // how long output waits for more of it before it is told, at first
	outputNext  = 500 * time.Millisecond // and afterwards
	outputMost  = 64 << 10               // how many bytes of one check are told
	lineMost    = 1 << 10                // how many bytes of one line are told
	lastMost    = 200                    // how many bytes the last line has at most
)

// relay tells the output of a check line by line: what was printed within a while together,
// and no more than outputMost in all.
type relay struct {
	send func(croft.CheckOutput)

	sending sync.Mutex // orders the calls of send

	mu    sync.Mutex
	part  []byte // the beginning of a line that has not ended
	lines []byte // not yet told
	told  int    // how many bytes were told
	left  int64  // how many bytes were left out since the last call of send
	last  string
	timer *time.Timer // runs while there are lines
	ended bool
}

// Write never fails.
func (r *relay) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(b)
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		rest := b
		if i >= 0 {
			rest = b[:i]
		}
		fits := min(len(rest), lineMost-len(r.part))
		r.part, r.left = append(r.part, rest[:fits]...), r.left+int64(len(rest)-fits)
		if i < 0 {
			break
		}
		b = b[i+1:]
		r.endLine()
	}
	if len(r.lines) > 0 && r.timer == nil && !r.ended {
		wait := outputNext
		if r.told == 0 {
			wait = outputFirst
		}
		r.timer = time.AfterFunc(wait, r.tell)
	}
	return n, nil
}

// endLine adds the line that has just ended. The caller holds the lock.
func (r *relay) endLine() {
	line := strings.ToValidUTF8(string(bytes.TrimRight(r.part, "\r")), "\uFFFD")
	r.part = r.part[:0]
	if text := strings.TrimSpace(line); text != "" {
		r.last = strings.ToValidUTF8(text[:min(len(text), lastMost)], "")
	}
	if r.told+len(r.lines)+len(line)+1 > outputMost {
		r.left += int64(len(line) + 1)
		return
	}
	r.lines = append(append(r.lines, line...), '\n')
}

// tell sends the lines that were not yet told.
func (r *relay) tell() {
	r.sending.Lock()
	defer r.sending.Unlock()
	r.mu.Lock()
	out := r.take()
	r.timer = nil
	r.mu.Unlock()
	if out.Text != "" {
		r.send(out)
	}
}

// take returns the lines that were not yet told, and counts them as told. The caller holds the
// lock.
func (r *relay) take() croft.CheckOutput {
	out := croft.CheckOutput{Text: string(r.lines), Left: r.left}
	if out.Text != "" {
		r.told, r.lines, r.left = r.told+len(r.lines), r.lines[:0], 0
	}
	return out
}

// lastLine returns the last line that is not empty.
func (r *relay) lastLine() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// end ends the telling, and returns the rest that was not told, which may be empty.
func (r *relay) end() croft.CheckOutput {
	r.mu.Lock()
	r.ended = true
	if len(r.part) > 0 {
		r.endLine()
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Unlock()
	r.sending.Lock() // a call of send that is under way has returned then
	defer r.sending.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.take()
}
