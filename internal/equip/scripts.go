package equip

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/croft-sh/croft/internal/provision/script"
)

// digestNamed digests the scripts of the repository that a command names: an approval covers their content. What a command
// finds in other ways, such as by a variable or a pattern, it does not cover.
func (a *Asked) digestNamed(files commitFiles, command string) error {
	for _, w := range script.Words(command) {
		text, mode, err := files.readThrough(w.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && (w.IsRead || script.IsScript(w.Path, mode, text)) {
			a.scripts[w.Name()] = digest(text)
		}
	}
	return nil
}

// linkMode is the mode of a link in a tree.
const linkMode = "120000"

// mostLinks is how many links on the way to a file are followed, as a system does.
const mostLinks = 40

// readThrough returns the content and the mode of the file that a path leads to in the commit, as a system finds it: part by
// part, through links, and ".." from where they lead.
func (f commitFiles) readThrough(name string) (text []byte, mode string, err error) {
	at, links := "", 0
	for rest := strings.Split(name, "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if at == "" {
				return nil, "", fs.ErrNotExist // it leads out of the commit
			}
			at = strings.TrimPrefix(path.Dir(at), ".")
			continue
		}
		next := path.Join(at, part)
		o, mode, err := f.r.Git.ReadEntryAt(f.ctx, f.commit, next)
		switch target := string(o.Data); {
		case err != nil:
			return nil, "", err
		case mode == linkMode:
			if links++; links > mostLinks || target == "" || path.IsAbs(target) {
				return nil, "", fs.ErrNotExist
			}
			rest = append(strings.Split(target, "/"), rest...)
		case o.Type != "blob":
			at = next
		case len(rest) > 0:
			return nil, "", fs.ErrNotExist
		default:
			return o.Data, mode, nil
		}
	}
	return nil, "", fs.ErrNotExist
}
