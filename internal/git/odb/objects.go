package odb

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/proc"
)

// Info returns name, type and size of an object without its content.
func (r *Repository) Info(ctx context.Context, name string) (object.Object, error) {
	return r.session.ask(ctx, name, nil)
}

// Read reads an object.
func (r *Repository) Read(ctx context.Context, name string) (object.Object, error) {
	var data bytes.Buffer
	o, err := r.session.ask(ctx, name, &data)
	if err == nil {
		o.Data = data.Bytes()
	}
	return o, err
}

// Copy writes the content of an object to w in parts. w must not read from the repository:
// the process that answers is in use.
func (r *Repository) Copy(ctx context.Context, w io.Writer, name string) (object.Object, error) {
	return r.session.ask(ctx, name, w)
}

// objectSession is a long-lived `git cat-file --batch-command`.
type objectSession struct {
	repo *Repository
	mu   sync.Mutex
	p    *proc.Process
	out  *bufio.Reader
	made *gitcmd.Settings // that the process was started with
	seen time.Time        // when the settings were last checked
	uses int
	idle gitcmd.Expiry
	// stall is how long git may print nothing of an object; 0: stallTime. A loose object
	// whose header names more than there is makes git print what it has, and wait.
	stall time.Duration
}

const stallTime = time.Minute

// ObjectProcess returns the git process that reads objects, or nil.
func (r *Repository) ObjectProcess() *proc.Process {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	return r.session.p
}

// ObjectUses is how many questions one process answers: it keeps packs open that were
// deleted.
const ObjectUses = 10000

// settingsHold is how long settings are taken as unchanged. A walk over objects asks
// hundreds of questions in that time, and to stat the configuration files takes longer
// than to read an object.
const settingsHold = 20 * time.Millisecond

// catFileArgs uses -z because otherwise git strips a carriage return at the end of a line.
var catFileArgs = []string{"cat-file", "--batch-command", "-z"}

// ask looks up an object and, if w is not nil, writes its content to w.
func (s *objectSession) ask(ctx context.Context, name string, w io.Writer) (object.Object, error) {
	if strings.ContainsAny(name, "\n\x00") {
		return object.Object{}, object.ErrMissing // the answer repeats the name, and is a line
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.idle.After(s.repo.Git.IdleTime(), &s.mu, func() { _ = s.end() })
	for {
		if err := ctx.Err(); err != nil {
			return object.Object{}, err
		}
		reused, err := s.start(ctx)
		if err != nil {
			return object.Object{}, err
		}
		counted := &countingWriter{w: w}
		o, err := s.exchange(ctx, name, counted)
		isMissing := errors.Is(err, object.ErrMissing)
		if err == nil || isMissing && w == nil || !reused || ctx.Err() != nil || counted.n > 0 || gitcmd.IsStopped(err) {
			return o, err
		}
		// The process may have been killed since the last question, or it does not know a
		// new pack. To ask again is safe as long as nothing was written to w.
		if isMissing {
			_ = s.end()
		}
	}
}

// countingWriter counts the bytes written. Without a writer no content is requested.
type countingWriter struct {
	w     io.Writer
	n     int
	wrote func() // may be nil
}

func (c *countingWriter) Write(b []byte) (int, error) {
	if c.wrote != nil {
		c.wrote()
	}
	n, err := c.w.Write(b)
	c.n += n
	return n, err
}

// start makes sure that a process with the current settings runs: it may have to fetch
// what a partial clone lacks. It reports whether there was one before.
func (s *objectSession) start(ctx context.Context) (reused bool, err error) {
	s.uses++
	mayReuse := s.p != nil && s.uses <= ObjectUses
	if mayReuse && time.Since(s.seen) < settingsHold {
		return true, nil
	}
	now, err := s.repo.SettingsOf(ctx, s.repo.CommonDir)
	if err != nil {
		return false, err
	}
	s.seen = time.Now()
	if mayReuse && s.made == now {
		return true, nil
	}
	_ = s.end()
	p, err := s.repo.Git.Start(context.WithoutCancel(ctx), gitcmd.Target{Repo: s.repo.Core()}, gitcmd.Call{Args: catFileArgs, Session: true})
	if err != nil {
		return false, err
	}
	s.p, s.out, s.made, s.uses = p, bufio.NewReader(p.Stdout), now, 1
	return false, nil
}

// exchange asks one question. It ends the process if the context ends meanwhile, or if the
// answer cannot be parsed.
func (s *objectSession) exchange(ctx context.Context, name string, w *countingWriter) (object.Object, error) {
	verb, contents := "info", io.Writer(nil)
	if w.w != nil {
		verb, contents = "contents", w
	}
	ctx, end := s.repo.Git.WatchDeadline(ctx, gitcmd.Target{Repo: s.repo.Core()}, gitcmd.Call{Args: catFileArgs})
	defer end()
	if contents != nil && !s.repo.Format.Partial { // a partial clone fetches what it lacks
		var stop func()
		ctx, stop = s.watchStall(ctx, name, w)
		defer stop()
	}
	p, killed := s.p, make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		p.Kill()
		close(killed)
	})
	_, err := io.WriteString(p.Stdin, verb+" "+name+"\x00")
	var o object.Object
	if err == nil {
		o, err = readBatch(s.out, contents)
	}
	answered := err == nil || errors.Is(err, object.ErrMissing)
	running := stop()
	if running && answered {
		return o, err
	}
	if !running {
		<-killed
	}
	p.Kill()
	werr := s.end()
	switch {
	case answered:
		return o, err
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	default:
		err = errors.Join(werr, err)
	}
	return object.Object{}, s.repo.Git.Wrap(catFileArgs, s.repo.CommonDir, err)
}

