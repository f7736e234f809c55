package equip

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
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

// changedScript returns the first script covered by the approval that a command names, and that has other bytes in the workspace:
// attributes and filters of git, or an agent, have changed it. It is empty if there is none.
func (a Asked) changedScript(dir *fsx.Dir, command string) string {
	top, err := dir.Root()
	if err != nil {
		return "."
	}
	defer top.Close()
	for _, w := range script.Words(command) {
		if digest, isCovered := a.scripts[w.Name()]; isCovered && !hasDigest(top, w.Path, digest) {
			return w.Name()
		}
	}
	return ""
}

// hasDigest reports whether a file has a digest. On Windows git may have written its lines with CR.
func hasDigest(top *os.Root, name, want string) bool {
	const most = 64 << 20
	f, err := top.OpenFile(filepath.FromSlash(name), os.O_RDONLY|fsx.NonBlocking, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	return err == nil && (digest(text) == want || runtime.GOOS == "windows" && digest(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))) == want)
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
		o, mode, err := f.of.Entry(f.ctx, next)
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
