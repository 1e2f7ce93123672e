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

// deviceErrors are what systems say where it is not the file that is wrong but what it lies on.
var deviceErrors = []error{syscall.EIO, syscall.ENXIO, syscall.ENODEV, syscall.ESTALE, syscall.ENOTCONN}

func isDeviceError(err error) bool {
	return slices.ContainsFunc(deviceErrors, func(one error) bool { return errors.Is(err, one) })
}

// deviceFails reads files through and says why one cannot be read; nil where all can be, whatever they hold. SQLite calls a page that the
// device does not give a damaged one, and the cure of a damaged file is not that of a device.
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
				break // its end
			}
		}
	}
	return nil
}

// device remembers for a while whether the files of a log can be read: finding that out reads them through.
type device struct {
	mu     sync.Mutex
	looked time.Time
	why    error
}

// deviceMemory is how long.
const deviceMemory = time.Minute

// fails is deviceFails for the files of an open log.
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

// failsIn looks at one file. The database itself is not opened where a writer holds it: closing it could drop SQLite's locks. A process that
// only reads has none that anything depends on once reading has failed.
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
