package snapshot

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/git"
)

// Described is what a snapshot's commit says of it.
type Described struct {
	Message   string
	Files     int
	Bytes     int64
	CreatedAt time.Time
}

// Describe reads a snapshot's commit.
func Describe(ctx context.Context, r *git.Repository, commit string) (Described, error) {
	o, err := r.Read(ctx, commit)
	if err != nil {
		return Described{}, err
	}
	if o.Type != "commit" {
		return Described{}, ErrFormat
	}
	head, body, _ := strings.Cut(string(o.Data), "\n\n")
	d := Described{}
	for line := range strings.Lines(head) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "committer "); ok {
			if f := strings.Fields(rest); len(f) >= 2 {
				sec, _ := strconv.ParseInt(f[len(f)-2], 10, 64)
				d.CreatedAt = time.Unix(sec, 0).UTC()
			}
		}
	}
	d.Message, body, _ = strings.Cut(body, "\n")
	for line := range strings.Lines(body) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Files":
			d.Files, _ = strconv.Atoi(value)
		case "Bytes":
			d.Bytes, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return d, nil
}
