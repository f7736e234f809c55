package journal

import (
	"database/sql/driver"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// arg is a value of a statement: nothing, a whole number or a text, which need
// not be UTF-8. As JSON it is null, a number, a string, or {"b": base64}.
type arg struct{ v driver.Value }

func newArg(v any) (arg, error) {
	d, err := driver.DefaultParameterConverter.ConvertValue(v)
	if err != nil {
		return arg{}, err
	}
	switch d := d.(type) {
	case nil, int64, string:
		return arg{d}, nil
	case bool:
		if d {
			return arg{int64(1)}, nil
		}
		return arg{int64(0)}, nil
	case []byte:
		return arg{string(d)}, nil
	}
	return arg{}, fmt.Errorf("a value of type %T cannot be written to the state", v)
}

// MarshalJSON writes the value.
func (a arg) MarshalJSON() ([]byte, error) {
	s, ok := a.v.(string)
	if ok && !utf8.ValidString(s) {
		return json.Marshal(map[string]string{"b": base64.StdEncoding.EncodeToString([]byte(s))})
	}
	return json.Marshal(a.v)
}

// UnmarshalJSON reads a value.
func (a *arg) UnmarshalJSON(b []byte) error {
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
