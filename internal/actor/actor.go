// Package actor is the names of those who act: as a call gives them, as the history
// records them, and as commits have them.
//
// The recorded name of an agent ends with the ID of its workspace, "claude in fix <ID>",
// because another workspace may have the same name later. No name of a caller's choice can
// look like that.
package actor

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/croft-sh/croft"
)

// maxName is the length of the longest name, in bytes.
const maxName = 200

// Check refuses an actor whose name a history cannot show or could be read as another's,
// and an author that cannot stand in a commit.
func Check(a croft.Actor) error {
	names := []string{a.Name}
	if by := a.Author; by != nil {
		if strings.TrimSpace(by.Name) == "" || strings.TrimSpace(by.Email) == "" {
			return &croft.Error{Code: croft.InvalidName, Message: "an author has a name and an address"}
		}
		names = append(names, by.Name, by.Email)
	}
	for _, dir := range []string{a.Dir, a.From} {
		if dir != "" && !filepath.IsAbs(dir) {
			return &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%.80q is not the absolute path of a directory", dir)}
		}
	}
	for _, text := range names {
		if !utf8.ValidString(text) || len(text) > maxName || strings.ContainsFunc(text, unicode.IsControl) || strings.ContainsAny(text, "<>") {
			return &croft.Error{Code: croft.InvalidName, Message: fmt.Sprintf("%.80q cannot be the name of an actor", text)}
		}
	}
	return nil
}

// Author returns an author that Check has passed as commits name it, or the empty string
// for none.
func Author(a *croft.Author) string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%s <%s>", strings.TrimSpace(a.Name), strings.TrimSpace(a.Email))
}

// In returns the recorded name of the agent in a workspace.
func In(w croft.Workspace) string {
	agent := cmp.Or(w.Agent, "agent")
	if agent == w.Name {
		agent = "agent"
	}
	return withID(agent+" in "+w.Name, w.ID)
}

// Of returns the recorded name of the actor that submitted a merge.
func Of(m croft.Merge) string {
	if m.ActorWorkspace == "" {
		return m.Actor
	}
	return withID(m.Actor, m.ActorWorkspace)
}

// Cut splits a recorded name into the name to show and the ID of the actor's workspace,
// which is empty for a user.
func Cut(actor string) (shown string, workspace croft.ID) {
	rest, ok := strings.CutSuffix(actor, ">")
	at := strings.LastIndex(rest, " <")
	if !ok || at < 0 || len(rest)-at-2 != idLength || strings.ContainsFunc(rest[at+2:], func(c rune) bool { return !strings.ContainsRune(idLetters, c) }) {
		return actor, ""
	}
	return rest[:at], croft.ID(rest[at+2:])
}

// The form of an ID.
const (
	idLength  = 16
	idLetters = "0123456789abcdefghijklmnopqrstuvwxyz"
)

func withID(actor string, workspace croft.ID) string { return fmt.Sprintf("%s <%s>", actor, workspace) }
