package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"strings"
	"time"

	"github.com/croft-sh/croft"
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
	first, err := d.capture(r.Context(), r, address)
	if err != nil {
		d.fail(w, d.request(r), err)
		return
	}
	if len(first.page.Live) == 0 && first.page.Output == nil {
		// What was live has ended since the page was loaded.
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Write([]byte(eventText(message{"reload", "again"}))) //nolint:errcheck // the browser has gone
		return
	}
	who := first.request.Caller
	key := strings.Join([]string{address, who.Form, string(who.Access), who.Name, string(who.Token)}, "\x00")
	seed := maphash.MakeSeed()
	outer := r.Clone(context.WithoutCancel(r.Context())) // several readers' pages are made with the request of the first
	reader, ok := d.live.join(key, r.URL.Query().Get("shape"), func(ctx context.Context) (*made, error) { return d.makeLive(ctx, outer, address, seed) })
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

// makeLive makes the parts of a page as they are now.
func (d *dashboard) makeLive(ctx context.Context, r *http.Request, address string, seed maphash.Seed) (*made, error) {
	c, err := d.capture(mergeValues{ctx, r.Context()}, r, address)
	if err != nil {
		return nil, err
	}
	p := c.page
	m := &made{watch: p.Watch, output: p.Output, shape: p.Shape}
	if m.watch == nil {
		m.watch = watchRepo(c.request.Repo)
	}
	f := d.frameOf(c.request, p)
	for _, g := range p.Live {
		html, err := d.element(f, p, g)
		if err != nil {
			return nil, err
		}
		m.elements = append(m.elements, element{keyOf(seed, g, html), html})
	}
	return m, nil
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
