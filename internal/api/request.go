package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
)

// The headers of a call, beside those of HTTP.
const (
	// HeaderKey has the request's Key.
	HeaderKey = "Idempotency-Key"
	// HeaderRevision has the request's IfRevision, as an entity tag.
	HeaderRevision = "If-Match"
	// HeaderActor has the croft.Actor of a call, as a query: name, workspace, dir,
	// from, authorName, authorEmail.
	HeaderActor = "Croft-Actor"
	// HeaderCall names a call, so that its caller can cancel it at CancelPath.
	HeaderCall = "Croft-Call"
	// HeaderNotice comes with an answer and has a sentence for the user, escaped as a part
	// of a path.
	HeaderNotice = "Croft-Notice"
)

// CancelPath is where a call that has a name is canceled, with the method DELETE.
const CancelPath = "/v1/calls/{call}"

// empty stands for an empty segment of a path.
const empty = "-"

// NewRequest returns the HTTP request of a call. base is the address of the server.
func NewRequest(ctx context.Context, base string, c Call, request any) (*http.Request, error) {
	v := reflect.ValueOf(request)
	if err := checkText(v); err != nil {
		return nil, err
	}
	path, rest := fillPath(c.Path, v)
	var body io.Reader
	switch {
	case c.Method != http.MethodGet:
		data, err := json.Marshal(request)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	default:
		q := url.Values{}
		for _, f := range rest {
			values(q, f, f.in(v))
		}
		if len(q) > 0 {
			path += "?" + q.Encode()
		}
	}
	r, err := http.NewRequestWithContext(ctx, c.Method, base+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, setActor(r, croft.ActorFrom(ctx))
}

// fillPath returns a path with its fields filled in, and the other fields of the request.
func fillPath(path string, request reflect.Value) (string, []Field) {
	var rest []Field
	for _, f := range Fields(request.Type()) {
		if !strings.Contains(path, "{"+f.Name+"}") {
			rest = append(rest, f)
			continue
		}
		path = strings.Replace(path, "{"+f.Name+"}", segment(text(f.in(request))), 1)
	}
	return path, rest
}

// spelled returns a name as a segment of a path has it, where the name itself would stand
// for something else there.
func spelled(s string) string {
	switch s {
	case empty:
		return croft.ByName(s)
	case "/":
		return croft.ByPath(s) // net/http takes this segment for the end of a path
	}
	return s
}

// segment returns a text as a segment of a path that no server takes for another one.
func segment(s string) string {
	switch s {
	case "":
		return empty
	case ".", "..":
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(spelled(s))
}

func setActor(r *http.Request, a croft.Actor) error {
	if a == (croft.Actor{}) {
		return nil
	}
	q := url.Values{}
	for name, value := range map[string]string{"name": a.Name, "workspace": string(a.Workspace), "dir": a.Dir, "from": a.From} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if a.Author != nil {
		q.Set("authorName", a.Author.Name)
		q.Set("authorEmail", a.Author.Email)
	}
	r.Header.Set(HeaderActor, q.Encode())
	return nil
}

// ActorOf returns the actor that a request names.
func ActorOf(r *http.Request) (croft.Actor, error) {
	q, err := url.ParseQuery(r.Header.Get(HeaderActor))
	if err != nil {
		return croft.Actor{}, invalid("the header %s cannot be read", HeaderActor)
	}
	a := croft.Actor{Name: q.Get("name"), Workspace: croft.ID(q.Get("workspace")), Dir: q.Get("dir"), From: q.Get("from")}
	if q.Has("authorName") || q.Has("authorEmail") {
		a.Author = &croft.Author{Name: q.Get("authorName"), Email: q.Get("authorEmail")}
	}
	return a, nil
}

// ReadRequest reads the request of a call. The path has the fields that Call.Path names.
func ReadRequest(c Call, r *http.Request, request any) error {
	v := reflect.ValueOf(request).Elem()
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("the query cannot be read")
	}
	if c.Method == http.MethodGet {
		err = fromQuery(v, query)
	} else if len(query) > 0 {
		err = invalid("a %s takes its parameters in the body", c.Method)
	} else {
		err = ReadBody(r, request)
	}
	if err != nil {
		return err
	}
	for _, f := range Fields(v.Type()) {
		if !strings.Contains(c.Path, "{"+f.Name+"}") {
			continue
		}
		given := r.PathValue(f.Name)
		if given == empty {
			given = ""
		}
		if had := text(f.in(v)); had != "" && had != given && spelled(had) != given {
			return invalid("the path and the body name different things: %.80q, %.80q", given, had)
		}
		if err := setText(f.in(v), given); err != nil {
			return invalid("%q cannot be %.80q", f.Name, given)
		}
	}
	return readHeaders(r, v)
}

// ReadQuery sets the fields of a request that a query names.
func ReadQuery(q url.Values, request any) error { return fromQuery(reflect.ValueOf(request).Elem(), q) }

// ReadBody reads the body of a request, a JSON object or nothing.
func ReadBody(r *http.Request, request any) error {
	data, err := io.ReadAll(r.Body)
	if err == nil {
		err = ReadJSON(data, request)
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &croft.Error{
			Code: croft.RequestTooLarge, Message: "the body of the request is longer than " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes",
			Hint: "divide the request into several",
		}
	}
	return err
}

// readHeaders reads the key and the revision of a request from its headers.
func readHeaders(r *http.Request, request reflect.Value) error {
	if key := r.Header.Get(HeaderKey); key != "" {
		v, ok := fieldOf(request, "key")
		if !ok || v.String() != "" && v.String() != key {
			return invalid("the header %s does not fit the request", HeaderKey)
		}
		v.SetString(key)
	}
	if tag := r.Header.Get(HeaderRevision); tag != "" {
		v, ok := fieldOf(request, "ifRevision")
		revision, err := strconv.Atoi(strings.Trim(tag, `"`))
		if !ok || err != nil || revision <= 0 || v.Int() != 0 && v.Int() != int64(revision) {
			return invalid("the header %s does not fit the request", HeaderRevision)
		}
		v.SetInt(int64(revision))
	}
	return nil
}
