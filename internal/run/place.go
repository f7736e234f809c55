package run

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
)

// placeFile is the file of a run with the ID and the path of its workspace. The supervisor stands in its directory.
const placeFile = "place"

// WritePlace writes into the directory of a run which workspace it is in.
func WritePlace(dir string, w croft.Workspace) error {
	return os.WriteFile(filepath.Join(dir, placeFile), []byte(string(w.ID)+"\n"+w.Path), 0o600)
}

// PlaceIn returns the ID and the path of the workspace that the directory of a run names, if it names one. The directory may be
// one that an agent has made.
func PlaceIn(dir string) (croft.Workspace, bool) {
	const most = 1 << 13
	text, err := fsx.ReadFile(filepath.Join(dir, placeFile), most)
	id, path, _ := strings.Cut(string(text), "\n")
	return croft.Workspace{ID: croft.ID(id), Path: path}, err == nil
}
