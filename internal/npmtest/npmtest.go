// Package npmtest is an npm registry on the loopback interface, with packages that a test makes up.
package npmtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// Package is a package in its only version, 1.0.0.
type Package struct {
	Name  string
	Files map[string]string // by their paths; package.json is added
	Needs []string          // the names of packages that it depends on
}

const version = "1.0.0"

// Registry answers what npm asks for when it installs packages.
type Registry struct {
	URL string

	packages map[string]built
	requests atomic.Int64
}

// built is a package as npm downloads it.
type built struct {
	Package
	tarball   []byte
	integrity string
}

// Serve makes packages and serves them until the test ends.
func Serve(t testing.TB, packages ...Package) *Registry {
	t.Helper()
	r := &Registry{packages: map[string]built{}}
	for _, p := range packages {
		b := built{Package: p}
		var err error
		if b.tarball, err = pack(p); err != nil {
			t.Fatal(err)
		}
		sum := sha512.Sum512(b.tarball)
		b.integrity = "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
		r.packages[p.Name] = b
	}
	server := httptest.NewServer(r) // on 127.0.0.1
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// Requests returns how many requests there were.
func (r *Registry) Requests() int64 { return r.requests.Load() }

// pack makes the archive of a package.
func pack(p Package) ([]byte, error) {
	manifest, err := json.Marshal(map[string]any{"name": p.Name, "version": version, "dependencies": wanted(p.Needs)})
	if err != nil {
		return nil, err
	}
	files := maps.Clone(p.Files)
	if files == nil {
		files = map[string]string{}
	}
	files["package.json"] = string(manifest)
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write([]byte(files[name])); err != nil {
			return nil, err
		}
	}
	err = errors.Join(archive.Close(), zipped.Close())
	return out.Bytes(), err
}

// wanted is a table of dependencies.
func wanted(names []string) map[string]string {
	table := map[string]string{}
	for _, name := range names {
		table[name] = version
	}
	return table
}

// LockFile returns the package-lock.json of a project that depends on packages, with all that those
// depend on.
func (r *Registry) LockFile(project string, names ...string) string {
	entries := map[string]any{"": map[string]any{"name": project, "version": version, "dependencies": wanted(names)}}
	queue := slices.Clone(names)
	for len(queue) > 0 {
		p := r.packages[queue[0]]
		queue = queue[1:]
		at := "node_modules/" + p.Name
		if _, isThere := entries[at]; isThere {
			continue
		}
		entry := map[string]any{"version": version, "resolved": r.tarball(p.Name), "integrity": p.integrity}
		if len(p.Needs) > 0 {
			entry["dependencies"] = wanted(p.Needs)
		}
		entries[at] = entry
		queue = append(queue, p.Needs...)
	}
	text, err := json.MarshalIndent(map[string]any{
		"name": project, "version": version, "lockfileVersion": 3, "requires": true, "packages": entries,
	}, "", "  ")
	if err != nil {
		panic(err) // strings and maps of them
	}
	return string(text) + "\n"
}

// Config returns the .npmrc of a project whose packages are the registry's, and nobody else's.
func (r *Registry) Config() string {
	return "registry=" + r.URL + "/\naudit=false\nfund=false\nupdate-notifier=false\n"
}

func (r *Registry) tarball(name string) string {
	return r.URL + "/" + name + "/-/" + name + "-" + version + ".tgz"
}

// ServeHTTP answers with the document of a package, or its archive.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.requests.Add(1)
	name, file, isArchive := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/-/")
	p, ok := r.packages[name]
	switch {
	case !ok, isArchive && file != name+"-"+version+".tgz":
		http.NotFound(w, req)
	case isArchive:
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(p.tarball)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": name, "dist-tags": map[string]string{"latest": version},
			"versions": map[string]any{version: map[string]any{
				"name": name, "version": version, "dependencies": wanted(p.Needs),
				"dist": map[string]string{"tarball": r.tarball(name), "integrity": p.integrity},
			}},
		})
	}
}
