package mcp

import (
	"context"
	"errors"
	"io"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"github.com/croft-sh/croft"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are what a server needs from outside.
type Options struct {
	Scope   Scope
	Version string

	// Open opens the Service. It is called when a call comes and none is open.
	Open func(ctx context.Context) (croft.Service, error)
	// Drive starts a process that drives the lanes of a project, for merges that wait when
	// the server ends; nil: the next command does that.
	Drive func(repo croft.ID)

	In  io.Reader // required
	Out io.Writer // required
	Log io.Writer // required: for errors of the machinery; never Out
}

// Server serves the tools to one host.
type Server struct {
	scope Scope
	log   *log.Logger
	lent  *lender
	drive func(repo croft.ID)

	calls   atomic.Int64    // that are at work
	work    context.Context // ends with the server
	driving sync.WaitGroup

	mu      sync.Mutex
	waiting map[croft.ID]croft.ID // projects of the merges that the server has submitted and that have not ended
}

// instructions are what a model reads of the server as a whole.
const instructions = "Croft gives you a checkout and a branch of your own. Call status first; use save instead of git commit where that is refused; submit when done."

// The times of the end of a server, which is a second altogether.
const (
	graceTime  = 400 * time.Millisecond // for calls that are at work when its input ends
	startTime  = 30 * time.Millisecond  // until a call that was read last is at work, and until an answer is written
	closeTime  = 200 * time.Millisecond // for the protocol, and for closing the Service
	lookAround = 2 * time.Millisecond   // between two looks at the calls at work
)

// Serve serves until the input ends or ctx does. Then calls at work have a moment to answer,
// and are cancelled: a Service rolls back or finishes what was begun.
func Serve(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &Server{
		scope: o.Scope, log: log.New(o.Log, "croft mcp: ", log.LstdFlags|log.LUTC), drive: o.Drive, work: ctx,
		lent: &lender{open: func() (croft.Service, error) { return o.Open(ctx) }}, waiting: map[croft.ID]croft.ID{},
	}
	in := &watched{Reader: o.In, calls: &s.calls, ended: make(chan struct{})}
	server := s.newSDK(o.Version)
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, &sdk.IOTransport{Reader: in, Writer: unclosed{o.Out}}) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	case <-in.ended:
		select {
		case err = <-ended:
		case <-time.After(closeTime):
		}
	}
	cancel()
	s.leave()
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return err
}

// newSDK returns the server of the protocol, with the tools of the scope.
func (s *Server) newSDK(version string) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "croft", Title: "Croft", Version: version}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	for _, t := range toolsOf(s.scope.Kind) {
		server.AddTool(t.describe(), s.handle(t))
	}
	return server
}

// leave closes the Service, and has the merges that still wait driven by another process.
func (s *Server) leave() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.driving.Wait()
		s.lent.close()
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	repos := map[croft.ID]bool{}
	for _, repo := range s.waiting {
		repos[repo] = true
	}
	for repo := range repos {
		if s.drive != nil {
			s.drive(repo)
		}
	}
}

// await waits for a merge in the background, which drives its lane where no daemon does.
func (s *Server) await(m *croft.Merge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.waiting[m.ID]; ok {
		return
	}
	s.waiting[m.ID] = m.RepoID
	s.driving.Go(func() {
		svc, release, err := s.lent.borrow()
		if err == nil {
			_, err = svc.WaitMerge(s.work, croft.WaitRequest{Merge: m.ID})
			release()
		}
		if s.work.Err() != nil {
			return
		}
		if err != nil {
			s.log.Printf("merge %s: %v", m.ID, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, m.ID)
	})
}

// watched is a reader that holds its end back until the calls at work have been answered, or
// had their time: a host may close the input right after its last request.
type watched struct {
	io.Reader
	calls *atomic.Int64
	once  sync.Once
	ended chan struct{} // closed when the end is told
}

// Read reads, and notes the end.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && n == 0 {
		w.once.Do(func() {
			time.Sleep(startTime)
			for deadline := time.Now().Add(graceTime); w.calls.Load() > 0 && time.Now().Before(deadline); {
				time.Sleep(lookAround)
			}
			time.Sleep(startTime)
			close(w.ended)
		})
	} else {
		err = nil
	}
	return n, err
}

// Close does nothing: the input is the process's.
func (w *watched) Close() error { return nil }

type unclosed struct{ io.Writer }

// Close does nothing: the output is the process's.
func (unclosed) Close() error { return nil }

// lender opens a Service when it is needed, shares it among calls at the same time, and
// closes it soon after the last one.
type lender struct {
	open func() (croft.Service, error)

	mu    sync.Mutex
	svc   croft.Service
	users int
	later *time.Timer
}

// idleTime is how long a Service stays open that no call uses.
const idleTime = 2 * time.Second

// borrow returns the Service, and the function that gives it back.
func (l *lender) borrow() (croft.Service, func(), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.svc == nil {
		svc, err := l.open()
		if err != nil {
			return nil, nil, croft.AsError("open", err)
		}
		l.svc = svc
	}
	if l.later != nil {
		l.later.Stop()
	}
	l.users++
	return l.svc, sync.OnceFunc(l.giveBack), nil
}

func (l *lender) giveBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users--; l.users == 0 {
		l.later = time.AfterFunc(idleTime, l.closeIdle)
	}
}

func (l *lender) closeIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users == 0 {
		l.shut()
	}
}

// close closes the Service, whoever uses it.
func (l *lender) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shut()
}

func (l *lender) shut() {
	if l.svc != nil {
		_ = l.svc.Close() // what was answered is on disk
		l.svc = nil
	}
}
