package work

import (
	"testing"

	"github.com/croft-sh/croft/internal/config"
)

func TestLooksSecret(t *testing.T) {
	known := config.Commit{HoldBack: []string{config.KnownSecrets}}.HoldBackPatterns()
	for _, name := range []string{
		".env", ".ENV", ".env.local", ".Env.Production", "deploy/.env", "prod.env", "config/PROD.ENV", "env.local", ".envrc",
		".git-credentials", "Secrets.yaml", "secrets.yml", "config/secrets.json", "service-account.json", "service_account_key.json",
		"terraform.tfvars", "prod.auto.tfvars", "terraform.tfstate", "terraform.tfstate.backup", "kubeconfig", "prod.kubeconfig",
		".kube/config", "home/.kube/config", "id_rsa", "id_rsa.bak", "ID_ED25519", "deploy_rsa", ".ssh/config", "a/b/.ssh/deploy",
		".htpasswd", "server.key", "server.PEM", "cert.p12", "cert.pfx", "store.jks", "release.keystore", "vault.kdbx", ".npmrc", ".pypirc",
		".netrc", "_netrc", ".dockercfg", ".docker/config.json", ".aws/credentials", ".pgpass", ".my.cnf", "credentials.json", "credentials",
		"client_secret_12345.apps.googleusercontent.com.json", "app-firebase-adminsdk-x1.json", "AuthKey_123.p8", "putty.ppk", "token.txt",
		".cargo/credentials.toml", ".config/gcloud/legacy", "application_default_credentials.json", "\u212aubeconfig",
	} {
		if !isSecretName(known, name) {
			t.Errorf("%s is taken for no secret", name)
		}
	}
	for _, name := range []string{
		".env.example", ".ENV.EXAMPLE", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.local.example", "example.env",
		"sample.env", ".npmrc.example", "credentials.example.json", "secrets.yaml.dist", "service-account-example.json", "id_rsa.pub",
		".ssh/id_ed25519.pub", "terraform.tfvars.example", "secrets.go", "secrets.py", "secrets_test.go", "src/env.ts", "env.d.ts", "environment.go",
		"locales/en/auth.json", "config.json", "docker/config.json", ".aws/task-definition.json", ".github/config", "keyboard.go", "monkey",
		"token.go", "credentials.go", "kube/config", "README.md", "key", "id.go", "tfstate.go", "rsa.go", "config/hub.go",
	} {
		if isSecretName(known, name) {
			t.Errorf("%s is taken for a secret", name)
		}
	}
}

func TestLooksSecretByOwnPatterns(t *testing.T) {
	for _, c := range []struct {
		patterns []string
		name     string
		want     bool
	}{
		{nil, ".env", false},
		{[]string{"*.pw"}, ".env", false}, // the user's patterns replace Croft's
		{[]string{"*.pw"}, "A.PW", true},
		{[]string{"*.PW"}, "a.pw", true},
		{[]string{"*.pw", "!a.*"}, "a.pw", false},
		{[]string{"!a.*", "*.pw"}, "a.pw", true}, // the last match counts
		{[]string{"*.pw", "!a.*", "a.pw"}, "a.pw", true},
		{[]string{"*.pw", "!fixtures/*.pw"}, "test/fixtures/a.pw", false},
		{[]string{"*.pw", "!fixtures/*.pw"}, "fixtures/x/a.pw", true},
		{[]string{"a/b/c"}, "c", false},
		{[]string{"[", "a["}, "x/a[", true}, // not a pattern: the name itself
	} {
		if got := isSecretName(c.patterns, c.name); got != c.want {
			t.Errorf("%q, %s: %v", c.patterns, c.name, got)
		}
	}
	own := config.Commit{HoldBack: []string{config.KnownSecrets, "*.pw", "!.env.ci"}}.HoldBackPatterns()
	for name, want := range map[string]bool{".env": true, "a.pw": true, ".env.ci": false} {
		if got := isSecretName(own, name); got != want {
			t.Errorf("%s with what Croft knows: %v", name, got)
		}
	}
}
