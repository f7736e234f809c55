package project

import (
	"context"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// minBeginning is how many characters of an ID name it at least.
const minBeginning = 4

// WholeID returns the ID in a repository that a Ref gives the beginning of: if nothing has the
// name, and nothing else has such an ID. It returns no ID if none begins so, and fails if several
// do.
func (p *Projects) WholeID(ctx context.Context, of journal.Identified, repo croft.ID, ref croft.Ref) (croft.ID, error) {
	return WholeIDAmong(ref, func(text string) ([]croft.ID, error) { return p.Journal.IDsBeginning(ctx, of, repo, text) })
}

// WholeIDAmong is [Projects.WholeID] for IDs that find looks up.
func WholeIDAmong(ref croft.Ref, find func(beginning string) ([]croft.ID, error)) (croft.ID, error) {
	kind, text := croft.CutRef(ref)
	if !kind.Is(croft.RefID) || len(text) < minBeginning || IsID(text) || strings.Trim(text, IDAlphabet) != "" {
		return "", nil
	}
	ids, err := find(text)
	switch {
	case err != nil || len(ids) == 0:
		return "", err
	case len(ids) == 1:
		return ids[0], nil
	}
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = string(id)
	}
	return "", &croft.Error{
		Code: croft.InvalidRequest, Message: fmt.Sprintf("several IDs begin with %q", text), Details: strings.Join(words, "\n"), Hint: "give more of its characters",
	}
}
