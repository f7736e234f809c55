package guard

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// isOurHost reports whether a Host header names the loopback interface with a port:
// 127.0.0.1, [::1] or localhost, and nothing else that leads there. A browser sends the name
// that the user, or another page, has chosen; a name of somebody else's that leads to
// 127.0.0.1 would make their page one of ours.
func isOurHost(host string, port int) bool {
	name, ok := strings.CutSuffix(host, ":"+strconv.Itoa(port))
	if !ok {
		return false
	}
	if name == "localhost" {
		return true
	}
	text, isBracketed := strings.CutPrefix(name, "[")
	if isBracketed {
		if text, ok = strings.CutSuffix(text, "]"); !ok {
			return false
		}
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Is6() != isBracketed || addr.String() != text {
		return false
	}
	return addr == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || addr == netip.IPv6Loopback()
}

// isOurOrigin reports whether an Origin header is that of a page that was loaded from the same
// host and port as the request goes to.
func isOurOrigin(origin, host string) bool { return origin == "http://"+host }

// isFromHere reports whether a browser sent a request by itself or for one of our pages. A
// browser that says nothing of it is an old one, or no browser: the Origin and the session's
// SameSite decide then. Of another site only a link is followed, to a page in a tab of its own.
func isFromHere(r *http.Request) bool {
	for _, site := range r.Header["Sec-Fetch-Site"] {
		if site == "same-origin" || site == "none" {
			continue
		}
		if !isSafe(r.Method) || r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" ||
			len(r.Header["Upgrade"]) > 0 || isAPI(r.URL.Path) || strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			return false
		}
	}
	return true
}
