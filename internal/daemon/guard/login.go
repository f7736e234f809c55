package guard

import (
	"crypto/hmac"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
)

// maxFailures is how many wrong tokens a second are answered as such.
const maxFailures = 5

// FormField and FormHeader are where a request of a logged-in browser carries the token against
// forgery (caller.Form).
const (
	FormField  = "csrf"
	FormHeader = "X-Croft-Form"
)

// Once makes a link by which a browser logs in as the user. It works once, for two minutes.
func (g *Guard) Once(port int) string {
	return fmt.Sprintf("http://127.0.0.1:%d/login?once=%s", port, g.sessions.makeOnce())
}

// cookieName is the name of the session's cookie. Cookies are of a host, whatever the port, so
// that daemons of several states need several names.
func cookieName(port int) string { return fmt.Sprintf("croft_session_%d", port) }

// serveLogin answers the requests by which a browser logs in and out.
func (g *Guard) serveLogin(w http.ResponseWriter, r *http.Request, port int) bool {
	switch r.Method + " " + r.URL.Path {
	case "GET /login", "HEAD /login":
		once := r.URL.Query().Get("once")
		switch {
		case once == "" || r.Method == http.MethodHead:
			g.o.Login(w, r, LoginPage{Next: nextPath(r)})
		case g.sessions.takeOnce(once):
			g.begin(w, r, port, session{access: croft.AccessAll, name: g.o.User})
		case g.isLoggedIn(r, port): // the browser may have loaded the link again
			http.Redirect(w, r, nextPath(r), http.StatusSeeOther)
		default:
			g.failLogin(w, r, "this link was used before, or is older than two minutes; croft serve --open makes another")
		}
	case "POST /login":
		g.logIn(w, r, port)
	case "POST /logout":
		if _, e := g.identify(r, port); e != nil {
			g.refuse(w, r, e)
			return true
		}
		g.sessions.end(sessionSecret(r, port))
		http.SetCookie(w, newCookie(port, "", -1))
		http.Redirect(w, r, "/login", http.StatusSeeOther)
	default:
		return false
	}
	return true
}

// logIn begins a session with the token of a form.
func (g *Guard) logIn(w http.ResponseWriter, r *http.Request, port int) {
	if err := r.ParseForm(); err != nil {
		g.refuse(w, r, &croft.Error{Code: croft.InvalidRequest, Op: "login", Message: "the form cannot be read"})
		return
	}
	t, err := g.o.Tokens.Find(strings.TrimSpace(r.PostForm.Get("token")))
	if err != nil {
		g.failLogin(w, r, croft.AsError("login", err).Message)
		return
	}
	g.begin(w, r, port, session{access: t.Access, workspace: t.Workspace, name: t.Name, token: t.ID})
}

// failLogin shows the login page again, up to so many times a second. A right token is taken
// however many wrong ones there were: others must not keep the user out.
func (g *Guard) failLogin(w http.ResponseWriter, r *http.Request, why string) {
	if g.failures.isOver() {
		g.refuse(w, r, tooManyError())
		return
	}
	g.failures.add()
	g.o.Log.Warn("login failed", "why", why)
	g.o.Login(&unauthorized{ResponseWriter: w}, r, LoginPage{Next: nextPath(r), Failed: why})
}

// unauthorized gives an answer the status 401 instead of 200.
type unauthorized struct {
	http.ResponseWriter
	isWritten bool
}

