package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
)

// page is what a handler answers with.
type page struct {
	Template string // templates/<Template>.html, whose "main" is shown
	Title    string // without "· Croft"
	Status   int    // default: 200
	Data     any

	// Live are the parts that are sent again when they have changed; none: only what is around
	// the page. Watch says after which events that is looked at; nil: after all of the project's. Every is how
	// often it is looked at without an event, for what none tells of; zero: never.
	Live  []region
	Watch func(*croft.Event) bool
	Every time.Duration
	// Pace is the least time between two makings; default: pace.
	Pace time.Duration
	// Shape stands for what is not in the regions: a page of another shape is loaded again, or, if
	// it is for a person to read and choose from, says that it is old.
	Shape   string
	OnShape onShape
	// Output is the output of a check that runs, and is sent as it is printed.
	Output *output

	// Notice is shown above the page.
	Notice *notice
	// IsStill: nothing follows the page, not even what is around it.
	IsStill bool

	// Part is the template of a part that is sent alone, for the script to put into another page.
	Part string

	nav     string // the entry of the navigation that it belongs to
	current string // how: as aria-current says
	repo    string // the project in its address; empty: none
}

// onShape says what becomes of an open page whose shape is another one now.
type onShape string

const (
	shapeReloads onShape = "reload" // the default
	shapeIsOld   onShape = "old"
)

// region is a part of a page: one element with an id.
type region struct {
	Template string
	Data     any
	// Key stands for its contents: it is sent when its key has changed. Default: all of it.
	Key string
}

// frame is what is around a page, and what its forms need.
type frame struct {
	Caller   caller.Caller
	Theme    string // light, dark or auto
	Keys     string // off, or empty
	Title    string
	Nav      []navEntry
	Repo     *croft.Repo
	Repos    []repoEntry
	Total    int // live workspaces
	Working  int
	Events   string // the address of the page's stream
	Now      time.Time
	Main     template.HTML
	Icons    template.HTML
	MayAct   bool
	Here     string // the address of the page, for forms that come back to it
	Notice   *notice
	projects map[croft.ID]string
}

type navEntry struct {
	Name, Icon, Key, Path string
	Count                 int
	IsHot                 bool
	Current               string // of aria-current: page, true for a page that is reached from it, or empty
}

type repoEntry struct {
	Name, Path string
	Count      int
	IsCurrent  bool
	IsMissing  bool
}

// view is what a template gets.
type view struct {
	F *frame
	D any
}

// frameOf makes the frame of a page.
func (d *dashboard) frameOf(r *request, p *page) *frame {
	f := d.bareFrame(r)
	f.Title, f.Repo, f.Notice = p.Title, r.Repo, p.Notice
	f.Here = r.URL.RequestURI()
	if !p.IsStill {
		f.Events = LivePath + "?page=" + url.QueryEscape(f.Here) + "&shape=" + url.QueryEscape(p.Shape)
	}
	for _, repo := range r.Repos {
		f.projects[repo.ID] = repo.Name
	}
	counts := d.count(r)
	f.Total, f.Working = counts.all, counts.working
	for _, row := range d.pages() {
		if row.nav.name == "" {
			continue
		}
		e := navEntry{Name: row.nav.name, Icon: row.nav.icon, Key: row.nav.key, Path: r.path(row.path)}
		if row.nav.name == p.nav {
			e.Current = cmp.Or(p.current, "page")
		}
		switch row.path {
		case "":
			e.Count, e.IsHot = counts.need, counts.need > 0
		case "queue":
			e.Count = counts.waiting
		case "conflicts":
			e.Count = counts.colliding
		}
		f.Nav = append(f.Nav, e)
	}
	f.Repos = append(f.Repos, repoEntry{Name: "All repositories", Path: "/", Count: counts.everywhere, IsCurrent: r.Repo == nil})
	for _, repo := range r.Repos {
		f.Repos = append(f.Repos, repoEntry{
			Name: repo.Name, Path: repoPath(repo.ID, ""), Count: counts.byRepo[repo.ID],
			IsCurrent: r.Repo != nil && r.Repo.ID == repo.ID, IsMissing: repo.IsMissing,
		})
	}
	return f
}

