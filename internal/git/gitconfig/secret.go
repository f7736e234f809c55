package gitconfig

import "strings"

// Secret is what an address holds beside the place: a name and a password, or a token in
// the place of either.
type Secret struct{ User, Password string }

// tokenLength is the least length of a user's name that may be a token.
const tokenLength = 20

// CutSecret returns an address without its secret. found reports whether there was one:
// the name of a user alone is none, unless it is as long as a token. An address in the
// short form of ssh, and a path, have none.
func CutSecret(address string) (bare string, secret Secret, found bool) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address, Secret{}, false
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return address, Secret{}, false
	}
	user, password, hasPassword := strings.Cut(rest[:at], ":")
	if !hasPassword && (len(user) < tokenLength || scheme == "ssh") {
		return address, Secret{}, false
	}
	bare = scheme + "://" + rest[at+1:]
	if scheme == "ssh" && user != "" {
		bare = scheme + "://" + user + "@" + rest[at+1:] // ssh asks for passwords itself, and has none from an address
	}
	return bare, Secret{unescape(user), unescape(password)}, true
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

// IsSecret reports whether a setting of the user's may hold a password or a token: it is
// given to git in its environment, where it is needed, and written to no file.
func (e Entry) IsSecret() bool {
	if strings.HasPrefix(e.Key, "http.") && strings.HasSuffix(e.Key, ".extraheader") {
		return true
	}
	if strings.HasPrefix(e.Key, "credential.") && strings.HasSuffix(e.Key, ".helper") && strings.HasPrefix(e.Value, "!") {
		return strings.Contains(e.Value, "password")
	}
	if base, ok := Subsection(e.Key, "url."); ok {
		if _, _, has := CutSecret(base); has {
			return true
		}
	}
	_, _, has := CutSecret(e.Value)
	return has
}
