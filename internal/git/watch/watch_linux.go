package watch

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// told is what the kernel is to tell of a directory: whatever changes a name in it, the content or the stat
// data of a file in it, or itself.
const told = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE |
	unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

// maxRead bounds what is read at once: more than the queue of the kernel usually has.
const maxRead = 16 << 20

// maxTouched bounds of how many checkouts it is noted when they were touched.
const maxTouched = 20_000

// Watches are the checkouts that are watched. They may be used by several goroutines; nil watches nothing.
type Watches struct {
	o       Options
	file    *os.File // nil: the system had none
	ended   sync.WaitGroup
	closing chan struct{}

	mu      sync.Mutex
	isOver  bool // nothing is watched any more, or never was
	fd      int
	kept    map[string]*Mark     // the answers, by admin directory
	owners  map[int32][]*Mark    // by watch descriptor
	touched map[string]time.Time // when something was last told, by admin directory
	idlest  *Mark                // of those kept, the one that was touched longest ago; nil: not known
	numbers uint64               // of the last mark that was kept
	full    time.Time            // when the system had no watches left
	refused time.Time            // when there was no room for a checkout
	asked   time.Time            // all that was told before has been read
	buf     []byte
	state   State
}

// Open begins to watch. If the system has nothing left for that, nothing is watched, and the state says so.
func Open(o Options) *Watches {
	if o.Holds == 0 {
		o.Holds = usualHold
	}
	if o.Pause == 0 {
		o.Pause = usualPause
	}
	if o.Most == 0 {
		o.Most = shareOfSystem()
	}
	w := &Watches{
		o: o, closing: make(chan struct{}), kept: map[string]*Mark{}, owners: map[int32][]*Mark{}, touched: map[string]time.Time{}, buf: make([]byte, 64<<10),
	}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		w.isOver, w.state.Why = true, NoInstance
		if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
			w.state.Why = Unsupported
		}
		return w
	}
	w.file, w.fd = os.NewFile(uintptr(fd), "inotify"), fd
	conn, err := w.file.SyscallConn()
	if err != nil {
		w.fail()
		return w
	}
	w.ended.Go(func() { w.follow(conn.Read) })
	return w
}

// shareOfSystem is half of the watches that a user may have.
func shareOfSystem() int {
	b, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	n, bad := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || bad != nil {
		return 4096 // half of what systems had that were small
	}
	return n / 2
}

// Close ends it.
func (w *Watches) Close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.fail()
	select {
	case <-w.closing:
	default:
		close(w.closing)
	}
	w.mu.Unlock()
	if w.file != nil {
		_ = w.file.Close()
	}
	w.ended.Wait()
}

// fail ends all that is watched. The descriptor stays until Close.
func (w *Watches) fail() {
	for _, m := range w.all() {
		m.isOver = true
	}
	w.isOver, w.idlest = true, nil
	clear(w.kept)
	clear(w.owners)
}

func (w *Watches) isOpen() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.isOver
}

