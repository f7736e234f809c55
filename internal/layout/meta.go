package layout

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/pattern"
)

// The limits of what callers record with a workspace or a session.
const (
	maxMeta      = 64
	maxMetaValue = 1024 // bytes
)

var metaKey = pattern.New(`^[a-zA-Z0-9]([a-zA-Z0-9._/-]{0,61}[a-zA-Z0-9])?$`)

// CheckMeta refuses with InvalidName a key or a value that cannot be recorded.
func CheckMeta(meta map[string]string) error {
	if len(meta) > maxMeta {
		return &croft.Error{Code: croft.InvalidName, Message: fmt.Sprintf("%d entries of meta are more than %d", len(meta), maxMeta)}
	}
	for key, value := range meta {
		if !metaKey().MatchString(key) {
			return &croft.Error{
				Code: croft.InvalidName, Message: fmt.Sprintf("%.80q cannot be a key of meta", key),
				Details: "A key has 1 to 63 letters, digits and . _ / -, and begins and ends with a letter or a digit.",
			}
		}
		if !utf8.ValidString(value) || len(value) > maxMetaValue || strings.ContainsRune(value, 0) {
			return &croft.Error{
				Code: croft.InvalidName, Message: fmt.Sprintf("the value of meta %s cannot be recorded", key),
				Details: fmt.Sprintf("A value is text of at most %d bytes.", maxMetaValue),
			}
		}
	}
	return nil
}

// maxReason is the length of the longest reason, in bytes.
const maxReason = 200

// CheckReason refuses with InvalidName a reason that does not fit into one line.
func CheckReason(text string) error {
	if !utf8.ValidString(text) || len(text) > maxReason || strings.ContainsFunc(text, unicode.IsControl) {
		return &croft.Error{
			Code: croft.InvalidName, Message: fmt.Sprintf("%.80q cannot be a reason", text),
			Details: fmt.Sprintf("A reason is one line of at most %d bytes.", maxReason),
		}
	}
	return nil
}

// HasMeta reports whether all wanted entries are among those of a noun.
func HasMeta(meta, wanted map[string]string) bool {
	for key, value := range wanted {
		if has, ok := meta[key]; !ok || has != value {
			return false
		}
	}
	return true
}
