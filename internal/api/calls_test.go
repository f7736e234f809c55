package api

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// requestOf returns the type of a call's request.
func requestOf(t *testing.T, c Call) reflect.Type {
	t.Helper()
	m, ok := reflect.TypeFor[croft.Service]().MethodByName(c.Name)
	if !ok {
		t.Fatalf("the Service has no %s", c.Name)
	}
	return m.Type.In(1)
}

// TestEveryMethodIsACall: the table has every method of the Service once, and names fields
// of its request. What has a Key is no GET: a browser sends those without being asked.
func TestEveryMethodIsACall(t *testing.T) {
	service := reflect.TypeFor[croft.Service]()
	seen, routes := map[string]bool{}, map[string]bool{}
	for _, c := range Calls() {
		if seen[c.Name] || routes[c.Method+c.Path] {
			t.Errorf("%s, %s %s is there twice", c.Name, c.Method, c.Path)
		}
		seen[c.Name], routes[c.Method+c.Path] = true, true
		var names []string
		for _, f := range Fields(requestOf(t, c)) {
			names = append(names, f.Name)
			if c.Method == http.MethodGet && f.Name == "key" && c.Name != "PlanUndo" && c.Name != "PlanRevert" && c.Name != "Role" {
				t.Errorf("%s changes something and is a GET", c.Name)
			}
		}
		for _, m := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(c.Path, -1) {
			if !slices.Contains(names, m[1]) {
				t.Errorf("%s: the request has no field %s", c.Name, m[1])
			}
		}
	}
	for m := range service.Methods() {
		if !seen[m.Name] && m.Name != "Close" && m.Name != "Events" {
			t.Errorf("%s is no call", m.Name)
		}
	}
}

// fill sets a value to a random one, in which texts have what is special in URLs and paths.
func fill(v reflect.Value, depth int) {
	if rand.IntN(4) == 0 || depth > 4 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		texts := []string{"a", "id:x", "path:/a/b c", "/", "..", ".", "-", "%2F", "a/../b", "ü€😀", "?x=1&y=2#z", "a+b", "\"\\\n\t\x00", "[k]"}
		v.SetString(texts[rand.IntN(len(texts))])
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(rand.IntN(1 << 30)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+rand.IntN(3), 3))
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rand.IntN(3) + 1 {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(k, depth+1)
			fill(e, depth+1)
			v.SetMapIndex(k, e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Field(i).CanSet() {
				fill(v.Field(i), depth+1)
			}
		}
	}
}

// normal returns a request as the path spells it.
func normal(c Call, v reflect.Value) {
	for _, f := range Fields(v.Type()) {
		if strings.Contains(c.Path, "{"+f.Name+"}") && f.Type.Kind() == reflect.String {
			f.in(v).SetString(spelled(f.in(v).String()))
		}
	}
}

// TestRequestsArrive: every request arrives as it was sent, whatever its texts are, at the
// route of its call and no other.
func TestRequestsArrive(t *testing.T) {
	var at string
	var got reflect.Value
	var failure error
	mux := http.NewServeMux()
	for _, c := range Calls() {
		kind := requestOf(t, c)
		mux.HandleFunc(c.Method+" "+c.Path, func(_ http.ResponseWriter, r *http.Request) {
			req := reflect.New(kind)
			at, failure, got = c.Name, ReadRequest(c, r, req.Interface()), req.Elem()
		})
	}
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, c := range Calls() {
		for range 60 {
			req := reflect.New(requestOf(t, c)).Elem()
			fill(req, 0)
			r, err := NewRequest(t.Context(), server.URL, c, req.Interface())
			if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			at = ""
			response, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			normal(c, req)
			if at != c.Name || failure != nil || !same(req, got) {
				t.Fatalf("%s %s arrived at %q: %v\nsent %+v\ngot  %+v", c.Name, r.URL, at, failure, req, got)
			}
		}
	}
}

// same compares requests; nil and empty are the same.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).IsExported() && a.Type().Field(i).Tag.Get("json") != "-" && !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Map:
		return a.Len() == 0 && b.Len() == 0 || reflect.DeepEqual(a.Interface(), b.Interface())
	case reflect.Pointer:
		return a.IsNil() && b.IsNil() || !a.IsNil() && !b.IsNil() && same(a.Elem(), b.Elem())
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// TestActorArrives: so does the actor.
func TestActorArrives(t *testing.T) {
	want := croft.Actor{Name: "a & b=c", Workspace: "0123", Dir: "/tmp/ü x", From: "/y", Author: &croft.Author{Name: "Ada; Byron", Email: "a@b"}}
	r, err := NewRequest(croft.WithActor(t.Context(), want), "http://x", ByName("Repos"), croft.ReposRequest{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ActorOf(r)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}
