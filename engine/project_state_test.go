package engine

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
)

// TestNetworkStateIsRefused: a state directory that is on a network file system,
// or would be once it is made, is refused.
func TestNetworkStateIsRefused(t *testing.T) {
	t.Parallel()
	share := t.TempDir()
	kind := func(dir string) string {
		if strings.HasPrefix(dir, share) {
			return "nfs"
		}
		return ""
	}
	for _, dir := range []string{share, filepath.Join(share, "a", "b")} {
		if err := config.RefuseNetwork(dir, kind); !errors.Is(err, croft.StateUnavailable) || !strings.Contains(err.Error(), "nfs") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if err := config.RefuseNetwork(t.TempDir(), kind); err != nil {
		t.Error(err)
	}
	for dir, isRefused := range map[string]bool{filepath.Join(share, "state"): true, t.TempDir(): false} {
		e, err := Open(t.Context(), t.TempDir(), &Options{Environ: []string{"CROFT_STATE_DIR=" + dir, "HOME=" + t.TempDir()}, networkFS: kind})
		if errors.Is(err, croft.StateUnavailable) != isRefused || (err == nil) == isRefused {
			t.Errorf("Open with its state in %s: %v", dir, err)
		}
		if err == nil {
			_ = e.Close()
		}
	}
}
