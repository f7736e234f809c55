package txlog

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Statement is one change of the database.
type Statement struct {
	SQL  string `json:"q"`
	Args []Arg  `json:"a,omitempty"`
}

// NewStatement converts values as a database does, so that the log and the database get
// the same ones.
func NewStatement(query string, values ...any) (Statement, error) {
	s := Statement{SQL: query, Args: make([]Arg, len(values))}
	for i, v := range values {
		var err error
		if s.Args[i], err = newArg(v); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Values returns the arguments of the statement.
func (s Statement) Values() []any {
	values := make([]any, len(s.Args))
	for i, a := range s.Args {
		values[i] = a.v
	}
	return values
}

// Arg is an argument of a statement: nothing, a whole number, or a text, which need not
// be UTF-8. As JSON it is null, a number, a string, or {"b": base64}.
type Arg struct{ v driver.Value }

func newArg(v any) (Arg, error) {
	d, err := driver.DefaultParameterConverter.ConvertValue(v)
	if err != nil {
		return Arg{}, err
	}
	switch d := d.(type) {
	case nil, int64, string:
		return Arg{d}, nil
	case bool:
		if d {
			return Arg{int64(1)}, nil
		}
		return Arg{int64(0)}, nil
	case []byte:
		return Arg{string(d)}, nil
	}
	return Arg{}, fmt.Errorf("a value of type %T cannot be written to the state", v)
}

// MarshalJSON encodes the argument.
func (a Arg) MarshalJSON() ([]byte, error) {
	s, ok := a.v.(string)
	if ok && !utf8.ValidString(s) {
		return json.Marshal(map[string][]byte{"b": []byte(s)})
	}
	return json.Marshal(a.v)
}

// UnmarshalJSON decodes an argument.
func (a *Arg) UnmarshalJSON(b []byte) error {
	switch {
	case string(b) == "null":
		a.v = nil
		return nil
	case len(b) > 0 && b[0] == '"':
		var s string
		err := json.Unmarshal(b, &s)
		a.v = s
		return err
	case len(b) > 0 && b[0] == '{':
		var bin struct{ B []byte }
		err := json.Unmarshal(b, &bin)
		a.v = string(bin.B)
		return err
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	a.v = n
	return err
}
