package equip

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"

	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/fsx"
)

// noteUnnamedPorts names the names of ports that no port is left for.
func (a *Asked) noteUnnamedPorts(ports config.Ports) {
	if len(ports.Names) > ports.Count {
		a.Remarks = append(a.Remarks, fmt.Sprintf("ports.names has %d names, and ports.count is %d: there is no port for %s",
			len(ports.Names), ports.Count, strings.Join(ports.Names[ports.Count:], ", ")))
	}
}

// noteUncommitted says that the project's checkout has a croft.toml which asks for other things than the commit, and that
// nobody has committed it: what a person has just written does not count yet.
func (a *Asked) noteUncommitted(files commitFiles) {
	tree := fsx.OpenTree(files.r.Path)
	defer tree.Release()
	text, err := tree.ReadFile(settingsFile, maxSettings)
	if err != nil {
		return // there is none
	}
	own, _ := config.ParseProvisioning(text)
	if reflect.DeepEqual(own, a.Provisioning) {
		return
	}
	head, err := files.r.Git.ReadRef(files.ctx, "HEAD")
	if err != nil {
		return // a checkout without a commit
	}
	now := filesOf(files.ctx, files.r, head)
	defer now.of.Close()
	text, err = now.Read(settingsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if committed, _ := config.ParseProvisioning(text); reflect.DeepEqual(own, committed) {
		return // it is of another commit
	}
	a.Remarks = append(a.Remarks, fmt.Sprintf("croft.toml: steps, paths and variables are read from the commit %.7s; the checkout's croft.toml has others, which are not committed", files.commit))
}
