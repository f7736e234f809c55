package croft

import "strings"

// Ref names one thing in a request. A bare word is looked up as an ID, then as a name, then
// as a path, as far as the request takes them; [ByID], [ByName] and [ByPath] look nowhere
// else. No name has a colon, so that none looks like another form. If nothing is found, four
// or more characters that only one ID of the project begins with name what has this ID, in
// requests that take workspaces, acts, sessions, snapshots, or merges to revert.
//
// A project is named by a directory in it, or by its ID.
type Ref = string

// ByID names what has this ID.
func ByID(id ID) Ref { return string(RefID) + ":" + string(id) }

// ByName names what is called so now: another thing may have the name later.
func ByName(name string) Ref { return string(RefName) + ":" + name }

// ByPath names the workspace or the project that a path lies in.
func ByPath(path string) Ref { return string(RefPath) + ":" + path }

// RefKind says how a Ref names a thing.
type RefKind string

// The kinds of a Ref.
const (
	RefAny  RefKind = "" // a bare word
	RefID   RefKind = "id"
	RefName RefKind = "name"
	RefPath RefKind = "path"
)

// Is reports whether a Ref of this kind may name a thing in the other way.
func (k RefKind) Is(other RefKind) bool { return k == RefAny || k == other }

// RefNames reports whether a Ref names what has this ID and this name.
func RefNames(ref Ref, id ID, name string) bool {
	kind, text := CutRef(ref)
	return kind.Is(RefID) && string(id) == text || kind.Is(RefName) && name == text
}

// RefToID returns the ID that a Ref names where a request takes nothing but IDs. A Ref of
// another kind is no ID of anything.
func RefToID(ref Ref) ID {
	if kind, text := CutRef(ref); kind == RefID {
		return ID(text)
	}
	return ID(ref)
}

// CutRef splits a Ref into its kind and the ID, name or path, for those who implement
// Service.
func CutRef(ref Ref) (RefKind, string) {
	for _, kind := range []RefKind{RefID, RefName, RefPath} {
		if text, ok := strings.CutPrefix(ref, string(kind)+":"); ok {
			return kind, text
		}
	}
	return RefAny, ref
}
