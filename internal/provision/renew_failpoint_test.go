//go:build failpoints

package provision

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestReplacedMeanwhile: where two files cannot change places, nothing has a copy's name for a moment. A file that an agent
// makes there then stays, and if the new file is gone, the copy comes back.
func TestReplacedMeanwhile(t *testing.T) {
	for i, test := range []struct {
		name      string
		do        func(p *pair, stage string)
		want      string
		isSkipped bool
	}{
		{"nothing", func(*pair, string) {}, "newer", false},
		{"a file of an agent", func(p *pair, _ string) { p.write(p.workspace, "f", "mine", 0) }, "mine", true},
		{"the new file is gone", func(p *pair, stage string) { _ = os.Remove(filepath.Join(p.workspace, stage)) }, "text", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPair(t)
			p.write(p.project, "f", "text", 0)
			old := p.copied("f")
			stage := stageName("f") + Digest([]byte("newer"))
			p.write(p.workspace, stage, "newer", 0)
			at := filepath.Join(t.TempDir(), "at")
			t.Setenv("CROFT_FAILPOINT", fmt.Sprintf("pause=%s#%d", at, i+1)) // each passes one point, provision.moved
			ended := make(chan error, 1)
			go func() { ended <- p.replace(old, stage) }()
			for range 2000 {
				if _, err := os.Stat(at + ".paused"); err == nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			test.do(p, stage)
			if err := os.WriteFile(at+".go", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			err := <-ended
			if _, isSkipped := errors.AsType[*SkipError](err); isSkipped != test.isSkipped || (err == nil) != (test.want == "newer") {
				t.Errorf("%v", err)
			}
			if p.text("f") != test.want {
				t.Errorf("%q", p.text("f"))
			}
			p.wantFiles(1)
		})
	}
}
