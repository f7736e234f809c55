package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strconv"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/listjson"
)

// Problem is the body of an answer to a request that failed: a problem by RFC 9457 that
// has all that a croft.Error has.
type Problem struct {
	Type   string `json:"type"`   // a page about the code
	Title  string `json:"title"`  // the code in words
	Status int    `json:"status"` // of HTTP
	Detail string `json:"detail"` // the message
	croft.Error
}

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// ProblemOf returns an error as a problem.
func ProblemOf(op string, err error) Problem {
	e := *croft.AsError(op, err)
	if e.Op == "" {
		e.Op = op
	}
	return problem(e.Code.HTTPStatus(), e)
}

func problem(status int, e croft.Error) Problem {
	title := http.StatusText(status)
	if e.Code == croft.Canceled {
		title = "Canceled"
	}
	return Problem{Type: "urn:croft:error:" + string(e.Code), Title: title, Status: status, Detail: e.Message, Error: e}
}

// WriteError answers with an error.
func WriteError(w http.ResponseWriter, op string, err error) {
	p := ProblemOf(op, err)
	noteCause(w, p.Error)
	if p.Code.Retryable() {
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, ProblemType, p.Status, p)
}

// CauseNoter is a ResponseWriter that is told why a call failed by a defect: the caller gets the
// code only, and the log has the cause.
type CauseNoter interface{ NoteCause(err error) }

// noteCause tells a ResponseWriter, or the one that it wraps, of a defect.
func noteCause(w http.ResponseWriter, e croft.Error) {
	if e.Code != croft.Internal {
		return
	}
	for w != nil {
		if n, ok := w.(CauseNoter); ok {
			n.NoteCause(cmp.Or(e.Err, error(&e)))
			return
		}
		wrapping, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return
		}
		w = wrapping.Unwrap()
	}
}

// WriteProblem answers with an error under a status of its own.
func WriteProblem(w http.ResponseWriter, status int, e *croft.Error) {
	writeJSON(w, ProblemType, status, problem(status, *e))
}

// WriteAnswer answers with the result of a call.
func WriteAnswer(w http.ResponseWriter, status int, answer any) {
	if revision := revisionOf(answer); revision > 0 {
		w.Header().Set("ETag", strconv.Quote(strconv.Itoa(revision)))
	}
	writeJSON(w, "application/json", status, answer)
}

func writeJSON(w http.ResponseWriter, media string, status int, v any) {
	data, err := Encode(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"code":"INTERNAL","message":"the answer cannot be sent"}`+"\n")
	}
	writeEncoded(w, media, status, data)
}

// WriteEncoded answers with the result of a call, as [Encode] returned it.
func WriteEncoded(w http.ResponseWriter, answer []byte) {
	writeEncoded(w, "application/json", http.StatusOK, answer)
}

func writeEncoded(w http.ResponseWriter, media string, status int, data []byte) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data) // the caller is gone, and with it whom to tell
}

// Encode returns an answer as a line of JSON.
func Encode(v any) ([]byte, error) {
	data, err := encode(v)
	return append(data, '\n'), err
}

// encode returns an answer as JSON.
func encode(v any) ([]byte, error) {
	list, ok := v.(*croft.List[croft.Workspace])
	if !ok {
		return json.Marshal(v)
	}
	frame := *list
	frame.Items = []croft.Workspace{}
	around, err := json.Marshal(frame)
	if err != nil {
		return nil, err
	}
	return listjson.Encode(around, "items", list.Items)
}

// revisionOf returns the revision of a noun, or 0.
func revisionOf(answer any) int {
	v := reflect.Indirect(reflect.ValueOf(answer))
	if v.Kind() != reflect.Struct {
		return 0
	}
	if f := v.FieldByName("Revision"); f.IsValid() && f.CanInt() {
		return int(f.Int())
	}
	return 0
}

// maxAnswer is the largest answer that a client reads.
const maxAnswer = 1 << 30

// ReadAnswer reads the result of a call, or its error.
func ReadAnswer(r *http.Response, answer any) error {
	body := io.LimitReader(r.Body, maxAnswer)
	if r.StatusCode/100 != 2 {
		var p Problem
		if err := json.NewDecoder(body).Decode(&p); err != nil || p.Code == "" {
			return &croft.Error{Code: croft.Internal, Message: "the daemon answered with " + r.Status}
		}
		e := p.Error
		return &e
	}
	if err := decode(body, r.ContentLength, answer); err != nil {
		return &croft.Error{Code: croft.Internal, Message: "the daemon's answer cannot be read", Err: err}
	}
	return nil
}

// decode reads an answer of so many bytes; -1: that is not known.
func decode(body io.Reader, size int64, answer any) error {
	list, ok := answer.(*croft.List[croft.Workspace])
	if !ok {
		return json.NewDecoder(body).Decode(answer)
	}
	text := bytes.NewBuffer(make([]byte, 0, min(max(size, 0), mostAtOnce)+bytes.MinRead))
	if _, err := text.ReadFrom(body); err != nil {
		return err
	}
	return listjson.Decode(text.Bytes(), list)
}

// mostAtOnce bounds the memory that is taken for an answer before it is there.
const mostAtOnce = 16 << 20
