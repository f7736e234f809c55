package gitcmd

import (
	"bytes"
	"fmt"

	"github.com/croft-sh/croft/internal/git/gitconfig"
)

// hostConfig returns the text of the host directory's configuration: the repository's own
// as far as it names no program, and what was pinned of the rest.
func (r *Repository) hostConfig(s *hostState) []byte {
	var b bytes.Buffer
	for _, p := range s.record.Pinned {
		gitconfig.Write(&b, gitconfig.Entry{Key: p.Key, Value: p.Value})
	}
	for _, e := range s.Entries {
		if e.Class() == gitconfig.ClassData {
			gitconfig.Write(&b, e)
		}
	}
	for _, key := range gitconfig.ContentKeys {
		if s.files[key] != nil {
			gitconfig.Write(&b, gitconfig.Entry{Key: key, Value: r.contentFile(key)})
		}
	}
	gitconfig.Write(&b, gitconfig.Entry{Key: "core.bare", Value: fmt.Sprint(r.Bare)})
	gitconfig.Write(&b, gitconfig.Entry{Key: "lfs.storage", Value: r.CommonPath("lfs")})
	return b.Bytes()
}
