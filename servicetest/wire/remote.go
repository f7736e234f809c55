package wire

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/servicetest/harness"
)

// Remote returns the harness of an implementation on another machine, made of one on this
// machine: everything goes through JSON, and every path begins with a directory that does
// not exist here. A scenario that opens a path of an answer itself finds nothing there.
func Remote(h harness.Harness) harness.Harness { return remote{h} }

type remote struct{ harness.Harness }

func (r remote) Capabilities() []harness.Capability {
	return slices.DeleteFunc(r.Harness.Capabilities(), func(c harness.Capability) bool { return c == harness.SharedDisk })
}

func (r remote) Start(t *testing.T) harness.Host {
	h := r.Harness.Start(t)
	here := h.Root()
	return remoteHost{h, prefixes{here, "/remote/" + path.Base(path.Dir(here)) + "/" + path.Base(here)}}
}

// prefixes are the directories that one place has on two machines. The zero value is one
// and the same machine.
type prefixes struct{ here, there string }

// toHere returns a text of the other machine with the paths of this one.
func (p prefixes) toHere(text string) string { return replaced(text, p.there, p.here) }

// toThere returns a text of this machine with the paths of the other one.
func (p prefixes) toThere(text string) string { return replaced(text, p.here, p.there) }

func replaced(text, from, to string) string {
	if from == "" {
		return text
	}
	return strings.ReplaceAll(text, from, to)
}

// all translates each text of a list.
func all(list []string, translate func(string) string) []string {
	out := make([]string, 0, len(list))
	for _, text := range list {
		out = append(out, translate(text))
	}
	return out
}

// remoteHost hands on what the other machine is asked, in the paths of this one.
type remoteHost struct {
	harness.Host
	prefixes
}

func (h remoteHost) Root() string { return h.there }

func (h remoteHost) Open(t *testing.T, dir string, env ...string) croft.Service {
	t.Helper()
	return wire{t, h.Host.Open(t, h.toHere(dir), all(env, h.toHere)...), h.prefixes}
}

func (h remoteHost) Git(dir string, args ...string) (string, error) {
	out, err := h.Host.Git(h.toHere(dir), all(args, h.toHere)...)
	return h.toThere(out), err
}

func (h remoteHost) Write(path, content string) error {
	return h.Host.Write(h.toHere(path), h.toHere(content))
}

func (h remoteHost) Read(path string) (string, error) {
	content, err := h.Host.Read(h.toHere(path))
	return h.toThere(content), err
}

func (h remoteHost) Remove(path string) error { return h.Host.Remove(h.toHere(path)) }

func (h remoteHost) Stat(path string) (fs.FileMode, error) { return h.Host.Stat(h.toHere(path)) }

func (h remoteHost) List(dir string) ([]string, error) {
	list, err := h.Host.List(h.toHere(dir))
	return all(list, h.toThere), err
}

func (h remoteHost) Configure(key, value string) error { return h.Host.Configure(key, h.toHere(value)) }
