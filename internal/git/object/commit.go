package object

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Commit is the content of a commit.
type Commit struct {
	Tree      string
	Parents   []string
	Signature string // name, address, time and zone of author and committer
	Author    string // the author, if it is not the committer
	Encoding  string // of the message, if it is not UTF-8
	Message   string
}

// Encode returns the commit as git stores it.
func (c Commit) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", c.Tree)
	for _, p := range c.Parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n", cmp.Or(c.Author, c.Signature), c.Signature)
	if c.Encoding != "" {
		fmt.Fprintf(&b, "encoding %s\n", c.Encoding)
	}
	fmt.Fprintf(&b, "\n%s\n", strings.TrimSuffix(c.Message, "\n"))
	return b.Bytes()
}

// ParseCommit parses a commit. It skips everything but the fields of [Commit], such as a
// signature.
func ParseCommit(o Object) (Commit, error) {
	if o.Type != "commit" {
		return Commit{}, fmt.Errorf("%s is a %s, not a commit", o.OID, o.Type)
	}
	head, message, ok := strings.Cut(string(o.Data), "\n\n")
	if !ok {
		head = strings.TrimSuffix(string(o.Data), "\n") // a commit without a message
	}
	c := Commit{Message: message}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			c.Tree = value
		case "parent":
			c.Parents = append(c.Parents, value)
		case "author":
			c.Author = value
		case "committer":
			c.Signature = value
		case "encoding":
			c.Encoding = value
		}
	}
	if c.Tree == "" {
		return c, fmt.Errorf("%s is not a commit that can be read", o.OID)
	}
	return c, nil
}

// Signature returns the line of an identity in a commit.
func Signature(who string, when time.Time) string {
	return fmt.Sprintf("%s %d %s", who, when.Unix(), when.Format("-0700"))
}
