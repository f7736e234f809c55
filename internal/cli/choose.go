package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/hunks"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/croft-sh/croft/internal/tui"
)

// chooser goes through a review with a person, forth and back.
type chooser struct {
	*app
	work  *croft.Review
	parts []part
	said  string // why the last answer changed nothing

	// lend gives the terminal to another program, and takes it back.
	lend func(use func() error) error
}

// part is what is chosen at once: a hunk, or a file that changes only as a whole.
type part struct {
	file     *croft.ReviewFile
	number   int         // of the file
	hunk     *croft.Hunk // nil: the whole file
	isPart   bool        // of a hunk that was divided
	isEdited bool
	isChosen bool
}

func newChooser(a *app, work *croft.Review) *chooser {
	c := &chooser{app: a, work: work}
	for i := range work.Files {
		f := &work.Files[i]
		if len(f.Hunks) == 0 {
			c.parts = append(c.parts, part{file: f, number: i + 1})
		}
		for j := range f.Hunks {
			c.parts = append(c.parts, part{file: f, number: i + 1, hunk: &f.Hunks[j]})
		}
	}
	return c
}

// reviewLetters are the answers, which are those of git add -p, and b.
const reviewLetters = "ynadbseq"

// reviewHelp explains the answers.
func reviewHelp() []string {
	return []string{
		"y - apply it",
		"n - leave it",
		"a - apply it and all that follows in this file",
		"d - leave it and all that follows in this file",
		"b - back to the one before",
		"s - split it where lines between its changes are unchanged",
		"e - edit it, and apply what you make of it",
		"q - quit: leave it and all that follows",
		"? - this",
	}
}

// choose asks about one part after the other. With a terminal that can be read key by key each has the screen for itself.
func (c *chooser) choose(ctx context.Context) error {
	c.lend = func(use func() error) error { return use() }
	if !c.canPick() {
		return c.goThrough(ctx, c.askLetter)
	}
	keys, err := c.env.Keys()
	if err != nil {
		return croft.AsError("review", err)
	}
	defer func() { keys.Close() }()
	asker := &tui.Asker{Keys: keys, Out: c.env.Stderr, Stream: c.stderr(), Size: c.env.ErrSize}
	asker.Begin()
	defer asker.End()
	c.lend = func(use func() error) error {
		asker.End()
		keys.Close()
		err := use()
		again, kerr := c.env.Keys()
		if kerr != nil {
			return croft.AsError("review", kerr)
		}
		keys, asker.Keys = again, again
		asker.Begin()
		return err
	}
	return c.goThrough(ctx, func(ctx context.Context, at int) (rune, error) { return c.askKey(ctx, asker, at) })
}

// goThrough goes through the parts by the answers.
func (c *chooser) goThrough(ctx context.Context, ask func(ctx context.Context, at int) (rune, error)) error {
	for at := 0; at < len(c.parts); {
		letter, err := ask(ctx, at)
		if err != nil {
			return err
		}
		c.said = ""
		switch letter {
		case 's':
			c.split(at)
		case 'e':
			isEdited, err := c.edit(ctx, at)
			if err != nil {
				return err
			}
			if isEdited {
				at++
			}
		case 'b':
			at = max(at-1, 0)
		case 'q':
			c.leaveFrom(at)
			return nil
		case 'a', 'd':
			for of := c.parts[at].file; at < len(c.parts) && c.parts[at].file == of; at++ {
				c.parts[at].isChosen = letter == 'a'
			}
		default:
			c.parts[at].isChosen = letter == 'y'
			at++
		}
	}
	return nil
}

// split divides a part.
func (c *chooser) split(at int) {
	p := c.parts[at]
	if p.hunk == nil {
		c.said = "it changes only as a whole: "
		return
	}
	list := hunks.Split(*p.hunk)
	if len(list) < 2 {
		c.said = "it cannot be split further: "
		return
	}
	var parts []part
	for i := range list {
		parts = append(parts, part{file: p.file, number: p.number, hunk: &list[i], isPart: true, isChosen: p.isChosen})
	}
	c.parts = slices.Replace(c.parts, at, at+1, parts...)
}

// edit has the person edit a part in an editor. What cannot be applied is said, and the part stays as it was.
func (c *chooser) edit(ctx context.Context, at int) (isEdited bool, err error) {
	p := &c.parts[at]
	switch {
	case p.hunk == nil:
		c.said = "it changes only as a whole: "
		return false, nil
	case c.env.Edit == nil:
		c.said = "there is no editor here: "
		return false, nil
	}
	var edited []byte
	err = c.lend(func() (err error) {
		edited, err = c.env.Edit(ctx, hunks.Text(*p.hunk))
		return err
	})
	if ctx.Err() != nil {
		return false, croft.AsError("review", ctx.Err())
	}
	var hunk croft.Hunk
	if err == nil {
		hunk, err = hunks.Rewrite(*p.hunk, edited)
	}
	if err != nil {
		c.said = printable(err.Error()) + ": "
		return false, nil
	}
	p.hunk, p.isPart, p.isEdited, p.isChosen = &hunk, true, true, true
	return true, nil
}

// leaveFrom leaves a part and all that follow, also those that were chosen before one went back.
func (c *chooser) leaveFrom(at int) {
	for i := range c.parts[at:] {
		c.parts[at+i].isChosen = false
	}
}

