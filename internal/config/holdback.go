package config

// KnownSecrets is the pattern of commit.hold_back that stands for the names that
// Croft knows, so that one's own can be added to them.
const KnownSecrets = "@secrets"

// HoldBackPatterns are the patterns of commit.hold_back, in order, with the names
// that Croft knows in the place of [KnownSecrets].
func (c Commit) HoldBackPatterns() []string {
	var list []string
	for _, pattern := range c.HoldBack {
		if pattern != KnownSecrets {
			list = append(list, pattern)
			continue
		}
		list = append(list, secretNames()...)
		for _, name := range notSecret() {
			list = append(list, "!"+name)
		}
	}
	return list
}

// secretNames are patterns of names under which secrets are kept, as the rules of
// well-known scanners and the tools that write such files have them. Names of
// source code are not among them: a commit without secrets.go may not build.
func secretNames() []string {
	return []string{
		// environments
		".env", ".env.*", "*.env", ".envrc", "env.local", "env.*.local", "env.dev", "env.development", "env.prod", "env.production", "env.staging",
		// private keys, and what holds them
		"*.pem", "*.key", "*.ppk", "*.p8", "*.p12", "*.pfx", "*.pkcs12", "*.jks", "*.keystore", "*.kdb", "*.kdbx", "*.psafe3",
		"*.agilekeychain", "*.keychain", "*.keychain-db", "*.ovpn", "secring.gpg", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
		"*_rsa", "*_dsa", "*_ecdsa", "*_ed25519", ".ssh/*", ".gnupg/*",
		// passwords and tokens of programs
		".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".htpasswd", "*.htpasswd", ".git-credentials",
		".dockercfg", ".dockerconfigjson", ".docker/config.json", ".s3cfg", ".boto", ".ftpconfig", "sftp-config.json", ".vault-token",
		".vault_pass*", "vault_pass*.txt", ".terraformrc", "terraform.rc", "credentials.tfrc.json", ".gem/credentials",
		".cargo/credentials*", ".composer/auth.json", ".m2/settings.xml", "settings-security.xml", ".config/gh/hosts.yml", ".config/hub",
		// clouds and clusters
		".aws/credentials", ".aws/config", ".azure/accesstokens.json", ".azure/azureprofile.json", ".kube/config", "kubeconfig",
		"*.kubeconfig", "kubeconfig.*", ".config/gcloud/*", "application_default_credentials.json", "service-account*.json",
		"service_account*.json", "serviceaccount*.json", "gcp-key*.json", "gcloud-*.json", "client_secret*.json", "*firebase-adminsdk*.json",
		"*.publishsettings", "*.tfstate", "*.tfstate.*", "*.tfvars", "*.tfvars.json",
		// whatever calls itself so
		"credentials", ".credentials", "credentials.json", "credentials.y*ml", "credentials.xml", "credentials.csv", "credentials.ini",
		"credentials.toml", "credentials.txt", "secrets", ".secret", ".secrets", "secret.y*ml", "secrets.y*ml", "secret.json", "secrets.json",
		"secret.toml", "secrets.toml", "secrets.ini", "secrets.properties", "secrets.conf", "secrets.xml", "secret.txt", "secrets.txt",
		"password.txt", "passwords.txt", "token.txt", "tokens.txt", "access_token", "access_token.txt",
	}
}

// notSecret are exceptions from secretNames: public halves of keys, and files
// that show what a secret one would look like.
func notSecret() []string {
	return []string{
		"*.pub", "*.example", "*.sample", "*.template", "*.tmpl", "*.tpl", "*.dist", "*.default", "*.defaults", "*.schema",
		"*.example.*", "*.sample.*", "*.template.*", "*.schema.*", "*-example.*", "*_example.*", "*-sample.*", "*_sample.*", "*-template.*", "*_template.*",
		"example.env", "sample.env", "template.env", "default.env", "defaults.env",
	}
}
