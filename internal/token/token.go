// Package token keeps the tokens by which programs elsewhere call the daemon. They are in
// one file of the state directory, which only the user can read, and of each secret only
// the digest is there. Any process may make and revoke tokens while a daemon runs: the
// daemon reads the file again when it is another one.
package token

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/shellword"
)

const (
	fileName = "tokens.json"
	lockName = "tokens.lock"
	prefix   = "croft_" // so that scanners for secrets recognise one

	secretBytes = 32
	maxName     = 64
	maxTokens   = 1000
	maxFile     = 4 << 20

	// usedEvery is how exact UsedAt is: a token in use is not written with each request.
	usedEvery = time.Minute
)

// record is a token as the file has it.
type record struct {
	croft.Token
	Digest string `json:"digest"` // SHA-256 of the secret, in hexadecimal
}

// content is the file.
type content struct {
	Version int      `json:"version"`
	Tokens  []record `json:"tokens"`
}

// Store has the tokens of one state directory. It may be used by several goroutines, and
// several Stores by several processes at once.
type Store struct {
	dir string
	now func() time.Time

	mu     sync.Mutex
	seen   os.FileInfo // of the file that known was read from; nil: there was none
	isRead bool
	known  []record
	used   map[croft.ID]time.Time // when UsedAt was last written, or tried to be
}

// Open returns the tokens of a state directory. Nothing is read or made yet.
func Open(stateDir string) *Store {
	return &Store{dir: stateDir, now: time.Now, used: map[croft.ID]time.Time{}}
}

// Request describes a token to make.
type Request struct {
	Name      string       // required; no other token has it
	Access    croft.Access // required
	Workspace croft.ID     // required with AccessWorkspace
}

// Make makes a token and returns it with its secret, which is nowhere else.
func (s *Store) Make(ctx context.Context, req Request) (croft.Token, string, error) {
	if err := checkRequest(req); err != nil {
		return croft.Token{}, "", err
	}
	secret := prefix + base64.RawURLEncoding.EncodeToString(random(secretBytes))
	made := record{
		Token: croft.Token{
			ID: croft.ID(hex.EncodeToString(random(8))), Name: req.Name, Access: req.Access, Workspace: req.Workspace,
			CreatedAt: s.now().UTC().Truncate(time.Second),
		},
		Digest: digest(secret),
	}
	err := s.change(ctx, func(all []record) ([]record, error) {
		if len(all) >= maxTokens {
			return nil, &croft.Error{
				Code: croft.LimitReached, Op: "token", Message: fmt.Sprintf("there are %d tokens already", maxTokens), Hint: "croft token list",
			}
		}
		if slices.ContainsFunc(all, func(r record) bool { return r.Name == req.Name || string(r.ID) == req.Name }) {
			return nil, &croft.Error{
				Code: croft.InvalidName, Op: "token", Message: fmt.Sprintf("there is a token called %q already", req.Name), Hint: "croft token revoke " + shellword.Quote(req.Name),
			}
		}
		return append(all, made), nil
	})
	if err != nil {
		return croft.Token{}, "", err
	}
	return made.Token, secret, nil
}

// checkRequest refuses a token that could not be told from others, or whose name could
// write to a terminal or a log.
func checkRequest(req Request) error {
	refuse := func(code croft.Code, format string, args ...any) error {
		return &croft.Error{Code: code, Op: "token", Message: fmt.Sprintf(format, args...)}
	}
	isBad := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-@", r)
	}
	switch {
	case req.Name == "" || len(req.Name) > maxName || !utf8.ValidString(req.Name) || strings.ContainsFunc(req.Name, isBad) || req.Name[0] == '-':
		return refuse(croft.InvalidName, "the name of a token is up to %d letters, digits and . _ - @", maxName)
	case !slices.Contains([]croft.Access{croft.AccessRead, croft.AccessWorkspace, croft.AccessAll}, req.Access):
		return refuse(croft.InvalidRequest, "the access of a token is read, workspace or all, not %q", req.Access)
	case req.Access == croft.AccessWorkspace && req.Workspace == "":
		return refuse(croft.InvalidRequest, "a token with the access of a workspace needs the workspace")
	case req.Access != croft.AccessWorkspace && req.Workspace != "":
		return refuse(croft.InvalidRequest, "only a token with the access of a workspace has one")
	}
	return nil
}

