package cli

import (
	"bytes"
	"context"
	"io"

	"github.com/croft-sh/croft/internal/screen"
)

// paged is what a command prints, until it is known whether the terminal has room for it.
type paged struct {
	out, errors  bytes.Buffer
	to, errorsTo io.Writer
}

// page collects what is printed from now on, for the user's pager if it is taller than the terminal. It is for commands that
// print what is read from the beginning; remarks come after that.
func (a *app) page() {
	if a.pages != nil || a.env.Page == nil || a.env.Size == nil || a.env.Width == 0 || a.env.IsDumb || a.isUnpaged || a.json {
		return
	}
	a.pages = &paged{to: a.out.w, errorsTo: a.env.Stderr}
	a.out.w, a.env.Stderr = &a.pages.out, &a.pages.errors
}

// showPage prints what page has collected.
func (a *app) showPage(ctx context.Context) {
	p := a.pages
	if p == nil {
		return
	}
	a.pages, a.out.w, a.env.Stderr = nil, p.to, p.errorsTo
	width, height := a.env.Size()
	text := p.out.Bytes()
	if ctx.Err() != nil || screen.Rows(string(text), width) < height || !a.env.Page(ctx, text) {
		_, _ = a.out.Write(text) // output remembers a failure
	}
	_, _ = a.env.Stderr.Write(p.errors.Bytes())
}