// where says which part of which file one is at.
func (c *chooser) where(at int) string {
	p := c.parts[at]
	text := fmt.Sprintf("file %d of %d", p.number, len(c.work.Files))
	if p.hunk == nil {
		return text
	}
	place, count := 0, 0
	for i, other := range c.parts {
		if other.file != p.file {
			continue
		}
		if count++; i <= at {
			place = count
		}
	}
	return fmt.Sprintf("%s, hunk %d of %d", text, place, count)
}

// question asks about a part.
func (p part) question() string {
	what := "this file"
	if p.hunk != nil {
		what = "this hunk"
	}
	return "apply " + what + "? " + strings.Join(strings.Split(reviewLetters+"?", ""), " ")
}

// askKey asks about a part on a screen of its own.
func (c *chooser) askKey(ctx context.Context, asker *tui.Asker, at int) (rune, error) {
	p, to := c.parts[at], c.stderr()
	signs := to.Signs()
	n := 0
	for _, p := range c.parts {
		if p.isChosen {
			n++
		}
	}
	title := to.Paint(printable(c.work.WorkspaceName)+" "+signs.Arrow+" "+printable(c.work.Target), screen.Bold) + fmt.Sprintf("   %s   chosen: %d", c.where(at), n)
	body := []string{to.Paint(visibleText(patchPath("", p.file.Path)+" ("+fileSummary(*p.file)+")"), screen.Bold)}
	if p.hunk != nil {
		body = append(body, c.hunkLines(to, *p.hunk)...)
	}
	question := c.said + p.question()
	if p.isChosen {
		question = "chosen: " + question
	}
	letter, err := asker.Ask(ctx, tui.Page{Title: title, Body: body, Question: question, Answers: reviewLetters, Help: reviewHelp()})
	switch {
	case errors.Is(err, tui.ErrLeft):
		c.leaveFrom(0)
		return 0, &croft.Error{Code: croft.Canceled, Op: "review", Message: "the review was left, and nothing was applied"}
	case ctx.Err() != nil:
		return 0, croft.AsError("review", ctx.Err())
	}
	return letter, err
}

// hunkLines are the lines of a hunk for a screen, where a tab is as wide as it looks.
func (c *chooser) hunkLines(to screen.Stream, h croft.Hunk) []string {
	lines := []string{to.Paint(visibleText(h.Header), screen.Cyan)}
	text := h.Text
	if len(h.Raw) > 0 {
		text = string(h.Raw)
	}
	for line := range strings.Lines(text) {
		shown := strings.ReplaceAll(visibleText(strings.TrimSuffix(line, "\n")), "\t", "    ")
		lines = append(lines, to.Paint(shown, lineStyle(line)))
	}
	return lines
}

// askLetter asks about a part on a line, for terminals that can do no more. The end of the input leaves all.
func (c *chooser) askLetter(ctx context.Context, at int) (rune, error) {
	p := c.parts[at]
	if at == 0 || c.parts[at-1].file != p.file {
		fmt.Fprint(c.out, c.patchLine(fmt.Sprintf("%s (%s)", patchPath("", p.file.Path), fileSummary(*p.file)), styleBold))
	}
	if p.hunk != nil {
		if _, err := io.WriteString(c.out, c.hunkText(*p.hunk)); err != nil {
			return 0, err
		}
	}
	for {
		text, err := c.askLine(ctx, c.where(at)+": "+c.said+p.question()+" ")
		if errors.Is(err, io.EOF) {
			c.leaveFrom(0)
			return 'q', nil
		}
		if err != nil {
			return 0, err
		}
		if len(text) == 1 && strings.Contains(reviewLetters, text) {
			return rune(text[0]), nil
		}
		for _, line := range reviewHelp() {
			fmt.Fprintln(c.env.Stderr, line)
		}
	}
}

// request is what was chosen, and the same in words, a line for each file.
func (c *chooser) request() (req croft.ApplyRequest, lines []string) {
	req.Review = c.work.ID
	for i := range c.work.Files {
		f := &c.work.Files[i]
		of := slices.DeleteFunc(slices.Clone(c.parts), func(p part) bool { return p.file != f })
		isEdited := slices.ContainsFunc(of, func(p part) bool { return p.isEdited && p.isChosen })
		isDivided := slices.ContainsFunc(of, func(p part) bool { return p.isPart })
		chosen := slices.DeleteFunc(slices.Clone(of), func(p part) bool { return !p.isChosen })
		name := patchPath("", f.Path)
		switch {
		case len(chosen) == 0:
			continue
		case len(chosen) == len(of) && !isEdited:
			req.Paths = append(req.Paths, f.Path)
			lines = append(lines, name)
			continue
		case isDivided:
			addTo(&req.Edits, f.Path, hunks.Edits(hunksOf(chosen))...)
		default:
			for _, h := range hunksOf(chosen) {
				addTo(&req.Hunks, f.Path, h.ID)
			}
		}
		how := ""
		if isEdited {
			how = ", edited"
		}
		lines = append(lines, fmt.Sprintf("%s (%d of %s%s)", name, len(chosen), countNoun(len(of), "hunk"), how))
	}
	return req, lines
}

func hunksOf(parts []part) (list []croft.Hunk) {
	for _, p := range parts {
		list = append(list, *p.hunk)
	}
	return list
}

// addTo adds values to those of a path.
func addTo[V any](to *map[string][]V, path string, values ...V) {
	if *to == nil {
		*to = map[string][]V{}
	}
	(*to)[path] = append((*to)[path], values...)
}