func (w *unauthorized) WriteHeader(status int) {
	if status == http.StatusOK {
		status = http.StatusUnauthorized
	}
	w.isWritten = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *unauthorized) Write(p []byte) (int, error) {
	if !w.isWritten {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// begin begins a session and leads the browser on.
func (g *Guard) begin(w http.ResponseWriter, r *http.Request, port int, s session) {
	http.SetCookie(w, newCookie(port, g.sessions.begin(s), 0))
	g.o.Log.Info("login", "name", s.name, "access", string(s.access))
	http.Redirect(w, r, nextPath(r), http.StatusSeeOther)
}

func newCookie(port int, value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: cookieName(port), Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// identify finds out who makes a request. A request with a token is judged by that alone.
func (g *Guard) identify(r *http.Request, port int) (caller.Caller, *croft.Error) {
	unknown := &croft.Error{Code: croft.Unauthenticated, Op: "serve", Message: "the daemon does not know who calls", Hint: "croft token new"}
	if header := r.Header["Authorization"]; len(header) > 0 {
		return g.identifyToken(header)
	}
	secret := sessionSecret(r, port)
	if secret == "" {
		return caller.Caller{}, unknown
	}
	s, ok := g.sessions.find(secret)
	if !ok || s.token != "" && !g.o.Tokens.Has(s.token) {
		g.sessions.end(secret)
		return caller.Caller{}, unknown
	}
	if len(r.Header["Upgrade"]) > 0 && len(r.Header["Origin"]) == 0 {
		return caller.Caller{}, denied("a WebSocket of a browser says which page it is of")
	}
	form := g.sessions.form(secret)
	if !isSafe(r.Method) && !hasForm(r, form) {
		return caller.Caller{}, denied("the form is not one of this session's; load the page again")
	}
	return caller.Caller{Access: s.access, Workspace: s.workspace, Name: s.name, Token: s.token, Form: form}, nil
}

// isLoggedIn reports whether a browser has a session that lasts.
func (g *Guard) isLoggedIn(r *http.Request, port int) bool {
	_, err := g.identify(r, port)
	return err == nil && sessionSecret(r, port) != ""
}

// isStillValid reports whether the token or the session of a request that lasts is still there.
func (g *Guard) isStillValid(r *http.Request, port int, who caller.Caller) bool {
	if who.Token != "" && !g.o.Tokens.Has(who.Token) {
		return false
	}
	return who.Form == "" || g.sessions.has(sessionSecret(r, port))
}

// identifyToken finds the token of an Authorization header.
func (g *Guard) identifyToken(header []string) (caller.Caller, *croft.Error) {
	kind, secret, _ := strings.Cut(header[0], " ")
	if len(header) != 1 || !strings.EqualFold(kind, "Bearer") {
		return caller.Caller{}, &croft.Error{Code: croft.Unauthenticated, Op: "serve", Message: "the daemon takes a token: Authorization: Bearer …"}
	}
	t, err := g.o.Tokens.Find(secret)
	if err != nil {
		if g.failures.isOver() {
			return caller.Caller{}, tooManyError()
		}
		g.failures.add()
		return caller.Caller{}, croft.AsError("serve", err)
	}
	return caller.Caller{Access: t.Access, Workspace: t.Workspace, Name: t.Name, Token: t.ID}, nil
}

// hasForm reports whether a request carries the token against forgery, in a header or in a form.
func hasForm(r *http.Request, want string) bool {
	got := r.Header.Get(FormHeader)
	if got == "" && isForm(r) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
			if r.ParseMultipartForm(1<<20) != nil {
				return false
			}
		} else if r.ParseForm() != nil {
			return false
		}
		got = r.PostForm.Get(FormField)
	}
	return hmac.Equal([]byte(got), []byte(want))
}

// sessionSecret returns the session's secret, if exactly one cookie has it.
func sessionSecret(r *http.Request, port int) string {
	cookies := r.CookiesNamed(cookieName(port))
	if len(cookies) != 1 {
		return ""
	}
	return cookies[0].Value
}

func tooManyError() *croft.Error {
	return &croft.Error{Code: croft.LimitReached, Op: "login", Message: "too many wrong tokens; try again in a second"}
}

// loginPath is the login page that leads back to the page that was asked for.
func loginPath(r *http.Request) string {
	if r.URL.Path == "/" {
		return "/login"
	}
	return "/login?next=" + url.QueryEscape(r.URL.RequestURI())
}

// nextPath is where a browser goes after a login: a path of this daemon, never another host.
func nextPath(r *http.Request) string {
	next := r.URL.Query().Get("next")
	if r.Method == http.MethodPost && r.PostForm.Get("next") != "" {
		next = r.PostForm.Get("next")
	}
	isPath := strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//") && !strings.ContainsAny(next, "\\\r\n\t")
	if u, err := url.Parse(next); !isPath || err != nil || u.Host != "" || u.Scheme != "" || strings.HasPrefix(u.Path, "//") || u.Path == "/login" || u.Path == "/logout" {
		return "/"
	}
	return next
}

// plainLogin is a login page without a dashboard.
func plainLogin(w http.ResponseWriter, _ *http.Request, page LoginPage) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	if page.Failed != "" {
		fmt.Fprintln(w, page.Failed)
	}
	fmt.Fprintln(w, "Log in with the link that croft serve --open prints.")
}

// plainError is an error page without a dashboard.
func plainError(w http.ResponseWriter, _ *http.Request, e *croft.Error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(e.Code.HTTPStatus())
	fmt.Fprintln(w, e.Message)
}
