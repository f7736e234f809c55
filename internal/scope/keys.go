package scope

// ownKey returns the key of a request as the Service gets it: the keys of an agent are none
// that others use.
func (w *workspace) ownKey(key string) string {
	if key == "" {
		return ""
	}
	return string(w.id) + ":" + key
}
