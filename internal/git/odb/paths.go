package odb

import (
	"path/filepath"
)

// OIDList are objects in an order, each once. An agent can name tens of thousands,
// so that none is looked for in a slice.
type OIDList struct {
	List []string
	Has  map[string]bool
}

// OIDsOf is a list of some objects; "" names none.
func OIDsOf(oids ...string) *OIDList {
	l := &OIDList{Has: make(map[string]bool, len(oids))}
	for _, oid := range oids {
		l.Add(oid)
	}
	return l
}

// Add appends an object, unless it is there.
func (l *OIDList) Add(oid string) {
	if oid != "" && !l.Has[oid] {
		l.Has[oid] = true
		l.List = append(l.List, oid)
	}
}

// Without are those of some objects that are not in the list.
func (l *OIDList) Without(oids []string) []string {
	var rest []string
	for _, oid := range oids {
		if !l.Has[oid] {
			rest = append(rest, oid)
		}
	}
	return rest
}

// SyncStateDirOf is where the state of the last exchange with an isolated checkout
// lies.
func (r *Repository) SyncStateDirOf(admin string) string {
	return filepath.Join(r.Dir, "synced", admin)
}
