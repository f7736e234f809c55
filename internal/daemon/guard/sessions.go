package guard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"github.com/croft-sh/croft"
)

const (
	onceTime    = 2 * time.Minute
	idleTime    = 12 * time.Hour
	sessionTime = 7 * 24 * time.Hour
	maxSessions = 1000
	maxOnce     = 100
)

// session is a browser that has logged in.
type session struct {
	access    croft.Access
	workspace croft.ID
	name      string
	token     croft.ID // empty: it was begun with a link of the user's
	begun     time.Time
	used      time.Time
}

// digest stands for a secret, so that finding one takes as long as not finding it.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// sessions are those of browsers. They are in memory: a daemon that starts knows none.
type sessions struct {
	now func() time.Time
	key []byte // of the tokens against forgery

	mu   sync.Mutex
	all  map[digest]session
	once map[digest]time.Time // links, and until when they work
}

func newSessions(now func() time.Time) *sessions {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return &sessions{now: now, key: key, all: map[digest]session{}, once: map[digest]time.Time{}}
}

// begin begins a session and returns its secret.
func (s *sessions) begin(one session) string {
	secret := rand.Text()
	one.begun = s.now()
	one.used = one.begun
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	s.all[digestOf(secret)] = one
	return secret
}

// sweep forgets sessions that have ended and, if there are too many, the one that was not used
// for longest. The caller holds the lock.
func (s *sessions) sweep() {
	var oldest digest
	var since time.Time
	for d, one := range s.all {
		if s.isOver(one) {
			delete(s.all, d)
		} else if since.IsZero() || one.used.Before(since) {
			oldest, since = d, one.used
		}
	}
	if len(s.all) >= maxSessions {
		delete(s.all, oldest)
	}
}

func (s *sessions) isOver(one session) bool {
	now := s.now()
	return now.Sub(one.used) > idleTime || now.Sub(one.begun) > sessionTime
}

// find returns the session with a secret, and notes that it is used.
func (s *sessions) find(secret string) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := digestOf(secret)
	one, ok := s.all[d]
	if !ok || s.isOver(one) {
		return session{}, false
	}
	one.used = s.now()
	s.all[d] = one
	return one, true
}

// has reports whether there is a session. It does not count as its use.
func (s *sessions) has(secret string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.all[digestOf(secret)]
	return ok && !s.isOver(one)
}

func (s *sessions) end(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, digestOf(secret))
}

// form returns the token against forgery of a session. It does not tell the secret.
func (s *sessions) form(secret string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// makeOnce makes the secret of a link that works once.
func (s *sessions) makeOnce() string {
	secret := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	for d, until := range s.once {
		if s.now().After(until) || len(s.once) >= maxOnce {
			delete(s.once, d)
		}
	}
	s.once[digestOf(secret)] = s.now().Add(onceTime)
	return secret
}

// takeOnce uses a link up, and reports whether it was good.
func (s *sessions) takeOnce(secret string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := digestOf(secret)
	until, ok := s.once[d]
	delete(s.once, d)
	return ok && !s.now().After(until)
}
