package gitconfig

import (
	"strings"
	"testing"
)

// TestIsSecret: settings of a user that hold a password or a token are known, and those that people
// have every day are not taken for such: they would be read again with every command.
func TestIsSecret(t *testing.T) {
	for setting, want := range map[string]bool{
		"http.proxy=http://proxy.example:3128":                                                       false,
		"http.proxy=proxy.example:3128":                                                              false,
		"http.proxy=ada@proxy.example:3128":                                                          false,
		"http.proxy=http://ada:hunter2@proxy.example:3128":                                           true,
		"http.proxy=ada:hunter2@proxy.example:3128":                                                  true,
		"http.https://example.com.proxy=ada:hunter2@proxy.example:3128":                              true,
		"http.extraheader=X-Token: 1":                                                                true,
		"http.https://example.com/.extraheader=Authorization: Bearer x":                              true,
		"http.https://ada:hunter2@example.com.sslverify=true":                                        true,
		"http.https://example.com.sslverify=true":                                                    false,
		"http.sslcainfo=/etc/ca.pem":                                                                 false,
		"http.cookiefile=/home/ada/.cookies":                                                         false,
		"url.https://ada:hunter2@example.com/.insteadof=https://example.com/":                        true,
		"url.https://example.com/.insteadof=https://ada:hunter2@example.com/":                        true,
		"url.git@github.com:.insteadof=https://github.com/":                                          false,
		"url.https://example.com/?private_token=abc.insteadof=x:":                                    true,
		"url.https://example.com/.insteadof=https://example.com/a?access_token=abc":                  true,
		"url.https://example.com/.insteadof=https://example.com/a?ref=main":                          false,
		"credential.helper=store":                                                                    false,
		"credential.helper=store --file ~/.my-credentials":                                           false,
		"credential.helper=cache --timeout=3600":                                                     false,
		"credential.helper=osxkeychain":                                                              false,
		"credential.helper=/usr/lib/git-core/git-credential-libsecret":                               false,
		"credential.https://github.com.helper=!/usr/bin/gh auth git-credential":                      false,
		"credential.https://github.com.username=ada":                                                 false,
		"credential.https://github.com.username=ghp_0123456789abcdefghij0123":                        true,
		"credential.https://ada:hunter2@example.com.helper=store":                                    true,
		"credential.helper=!f() { echo username=ada; echo password=hunter2; }; f":                    true,
		"credential.helper=!f() { printf 'username=ada\\n%s=%s' pass\"\"word hunter2; }; f":          true,
		"credential.helper=!my-helper https://ada:hunter2@example.com":                               true,
		"credential.helper=mine --token=abcdef":                                                      true,
		"credential.helper=mine --token abcdef":                                                      true,
		"credential.helper=mine --password abcdef":                                                   true,
		"credential.helper=mine --api-key=abcdef":                                                    true,
		"credential.helper=mine glpat-0123456789abcdefghij":                                          true,
		"core.sshcommand=ssh -i ~/.ssh/id_work -o IdentitiesOnly=yes":                                false,
		"core.sshcommand=sshpass -p hunter2 ssh":                                                     true,
		"lfs.url=https://ada:hunter2@example.com/lfs":                                                true,
		"lfs.https://example.com/lfs.access=basic":                                                   false,
		"lfs.https://ada:hunter2@example.com/lfs.access=basic":                                       true,
		"user.name=Ada Token":                                                                        false,
		"filter.lfs.clean=git-lfs clean -- %f":                                                       false,
		"user.email=ada@example.com":                                                                 false,
		"init.defaultbranch=main":                                                                    false,
		"credential.https://dev.azure.com.usehttppath=true":                                          false,
		"credential.helper=!aws codecommit credential-helper $@":                                     false,
		"credential.helper=manager --token=" + strings.Repeat("x", 40):                               true,
		"http.https://example.com/a?private_token=abc.sslverify=false":                               true,
		"credential.https://oauth2:hunter2@example.com/x.helper=":                                    true,
		"http.proxy=socks5h://ada:hunter2@127.0.0.1:1080":                                            true,
		"url.ssh://git@example.com/.insteadof=https://example.com/":                                  false,
		"url.https://0123456789abcdefghij0123@example.com/.insteadof=https://example.com/":           true,
		"http.https://example.com.proxy=":                                                            false,
		"credential.https://example.com.helper=!f() { test \"$1\" = get && cat ~/.netrc.token; }; f": true,
		"credential.helper=netrc -f ~/.netrc.gpg":                                                    false,
	} {
		key, value, _ := strings.Cut(setting, "=")
		if i := strings.Index(setting, ".insteadof="); i > 0 { // a key may have an equal sign
			key, value = setting[:i+len(".insteadof")], setting[i+len(".insteadof="):]
		} else if i := strings.Index(setting, ".sslverify="); i > 0 {
			key, value = setting[:i+len(".sslverify")], setting[i+len(".sslverify="):]
		}
		if got := (Entry{Key: key, Value: value}).IsSecret(); got != want {
			t.Errorf("%s: %t", setting, got)
		}
	}
}

// TestCutSecret: what is left of an address, and what was in it.
func TestCutSecret(t *testing.T) {
	for _, c := range []struct {
		address, bare  string
		user, password string
	}{
		{"https://example.com/a.git", "https://example.com/a.git", "", ""},
		{"https://ada@example.com/a.git", "https://ada@example.com/a.git", "", ""},
		{"https://ada:hunter2@example.com/a.git", "https://example.com/a.git", "ada", "hunter2"},
		{"https://ada:h%40x@example.com/a.git", "https://example.com/a.git", "ada", "h@x"},
		{"https://0123456789abcdefghij@example.com/a", "https://example.com/a", "0123456789abcdefghij", ""},
		{"ssh://git:pw@example.com/a.git", "ssh://git@example.com/a.git", "git", "pw"},
		{"git@example.com:a/b.git", "git@example.com:a/b.git", "", ""},
		{"../up.git", "../up.git", "", ""},
		{"https://example.com/a.git?private_token=abc", "https://example.com/a.git", "", ""},
		{"https://example.com/a.git?ref=x&access_token=abc&y=1#z", "https://example.com/a.git?ref=x&y=1#z", "", ""},
		{"https://ada:hunter2@example.com/a.git?Token=abc", "https://example.com/a.git", "ada", "hunter2"},
		{"https://example.com/a.git?ref=x", "https://example.com/a.git?ref=x", "", ""},
		{"/srv/a?token=x.git", "/srv/a?token=x.git", "", ""},
	} {
		bare, secret, found := CutSecret(c.address)
		if bare != c.bare || secret.User != c.user || secret.Password != c.password || found != (bare != c.address) {
			t.Errorf("%s: %q, %+v, %t", c.address, bare, secret, found)
		}
	}
}
