package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
)

// LivePath is where the streams of pages are. Requests there last as long as a page is open.
const LivePath = "/live"

const (
	beat      = 20 * time.Second // a comment is sent after so long a silence, so that a dead connection is noticed
	writeTime = 10 * time.Second // a message that is not taken for so long cuts the reader
)

// serveLive streams the changes of a page: /live?page=ADDRESS.
func (d *dashboard) serveLive(w http.ResponseWriter, r *http.Request) {
	address := r.URL.Query().Get("page")
	if !d.hasPage(r, address) {
		d.notFound(w, r)
		return
	}
	who := caller.From(r.Context())
	key := strings.Join([]string{address, who.Form, string(who.Access), who.Name, string(who.Token)}, "\x00")
	seed := maphash.MakeSeed()
	outer := r.Clone(context.WithoutCancel(r.Context())) // several readers' pages are made with the request of the first
	reader, ok := d.live.join(key, r.URL.Query().Get("shape"), d.maker(outer, address, seed))
	if !ok {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer d.live.leave(key, reader)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	write(r.Context(), w, reader)
}

// hasPage reports whether an address is that of a page.
func (d *dashboard) hasPage(r *http.Request, address string) bool {
	inner, err := innerRequest(r.Context(), r, address)
	if err != nil {
		return false
	}
	h, _ := d.mux.Handler(inner)
	_, ok := h.(*pageHandler)
	return ok
}

// maker returns what makes the parts of a page as they are now: all of them, or only what is around it.
func (d *dashboard) maker(r *http.Request, address string, seed maphash.Seed) func(context.Context, extent) (*made, error) {
	var last *page // one screen calls, one call at a time
	return func(ctx context.Context, e extent) (*made, error) {
		ctx = mergeValues{ctx, r.Context()}
		if e == extentFrame && last != nil {
			inner, err := innerRequest(ctx, r, address)
			if err != nil {
				return nil, err
			}
			req := d.request(inner)
			req.SetPathValue("repo", last.repo)
			if err := req.scope(); err != nil {
				return nil, err
			}
			m := &made{}
			return m, d.makeFrame(m, d.frameOf(req, last), last, seed)
		}
		c, err := d.capture(ctx, r, address)
		if err != nil {
			return nil, err
		}
		last = c.page
		return d.makeLive(c, seed)
	}
}

// makeLive makes the parts of a page, and what is around it.
func (d *dashboard) makeLive(c *captured, seed maphash.Seed) (*made, error) {
	p := c.page
	m := &made{isWhole: true, watch: p.Watch, every: p.Every, pace: cmp.Or(p.Pace, pace), output: p.Output, shape: p.Shape, onShape: cmp.Or(p.OnShape, shapeReloads)}
	if len(p.Live) == 0 && p.Shape == "" && p.Output == nil {
		m.watch = func(*croft.Event) bool { return false }
	}
	if c.request.Repo != nil {
		m.repo = c.request.Repo.ID
	}
	if m.watch == nil {
		m.watch = watchRepo(c.request.Repo)
	}
	f := d.frameOf(c.request, p)
	for _, g := range p.Live {
		html, err := d.element(p, g.Template, view{f, g.Data})
		if err != nil {
			return nil, err
		}
		m.elements = append(m.elements, element{keyOf(seed, g, html), html})
	}
	return m, d.makeFrame(m, f, p, seed)
}

// makeFrame makes what changes around a page: its title, the counts.
func (d *dashboard) makeFrame(m *made, f *frame, p *page, seed maphash.Seed) error {
	type part struct {
		name string
		data any
	}
	parts := []part{{"title", f}, {"scope", f}, {"totals", f}}
	for _, e := range f.Nav {
		parts = append(parts, part{"nav-entry", e})
	}
	for _, part := range parts {
		html, err := d.element(p, part.name, part.data)
		if err != nil {
			return err
		}
		m.frame = append(m.frame, element{keyOf(seed, region{}, html), html})
	}
	return nil
}

// mergeValues is a context that ends with one context and has the values of another.
type mergeValues struct {
	context.Context
	values context.Context
}

func (m mergeValues) Value(key any) any { return m.values.Value(key) }

// watchRepo wants the events of one project, or of all.
func watchRepo(repo *croft.Repo) func(*croft.Event) bool {
	if repo == nil {
		return nil
	}
	id := repo.ID
	return func(e *croft.Event) bool { return e.Repo == "" || e.Repo == id }
}

// write sends the messages of a reader until it is cut or the browser has gone.
func write(ctx context.Context, w http.ResponseWriter, r *reader) {
	control := http.NewResponseController(w)
	send := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeTime)) // a server without deadlines has its own way to end
		if _, err := w.Write([]byte(text)); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	if !send("retry: 2000\n\n") {
		return
	}
	silence := time.NewTicker(beat)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-silence.C:
			if !send(": still here\n\n") {
				return
			}
		case m, ok := <-r.messages:
			if !ok || !send(eventText(m)) {
				return
			}
		}
	}
}

// eventText is a message as an event of a stream. No text of its own ends it early: each
// line of the data is marked.
func eventText(m message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "event: %s\n", m.name)
	for line := range strings.SplitSeq(strings.ReplaceAll(m.data, "\r", ""), "\n") {
		b.WriteString("data: " + line + "\n")
	}
	b.WriteString("\n")
	return b.String()
}

// appendText is the data of a message that adds text to an element.
func appendText(id, text string) string {
	data, err := json.Marshal(struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}{id, text})
	if err != nil {
		return "{}" // strings are always encoded
	}
	return string(data)
}
