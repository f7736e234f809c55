//go:build unix

package battery

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAgainstBefore compares the commands of every day with those of another
// binary, which the variable CROFT_BEFORE names, each in a project of its own,
// one after the other in every round:
//
//	CROFT_BEFORE=/path/to/croft go test ./internal/battery -run TestAgainstBefore -v
//
// None may be slower by more than the larger of 5 % and 2 ms.
func TestAgainstBefore(t *testing.T) {
	before := os.Getenv("CROFT_BEFORE")
	if before == "" {
		t.Skip("CROFT_BEFORE names no binary to compare with")
	}
	rounds := 25
	if isLong() {
		rounds = 101
	}
	programs := []string{before, "croft"}
	projects := []*project{bigProject(t, 1000), bigProject(t, 1000)}
	commands := []string{"new", "list", "diff", "merge", "remove"}
	took := map[string][2][]time.Duration{}
	for round := range rounds {
		for i, p := range projects {
			name := fmt.Sprintf("w%d", round)
			for _, command := range commands {
				args := []string{command}
				switch command {
				case "diff":
					mustDo(t, writeFile(filepath.Join(p.workspaces(), name, "new.txt"), name))
					args = append(args, name)
				case "merge":
					args = append(args, "--keep", name)
				case "new", "remove":
					args = append(args, name)
				}
				r := p.run(p.dir, programs[i], args...)
				if r.code != 0 || r.err != nil {
					t.Fatalf("%s %v: %v", programs[i], args, r)
				}
				times := took[command]
				times[i] = append(times[i], r.took)
				took[command] = times
			}
		}
	}
	for _, command := range commands {
		was, is := median(took[command][0][1:]), median(took[command][1][1:])
		bound := was + max(was/20, 2*time.Millisecond)
		if is > bound {
			t.Errorf("croft %s takes %s, before %s; the bound is %s", command, ms(is), ms(was), ms(bound))
		}
		report(t, "before", "croft %s at 1,000 files: %s, before %s (n=%d, interleaved, medians)", command, ms(is), ms(was), rounds-1)
	}
}
