// Package guard decides which HTTP requests reach the daemon's handlers, and as whom. It has
// two doors: [Guard.Unix] for the daemon's socket, whose connections are all of the user, and
// [Guard.TCP] for a port of the loopback interface, which every process and every web page in
// the user's browser can reach.
//
// A request over TCP passes, in this order: the Host, which must be this machine by address with
// the right port, so that no other name that leads here (DNS rebinding, 0.0.0.0) does; the
// Origin and Sec-Fetch-Site, which must be this daemon's own pages, also for streams and
// WebSockets; the method and the sizes of URL and body; then its token or session; and for what
// a browser sends by itself, the token against forgery of the form. Whoever passes is in the
// context ([caller.From]).
package guard

import (
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
)

const (
	// maxBody is how long the body of a request may be.
	maxBody = 8 << 20
	// bodyTime is how long a client may take to send it.
	bodyTime = time.Minute
	// maxURL is how long the path and query of a request may be.
	maxURL = 16 << 10
)

// Policy is the content security policy of all answers.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Tokens finds tokens by their secrets.
type Tokens interface {
	Find(secret string) (croft.Token, error)
	Has(id croft.ID) bool
}

// LoginPage is what the login page says.
type LoginPage struct {
	Next   string // where to go afterwards: a path of this daemon
	Failed string // why the last attempt failed; empty at the first
}

// Options are what a guard needs. All but Tokens may be left out.
type Options struct {
	Tokens Tokens // required
	User   string // the name of the user, for the history
	// IsPublic says which paths a browser may have without a login: what the login page
	// itself needs.
	IsPublic func(path string) bool
	// Login writes the login page, and Error an error to a browser. Default: plain text.
	Login func(w http.ResponseWriter, r *http.Request, page LoginPage)
	Error func(w http.ResponseWriter, r *http.Request, e *croft.Error)
	Log   *slog.Logger
	Now   func() time.Time
}

// Guard has the sessions of browsers, and the doors.
type Guard struct {
	o        Options
	sessions *sessions
	failures *limiter
	refusals *limiter     // that are logged
	unlogged atomic.Int64 // refusals since the last one that was logged
	cross    *http.CrossOriginProtection
}

// New returns a guard.
func New(o Options) *Guard {
	if o.IsPublic == nil {
		o.IsPublic = func(string) bool { return false }
	}
	if o.Login == nil {
		o.Login = plainLogin
	}
	if o.Error == nil {
		o.Error = plainError
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Guard{
		o: o, sessions: newSessions(o.Now), failures: &limiter{now: o.Now, most: maxFailures, per: time.Second},
		refusals: &limiter{now: o.Now, most: maxRefusals, per: time.Second},
		cross:    http.NewCrossOriginProtection(),
	}
}

// Unix is the door of the daemon's socket. Its connections have been checked to be of the user.
// A browser cannot open it; a request that looks as if one had, or that was forwarded from
// elsewhere, is refused.
func (g *Guard) Unix(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if e := g.checkUnix(r); e != nil {
			g.refuse(w, r, e)
			return
		}
		limitBody(w, r)
		next.ServeHTTP(w, r.WithContext(caller.With(r.Context(), caller.Caller{Access: croft.AccessAll, Name: g.o.User})))
	})
}

func (g *Guard) checkUnix(r *http.Request) *croft.Error {
	switch {
	case len(r.Header["Origin"]) > 0 || len(r.Header["Referer"]) > 0:
		return denied("a request of a web page does not belong on the socket")
	case r.Host != "croft" && r.Host != "localhost":
		return denied("the host of a request on the socket is croft or localhost")
	}
	return checkShape(r)
}