// follow reads what is told while nobody asks, so that the queue does not run over.
func (w *Watches) follow(waitFor func(func(uintptr) bool) error) {
	_ = waitFor(func(uintptr) bool {
		select {
		case <-w.closing:
			return true
		case <-time.After(w.o.Pause):
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.read()
		return w.isOver
	})
}

// Answer returns the answer that was kept of a checkout with a key, if nothing was told of it since.
func (w *Watches) Answer(at Checkout, key string) (any, bool) {
	m := w.held(at)
	if m == nil || m.key != key {
		return nil, false
	}
	return m.answer, true
}

// Since returns a number that is the same as long as an answer of a checkout holds: what its files, and those of its
// admin directory, were in between they are still. 0 says nothing.
func (w *Watches) Since(at Checkout) uint64 {
	if m := w.held(at); m != nil {
		return m.number
	}
	return 0
}

// held returns the mark whose answer holds.
func (w *Watches) held(at Checkout) *Mark {
	if w == nil {
		return nil
	}
	return w.heldSince(at, time.Now())
}

// heldSince returns the mark whose answer held at a time, or later.
func (w *Watches) heldSince(at Checkout, since time.Time) *Mark {
	w.mu.Lock()
	m := w.kept[at.Admin]
	w.mu.Unlock()
	if m == nil || m.at != at || !m.top.isAt(at.Path) || !m.admin.isAt(at.Admin) {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.asked.After(since) {
		w.read()
	}
	if w.kept[at.Admin] != m || time.Since(m.began) > w.o.Holds {
		return nil
	}
	return m
}

// Renew has an answer that is kept hold from a later time on, at which it was found again otherwise than by a walk. It reports
// whether nothing was told of the checkout meanwhile.
func (w *Watches) Renew(at Checkout, answer any, found time.Time) bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read()
	m := w.kept[at.Admin]
	if m == nil || m.at != at || m.answer != answer || !m.top.isAt(at.Path) || !m.admin.isAt(at.Admin) {
		return false
	}
	m.began = found
	return true
}

// Older returns up to so many answers that were found longer ago, the oldest first.
func (w *Watches) Older(than time.Duration, most int) []any {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read()
	var old []*Mark
	for _, m := range w.kept {
		switch age := time.Since(m.began); {
		case age > 2*w.o.Holds: // nobody found it again
			w.end(m)
		case age > than:
			old = append(old, m)
		}
	}
	slices.SortFunc(old, func(a, b *Mark) int { return a.began.Compare(b.began) })
	answers := make([]any, min(most, len(old)))
	for i := range answers {
		answers[i] = old[i].answer
	}
	return answers
}

// State says how far checkouts are watched now.
func (w *Watches) State() State {
	if w == nil {
		return State{Why: Unsupported}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read()
	if isShort := w.state.Why == NoWatch || w.state.Why == OverShare; isShort && time.Since(w.refused) > again {
		w.state.Why = Complete
	}
	s := w.state
	s.Checkouts, s.Watches, s.Most = len(w.kept), len(w.owners), w.o.Most
	return s
}

// add watches an open directory for a mark. If that cannot be, the mark is over.
func (w *Watches) add(m *Mark, dir int) {
	if m.isOver || w.isOver {
		m.isOver = true
		return
	}
	if !w.full.IsZero() && time.Since(w.full) > again {
		w.full = time.Time{}
	}
	isFull := len(w.owners) >= w.o.Most || !w.full.IsZero()
	if len(m.dirs) >= max(1, w.o.Most/ofOne) || isFull && !w.makeRoom(m) {
		w.refuse(m, OverShare)
		return
	}
	wd, err := unix.InotifyAddWatch(w.fd, "/proc/self/fd/"+strconv.Itoa(dir), told)
	if err != nil {
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOMEM) {
			w.full = time.Now()
			w.refuse(m, NoWatch)
			return
		}
		w.end(m)
		return
	}
	id := int32(wd)
	if !slices.Contains(w.owners[id], m) {
		w.owners[id] = append(w.owners[id], m)
		m.dirs = append(m.dirs, id)
	}
}

// refuse ends a mark for which there is no room, and notes why.
func (w *Watches) refuse(m *Mark, why Reason) {
	if w.full.IsZero() || why == NoWatch {
		w.state.Why = why
	}
	w.refused = time.Now()
	w.end(m)
}

// makeRoom ends the answer of the checkout that was touched longest ago, if the mark's was touched
// later: whoever is at work somewhere looks there, too.
func (w *Watches) makeRoom(m *Mark) bool {
	if old := w.kept[m.at.Admin]; old != nil { // it is walked again
		w.end(old)
		return true
	}
	if w.idlest == nil {
		for _, k := range w.kept {
			if w.idlest == nil || k.active.Before(w.idlest.active) {
				w.idlest = k
			}
		}
	}
	if w.idlest == nil || !w.idlest.active.Before(m.active) {
		return false
	}
	w.end(w.idlest)
	return true
}

// end forgets a mark and the watches that no other has.
func (w *Watches) end(m *Mark) {
	m.isOver = true
	if w.kept[m.at.Admin] == m {
		delete(w.kept, m.at.Admin)
	}
	if w.idlest == m {
		w.idlest = nil
	}
	for _, id := range m.dirs {
		left := slices.DeleteFunc(w.owners[id], func(o *Mark) bool { return o == m })
		if len(left) > 0 {
			w.owners[id] = left
			continue
		}
		if _, is := w.owners[id]; is {
			delete(w.owners, id)
			_, _ = unix.InotifyRmWatch(w.fd, uint32(id))
		}
	}
	m.dirs = nil
}

// all returns the marks that watch something.
func (w *Watches) all() map[*Mark]*Mark {
	list := map[*Mark]*Mark{}
	for _, owners := range w.owners {
		for _, m := range owners {
			list[m] = m
		}
	}
	return list
}

// read takes in what was told up to now.
func (w *Watches) read() {
	asked := time.Now()
	for sum := 0; !w.isOver; {
		n, err := unix.Read(w.fd, w.buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			w.asked = asked
			return
		case err != nil || n <= 0:
			w.state.Why = Broken
			w.fail()
			return
		}
		w.take(w.buf[:n])
		if sum += n; sum > maxRead {
			w.overflow()
			return
		}
	}
}

// take takes in events.
func (w *Watches) take(b []byte) {
	const head = int(unsafe.Sizeof(unix.InotifyEvent{}))
	for len(b) >= head {
		id, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
		size := head + int(binary.NativeEndian.Uint32(b[12:]))
		if mask&unix.IN_Q_OVERFLOW != 0 {
			w.overflow()
		}
		if owners := w.owners[id]; len(owners) > 0 {
			if mask&unix.IN_IGNORED != 0 {
				delete(w.owners, id) // the kernel has ended the watch
			}
			for _, m := range slices.Clone(owners) {
				w.touch(m)
			}
		}
		b = b[min(size, len(b)):]
	}
}

// touch ends a mark of whose checkout something was told.
func (w *Watches) touch(m *Mark) {
	if len(w.touched) > maxTouched {
		clear(w.touched)
	}
	w.touched[m.at.Admin] = time.Now()
	w.state.Touched++
	w.end(m)
}

// overflow ends all marks: the kernel had more to tell than it kept.
func (w *Watches) overflow() {
	w.state.Overflows++
	for _, m := range w.all() {
		w.end(m)
	}
}
