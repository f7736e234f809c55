package project

import (
	"errors"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/snapshot/restore"
)

// TestWhyUnsettled: the reason why a rewind cannot be settled is one line, as a terminal
// shows it, and has only the cause in it.
func TestWhyUnsettled(t *testing.T) {
	t.Parallel()
	lines := errors.Join(oplog.ErrUnsettled, restore.ErrAsWas, errors.New("one\ntwo"))
	for _, tt := range []struct {
		cause error
		want  string
	}{
		{lines, "one; two"},
		{errors.Join(oplog.ErrUnsettled, &croft.Error{Message: "it is mounted", Details: "/a\n" + lines.Error()}), "it is mounted: /a; one; two"},
		{&croft.Error{Message: "somebody wrote", Details: restore.ErrAsWas.Error()}, "somebody wrote"},
	} {
		if got := WhyUnsettled(tt.cause); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
