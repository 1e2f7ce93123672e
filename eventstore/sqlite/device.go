package sqlite

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// deviceErrors are the system errors that concern the device and not the file.
var deviceErrors = []error{syscall.EIO, syscall.ENXIO, syscall.ENODEV, syscall.ESTALE, syscall.ENOTCONN}

func isDeviceError(err error) bool {
	return slices.ContainsFunc(deviceErrors, func(one error) bool { return errors.Is(err, one) })
}

// deviceFails reads files completely and returns why one cannot be read; nil if all can be, whatever they contain.
// SQLite reports an unreadable page as corruption, but a failing device needs another remedy.
func deviceFails(files ...*os.File) error {
	buffer := make([]byte, 1<<20)
	for _, f := range files {
		for at := int64(0); ; {
			n, err := f.ReadAt(buffer, at)
			at += int64(n)
			if isDeviceError(err) {
				return fmt.Errorf("%s cannot be read at byte %d: %w", f.Name(), at, err)
			}
			if err != nil {
				break // end of file
			}
		}
	}
	return nil
}

// device caches for a while whether the files of a log can be read, because that takes reading them completely.
type device struct {
	mu     sync.Mutex
	looked time.Time
	why    error
}

// deviceMemory is how long.
const deviceMemory = time.Minute

// fails runs deviceFails on the files of an open log.
func (db *DB) fails() error {
	d := &db.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.looked.IsZero() && time.Since(d.looked) < deviceMemory {
		return d.why
	}
	d.why = nil
	for _, end := range madeOf[:2] {
		if d.why == nil {
			d.why = db.failsIn(end)
		}
	}
	d.looked = time.Now()
	return d.why
}

// failsIn checks one file. The main file is not opened if a writer holds it: closing it could drop SQLite's locks. A
// read-only process has no locks that still matter once reading has failed.
func (db *DB) failsIn(end string) error {
	if end == "" && db.inode != nil {
		return deviceFails(db.inode.file)
	}
	f, err := os.Open(db.path + end)
	if err != nil {
		if isDeviceError(err) {
			return err
		}
		return nil
	}
	defer f.Close()
	return deviceFails(f)
}
