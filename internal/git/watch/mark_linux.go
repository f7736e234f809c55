package watch

import (
	"time"

	"golang.org/x/sys/unix"
)

// place is the identity of a directory. While it is watched no other can have it.
type place struct{ dev, ino uint64 }

// Mark is one walk of a checkout: the directories that it entered, and the answer that it gave. A nil
// Mark notes nothing. It is used by one goroutine until it is kept or dropped.
type Mark struct {
	of    *Watches
	at    Checkout
	began time.Time

	// Below, guarded by of.mu.
	top, admin place
	dirs       []int32 // watch descriptors
	active     time.Time
	isOver     bool // something was told, or not everything is watched: nothing follows from it any more
	isKept     bool // it was
	number     uint64
	key        string
	answer     any
}

// Begin returns what notes the directories of a walk that is about to begin. It has to be kept or
// dropped. It is nil if the checkout cannot be watched.
func (w *Watches) Begin(at Checkout) *Mark {
	if w == nil || !w.isOpen() {
		return nil
	}
	dir, err := unix.Open(at.Admin, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	admin, changed, ok := placeOf(dir)
	if !ok || !isLocal(dir) {
		return nil
	}
	m := &Mark{of: w, at: at, began: time.Now(), admin: admin, active: changed}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.touched[at.Admin]; ok && at.After(m.active) {
		m.active = at
	}
	w.add(m, dir)
	return m
}

// Enter is told of each open directory before its names are read, the checkout's own first.
func (m *Mark) Enter(dir int) {
	if m == nil {
		return
	}
	at, changed, ok := placeOf(dir)
	w := m.of
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case m.isOver:
		return
	case m.top == place{}:
		m.top, ok = at, ok && isLocal(dir)
		if changed.After(m.active) {
			m.active = changed
		}
	default:
		ok = ok && at.dev == m.top.dev // something else is mounted there
	}
	if !ok {
		w.end(m)
		return
	}
	w.add(m, dir)
}

// Keep keeps the answer that follows from the walk, as long as nothing is told of the checkout. The key
// has what it depends on beside.
func (m *Mark) Keep(key string, answer any) {
	if m == nil {
		return
	}
	w := m.of
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read()
	if m.isOver || m.top == (place{}) {
		w.end(m)
		return
	}
	w.numbers++
	m.key, m.answer, m.number, m.isKept = key, answer, w.numbers, true
	old := w.kept[m.at.Admin]
	w.kept[m.at.Admin], w.idlest = m, nil
	if old != nil {
		w.end(old)
	}
}

// Drop ends what was begun, unless it was kept: then the walk gave no answer, and the one before holds no longer.
func (m *Mark) Drop() {
	if m == nil {
		return
	}
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	if m.isKept {
		return
	}
	m.of.end(m)
	if old := m.of.kept[m.at.Admin]; old != nil {
		m.of.end(old)
	}
}

func placeOf(dir int) (at place, changed time.Time, ok bool) {
	var st unix.Stat_t
	if unix.Fstat(dir, &st) != nil {
		return place{}, time.Time{}, false
	}
	return place{st.Dev, st.Ino}, time.Unix(st.Ctim.Unix()), true
}

func (at place) isAt(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && at == place{st.Dev, st.Ino}
}

// isLocal reports whether a directory lies on a file system that is written through this kernel's
// tree of names alone. On an overlay a file may be written below it.
func isLocal(dir int) bool {
	var fs unix.Statfs_t
	if unix.Fstatfs(dir, &fs) != nil {
		return false
	}
	switch int64(fs.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC:
		return true
	}
	return false
}
