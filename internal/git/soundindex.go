package git

import (
	"context"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/git/index"
)

// WithSoundIndex returns the worktree with the index x, which was read from it, without
// the faults of its file: git fails, or crashes, at entries that it would not make. Git
// works on a copy of the admin directory then, until remove is called.
func (w *Worktree) WithSoundIndex(x *index.Index) (sound *Worktree, remove func(), err error) {
	tmp, remove, err := w.Repo.TempDir()
	if err != nil {
		return nil, nil, err
	}
	with := *w
	with.Admin, with.IsPulled = filepath.Join(tmp, "admin"), true
	if err = w.Repo.CopyAdmin(w.Admin, with.Admin); err == nil {
		err = with.writeSoundIndex(x)
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return &with, remove, nil
}

// writeSoundIndex writes an index to an admin directory of Croft's own.
func (w *Worktree) writeSoundIndex(x *index.Index) error {
	data, err := x.EncodeEntries(w.Repo.ObjectFormat())
	if err != nil {
		return err
	}
	file := filepath.Join(w.Admin, "index")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return err
	}
	return os.Chtimes(file, x.Written, x.Written) // git trusts cached stat data by it
}

// leaveOutFaults gives the copy of the admin directory an index without faults. An index
// that cannot be read at all stays as it is.
func (p *TrashedGit) leaveOutFaults(ctx context.Context) error {
	x, err := p.Index(ctx)
	if err != nil || len(x.Faults) == 0 {
		return ctx.Err()
	}
	p.Faults, p.Unreadable = x.Faults, x.Unreadable
	return p.writeSoundIndex(x)
}