// TCP is the door of a port of the loopback interface.
func (g *Guard) TCP(port int, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if e := g.checkTCP(r, port); e != nil {
			g.refuse(w, r, e)
			return
		}
		limitBody(w, r)
		if g.serveLogin(w, r, port) {
			return
		}
		who, e := g.identify(r, port)
		if e != nil && g.isPublic(r) {
			next.ServeHTTP(w, r)
			return
		}
		if e != nil {
			g.refuse(w, r, e)
			return
		}
		ctx := caller.WithValidity(caller.With(r.Context(), who), func() bool { return g.isStillValid(r, port, who) })
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// isPublic reports whether a request may pass without a caller. A handler then finds the zero
// caller, who may do nothing.
func (g *Guard) isPublic(r *http.Request) bool {
	return isSafe(r.Method) && len(r.Header["Authorization"]) == 0 && (r.URL.Path == "/healthz" || g.o.IsPublic(r.URL.Path))
}

// checkTCP refuses a request because of where it comes from and what it looks like.
func (g *Guard) checkTCP(r *http.Request, port int) *croft.Error {
	if !isOurHost(r.Host, port) {
		return denied("the daemon is not called by this name; use the address that croft serve --status prints")
	}
	for _, origin := range r.Header["Origin"] {
		if !isOurOrigin(origin, r.Host) {
			return denied("the request comes from another web page")
		}
	}
	if !isFromHere(r) {
		return denied("the request comes from another web page")
	}
	if err := g.cross.Check(r); err != nil {
		return denied("the request comes from another web page")
	}
	return checkShape(r)
}

// checkShape refuses requests that no handler should see.
func checkShape(r *http.Request) *croft.Error {
	invalid := func(message string) *croft.Error {
		return &croft.Error{Code: croft.InvalidRequest, Op: "serve", Message: message}
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
			return invalid("a request that reads has no body")
		}
		return checkURL(r)
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return denied("the daemon does not know the method")
	}
	if r.Header.Get("Upgrade") != "" {
		return invalid("only a request that reads can become a WebSocket")
	}
	hasBody := r.ContentLength != 0 || len(r.TransferEncoding) > 0
	if isAPI(r.URL.Path) && (hasBody || r.Header.Get("Content-Type") != "") && !isJSON(r.Header.Get("Content-Type")) {
		return invalid("the body of a request is JSON, and its Content-Type says so")
	}
	return checkURL(r)
}

func checkURL(r *http.Request) *croft.Error {
	if len(r.RequestURI) > maxURL || r.URL.Host != "" && r.URL.Host != r.Host || !strings.HasPrefix(r.URL.Path, "/") {
		return &croft.Error{Code: croft.InvalidRequest, Op: "serve", Message: "the request has no usable path"}
	}
	return nil
}

func isAPI(path string) bool {
	return strings.HasPrefix(path, "/v1/") || path == "/v1" || strings.HasPrefix(path, "/api/") || path == "/api"
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || kind == "application/merge-patch+json")
}

func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// limitBody bounds the size of a body, and the time in which it must come. The deadline ends
// with the body: an answer may take longer.
func limitBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 && len(r.TransferEncoding) == 0 {
		return
	}
	control := http.NewResponseController(w)
	if control.SetReadDeadline(time.Now().Add(bodyTime)) == nil {
		r.Body = &timedBody{ReadCloser: r.Body, control: control}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
}

// setHeaders sets the headers that every answer has.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
}

func denied(message string) *croft.Error {
	return &croft.Error{Code: croft.AccessDenied, Op: "serve", Message: message}
}

// refuse answers a request that does not pass: a browser that wants a page gets one, or the
// login page; others get JSON.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, e *croft.Error) {
	level := slog.LevelWarn
	if e.Code == croft.Unauthenticated && len(r.Header["Authorization"]) == 0 {
		level = slog.LevelDebug // a browser before its login
	}
	g.logRefusal(r, level, e)
	if e.Code == croft.Unauthenticated {
		w.Header().Set("WWW-Authenticate", `Bearer realm="croft"`)
	}
	if e.Code == croft.LimitReached {
		w.Header().Set("Retry-After", "1")
	}
	if !isAPI(r.URL.Path) && (isSafe(r.Method) && strings.Contains(r.Header.Get("Accept"), "text/html") || isForm(r)) {
		if e.Code == croft.Unauthenticated && r.Method == http.MethodGet {
			http.Redirect(w, r, loginPath(r), http.StatusSeeOther)
			return
		}
		g.o.Error(w, r, e)
		return
	}
	api.WriteProblem(w, e.Code.HTTPStatus(), e)
}

// maxRefusals is how many requests a second are logged that were refused.
const maxRefusals = 10

// logRefusal logs that a request was refused, for some of them each second: everybody on the
// machine can send them. The next one that is logged says how many were not.
func (g *Guard) logRefusal(r *http.Request, level slog.Level, e *croft.Error) {
	if !g.o.Log.Enabled(r.Context(), level) {
		return
	}
	if g.refusals.isOver() {
		g.unlogged.Add(1)
		return
	}
	g.refusals.add()
	attrs := []any{"method", r.Method, "path", Printable(r.URL.Path), "code", string(e.Code), "why", e.Message}
	if n := g.unlogged.Swap(0); n > 0 {
		attrs = append(attrs, "unlogged", n)
	}
	g.o.Log.Log(r.Context(), level, "refused", attrs...)
}

func isForm(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && (kind == "application/x-www-form-urlencoded" || kind == "multipart/form-data")
}

// Printable makes what a stranger chose, or a cause, fit for a line of a log. Queries are not
// logged: they may have secrets.
func Printable(text string) string {
	const most = 400
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
