// Package database knows this binary's database: what it is called and what lies beside it, how it is opened, which tables are made of
// its log, and how logs and the team get into it.
package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// Name is the database's file in a state directory.
const Name = "openclawd.db"

// DiskLow is how many bytes should be free where a database lies: with fewer, operators are warned.
const DiskLow = 256 << 20

// SearchFile is the file of the search beside a database. It may be lost without harm.
func SearchFile(db string) string { return db + "-search.db" }

// PositionsFile says how far which log was read into a database.
func PositionsFile(db string) string { return db + ".import.json" }

// MirrorFile is where a mirror of a database remembers how far it has come.
func MirrorFile(db string) string { return db + ".mirror.json" }

// OverridesFile is where a server of a database remembers what its log and the file of category overrides last agreed on. It may be lost
// without harm.
func OverridesFile(db string) string { return db + ".overrides.json" }

// CheckFile says what the newest check of the chain of a database has found. It may be lost without harm.
func CheckFile(db string) string { return db + ".verified.json" }

// ArchiveDir is where payloads of a database lie that were moved out of it.
func ArchiveDir(db string) string {
	if filepath.Base(db) == Name {
		return filepath.Join(filepath.Dir(db), "archive")
	}
	return db + ".archive"
}

// BackupsDir is where backups of a database lie unless somebody says otherwise.
func BackupsDir(db string) string { return filepath.Join(filepath.Dir(db), "backups") }

const (
	serves  = "serve on "
	gateway = ", gateway on "
)

// Server is how the server of a database calls itself there, by the address of its API and, where it has opened one, of its gateway.
func Server(api, gatewayAt string) string {
	if gatewayAt == "" {
		return serves + api
	}
	return serves + api + gateway + gatewayAt
}

// ServerOf are the addresses of the last server of a database: of its API, and of its gateway if it had one; "" where nothing is known. It
// may run no more.
func ServerOf(db string) (api, gatewayAt string) {
	_, addresses, _ := strings.Cut(sqlite.Owner(db), serves)
	api, gatewayAt, _ = strings.Cut(addresses, gateway)
	if !isBound(api) {
		return "", ""
	}
	if !isBound(gatewayAt) {
		gatewayAt = ""
	}
	return api, gatewayAt
}

// isBound reports whether an address is one that somebody listens at, and not one that stands for any.
func isBound(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port != "0"
}

// OpenToRead opens an existing database beside whoever else has it. Its errors are those of OpenError.
func OpenToRead(ctx context.Context, path string, now func() time.Time) (*sqlite.DB, error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, ReadOnly: true, Now: now, Payloads: Payloads(path)})
	return db, OpenError(path, err)
}

// OpenToWrite opens or makes a database and keeps others from writing to it. owner is what they are told.
func OpenToWrite(ctx context.Context, path, owner string, now func() time.Time) (*sqlite.DB, error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, Owner: owner, Now: now, Payloads: Payloads(path)})
	return db, OpenError(path, err)
}

// OpenExisting is OpenToWrite for what makes no sense on a database that is not there.
func OpenExisting(ctx context.Context, path, owner string, now func() time.Time) (*sqlite.DB, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &missingError{path}
	}
	return OpenToWrite(ctx, path, owner, now)
}

// OpenError gives the errors of opening a file that was chosen by a setting their type.
func OpenError(path string, err error) error {
	var invalid *eventstore.InvalidError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &missingError{path}
	case errors.As(err, &invalid):
		return &settings.Error{Setting: "--" + invalid.Field, Value: invalid.Value, Mend: invalid.Mend}
	}
	return err
}

// missingError says that there is no log to work on.
type missingError struct{ path string }

func (e *missingError) Error() string { return fmt.Sprintf("there is no database at %s", e.path) }
func (e *missingError) Unwrap() error { return fs.ErrNotExist }
func (e *missingError) Code() string  { return "no_database" }
func (e *missingError) Hint() string {
	return "openclawd serve or openclawd import makes one; name another file with --db"
}
