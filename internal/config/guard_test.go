package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
)

func TestGuards(t *testing.T) {
	tests := []struct {
		key, user, repo string
		want            string
		ignored         bool
	}{
		{"limits.max_workers", "", "4", "4", false},
		{"limits.max_workers", "8", "4", "4", false},
		{"limits.max_workers", "8", "8", "8", false},
		{"limits.max_workers", "8", "9", "8", true},
		{"limits.max_workers", "8", "0", "8", true},
		{"limits.max_workers", "", "0", "0", false},
		{"limits.max_workers", "0", "7", "7", false},
		{"limits.min_free_bytes", "", "67108863", "67108864", true},
		{"limits.min_free_bytes", "", "67108865", "67108865", false},
		{"limits.min_free_bytes", "5", "6", "6", false},
		{"limits.min_free_inodes", "", "0", "1000", true},
		{"limits.min_free_inodes", "10", "999", "999", false},
		{"trash.retention", "", "'1h'", "168h", true},
		{"trash.retention", "", "'0s'", "168h", true},
		{"trash.retention", "", "'8d'", "192h", false},
		{"trash.retention", "'1h'", "'2h'", "2h", false},
		{"trash.retention", "'30d'", "'29d'", "720h", true},
		{"trash.max_bytes", "", "1000000", "21474836480", true},
		{"trash.max_bytes", "", "21474836481", "21474836481", false},
		{"trash.max_bytes", "5", "0", "5", true},
		{"trash.max_inodes", "", "1999999", "2000000", true},
		{"trash.max_inodes", "10", "11", "11", false},
		{"trash.regenerable", "['target']", "['target', 'src']", "target", true},
		{"trash.regenerable_after", "", "'1m'", "1h", true},
		{"trash.regenerable_after", "", "'2h'", "2h", false},
		{"trash.saved_for", "", "'0s'", "720h", true},
		{"trash.saved_for", "", "'31d'", "744h", false},
		{"trash.notice", "", "'0s'", "24h", true},
		{"trash.notice", "", "'2d'", "48h", false},
		{"git.path", "", "'/tmp/git'", "", true},
		{"git.path", "", "'relative'", "", true},
		{"git.filters", "['lfs']", "['lfs', 'evil']", "lfs", true},
		{"git.filters", "['lfs']", "[]", "lfs", true},
		{"git.timeout", "'1h'", "'1s'", "1h", true},
		{"gc.auto", "", "false", "true", true},
		{"gc.auto", "", "'not even a boolean'", "true", true},
		{"lease.ttl", "", "'1h'", "1m", true},
		{"lease.max_ttl", "", "'2h'", "1h", true},
		{"history.retention", "", "'9999h'", "2160h", true},
		{"merge.protect", "", "true", "true", false},
		{"merge.protect", "", "false", "false", false},
		{"merge.protect", "true", "true", "true", false},
		{"merge.protect", "true", "false", "true", true},
		{"merge.check_env", "['NPM_TOKEN']", "['NPM_TOKEN', 'AWS_*']", "NPM_TOKEN", true},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s user %s repo %s", test.key, test.user, test.repo), func(t *testing.T) {
			p := newPlace(t)
			if test.user != "" {
				p.write(p.userFile(), test.key+" = "+test.user)
			}
			p.write(p.repoFile(), "\n\n"+test.key+" = "+test.repo)
			set := p.load(config.Input{})
			got := value(t, set, test.key)
			if got.Value != test.want {
				t.Errorf("%s is %q, want %q", test.key, got.Value, test.want)
			}
			if fromRepo := got.Source.Kind == config.KindRepo; fromRepo == test.ignored {
				t.Errorf("the value comes from %+v", got.Source)
			}
			checkWarning(t, set.Warnings(), test.ignored, p.repoFile()+":3: "+test.key)
		})
	}
}

func checkWarning(t *testing.T, warnings []string, wanted bool, begin string) {
	t.Helper()
	if !wanted {
		if len(warnings) != 0 {
			t.Errorf("warnings %q, want none", warnings)
		}
		return
	}
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], begin) {
		t.Errorf("warnings %q, want one that begins with %q", warnings, begin)
	}
}

// TestUserOverridesTightening: the repository's limit holds until the user
// says otherwise in the environment or with a flag.
func TestUserOverridesTightening(t *testing.T) {
	p := newPlace(t)
	p.write(p.repoFile(), "[limits]\nmax_workers = 2\n")
	set := p.load(config.Input{Environ: []string{"MAX_WORKERS=50"}})
	if got := set.Config().Limits.MaxWorkers; got != 50 {
		t.Errorf("max_workers is %d, want the variable's 50", got)
	}
}

func TestWarningSaysWhatHolds(t *testing.T) {
	p := newPlace(t)
	p.write(p.userFile(), "[limits]\nmax_workers = 8\n")
	p.write(p.repoFile(), "[limits]\nmax_workers = 50\n")
	want := fmt.Sprintf("%s:2: limits.max_workers = 50 is ignored: a repository may only lower it, and it is 8 (%s:2)",
		p.repoFile(), p.userFile())
	got := p.load(config.Input{}).Warnings()
	if len(got) != 1 || got[0] != want {
		t.Errorf("warnings are %q, want %q", got, want)
	}
}

// TestRepoPathTemplate keeps a committed template from choosing any directory
// of the user's.
func TestRepoPathTemplate(t *testing.T) {
	for template, want := range map[string]bool{
		"../{repo}.croft/{slug}":  true,
		".worktrees/{id}":         true,
		"{repo}-trees/{slug}":     true,
		"/tmp/{slug}":             false,
		"../../{slug}":            false,
		"{home}/{slug}":           false,
		"~/{slug}":                false,
		"../x/../../etc/{slug}":   false,
		".worktrees/../../{slug}": false,
	} {
		t.Run(template, func(t *testing.T) {
			p := newPlace(t)
			p.write(p.repoFile(), fmt.Sprintf("path = %q\n", template))
			_, err := p.try(config.Input{})
			if got := err == nil; got != want {
				t.Errorf("accepted: %v, want %v (%v)", got, want, err)
			}
			if err != nil && !errors.Is(err, croft.ConfigInvalid) {
				t.Errorf("error %v, want CONFIG_INVALID", err)
			}
		})
	}
}
