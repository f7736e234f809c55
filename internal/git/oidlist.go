package git

// oidList are objects in an order, each once. An agent can name tens of thousands,
// so that none is looked for in a slice.
type oidList struct {
	list []string
	has  map[string]bool
}

// oidsOf is a list of some objects; "" names none.
func oidsOf(oids ...string) *oidList {
	l := &oidList{has: make(map[string]bool, len(oids))}
	for _, oid := range oids {
		l.add(oid)
	}
	return l
}

// add appends an object, unless it is there.
func (l *oidList) add(oid string) {
	if oid != "" && !l.has[oid] {
		l.has[oid] = true
		l.list = append(l.list, oid)
	}
}

// without are those of some objects that are not in the list.
func (l *oidList) without(oids []string) []string {
	var rest []string
	for _, oid := range oids {
		if !l.has[oid] {
			rest = append(rest, oid)
		}
	}
	return rest
}
