package odb

import (
	"path/filepath"
)

// OIDList is an ordered set of object names. An agent can name tens of thousands, so
// lookups use a map.
type OIDList struct {
	List []string
	Has  map[string]bool
}

// OIDsOf returns a list of the object names, without empty ones.
func OIDsOf(oids ...string) *OIDList {
	l := &OIDList{Has: make(map[string]bool, len(oids))}
	for _, oid := range oids {
		l.Add(oid)
	}
	return l
}

// Add appends an object name unless the list has it.
func (l *OIDList) Add(oid string) {
	if oid != "" && !l.Has[oid] {
		l.Has[oid] = true
		l.List = append(l.List, oid)
	}
}

// Without returns those of the object names that are not in the list.
func (l *OIDList) Without(oids []string) []string {
	var rest []string
	for _, oid := range oids {
		if !l.Has[oid] {
			rest = append(rest, oid)
		}
	}
	return rest
}

// SyncStateDirOf returns the directory of the state of the last synchronisation with an
// isolated checkout.
func (r *Repository) SyncStateDirOf(admin string) string {
	return filepath.Join(r.Dir, "synced", admin)
}
