package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/croft-sh/croft/internal/proc"
)

// ErrNoObject says that a name leads to no object.
var ErrNoObject = errors.New("no such object")

// Object is a git object. Data is empty where only information was asked for.
type Object struct {
	OID, Type string
	Size      int64
	Data      []byte
}

// Info looks an object up without reading it.
func (r *Repository) Info(ctx context.Context, name string) (Object, error) {
	return r.objects.ask(ctx, "info", name)
}

// Read reads an object.
func (r *Repository) Read(ctx context.Context, name string) (Object, error) {
	return r.objects.ask(ctx, "contents", name)
}

// objectSession is a long-lived `git cat-file --batch-command`.
type objectSession struct {
	repo *Repository
	mu   sync.Mutex
	p    *proc.Process
	out  *bufio.Reader
}

var catFileArgs = []string{"cat-file", "--batch-command"}

func (s *objectSession) ask(ctx context.Context, verb, name string) (Object, error) {
	if strings.ContainsAny(name, "\n\x00") {
		return Object{}, ErrNoObject
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Object{}, err
	}
	if s.p == nil {
		p, err := s.repo.git.start(context.WithoutCancel(ctx), door{repo: s.repo}, call{args: catFileArgs})
		if err != nil {
			return Object{}, err
		}
		s.p, s.out = p, bufio.NewReader(p.Stdout)
	}
	_, err := io.WriteString(s.p.Stdin, verb+" "+name+"\n")
	if err == nil {
		var o Object
		o, err = readBatch(s.out, verb == "contents")
		if err == nil || errors.Is(err, ErrNoObject) {
			return o, err
		}
	}
	p := s.p
	s.p, s.out = nil, nil
	p.Kill()
	_, _ = io.Copy(io.Discard, p.Stdout)
	return Object{}, s.repo.git.wrap(catFileArgs, s.repo.CommonDir, errors.Join(p.Wait(), err))
}

func (s *objectSession) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.p == nil {
		return nil
	}
	p := s.p
	s.p = nil
	_ = p.Stdin.Close()
	_, _ = io.Copy(io.Discard, p.Stdout)
	return p.Wait()
}

// readBatch reads one answer of cat-file: "<oid> <type> <size>" and, for
// contents, the data and a newline; or the name as it was asked for and a
// word such as "missing" or "ambiguous".
func readBatch(r *bufio.Reader, contents bool) (Object, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return Object{}, err
	}
	fields := strings.Fields(line)
	if len(fields) != 3 || !isHex(fields[0]) {
		return Object{}, fmt.Errorf("%s: %w", strings.TrimSpace(line), ErrNoObject)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return Object{}, fmt.Errorf("not an answer of cat-file: %q", line)
	}
	o := Object{OID: fields[0], Type: fields[1], Size: size}
	if !contents {
		return o, nil
	}
	var data bytes.Buffer
	if _, err := io.CopyN(&data, r, size); err != nil {
		return Object{}, err
	}
	o.Data = data.Bytes()
	if b, err := r.ReadByte(); err != nil || b != '\n' {
		return Object{}, fmt.Errorf("cat-file: no newline after %s", o.OID)
	}
	return o, nil
}

// WriteBlob stores data as a loose object and returns its name. Doing it here
// saves a process, and it is on disk when this returns.
func (r *Repository) WriteBlob(data []byte) (string, error) {
	var h hash.Hash = sha1.New()
	if r.format.objectFormat == "sha256" {
		h = sha256.New()
	}
	header := "blob " + strconv.Itoa(len(data)) + "\x00"
	_, _ = io.WriteString(h, header)
	_, _ = h.Write(data)
	oid := hex.EncodeToString(h.Sum(nil))

	dir := filepath.Join(r.CommonDir, "objects", oid[:2])
	path := filepath.Join(dir, oid[2:])
	if _, err := os.Stat(path); err == nil {
		return oid, nil
	}
	var err error
	for range 3 { // a gc may remove the empty directory meanwhile
		if err = os.MkdirAll(dir, 0o777); err != nil {
			return "", err
		}
		if err = writeLoose(path, header, data); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return oid, err
}

func writeLoose(path, header string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "tmp_obj_")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	z := zlib.NewWriter(f)
	_, err = io.WriteString(z, header)
	if err == nil {
		_, err = z.Write(data)
	}
	if cerr := z.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = f.Chmod(0o444)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
