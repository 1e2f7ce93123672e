package console

import (
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"modernc.org/libc"
	sqlite3lib "modernc.org/sqlite/lib"
)

// handle is SQLite's own handle of a connection, for what the driver lacks: the driver watches a context only until
// the first row, sets limits only for connections of database/sql, copies a row whatever its size, and never returns
// the position of an error.
type handle struct {
	db  uintptr
	tls *libc.TLS // the thread state that the connection uses
}

// handleOf returns the handle of a driver connection.
func handleOf(conn any) (handle, error) {
	v := reflect.ValueOf(conn)
	if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		db, tls := v.Elem().FieldByName("db"), v.Elem().FieldByName("tls")
		if db.IsValid() && db.Kind() == reflect.Uintptr && db.Uint() != 0 && tls.IsValid() && tls.Type() == reflect.TypeFor[*libc.TLS]() && !tls.IsNil() {
			return handle{db: uintptr(db.Uint()), tls: (*libc.TLS)(tls.UnsafePointer())}, nil
		}
	}
	return handle{}, errors.New("unsupported version of the SQLite driver: its connection has no handle")
}

// interrupt ends the running statement, from any goroutine, at the next row that it processes; one that is just
// starting may not notice. The connection must be open.
func (h handle) interrupt() {
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3lib.Xsqlite3_interrupt(tls, h.db)
}

// limit sets a limit of SQLite.
func (h handle) limit(id, most int32) { sqlite3lib.Xsqlite3_limit(h.tls, h.db, id, most) }

// failure returns SQLite's message for the last failed call, and the byte offset in its statement; negative if
// unknown.
func (h handle) failure() (message string, offset int) {
	return libc.GoString(sqlite3lib.Xsqlite3_errmsg(h.tls, h.db)), int(sqlite3lib.Xsqlite3_error_offset(h.tls, h.db))
}

// engineError is a code of SQLite.
type engineError struct {
	code    int32
	message string
}

func (e *engineError) Error() string { return e.message }
func (e *engineError) Code() int     { return int(e.code) }

func (h handle) fail(code int32) error {
	message, _ := h.failure()
	return &engineError{code, message}
}

// prepared is a prepared statement.
type prepared struct {
	handle
	at    uintptr   // SQLite's statement
	texts []uintptr // values of parameters, which SQLite reads until it is finalized
}

// prepare compiles a statement. It must be finalized.
func (h handle) prepare(statement string) (*prepared, error) {
	text, err := libc.CString(statement)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(h.tls, text)
	p := &prepared{handle: h}
	var pinned runtime.Pinner
	pinned.Pin(p)
	defer pinned.Unpin()
	if code := sqlite3lib.Xsqlite3_prepare_v2(h.tls, h.db, text, int32(len(statement)), uintptr(unsafe.Pointer(&p.at)), 0); code != sqlite3lib.SQLITE_OK {
		return nil, h.fail(code)
	}
	return p, nil
}

// finalize releases the statement. An earlier error of it is not returned again.
func (p *prepared) finalize() {
	sqlite3lib.Xsqlite3_finalize(p.tls, p.at)
	for _, text := range p.texts {
		libc.Xfree(p.tls, text)
	}
}

// parameters returns how many values the statement needs.
func (p *prepared) parameters() int {
	return int(sqlite3lib.Xsqlite3_bind_parameter_count(p.tls, p.at))
}

// parameter returns the name of a parameter, from 1, with its prefix; "" if it has none.
func (p *prepared) parameter(i int) string {
	return libc.GoString(sqlite3lib.Xsqlite3_bind_parameter_name(p.tls, p.at, int32(i)))
}

// bind sets a parameter, from 1: nil, int64, float64 or string.
func (p *prepared) bind(i int, value any) error {
	code := int32(sqlite3lib.SQLITE_OK)
	switch v := value.(type) {
	case int64:
		code = sqlite3lib.Xsqlite3_bind_int64(p.tls, p.at, int32(i), v)
	case float64:
		code = sqlite3lib.Xsqlite3_bind_double(p.tls, p.at, int32(i), v)
	case string:
		text, err := libc.CString(v)
		if err != nil {
			return err
		}
		p.texts = append(p.texts, text)
		code = sqlite3lib.Xsqlite3_bind_text(p.tls, p.at, int32(i), text, int32(len(v)), 0)
	default:
		code = sqlite3lib.Xsqlite3_bind_null(p.tls, p.at, int32(i))
	}
	if code != sqlite3lib.SQLITE_OK {
		return p.fail(code)
	}
	return nil
}

func (p *prepared) columns() []Column {
	columns := make([]Column, sqlite3lib.Xsqlite3_column_count(p.tls, p.at))
	for i := range columns {
		columns[i] = Column{
			Name: libc.GoString(sqlite3lib.Xsqlite3_column_name(p.tls, p.at, int32(i))),
			Type: strings.ToUpper(libc.GoString(sqlite3lib.Xsqlite3_column_decltype(p.tls, p.at, int32(i)))),
		}
	}
	return columns
}

// step goes to the next row. Errors: io.EOF after the last one, *engineError.
func (p *prepared) step() error {
	switch code := sqlite3lib.Xsqlite3_step(p.tls, p.at); code {
	case sqlite3lib.SQLITE_ROW:
		return nil
	case sqlite3lib.SQLITE_DONE:
		return io.EOF
	default:
		return p.fail(code)
	}
}

// size is the cost of the row in an answer: the bytes of its values, plus a word for each.
func (p *prepared) size(columns int) (bytes int64) {
	const word = 8
	for i := range int32(columns) {
		bytes += word
		switch sqlite3lib.Xsqlite3_column_type(p.tls, p.at, i) {
		case sqlite3lib.SQLITE_TEXT, sqlite3lib.SQLITE_BLOB:
			bytes += int64(sqlite3lib.Xsqlite3_column_bytes(p.tls, p.at, i))
		}
	}
	return bytes
}

// values copies the row: int64, float64, string, []byte or nil.
func (p *prepared) values(into []any) error {
	for column := range into {
		switch i := int32(column); sqlite3lib.Xsqlite3_column_type(p.tls, p.at, i) {
		case sqlite3lib.SQLITE_INTEGER:
			into[column] = sqlite3lib.Xsqlite3_column_int64(p.tls, p.at, i)
		case sqlite3lib.SQLITE_FLOAT:
			into[column] = sqlite3lib.Xsqlite3_column_double(p.tls, p.at, i)
		case sqlite3lib.SQLITE_TEXT:
			text, err := p.bytes(sqlite3lib.Xsqlite3_column_text(p.tls, p.at, i), i)
			if err != nil {
				return err
			}
			into[column] = string(text)
		case sqlite3lib.SQLITE_BLOB:
			blob, err := p.bytes(sqlite3lib.Xsqlite3_column_blob(p.tls, p.at, i), i)
			if err != nil {
				return err
			}
			into[column] = append([]byte(nil), blob...)
		default:
			into[column] = nil
		}
	}
	return nil
}

// bytes returns those of a column at an address in SQLite's memory. SQLite returns no address when it is out of
// memory.
func (p *prepared) bytes(at uintptr, column int32) ([]byte, error) {
	n := int(sqlite3lib.Xsqlite3_column_bytes(p.tls, p.at, column))
	switch {
	case at != 0:
		return libc.GoBytes(at, n), nil
	case sqlite3lib.Xsqlite3_errcode(p.tls, p.db) == sqlite3lib.SQLITE_NOMEM:
		return nil, p.fail(sqlite3lib.SQLITE_NOMEM)
	}
	return nil, nil
}
