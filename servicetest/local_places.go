package servicetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// localPlaceScenarios need a shared disk.
type localPlaceScenarios struct{}

func (localPlaceScenarios) SymlinkedPath(t *testing.T, f *fixture) {
	link := filepath.Join(f.Home, "link")
	if err := os.Symlink(f.Dir, link); err != nil {
		t.Skip("needs symbolic links")
	}
	svc := f.at(link)
	w := lifecycle(t, f, svc, croft.CreateRequest{Name: "a"})
	if w.Repo != f.Dir || !strings.HasPrefix(w.Path, filepath.Dir(f.Dir)) {
		t.Errorf("repo %s, path %s: want them beside the real directory %s", w.Repo, w.Path, f.Dir)
	}
	one, err := svc.Repo(t.Context(), croft.RepoRequest{})
	two, err2 := f.Repo(t.Context(), croft.RepoRequest{})
	if err != nil || err2 != nil || one.ID != two.ID {
		t.Errorf("through the link the repository is %+v, %v, else %+v, %v", one, err, two, err2)
	}
}
