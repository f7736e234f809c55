package guard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// TestWrongTokensOfPrograms: also who sends tokens in a header learns of few a second that they are
// wrong, and the right one is taken meanwhile.
func TestWrongTokensOfPrograms(t *testing.T) {
	g, _ := newGuard(&fakeTokens{})
	door := g.TCP(port, &counting{})
	try := func(secret string) int {
		w := httptest.NewRecorder()
		door.ServeHTTP(w, attempt{path: "/v1/x", header: header("Authorization", "Bearer "+secret)}.request())
		return w.Code
	}
	answers := map[int]int{}
	for range 20 {
		answers[try("wrong")]++
	}
	if answers[http.StatusUnauthorized] != maxFailures || answers[http.StatusTooManyRequests] != 20-maxFailures {
		t.Errorf("%v", answers)
	}
	if code := try("croft_all"); code != http.StatusOK {
		t.Errorf("wrong tokens keep the right one out: %d", code)
	}
}

// TestSessionsEnd: a session ends after a week however much it is used, a link after its time, and
// there are not more of both than the daemon keeps: the newest stay.
func TestSessionsEnd(t *testing.T) {
	c := &clock{time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	s := newSessions(func() time.Time { return c.now })
	used := s.begin(session{access: croft.AccessAll})
	for end := c.now.Add(sessionTime); c.now.Before(end); c.now = c.now.Add(idleTime / 2) {
		if _, ok := s.find(used); !ok {
			t.Fatal("a session that is used has ended before its week")
		}
	}
	c.now = c.now.Add(time.Second)
	if _, ok := s.find(used); ok || s.has(used) {
		t.Error("a session lasts for longer than a week")
	}
	var last string
	for range 2 * maxSessions {
		last = s.begin(session{})
		c.now = c.now.Add(time.Millisecond)
	}
	if !s.has(last) || len(s.all) > maxSessions {
		t.Errorf("%d sessions", len(s.all))
	}
	old := s.makeOnce()
	c.now = c.now.Add(onceTime + time.Second)
	if s.takeOnce(old) {
		t.Error("an old link logs in")
	}
	for range 2 * maxOnce {
		last = s.makeOnce()
	}
	if len(s.once) > maxOnce || !s.takeOnce(last) {
		t.Errorf("%d links", len(s.once))
	}
}

// TestFormOfAnotherSession: the token against forgery is of one session.
func TestFormOfAnotherSession(t *testing.T) {
	g, _ := newGuard(&fakeTokens{})
	seen := &counting{}
	door := g.TCP(port, seen)
	cookie, form := logIn(t, g, door, seen)
	_, other := logIn(t, g, door, seen)
	for token, want := range map[string]int{form: http.StatusOK, other: http.StatusForbidden} {
		w := httptest.NewRecorder()
		door.ServeHTTP(w, attempt{method: "POST", path: "/act", header: header("Cookie", cookie, "Origin", "http://127.0.0.1:7450", FormHeader, token)}.request())
		if w.Code != want {
			t.Errorf("%d, not %d", w.Code, want)
		}
	}
}

// TestPublicIsRead: without a caller a public path is read, and nothing is sent to it.
func TestPublicIsRead(t *testing.T) {
	g, _ := newGuard(&fakeTokens{})
	seen := &counting{}
	door := g.TCP(port, seen)
	for _, path := range []string{"/assets/croft.css", "/healthz"} {
		for method, want := range map[string]int{"GET": http.StatusOK, "POST": http.StatusUnauthorized, "DELETE": http.StatusUnauthorized} {
			w := httptest.NewRecorder()
			door.ServeHTTP(w, attempt{method: method, path: path}.request())
			if w.Code != want {
				t.Errorf("%s %s: %d, not %d", method, path, w.Code, want)
			}
		}
	}
}

// timed is a connection whose deadlines are noted.
type timed struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (t *timed) SetReadDeadline(at time.Time) error {
	t.deadlines = append(t.deadlines, at)
	return nil
}

// TestBodyHasADeadline: a body must come in time, and the deadline ends with it.
func TestBodyHasADeadline(t *testing.T) {
	g, _ := newGuard(&fakeTokens{})
	for name, door := range map[string]http.Handler{"port": g.TCP(port, &counting{}), "socket": g.Unix(&counting{})} {
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		r := attempt{method: "POST", path: "/v1/x", header: header("Authorization", "Bearer croft_all", "Content-Type", "application/json"), body: "{}"}
		if name == "socket" {
			r.host = "croft"
		}
		door.ServeHTTP(w, r.request())
		if w.Code != http.StatusOK || len(w.deadlines) < 2 || time.Until(w.deadlines[0]) <= 0 || time.Until(w.deadlines[0]) > bodyTime || !w.deadlines[len(w.deadlines)-1].IsZero() {
			t.Errorf("%s: %d, %v", name, w.Code, w.deadlines)
		}
		if strings.TrimSpace(w.Body.String()) != "acted" {
			t.Errorf("%s: %q", name, w.Body)
		}
	}
}
