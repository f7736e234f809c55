package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/cli/help"
)

// TestRemovingTableIsOne: README and the book have the table that croft help removing prints.
func TestRemovingTableIsOne(t *testing.T) {
	var table strings.Builder
	for _, row := range help.RemovingRows() {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s |\n", row.Command, row.For, strings.ReplaceAll(row.Work, "--keep", "`--keep`"),
			strings.ReplaceAll(row.Directory, "--keep", "`--keep`"), cmp.Or(row.Asks, "–"))
	}
	for _, page := range []string{"../../README.md", "../../docs/undoing.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), table.String()) {
			t.Errorf("%s does not have\n%s", page, table.String())
		}
	}
}
