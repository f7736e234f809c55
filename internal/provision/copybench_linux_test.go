package provision_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/provision"
)

// BenchmarkCopy20000 copies 20,000 small files of 2,000 directories, byte by byte and as clones. CROFT_BENCH_DIR says on which
// file system.
func BenchmarkCopy20000(b *testing.B) {
	top, err := os.MkdirTemp(os.Getenv("CROFT_BENCH_DIR"), "copies") //nolint:usetesting // on the file system that was asked for
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(top) })
	from := filepath.Join(top, "from")
	var names []string
	text := make([]byte, 3<<10)
	for i := range 20_000 {
		name := fmt.Sprintf("d%03d/e%d/f%05d", i/100, i/10%10, i)
		file := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			b.Fatal(err)
		}
		names = append(names, name)
	}
	for _, how := range []fsx.Content{fsx.ContentCopied, fsx.ContentCloned} {
		b.Run(string(how), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				to, err := os.MkdirTemp(top, "to") //nolint:usetesting // the same
				if err != nil {
					b.Fatal(err)
				}
				c := &provision.Copier{From: fsx.OpenTree(from), To: fsx.OpenTree(to)}
				b.StartTimer()
				for _, err := range c.CopyEach(b.Context(), names, how) {
					if err != nil {
						b.Skip(err)
					}
				}
				b.StopTimer()
				c.From.Close()
				c.To.Close()
				_ = os.RemoveAll(to)
				b.StartTimer()
			}
		})
	}
}
