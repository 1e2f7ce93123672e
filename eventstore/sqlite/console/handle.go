package console

import (
	"errors"
	"reflect"

	"modernc.org/libc"
	sqlite3lib "modernc.org/sqlite/lib"
)

// handle is SQLite's own handle of a connection, for what the driver does not pass on: it watches a context only until the first row, has limits
// only for connections of database/sql, and says where an error is nowhere.
type handle uintptr

// handleOf finds the handle of a connection of the driver.
func handleOf(conn any) (handle, error) {
	v := reflect.ValueOf(conn)
	if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		if db := v.Elem().FieldByName("db"); db.IsValid() && db.Kind() == reflect.Uintptr && db.Uint() != 0 {
			return handle(db.Uint()), nil
		}
	}
	return 0, errors.New("the SQLite driver is built otherwise than this console knows")
}

// interrupt ends the statement that runs, from whatever goroutine, at the next row that it looks at; one that is just about to begin may not notice.
// The connection must be open.
func (h handle) interrupt() {
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3lib.Xsqlite3_interrupt(tls, uintptr(h))
}

// limit sets a limit of SQLite.
func (h handle) limit(id, most int32) {
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3lib.Xsqlite3_limit(tls, uintptr(h), id, most)
}

// failure is what SQLite says of the call that failed last, and where in its statement, in bytes; negative for nowhere.
func (h handle) failure() (message string, offset int) {
	tls := libc.NewTLS()
	defer tls.Close()
	return libc.GoString(sqlite3lib.Xsqlite3_errmsg(tls, uintptr(h))), int(sqlite3lib.Xsqlite3_error_offset(tls, uintptr(h)))
}