// List returns the tokens, in the order in which they were made.
func (s *Store) List() ([]croft.Token, error) {
	records, err := s.read()
	if err != nil {
		return nil, err
	}
	tokens := make([]croft.Token, 0, len(records))
	for _, r := range records {
		tokens = append(tokens, r.Token)
	}
	return tokens, nil
}

// Revoke deletes a token by its name or ID and returns it. The daemon refuses the next
// request that shows it.
func (s *Store) Revoke(ctx context.Context, ref croft.Ref) (croft.Token, error) {
	var revoked croft.Token
	err := s.change(ctx, func(all []record) ([]record, error) {
		i := slices.IndexFunc(all, func(r record) bool { return croft.RefNames(ref, r.ID, r.Name) })
		if i < 0 {
			return nil, &croft.Error{Code: croft.TokenNotFound, Op: "token", Message: fmt.Sprintf("there is no token %q", ref), Hint: "croft token list"}
		}
		revoked = all[i].Token
		return slices.Delete(all, i, i+1), nil
	})
	return revoked, err
}

// Find returns the token of a secret, and notes that it is used. A secret that no token has
// fails with Unauthenticated.
func (s *Store) Find(secret string) (croft.Token, error) {
	unknown := &croft.Error{Code: croft.Unauthenticated, Op: "token", Message: "the token is not known, or was revoked", Hint: "croft token new"}
	if !strings.HasPrefix(secret, prefix) || len(secret) > 128 {
		return croft.Token{}, unknown
	}
	records, err := s.read()
	if err != nil {
		return croft.Token{}, err
	}
	// All digests are compared, each in constant time: the duration says nothing.
	want, found := []byte(digest(secret)), -1
	for i, r := range records {
		if subtle.ConstantTimeCompare(want, []byte(r.Digest)) == 1 {
			found = i
		}
	}
	if found < 0 {
		return croft.Token{}, unknown
	}
	t := records[found].Token
	s.noteUse(t)
	return t, nil
}

// Has reports whether a token is still there, for sessions that were begun with it.
func (s *Store) Has(id croft.ID) bool {
	records, err := s.read()
	return err == nil && slices.ContainsFunc(records, func(r record) bool { return r.ID == id })
}

// noteUse writes UsedAt, at most once a minute. It fails silently: a token is no less valid
// on a full disk.
func (s *Store) noteUse(t croft.Token) {
	now := s.now()
	s.mu.Lock()
	last := s.used[t.ID]
	if t.UsedAt.After(last) {
		last = t.UsedAt
	}
	if now.Sub(last) < usedEvery {
		s.mu.Unlock()
		return
	}
	s.used[t.ID] = now
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.change(ctx, func(all []record) ([]record, error) {
		for i := range all {
			if all[i].ID == t.ID {
				all[i].UsedAt = now.UTC().Truncate(time.Second)
			}
		}
		return all, nil
	})
}

// change rewrites the file under its lock. On an error of edit it stays as it was.
func (s *Store) change(ctx context.Context, edit func([]record) ([]record, error)) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return stateError(err)
	}
	lock, err := flock.Acquire(ctx, filepath.Join(s.dir, lockName))
	if err != nil {
		return stateError(err)
	}
	defer func() { _ = lock.Unlock() }()
	records, err := s.read()
	if err != nil {
		return err
	}
	records, err = edit(slices.Clone(records))
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(content{Version: 1, Tokens: records}, "", "  ")
	if err != nil {
		return stateError(err)
	}
	path := filepath.Join(s.dir, fileName)
	if err := errors.Join(fsx.ReplaceFile(path, append(data, '\n'), 0o600), fsx.SyncAll(path, s.dir)); err != nil {
		return stateError(err)
	}
	return nil
}

// read returns the records of the file, from memory if it is the file that was read last.
// Callers do not change them.
func (s *Store) read() ([]record, error) {
	path := filepath.Join(s.dir, fileName)
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		info, err = nil, nil
	}
	if err != nil {
		return nil, stateError(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isRead && isSame(s.seen, info) {
		return s.known, nil
	}
	var c content
	if info != nil {
		data, err := fsx.ReadFile(path, maxFile)
		if err != nil {
			return nil, stateError(err)
		}
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, stateError(fmt.Errorf("%s: %w", path, err))
		}
	}
	s.isRead, s.seen, s.known = true, info, c.Tokens
	return c.Tokens, nil
}

// isSame compares files by identity, size and time. Each change makes a new file.
func isSame(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func stateError(err error) error {
	return &croft.Error{Code: croft.StateUnavailable, Op: "token", Message: "the tokens cannot be read or written", Err: err}
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
