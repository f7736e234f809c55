package gitconfig

import (
	"slices"
	"strings"
	"testing"
)

// TestAccessTo: a git gets for an address what belongs to it.
func TestAccessTo(t *testing.T) {
	user := []Entry{
		{Key: "http.extraheader", Value: "all"},
		{Key: "http.https://one.example/.extraheader", Value: "one"},
		{Key: "http.https://two.example:8443/.extraheader", Value: "two"},
		{Key: "http.https://*.wild.example.extraheader", Value: "wild"},
		{Key: "http.sslcainfo", Value: "in the file"},
		{Key: "credential.helper", Value: "mine"},
		{Key: "credential.https://one.example.helper", Value: "one-helper"},
		{Key: "url.https://ada:pw@two.example:8443/.insteadof", Value: "two:"},
		{Key: "url.git@one.example:.pushinsteadof", Value: "https://one.example/"},
		{Key: "url./srv/.insteadof", Value: "https://path.example/"},
	}
	for _, c := range []struct {
		given, rule string
		way         Way
		values, env []string
	}{
		{"https://one.example/a", FetchRule, WayWeb, []string{"all", "one", "mine", "one-helper"}, nil},
		{"https://one.example/a", PushRule, WaySSH, []string{"https://one.example/a"}, nil},
		{"two:a", FetchRule, WayWeb, []string{"two:a", "!helper", "all", "two", "mine"}, []string{"ada", "pw"}},
		{"https://x.wild.example/a", FetchRule, WayWeb, []string{"all", "wild", "mine"}, nil},
		{"https://x.y.wild.example/a", FetchRule, WayWeb, []string{"all", "mine"}, nil},
		{"https://ada:pw@three.example/a", PushRule, WayWeb, []string{"https://three.example/a", "!helper", "all", "mine"}, []string{"ada", "pw"}},
		{"https://path.example/a", PushRule, WayFile, []string{"https://path.example/a"}, nil},
		{"../a", PushRule, WayFile, nil, nil},
		{"file:///srv/a", PushRule, WayFile, nil, nil},
		{"git@four.example:a", PushRule, WaySSH, nil, nil},
	} {
		pinned, _, _ := CutSecret(c.given)
		got := AccessTo(Remote{"origin", pinned, c.given}, c.rule, user)
		var values, env []string
		for _, kv := range got.Config {
			if strings.Contains(kv[1], secretVariable) {
				kv[1] = "!helper"
			}
			values = append(values, kv[1])
		}
		for _, kv := range got.Env {
			_, v, _ := strings.Cut(kv, "=")
			env = append(env, v)
		}
		if got.Way != c.way || !slices.Equal(values, c.values) || !slices.Equal(env, c.env) {
			t.Errorf("%s by %s: %s, %q, %q", c.given, c.rule, got.Way, values, env)
		}
	}
}