// watchStall ends the context if nothing of an object has been written for long.
func (s *objectSession) watchStall(ctx context.Context, name string, w *countingWriter) (context.Context, func()) {
	after := cmp.Or(s.stall, stallTime)
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(after, func() { cancel(&object.ForgedError{OID: name, File: "the repository"}) })
	w.wrote = func() { timer.Reset(after) }
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

func (s *objectSession) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle.Stop()
	return s.end()
}

func (s *objectSession) end() error {
	if s.p == nil {
		return nil
	}
	p := s.p
	s.p, s.out, s.made = nil, nil, nil
	_ = p.Stdin.Close()
	_, _ = io.Copy(io.Discard, p.Stdout)
	return p.Wait()
}

// readBatch parses one answer of cat-file: "<oid> <type> <size>" and, with contents, the
// data and a newline; or the requested name and a word such as "missing" or "ambiguous".
func readBatch(r *bufio.Reader, contents io.Writer) (object.Object, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return object.Object{}, err
	}
	line = strings.TrimSuffix(line, "\n")
	o, ok := parseHeader(line)
	if !ok {
		if i := strings.LastIndexByte(line, ' '); i < 0 || !slices.Contains(noObject, line[i+1:]) {
			return object.Object{}, fmt.Errorf("not an answer of cat-file: %.200q", line)
		}
		return object.Object{}, fmt.Errorf("%q: %w", line, object.ErrMissing)
	}
	if contents == nil {
		return o, nil
	}
	if _, err := io.CopyN(contents, r, o.Size); err != nil {
		return object.Object{}, err
	}
	if b, err := r.ReadByte(); err != nil || b != '\n' {
		return object.Object{}, fmt.Errorf("cat-file: no newline after %s", o.OID)
	}
	return o, nil
}

// noObject are the words with which cat-file answers that a name resolves to no object.
var noObject = []string{"missing", "ambiguous", "excluded", "submodule"}

var objectTypes = []string{"blob", "tree", "commit", "tag"}

func parseHeader(line string) (object.Object, bool) {
	f := strings.Split(line, " ")
	if len(f) != 3 || !object.IsOID(f[0]) || !slices.Contains(objectTypes, f[1]) || strings.Trim(f[2], "0123456789") != "" {
		return object.Object{}, false
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	return object.Object{OID: f[0], Type: f[1], Size: size}, err == nil
}