// bareFrame is the frame of a page that stands alone, such as that of an error.
func (d *dashboard) bareFrame(r *request) *frame {
	f := &frame{Caller: r.Caller, Theme: "auto", Now: d.now(), MayAct: r.mayAct(), projects: map[croft.ID]string{}}
	if c, err := r.Cookie("theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		f.Theme = c.Value
	}
	if c, err := r.Cookie("keys"); err == nil && c.Value == "off" {
		f.Keys = "off"
	}
	return f
}

// counts are the numbers in the frame.
type counts struct {
	all, working, need, waiting, colliding, everywhere int
	byRepo                                             map[croft.ID]int
}

// count counts workspaces and merges. What cannot be read is not counted: the page
// itself says why.
func (d *dashboard) count(r *request) counts {
	c := counts{byRepo: map[croft.ID]int{}}
	workspaces, err := d.lists.workspaces(r)
	if err != nil {
		return c
	}
	for i := range workspaces {
		ws := &workspaces[i]
		c.everywhere++
		c.byRepo[ws.RepoID]++
		if r.Repo != nil && ws.RepoID != r.Repo.ID {
			continue
		}
		c.all++
		if len(ws.Collides) > 0 {
			c.colliding++
		}
		switch groupOf(ws) {
		case groupAsks, groupStuck, groupAllow:
			c.need++
		case groupWork:
			c.working++
		}
	}
	merges, err := d.lists.waiting(r)
	if err != nil {
		return c
	}
	for _, m := range merges {
		if (r.Repo == nil || m.RepoID == r.Repo.ID) && m.State != croft.MergeDone {
			c.waiting++
		}
	}
	return c
}

// show writes a page.
func (d *dashboard) show(w http.ResponseWriter, r *request, p *page) {
	f := d.frameOf(r, p)
	var main bytes.Buffer
	set := d.templates.pages[p.Template]
	name := "main"
	if p.Part != "" {
		name = p.Part
	}
	if err := set.ExecuteTemplate(&main, name, view{f, p.Data}); err != nil {
		d.log.ErrorContext(r.Context(), "page", "template", p.Template, "error", err)
		d.failAlone(w, r, describe(err))
		return
	}
	if p.Part != "" {
		d.send(w, r, http.StatusOK, main.Bytes())
		return
	}
	f.Main = template.HTML(main.String()) //nolint:gosec // html/template made it
	d.write(w, r, cmp.Or(p.Status, http.StatusOK), set, "frame", f)
}

// write writes the document around a page.
func (d *dashboard) write(w http.ResponseWriter, r *request, status int, set *template.Template, name string, f *frame) {
	var doc bytes.Buffer
	f.Icons = d.templates.iconsOf(f)
	if err := set.ExecuteTemplate(&doc, name, f); err != nil {
		d.log.ErrorContext(r.Context(), "page", "path", r.URL.Path, "error", err)
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	d.send(w, r, status, doc.Bytes())
}

// send writes markup, without characters that are not seen.
func (d *dashboard) send(w http.ResponseWriter, r *request, status int, html []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	(&filter{w: w}).Write(html) //nolint:errcheck // the browser has gone
}

// element makes one element of a page, as text without characters that are not seen.
func (d *dashboard) element(p *page, name string, data any) (string, error) {
	var b, out bytes.Buffer
	if err := d.templates.pages[p.Template].ExecuteTemplate(&b, name, data); err != nil {
		return "", err
	}
	_, err := (&filter{w: &out}).Write(b.Bytes())
	return out.String(), err
}

// capture makes the page of an address for a caller, without writing it.
func (d *dashboard) capture(ctx context.Context, r *http.Request, address string) (*captured, error) {
	c := &captured{}
	inner, err := innerRequest(context.WithValue(ctx, captureKey{}, c), r, address)
	if err != nil {
		return nil, err
	}
	d.mux.ServeHTTP(discard{http.Header{}}, inner)
	if c.err == nil && c.page == nil {
		return nil, errNoPage
	}
	return c, c.err
}

// innerRequest is a request for the page of an address, by the caller of another request.
func innerRequest(ctx context.Context, r *http.Request, address string) (*http.Request, error) {
	u, err := url.ParseRequestURI(address)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return nil, errNoPage
	}
	inner := r.Clone(ctx)
	inner.Method, inner.URL, inner.RequestURI, inner.Pattern = http.MethodGet, u, "", ""
	return inner, nil
}

// discard is where the answers of captured requests go.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
