package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/pattern"
)

const (
	sentKept  = time.Hour        // how long a form that was sent is known
	sentMost  = 4096             // how many are
	shownKept = 10 * time.Second // how long the page that answered one is kept: a secret may be on it
)

// formKey is the field with the key of a form, as formFields writes it.
var formKey = pattern.New(`<input type="hidden" name="key" value="[^"]*">`)

// key is what the Service is told so that a form that is sent twice acts once: of the key of the form, the
// address and all that was sent with it. A form that calls several times names what each call is about.
func (r *request) key(about ...string) string {
	if r.PostForm.Get("key") == "" {
		return ""
	}
	sum := sha256.New()
	for _, part := range append([]string{r.URL.Path, r.PostForm.Encode()}, about...) {
		sum.Write([]byte(part + "\x00"))
	}
	return "page-" + hex.EncodeToString(sum.Sum(nil)[:16])
}

// sent are the forms that were sent lately, with their answers: a double click, or a page that is loaded again,
// gets the answer of the first. The Service knows their keys, too, and for longer, but not all that an
// action asks before it acts.
type sent struct {
	mu    sync.Mutex
	forms map[string]*sentForm
}

type sentForm struct {
	at   time.Time
	done chan struct{} // closed when it has been answered

	// Under the lock.
	to  string
	err error // that of an action, also if it is a page
}

// errSentBefore answers a form whose answer is not kept any more.
var errSentBefore = &refusal{
	status: http.StatusConflict, title: "This was sent before",
	happened: "The form was sent a while ago, and was done then. What it answered is shown once.",
	left:     "Nothing was changed again.", next: "Go back and load the page again.",
}

// do acts, or returns the answer that an equal form got. What failed is forgotten, so that it can be tried again.
func (s *sent) do(ctx context.Context, key string, act func() (string, error)) (string, error) {
	if key == "" {
		return act()
	}
	f, isFirst := s.form(key)
	if isFirst {
		defer close(f.done)
		to, err := act()
		s.keep(key, f, to, err)
		return to, err
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.to, f.err
}

// form finds the form that was sent with a key, or notes that this one is the first.
func (s *sent) form(key string) (f *sentForm, isFirst bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.forms[key]; f != nil {
		return f, false
	}
	if len(s.forms) >= sentMost {
		for k, f := range s.forms {
			if time.Since(f.at) > sentKept || len(s.forms) >= sentMost {
				delete(s.forms, k)
			}
		}
	}
	f = &sentForm{at: time.Now(), done: make(chan struct{})}
	s.forms[key] = f
	return f, true
}

// keep notes the answer of a form. A page that answers what was done is kept for as long as a double click takes.
func (s *sent) keep(key string, f *sentForm, to string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.to, f.err = to, err
	a, isPage := errors.AsType[*answered](err)
	switch {
	case err == nil:
	case isPage && a.hasActed:
		time.AfterFunc(shownKept, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			f.err = errSentBefore
		})
	default:
		delete(s.forms, key)
	}
}
