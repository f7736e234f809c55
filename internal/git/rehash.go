package git

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/croft-sh/croft/internal/git/object"
)

// openObjects opens the object directories of a repository, and others.
func (r *Repository) openObjects(others ...string) (*object.Files, error) {
	dirs, err := alternatesOf(filepath.Join(r.CommonDir, "objects"))
	if err != nil {
		return nil, err
	}
	o, err := object.OpenFiles(r.objectFormat(), append(dirs, others...)...)
	if err != nil {
		return nil, err
	}
	o.Partial = r.format.partial
	return o, nil
}

// Rehash makes sure that what each span brings is what its name says: the commit
// that it leads to, and every tree and file of it that the commit before does not
// have. Whoever can write the repository can put another object under any name, and
// git does not look when it reads one. It fails with a *ForgedError or, if something
// is not there at all, a *MissingError, and says of which span; -1 if it is none's
// fault.
func (r *Repository) Rehash(ctx context.Context, spans []Span) (span int, err error) {
	for range 3 { // a gc may delete packs meanwhile
		span, err = r.rehash(ctx, spans)
		if !errors.Is(err, object.ErrMissing) {
			break
		}
	}
	return span, err
}

func (r *Repository) rehash(ctx context.Context, spans []Span) (int, error) {
	o, err := r.openObjects()
	if err != nil {
		return -1, err
	}
	defer o.Close()
	w := o.Walk(object.OneSide)
	for i, s := range spans {
		if err := w.Span(ctx, s.From, s.To); err != nil {
			return i, err
		}
	}
	return -1, nil
}
