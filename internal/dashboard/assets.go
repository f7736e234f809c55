package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
)

//go:embed static
var staticFiles embed.FS

// assets are the stylesheet, the script and the icon. Their addresses have a hash of their
// contents, so that a browser may keep them for ever.
type assets struct {
	byPath map[string]asset  // by address
	paths  map[string]string // addresses by name
}

type asset struct {
	kind string
	data []byte
}

// assetKinds are the media types of files, by their endings.
var assetKinds = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

func newAssets() *assets {
	a := &assets{byPath: map[string]asset{}, paths: map[string]string{}}
	entries, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err) // they are in the binary
	}
	for _, e := range entries {
		data, err := staticFiles.ReadFile("static/" + e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(data)
		ext := path.Ext(e.Name())
		at := "/static/" + strings.TrimSuffix(e.Name(), ext) + "-" + hex.EncodeToString(sum[:6]) + ext
		a.byPath[at], a.paths[e.Name()] = asset{assetKinds[ext], data}, at
	}
	return a
}

// serve answers requests for assets, and reports whether it did. They need no caller: they
// are the same for everybody, and the page of the login uses them.
func (a *assets) serve(w http.ResponseWriter, r *http.Request) bool {
	f, ok := a.byPath[r.URL.Path]
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write(f.data) //nolint:errcheck // the browser has gone
	return true
}
