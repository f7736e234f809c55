// Package prepared opens a database whose connections keep the statements that they have
// parsed. SQLite takes longer to parse a statement than to run it, and a merge runs some
// dozens of the same few.
package prepared

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// maxKept bounds how many statements a connection keeps.
const maxKept = 200

// Open opens a database of a driver, as sql.Open does. It calls opened with each new
// connection of the driver; nil stands for nothing to do.
func Open(name, dsn string, opened func(driver.Conn) error) (*sql.DB, error) {
	plain, err := sql.Open(name, dsn)
	if err != nil {
		return nil, err
	}
	defer plain.Close() // it has no connection
	return sql.OpenDB(connector{plain.Driver(), dsn, opened}), nil
}

type connector struct {
	driver driver.Driver
	dsn    string
	opened func(driver.Conn) error
}

func (c connector) Driver() driver.Driver { return c.driver }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	inner, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	if c.opened != nil {
		if err := c.opened(inner); err != nil {
			return nil, errors.Join(err, inner.Close())
		}
	}
	able, ok := inner.(ableConn)
	if !ok {
		return nil, errors.Join(errors.New("the driver has no contexts"), inner.Close())
	}
	return &conn{ableConn: able, kept: map[string]driver.Stmt{}}, nil
}

// ableConn is what database/sql uses of a connection. It is deliberately without
// driver.QueryerContext and driver.ExecerContext, so that database/sql prepares every
// statement.
type ableConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn is a connection. database/sql uses it from one goroutine at a time.
type conn struct {
	ableConn
	kept map[string]driver.Stmt // by text, those that are not in use
}

// PrepareContext returns the kept statement with that text, or parses one.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if s, ok := c.kept[query]; ok {
		delete(c.kept, query)
		return &stmt{ableStmt: s.(ableStmt), conn: c, query: query}, nil
	}
	s, err := c.ableConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	able, ok := s.(ableStmt)
	if !ok {
		return s, nil
	}
	return &stmt{ableStmt: able, conn: c, query: query}, nil
}

// Close closes the kept statements and the connection.
func (c *conn) Close() error {
	var errs []error
	for _, s := range c.kept {
		errs = append(errs, s.Close())
	}
	clear(c.kept)
	return errors.Join(append(errs, c.ableConn.Close())...)
}

type ableStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// stmt is a statement in use. Close gives it back to its connection.
type stmt struct {
	ableStmt
	conn  *conn
	query string
}

func (s *stmt) Close() error {
	c := s.conn
	if c == nil {
		return nil
	}
	s.conn = nil
	if _, isKept := c.kept[s.query]; isKept || len(c.kept) >= maxKept {
		return s.ableStmt.Close()
	}
	c.kept[s.query] = s.ableStmt
	return nil
}
