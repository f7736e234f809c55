package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// parameter is a place in a request where a caller puts a text.
type parameter struct {
	call api.Call
	name string
	set  func(body map[string]any, value string)
}

// parameters returns every text that the calls of the API take, also those in lists, maps and
// parts of a request.
func parameters(t *testing.T) []parameter {
	t.Helper()
	service := reflect.TypeFor[croft.Service]()
	var all []parameter
	for _, c := range api.Calls() {
		m, ok := service.MethodByName(c.Name)
		if !ok {
			t.Fatal(c.Name)
		}
		for _, f := range api.Fields(m.Type.In(1)) {
			for name, set := range texts(f.Name, f.Type) {
				all = append(all, parameter{c, name, set})
			}
		}
	}
	return all
}

// texts returns the ways to put a text into a field.
func texts(name string, typ reflect.Type) map[string]func(map[string]any, string) {
	put := func(make func(string) any) map[string]func(map[string]any, string) {
		return map[string]func(map[string]any, string){name: func(b map[string]any, s string) { b[name] = make(s) }}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return texts(name, typ.Elem())
	case reflect.String:
		return put(func(s string) any { return s })
	case reflect.Map:
		if typ.Elem().Kind() == reflect.String {
			return put(func(s string) any { return map[string]string{"k": s, s: "v"} })
		}
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.String {
			return put(func(s string) any { return []string{s} })
		}
		if typ.Elem().Kind() == reflect.Struct {
			return within(name, typ.Elem(), func(part map[string]any) any { return []any{part} })
		}
	case reflect.Struct:
		return within(name, typ, func(part map[string]any) any { return part })
	}
	return nil
}

// within returns the ways to put a text into a part of a request.
func within(name string, typ reflect.Type, wrap func(map[string]any) any) map[string]func(map[string]any, string) {
	all := map[string]func(map[string]any, string){}
	for _, f := range api.Fields(typ) {
		for inner, set := range texts(f.Name, f.Type) {
			all[name+"."+inner] = func(b map[string]any, s string) {
				part := map[string]any{}
				set(part, s)
				b[name] = wrap(part)
			}
		}
	}
	return all
}

// send makes the call of a parameter with a value in it. The rest of the request is well formed.
func (v *victim) send(p parameter, value, workspace, secret string) reply {
	v.t.Helper()
	body := map[string]any{}
	fields := map[string]reflect.Type{}
	m, _ := reflect.TypeFor[croft.Service]().MethodByName(p.call.Name)
	for _, f := range api.Fields(m.Type.In(1)) {
		fields[f.Name] = f.Type
	}
	if _, ok := fields["repo"]; ok {
		body["repo"] = "path:" + v.git.Dir
	}
	p.set(body, value)
	path := p.call.Path
	for name := range fields {
		segment := workspace
		if strings.Contains(path, "{"+name+"}") {
			if text, ok := body[name].(string); ok {
				segment = text
			}
			delete(body, name)
			if segment == "" || segment == "." || segment == ".." {
				segment = "./" + segment
			}
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(segment))
		}
	}
	if p.call.Method == http.MethodGet {
		return v.try(p.call.Method, path+"?"+queryOf(body).Encode(), secret, "")
	}
	data, err := json.Marshal(body)
	if err != nil {
		v.t.Fatal(err)
	}
	return v.try(p.call.Method, path, secret, string(data))
}

// queryOf returns the body of a request as the query of a GET has it.
func queryOf(body map[string]any) url.Values {
	q := url.Values{}
	for name, value := range body {
		switch value := value.(type) {
		case string:
			q.Set(name, value)
		case []string:
			q[name] = value
		case map[string]string:
			for k, s := range value {
				q.Set(name+"["+k+"]", s)
			}
		}
	}
	return q
}

// crooked are texts that no parameter should take for more than a text: ways out of a directory,
// bytes that end a string elsewhere, options and revisions of git, markup, escape sequences, and
// more than anybody writes.
func crooked(v *victim) []string {
	outside := filepath.Join(v.git.Home, "outside")
	return []string{
		"../../../home/outside/secret", outside + "/secret", "path:" + outside, "path:" + outside + "/secret/x", "path:/", "file://" + outside + "/secret", "..", "%2e%2e%2fsecret",
		"a\x00b", "path:" + v.git.Dir + "\x00", "id:\x00", strings.Repeat("a", 10_000), "path:/" + strings.Repeat("b/", 3000), strings.Repeat("é", 400),
		"--upload-pack=touch " + outside + "/made", "-c", "--output=" + outside + "/made", "HEAD", "@{-1}", ":/first", "refs/heads/main", "main^{tree}:README.md", ":(glob)**",
		"<img src=x onerror=alert(1)><script>alert(2)</script>", "\x1b]0;t\x07\x1b[2J", "\u202egnp.exe\u200b", "a\r\nSet-Cookie: x=y", "*", "id:", "name:", " ", "\ufffd",
	}
}

// TestCrookedParameters puts crooked texts into every parameter of every call, with access to
// everything: no answer is a failure of the server's, none has what lies outside of the project,
// none has a byte that a terminal or a browser would act upon, and nothing outside is changed.
func TestCrookedParameters(t *testing.T) {
	v := newVictim(t)
	v.make("mine", "mine\n")
	outside := filepath.Join(v.git.Home, "outside")
	gittest.WriteFile(t, filepath.Join(outside, "secret"), "top secret\n")
	secret := v.token("all", croft.AccessAll, "")
	made, statuses := 0, map[int]int{}
	for _, p := range parameters(t) {
		if slices.Contains([]string{"Uninstall", "Remove", "Discard"}, p.call.Name) && p.name != "repo" || strings.HasPrefix(p.name, "key") {
			continue // what is left of the request would act
		}
		for i, value := range crooked(v) {
			if (i+len(p.name)+len(p.call.Name))%every != 0 {
				continue
			}
			made++
			a := v.send(p, value, "mine", secret)
			statuses[a.status]++
			if a.status >= 500 || a.status == 0 {
				t.Errorf("%s with %s=%.60q: %d %.300s", p.call.Name, p.name, value, a.status, a.body)
			}
			v.checkAnswer(fmt.Sprintf("%s with %s=%.60q", p.call.Name, p.name, value), a)
		}
	}
	names, err := os.ReadDir(outside)
	if err != nil || len(names) != 1 {
		t.Errorf("outside: %v, %v", names, err)
	}
	t.Logf("%d requests, by status %v", made, statuses)
}

// checkAnswer fails if an answer has what lies outside of the project, or is more than data.
func (v *victim) checkAnswer(what string, a reply) {
	v.t.Helper()
	if strings.Contains(a.body, "top secret") || strings.Contains(a.body, "root:x:") {
		v.t.Errorf("%s reads what is outside: %.300s", what, a.body)
	}
	if strings.ContainsAny(a.body, "\x1b\x00\x07<\r") {
		v.t.Errorf("%s answers with more than text: %.300q", what, a.body)
	}
	kind := a.header.Get("Content-Type")
	if kind != "application/json" && kind != api.ProblemType && kind != "text/plain; charset=utf-8" || a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Set-Cookie") != "" {
		v.t.Errorf("%s: %v", what, a.header)
	}
}
