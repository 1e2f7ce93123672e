// Package database defines how this program uses its database: the names of the file and its companions, how it is
// opened, its projections, and how logs and the team's configuration are imported.
package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// Name is the name of the database file in a state directory.
const Name = "openclawd.db"

// DiskLow is the number of free bytes below which operators are warned.
const DiskLow = 256 << 20

// SearchFile is the path of the search file of a database. It may be lost without harm.
func SearchFile(db string) string { return db + "-search.db" }

// PositionsFile is the path of the file that records how far each log was imported into a database.
func PositionsFile(db string) string { return db + ".import.json" }

// MirrorFile is the path of the file that records how far a database was mirrored.
func MirrorFile(db string) string { return db + ".mirror.json" }

// OverridesFile is the path of the file that records the category overrides on which log and file last agreed. It may
// be lost without harm.
func OverridesFile(db string) string { return db + ".overrides.json" }

// CheckFile is the path of the file with the newest check of a database's chain. It may be lost without harm.
func CheckFile(db string) string { return db + ".verified.json" }

// ArchiveDir is the directory of the payloads that were moved out of a database.
func ArchiveDir(db string) string {
	if filepath.Base(db) == Name {
		return filepath.Join(filepath.Dir(db), "archive")
	}
	return db + ".archive"
}

// MediaDir is the directory of the files of messages that a log names.
func MediaDir(db string) string {
	if filepath.Base(db) == Name {
		return filepath.Join(filepath.Dir(db), "files")
	}
	return db + ".files"
}

// BackupsDir is the default directory for backups of a database.
func BackupsDir(db string) string { return filepath.Join(filepath.Dir(db), "backups") }

const (
	serves  = "serve on "
	gateway = ", gateway on "
)

// Server is the owner that a server records in its database: the address of its API and, if it has opened one, of its
// gateway.
func Server(api, gatewayAt string) string {
	if gatewayAt == "" {
		return serves + api
	}
	return serves + api + gateway + gatewayAt
}

// ServerOf returns the addresses of the last server of a database: of its API, and of its gateway if it had one; ""
// if unknown. The server may have ended since.
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

// ServerRuns reports whether the process still runs that the lock file names. The file outlives its process, and another program may
// listen at the address by then.
func ServerRuns(db string) bool {
	var pid int
	if _, err := fmt.Sscanf(sqlite.Owner(db), "pid %d", &pid); err != nil || pid <= 0 {
		return false
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = process.Signal(syscall.Signal(0)) // not supported on Windows, where finding a process proves that it runs
	return err == nil || errors.Is(err, os.ErrPermission) || runtime.GOOS == "windows"
}

// isBound reports whether an address is one that is listened at, and not a wildcard.
func isBound(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port != "0"
}

// OpenToRead opens an existing database, which may be in use. It returns the errors of OpenError.
func OpenToRead(ctx context.Context, path string, now func() time.Time) (*sqlite.DB, error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, ReadOnly: true, Now: now, Payloads: Payloads(path)})
	return db, OpenError(path, err)
}

// OpenToWrite opens or creates a database and locks it for writing. owner is what other processes are told about the
// holder of the lock.
func OpenToWrite(ctx context.Context, path, owner string, now func() time.Time) (*sqlite.DB, error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, Owner: owner, Now: now, Payloads: Payloads(path)})
	return db, OpenError(path, err)
}

// OpenExisting is OpenToWrite for a database that must exist.
func OpenExisting(ctx context.Context, path, owner string, now func() time.Time) (*sqlite.DB, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &missingError{path}
	}
	return OpenToWrite(ctx, path, owner, now)
}

// OpenError turns errors of opening a file that a setting names into errors with a hint.
func OpenError(path string, err error) error {
	var invalid *eventstore.InvalidError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &missingError{path}
	case errors.As(err, &invalid):
		return &config.SettingError{Setting: "--" + invalid.Field, Value: invalid.Value, HintText: invalid.HintText}
	}
	return err
}

// missingError says that there is no database to work on.
type missingError struct{ path string }

func (e *missingError) Error() string { return fmt.Sprintf("there is no database at %s", e.path) }
func (e *missingError) Unwrap() error { return fs.ErrNotExist }
func (e *missingError) Code() string  { return "no_database" }
func (e *missingError) Hint() string {
	return "openclawd serve or openclawd import creates one; name another file with --db"
}
