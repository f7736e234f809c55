package layout

import (
	"strconv"

	"github.com/croft-sh/croft/internal/pattern"
)

// shortID is the number of characters that stand for a whole random ID.
const shortID = 8

// ShortID returns the first eight characters of an ID that was drawn at
// random, which is a UUID or one of Croft's own. Any other ID was chosen by
// a caller, and what tells it apart may stand at its end: it stays whole.
func ShortID(id string) string {
	if uuid().MatchString(id) || croftID().MatchString(id) {
		return id[:shortID]
	}
	return id
}

// ShortIDs returns the ways to shorten an ID, the shortest first and the whole
// last: for those that begin alike, as IDs do that begin with the time at which
// they were drawn.
func ShortIDs(id string) []string {
	short := []string{ShortID(id)}
	switch {
	case uuid().MatchString(id):
		short = append(short, id[:13], id[:18], id[:23])
	case croftID().MatchString(id):
		short = append(short, id[:12])
	}
	if last := short[len(short)-1]; last != id {
		short = append(short, id)
	}
	return short
}

var (
	uuid      = pattern.New(`^[[:xdigit:]]{8}(-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}$`)
	croftID   = pattern.New(`^[a-z0-9]{16}$`)
	createdAt = pattern.New(`swarm/\w+-(\d+)`)
)

// CreatedAt reads the time out of a branch such as
// swarm/researcher-1703849234567. It is 0, for unknown, where the branch
// holds none.
func CreatedAt(branch string) int64 {
	m := createdAt().FindStringSubmatch(branch)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
