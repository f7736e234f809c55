package gitconfig

import (
	"slices"
	"strings"
	"unicode"
)

// Secret is what an address holds beside the place: a name and a password, or a token in
// the place of either.
type Secret struct{ User, Password string }

// tokenLength is the least length of a user's name that may be a token.
const tokenLength = 20

// CutSecret returns an address without its secret. found reports whether there was one:
// the name of a user alone is none, unless it is as long as a token. An address in the
// short form of ssh, and a path, have none. A token in the query is cut off as well, but is
// no part of secret: git could give it to nobody.
func CutSecret(address string) (bare string, secret Secret, found bool) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address, Secret{}, false
	}
	rest, found = cutQuery(rest)
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return scheme + "://" + rest, Secret{}, found
	}
	user, password, hasPassword := strings.Cut(rest[:at], ":")
	if !hasPassword && (len(user) < tokenLength || scheme == "ssh") {
		return scheme + "://" + rest, Secret{}, found
	}
	bare = scheme + "://" + rest[at+1:]
	if scheme == "ssh" && user != "" {
		bare = scheme + "://" + user + "@" + rest[at+1:] // ssh asks for passwords itself, and has none from an address
	}
	return bare, Secret{unescape(user), unescape(password)}, true
}

// secretWords name what is secret: the parameters of addresses and the options of helpers.
var secretWords = strings.Fields(`password passwd passphrase pass token access_token private_token job_token auth_token oauth_token
	access-token private-token auth-token secret client_secret client-secret api_key api-key apikey private_key private-key bearer pat`)

// cutQuery returns the end of an address without the parameters that hold a token.
func cutQuery(rest string) (bare string, found bool) {
	place, query, ok := strings.Cut(rest, "?")
	if !ok {
		return rest, false
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	var kept []string
	for parameter := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(parameter, "=")
		if slices.Contains(secretWords, strings.ToLower(name)) {
			found = true
		} else {
			kept = append(kept, parameter)
		}
	}
	if !found {
		return rest, false
	}
	bare = place
	if len(kept) > 0 {
		bare += "?" + strings.Join(kept, "&")
	}
	if hasFragment {
		bare += "#" + fragment
	}
	return bare, true
}

// unescape decodes the percent signs of a part of an address, as git does.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			hi, lo := hexDigit(text[i+1]), hexDigit(text[i+2])
			if hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// IsRemoteURL reports whether a key is that of the address of a remote.
func IsRemoteURL(key string) bool {
	_, ok := Subsection(key, "remote.")
	return ok && strings.HasSuffix(key, ".url")
}

// WithoutSecret returns a setting without the password in the address of a remote: nothing
// of it is recorded.
func WithoutSecret(s Setting) Setting {
	if IsRemoteURL(s.Key) || strings.HasSuffix(s.Key, ".lfsurl") || s.Key == "lfs.url" {
		s.Value, _, _ = CutSecret(s.Value)
	}
	return s
}

// IsSecret reports whether a setting of the user's may hold a password or a token: it is
// given to git in its environment, where it is needed, and written to no file. What a program of the
// user's has in its command line is guessed by words.
func (e Entry) IsSecret() bool {
	section, _, _ := strings.Cut(e.Key, ".")
	name := e.Key[strings.LastIndexByte(e.Key, '.')+1:]
	switch {
	case section == "http" && name == "extraheader":
		return true
	case section == "http" && name == "proxy" && hasPassword(e.Value):
		return true
	case section == "credential" && name != "helper" && hasToken(e.Value):
		return true
	case section == "credential" && name == "helper", e.Key == "core.sshcommand", e.Key == "core.askpass":
		if isSecretCommand(e.Value) {
			return true
		}
	}
	if base, ok := Subsection(e.Key, section+"."); ok {
		if _, _, has := CutSecret(base); has {
			return true
		}
	}
	_, _, has := CutSecret(e.Value)
	return has
}

// hasPassword reports whether the address of a proxy, which needs no scheme, has a password.
func hasPassword(proxy string) bool {
	_, rest, ok := strings.Cut(proxy, "://")
	if !ok {
		rest = proxy
	}
	at := strings.LastIndexByte(rest, '@')
	return at > 0 && strings.Contains(rest[:at], ":")
}

// isSecretCommand reports whether the command line of a program may hold a secret: an option or
// a variable is called so, a word looks like a token or is an address with a password, or
// the command is a script that prints something.
func isSecretCommand(command string) bool {
	if script, ok := strings.CutPrefix(command, "!"); ok && (strings.Contains(script, "()") || strings.Contains(script, "echo") || strings.Contains(script, "printf")) {
		return true
	}
	for word := range strings.FieldsSeq(command) {
		if _, _, has := CutSecret(strings.Trim(word, `'"`)); has || strings.HasSuffix(word, "sshpass") {
			return true
		}
	}
	isBetween := func(r rune) bool { return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for word := range strings.FieldsFuncSeq(command, isBetween) {
		if slices.Contains(secretWords, strings.ToLower(strings.TrimLeft(word, "-"))) || hasToken(word) {
			return true
		}
	}
	return false
}

// hasToken reports whether a word begins as the tokens of hosts do.
func hasToken(word string) bool {
	for _, begin := range []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "glcbt-", "gldt-"} {
		if strings.HasPrefix(word, begin) && len(word) >= len(begin)+16 {
			return true
		}
	}
	return false
}
