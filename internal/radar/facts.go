package radar

import (
	"bytes"
	"context"
	"encoding/json"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft/internal/git/odb"
)

// facts are what is known of commits, and stays true: which paths were touched between two
// of them, and where one left another. Under other settings they may be others.
type facts struct {
	touched map[odb.Span][]string
	bases   map[[2]string]string // where a head left a target; empty: at no commit, or at several
	used    map[odb.Span]bool    // the spans that this forecast looked at
}

func newFacts() *facts {
	return &facts{touched: map[odb.Span][]string{}, bases: map[[2]string]string{}, used: map[odb.Span]bool{}}
}

// maxTouched bounds how many paths of one span are written to the cache file. A commit may
// touch every file of a large project.
const maxTouched = 20_000

// keep removes what the next forecast will hardly ask for: it is about none of the commits
// that this one had, and this one did not need it either.
func (f *facts) keep(commits map[string]bool) {
	for span, paths := range f.touched {
		if !commits[span.To] && !f.used[span] || len(paths) > maxTouched {
			delete(f.touched, span)
		}
	}
	for of := range f.bases {
		if !commits[of[0]] || !commits[of[1]] {
			delete(f.bases, of)
		}
	}
}

// savedFacts is the form of facts in the cache file.
type savedFacts struct {
	Touched []savedSpan `json:"touched,omitempty"`
	Bases   [][3]string `json:"bases,omitempty"` // a head, a target, and the base
}

type savedSpan struct {
	From  string    `json:"from"`
	To    string    `json:"to"`
	Paths pathBytes `json:"paths,omitempty"`
}

// pathBytes are paths as they are: JSON's own strings have no others than those in UTF-8.
type pathBytes []string

// MarshalJSON writes the paths as bytes, separated by NUL.
func (p pathBytes) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for _, path := range p {
		b.WriteString(path)
		b.WriteByte(0)
	}
	return json.Marshal(b.Bytes())
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *pathBytes) UnmarshalJSON(text []byte) error {
	var b []byte
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	*p = nil
	for path := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte{0}), []byte{0}) {
		if len(b) > 0 {
			*p = append(*p, string(path))
		}
	}
	return nil
}

func (f *facts) saved() savedFacts {
	var s savedFacts
	for span, paths := range f.touched {
		s.Touched = append(s.Touched, savedSpan{span.From, span.To, paths})
	}
	for of, base := range f.bases {
		s.Bases = append(s.Bases, [3]string{of[0], of[1], base})
	}
	return s
}

func (s savedFacts) facts() *facts {
	f := newFacts()
	for _, t := range s.Touched {
		f.touched[odb.Span{From: t.From, To: t.To}] = t.Paths
	}
	for _, b := range s.Bases {
		f.bases[[2]string{b[0], b[1]}] = b[2]
	}
	return f
}

// touchedPaths returns the paths that spans touched. Git is asked for those that are not
// known.
func (s *Scanner) touchedPaths(ctx context.Context, spans []odb.Span) ([][]string, error) {
	if s.Facts == nil {
		s.Facts = newFacts()
	}
	var unknown []odb.Span
	var commits []string
	for _, span := range spans {
		s.Facts.used[span] = true
		if _, known := s.Facts.touched[span]; !known {
			unknown, commits = append(unknown, span), append(commits, span.From, span.To)
		}
	}
	if err := s.writeDrafts(ctx, commits); err != nil {
		return nil, err
	}
	found, err := askInParallel(s.Workers, unknown, func(part []odb.Span) ([][]string, error) {
		return s.Attempts.TouchedPaths(ctx, part)
	})
	if err != nil {
		return nil, err
	}
	for i, span := range unknown {
		s.Facts.touched[span] = found[i]
	}
	all := make([][]string, len(spans))
	for i, span := range spans {
		all[i] = s.Facts.touched[span]
	}
	return all, nil
}

// writeDrafts writes those of the commits to the session that are drafts.
func (s *Scanner) writeDrafts(ctx context.Context, commits []string) error {
	var g errgroup.Group
	g.SetLimit(max(1, s.Workers))
	asked := map[string]bool{}
	for _, commit := range commits {
		if d := s.Drafts[commit]; d != nil && !asked[commit] {
			asked[commit] = true
			g.Go(func() error { return d.writeTo(ctx, commit) })
		}
	}
	return g.Wait()
}
