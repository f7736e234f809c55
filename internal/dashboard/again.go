package dashboard

import (
	"errors"

	"github.com/croft-sh/croft"
)

// notice is a line above a page.
type notice struct {
	Code        croft.Code
	Title, Text string
}

// askAgain is the answer to a question that was about something that has changed since: the question as it is now,
// below what changed. The code of the refusal gives the status. If the question cannot be asked any more, the
// answer is why.
func (r *request) askAgain(ask func(*request) (*page, error), under string, refused error, changed func(*page) string) error {
	p, err := ask(r)
	if err != nil {
		return err
	}
	e := croft.AsError("show", refused)
	p.nav, p.current, p.repo, p.Status = under, "true", r.PathValue("repo"), e.Code.HTTPStatus()
	p.Notice = &notice{Code: e.Code, Title: "Nothing was done, and you are asked again"}
	p.Notice.Text = changed(p)
	return &answered{page: p}
}

// isOutdated reports whether a request was refused because what a person was shown has changed.
func isOutdated(err error) bool {
	return errors.Is(err, croft.WorkChanged) || errors.Is(err, croft.TargetMoved) || errors.Is(err, croft.RevisionChanged)
}
