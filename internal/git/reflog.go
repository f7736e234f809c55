package git

import (
	"errors"
	"os"
	"path/filepath"
)

// dropLogs removes the reflogs of refs that were deleted, where git could not:
// it only warns of that, and the next branch of the same name would go on with
// the log of another. Whoever makes the ref anew keeps theirs.
func (r *Repository) dropLogs(updates []RefUpdate) {
	if !r.NativeRefs() {
		return
	}
	for _, u := range updates {
		log := filepath.Join(r.CommonDir, "logs", filepath.FromSlash(u.Ref))
		if _, err := os.Lstat(log); u.New == "" && u.Old != "" && err == nil {
			r.dropLog(u.Ref, log)
		}
	}
}

// dropLog removes a reflog if its ref is not there, which nobody can make
// meanwhile.
func (r *Repository) dropLog(ref, log string) {
	m, err := r.mark()
	if err != nil {
		return
	}
	defer m.end()
	if err := m.busy([]string{ref + ".lock"}); err != nil {
		return
	}
	lock := filepath.Join(r.CommonDir, filepath.FromSlash(ref)+".lock")
	if err := os.MkdirAll(filepath.Dir(lock), 0o777); err != nil {
		return
	}
	f, err := os.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return // somebody is making it
	}
	_ = f.Close()
	defer os.Remove(lock)
	if _, err := r.Snapshot().Ref(ref); errors.Is(err, ErrNoRef) {
		_ = os.Remove(log)
	}
}
