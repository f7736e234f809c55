package txlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// Replay calls run with the statements of every line but the first, in their order. Of lines
// with the same number after the dump, only the last counts. Replay skips a line that was cut
// because a process died while it appended the line.
//
// Replay fails with ErrBehind, and calls run for no later line, if a transaction is missing
// or damaged. If lines of the dump are damaged, it calls run for all other lines, and fails
// with ErrDump after that.
func (l *Log) Replay(run func(number int64, list []Statement) error) error {
	f, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	first, err := readLine(in)
	if err != nil {
		return err
	}
	header, _, lines, err := parseFirstLine(first)
	if err != nil {
		return err
	}
	r := replay{run: run, base: header.number, last: header.number, left: max(lines, 0), isCounted: lines >= 0}
	for {
		b, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(b) > 0 {
			if err := r.add(b); err != nil {
				return err
			}
		}
		if err != nil {
			return r.end()
		}
	}
}

// replay is the state of one call of Replay.
type replay struct {
	run        func(number int64, list []Statement) error
	base, last int64 // the numbers of the dump and of the last line

	isCounted bool // the header has the number of lines of the dump
	left      int  // of those lines, the ones that were not read yet

	isDumpDamaged bool
	isSkipped     bool // a line was skipped

	held   *line // a transaction that is not run yet: the next line may replace it
	broken int64 // the number of a damaged line after held, or noLine
}

const noLine = 0

// add reads one line after the header.
func (r *replay) add(b []byte) error {
	next, ok := parseLine(b)
	ok = ok && bytes.HasSuffix(b, []byte("\n"))
	switch {
	case r.left > 0 && !ok:
		r.left, r.isDumpDamaged = r.left-1, true
		return nil
	case r.left > 0 && next.number == r.base:
		r.left--
		return r.runLine(next)
	case r.left > 0: // the end of a line of the dump is damaged, so that there are fewer
		r.left, r.isDumpDamaged = 0, true
	}
	if !ok {
		r.skip(b)
		return nil
	}
	if next.number == r.base && r.last == r.base {
		r.isDumpDamaged = r.isDumpDamaged || r.isSkipped // the skipped line was in the dump
		return r.runLine(next)
	}
	if r.broken != noLine && r.broken != next.number || next.number != r.last && next.number != r.last+1 {
		return r.missing(fmt.Errorf("%w: after %d comes %d", ErrBehind, r.last, next.number))
	}
	if next.number != r.last {
		if err := r.runHeld(); err != nil {
			return err
		}
	}
	r.held, r.last, r.broken = &next, next.number, noLine
	return nil
}

// skip decides what a line is that cannot be believed: one of the dump, a transaction that
// was written whole, or one that was cut. A line that was written whole has its end.
func (r *replay) skip(b []byte) {
	r.isSkipped = true
	number := int64(-1) // unknown
	if fields := bytes.SplitN(b, []byte(" "), 3); len(fields) == 3 {
		if n, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
			number = n
		}
	}
	hasEnd := bytes.HasSuffix(b, []byte("]\n"))
	switch {
	case r.last == r.base && (!r.isCounted || r.isDumpDamaged):
		// It is of the last line of the dump, or the first transaction. A counted dump has more
		// lines than it should if a byte of it became the end of a line.
		r.isDumpDamaged = r.isDumpDamaged || hasEnd || number == r.base
	case hasEnd:
		r.broken = number
	}
}

// end is called after the last line.
func (r *replay) end() error {
	if r.broken != noLine {
		return r.missing(fmt.Errorf("%w: the last line is damaged", ErrBehind))
	}
	if err := r.runHeld(); err != nil {
		return err
	}
	if r.isDumpDamaged || r.left > 0 {
		return ErrDump
	}
	return nil
}

// missing runs the transaction before one that is missing, unless the damaged line is its
// replacement, and returns err.
func (r *replay) missing(err error) error {
	if r.broken == r.last {
		return err
	}
	return errors.Join(r.runHeld(), err)
}

func (r *replay) runHeld() error {
	if r.held == nil {
		return nil
	}
	return r.runLine(*r.held)
}

func (r *replay) runLine(l line) error {
	var list []Statement
	if err := json.Unmarshal(l.text, &list); err != nil {
		return fmt.Errorf("%w: %w", ErrBehind, err)
	}
	return r.run(l.number, list)
}

// readLine reads a line with its end. At the end of the file it returns io.EOF, and what is
// there of a line that has no end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var b []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(b)+len(part) > maxLine {
			return nil, fmt.Errorf("a line of the second copy is longer than %d bytes", maxLine)
		}
		b = append(b, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return b, err
		}
	}
}
