package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	sqlite3 "modernc.org/sqlite"
	sqlite3lib "modernc.org/sqlite/lib"

	"github.com/pronto-lab/openclawd/eventstore"
)

// fileGuard detects when the files of a log open for writing are no longer the ones that were opened, or do not hold
// what was written. SQLite would continue with what it has open, and acknowledged events would be lost with the
// process.
//
// A check costs a few system calls. It reads little, and only after a change that our commits do not make: a
// checkpoint, ours or another program's, is such a change, and so is a copy that overwrites the file.
type fileGuard struct {
	path  string
	inode *inode
	files [3]fs.FileInfo // as opened, by madeOf
	wal   *os.File       // read-only: SQLite locks nothing in it
	frame int64          // bytes of a page in the WAL, with its header

	mu      sync.Mutex
	dbSize  int64 // as of the last check; so is what follows
	dbTime  time.Time
	walSize int64
	reader  *tx
	conn    driver.Conn // of reader

	commits int
	recent  [32]eventstore.Head // newest commits
	settled [4]eventstore.Head  // commits that are in the main file by now
}

// madeOf are the suffixes of the files that make up a database.
var madeOf = [3]string{"", "-wal", "-shm"}

const (
	walHeader   = 32
	frameHeader = 24
)

// guardFiles starts watching the files of a log whose writer has been started.
func (db *DB) guardFiles() error {
	c := &fileGuard{path: db.path, inode: db.inode}
	c.settled[0] = db.writer.head.get()
	for i, end := range madeOf {
		info, err := os.Stat(c.path + end)
		if err != nil {
			return unreachable("look at", c.path+end, err)
		}
		c.files[i] = info
	}
	c.dbSize, c.dbTime, c.walSize = c.files[0].Size(), c.files[0].ModTime(), c.files[1].Size()
	var err error
	if c.wal, err = os.Open(c.path + "-wal"); err != nil {
		return unreachable("open", c.path+"-wal", err)
	}
	db.custody = c
	return db.translate("open", c.connect())
}

// committed records the end of the log after a commit.
func (c *fileGuard) committed(head eventstore.Head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent[c.commits%len(c.recent)] = head
	if c.commits++; c.commits%commitsPerCheckpoint == 0 {
		c.settled[c.commits/commitsPerCheckpoint%len(c.settled)] = head
	}
}

// grown records the size of the database after a checkpoint: checkpoints never shrink it, so a shorter file was
// truncated.
func (c *fileGuard) grown() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if info, err := c.checkFile(0); err == nil {
		c.dbSize = max(c.dbSize, info.Size())
	}
}

// walBytes is the length of the WAL as of the last check.
func (c *fileGuard) walBytes() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.walSize
}

// check returns an error if events committed from now on would be lost: a *eventstore.LostError or
// *eventstore.IOError. Files that were moved away and back are fine. It may be called at any time.
func (c *fileGuard) check() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var now [3]fs.FileInfo
	for i := range madeOf {
		var err error
		if now[i], err = c.checkFile(i); err != nil {
			return err
		}
	}
	db, wal := now[0], now[1]
	if hole, err := c.hole(wal.Size()); err != nil || hole {
		if err == nil {
			err = c.lost("-wal", "was truncated")
		}
		return err
	}
	cut := db.Size() < c.dbSize || wal.Size() < c.walSize
	if cut || !db.ModTime().Equal(c.dbTime) {
		if err := c.begins(db.Size(), db.Size() < c.dbSize); err != nil {
			return err
		}
		if read, err := c.read(cut); err != nil || !read {
			return err
		}
	}
	c.dbSize, c.dbTime, c.walSize = db.Size(), db.ModTime(), wal.Size()
	return nil
}

// beforeCommit is the cheap check before a commit: it only checks that the files are there. check detects the rest
// afterwards.
func (c *fileGuard) beforeCommit() error {
	if c == nil {
		return nil
	}
	changed, err := c.changed()
	if changed {
		return c.check()
	}
	return err
}

// changed reports whether the files are there, and may have changed since the last check.
func (c *fileGuard) changed() (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	db, err := c.checkFile(0)
	if err != nil {
		return false, err
	}
	wal, err := c.checkFile(1)
	if err != nil {
		return false, err
	}
	_, err = c.checkFile(2)
	return err == nil && (wal.Size() < c.walSize || db.Size() < c.dbSize || !db.ModTime().Equal(c.dbTime)), err
}

// checkFile checks that a file is still at its path, and is the same one.
func (c *fileGuard) checkFile(i int) (fs.FileInfo, error) {
	info, err := os.Stat(c.path + madeOf[i])
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, c.lost(madeOf[i], "was removed or renamed, or its volume is gone")
	case err != nil:
		return nil, unreachable("look at", c.path+madeOf[i], err)
	case !os.SameFile(info, c.files[i]):
		return nil, c.lost(madeOf[i], "was replaced by another file")
	}
	return info, nil
}

func (c *fileGuard) lost(end, what string) error {
	return &eventstore.LostError{Path: c.path, Detail: filepath.Base(c.path) + end + " " + what}
}

// hole reports whether the WAL was truncated and has grown over that: the part before its newest pages then is zeros.
func (c *fileGuard) hole(size int64) (bool, error) {
	if c.walSize < walHeader+c.frame || (c.walSize-walHeader)%c.frame != 0 || size < c.walSize {
		return false, nil
	}
	var page [4]byte // the number of its last page at the last check
	if _, err := c.wal.ReadAt(page[:], c.walSize-c.frame); err != nil && !errors.Is(err, io.EOF) {
		return false, unreachable("read", c.path+"-wal", err)
	}
	return page == [4]byte{}, nil
}

// Offsets in the header of a database.
const (
	magic    = "SQLite format 3\x00"
	pagesAt  = 28 // number of pages, four bytes
	dbHeader = 100
)

// begins returns an error if the database does not start with a valid header, or is shorter than its header says.
// SQLite updates the header when compacting makes the file shorter.
func (c *fileGuard) begins(size int64, shorter bool) error {
	var header [dbHeader]byte
	if _, err := c.inode.file.ReadAt(header[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return unreachable("read", c.path, err)
	}
	pages := int64(binary.BigEndian.Uint32(header[pagesAt:]))
	if string(header[:len(magic)]) != magic || shorter && pages*(c.frame-frameHeader) > size {
		return c.lost("", "was overwritten or truncated")
	}
	return nil
}

// read looks up committed events in the files: the newest commit, an older one, and one that has long been in the main
// file; more of them if thoroughly is set. done is false if that cannot be determined now.
func (c *fileGuard) read(thoroughly bool) (done bool, err error) {
	// Pages cached by this connection may differ from the files.
	if _, err := c.reader.Exec("PRAGMA shrink_memory"); err != nil {
		return false, c.judge(err)
	}
	kept := min(len(c.recent), c.commits)
	for i := range kept {
		if !thoroughly && i > 0 && i < kept-1 {
			continue
		}
		if err := c.find(c.recent[(c.commits-1-i)%len(c.recent)]); err != nil {
			return false, c.judge(err)
		}
	}
	settled := c.settled[:]
	if !thoroughly {
		settled = settled[c.commits/commitsPerCheckpoint%len(settled):][:1]
	}
	for _, head := range settled {
		if err := c.find(head); err != nil {
			return false, c.judge(err)
		}
	}
	return true, nil
}

// connect opens a connection that keeps SQLite's lock of the file from now on.
func (c *fileGuard) connect() error {
	connector, err := sqlite3.NewConnector(fileURL(c.path, url.Values{"mode": {"ro"}, "_query_only": {"1"}, "_busy_timeout": {"100"}, "_defensive": {"1"}}))
	if err != nil {
		return err
	}
	if c.conn, err = connector.Connect(context.Background()); err != nil {
		return err
	}
	c.reader = newTx(c.conn.(driverConn))
	if err := c.reader.Query("PRAGMA application_id", nil, func(eventstore.Row) error { return nil }); err != nil {
		return err
	}
	return c.reader.Query("PRAGMA page_size", nil, func(r eventstore.Row) error {
		c.frame = frameHeader + r.Int(0)
		return nil
	})
}

// errNotThere says that an event is not the one that was committed.
var errNotThere = errors.New("a stored event is missing")

func (c *fileGuard) find(head eventstore.Head) error {
	if head.Seq == 0 {
		return nil
	}
	found := false
	err := c.reader.Query("SELECT hash FROM events WHERE seq = ?", []any{head.Seq}, func(r eventstore.Row) error {
		found = eventstore.Hash(r.Blob(0)) == head.Hash
		return nil
	})
	if err == nil && !found {
		err = errNotThere
	}
	return err
}

// judge interprets an error of reading the files; nil if it is harmless.
func (c *fileGuard) judge(err error) error {
	switch code := extendedCode(err); {
	case code&0xff == sqlite3lib.SQLITE_BUSY, code&0xff == sqlite3lib.SQLITE_NOMEM:
		return nil
	case code&0xff == sqlite3lib.SQLITE_IOERR && code != sqlite3lib.SQLITE_IOERR_SHORT_READ:
		return &eventstore.IOError{Path: c.path, Err: err}
	}
	if why := deviceFails(c.inode.file, c.wal); why != nil {
		return &eventstore.IOError{Path: c.path, Err: why}
	}
	return c.lost("", "was overwritten or truncated: "+err.Error())
}

// names is the current number of hard links of the file.
func (c *fileGuard) names() uint64 {
	if c == nil {
		return 1
	}
	names, err := linksOf(c.inode.file)
	if err != nil {
		return 1
	}
	return names
}

// end closes what the guard has open. If the files are not the ones that were opened, the connection stays open until
// the process ends: closing the last connection would make SQLite write into the file that is there now and remove a
// foreign WAL. If only the rest of the database is gone, everything is closed, which saves the content of the WAL.
func (c *fileGuard) end() error {
	if c == nil {
		return nil
	}
	lost := c.check()
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.wal.Close()
	if c.conn != nil && (lost == nil || c.alone()) {
		err = errors.Join(err, c.reader.forget(), c.conn.Close())
	}
	return err
}

// alone reports whether the database is the one that was opened and there is no file at the path of its WAL.
func (c *fileGuard) alone() bool {
	_, err := c.checkFile(0)
	_, wal := os.Lstat(c.path + "-wal")
	return err == nil && errors.Is(wal, fs.ErrNotExist)
}

// Intact returns an error if events appended from now on would be lost, because the files of the log were removed,
// replaced or truncated, or cannot be reached: a *eventstore.LostError or *eventstore.IOError. It is nil for a log
// open read-only.
func (db *DB) Intact() error { return db.custody.check() }

// Names returns the number of hard links of the file: with two, a program can open it by the other name and not see
// its WAL.
func (db *DB) Names() uint64 { return db.custody.names() }

// guardedConnector connects to a log only while its files are the ones that are open. Otherwise another file would be read;
// and if that is empty, SQLite removes the WAL beside it.
type guardedConnector struct {
	driver.Connector
	db *DB
}

func (c guardedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := c.db.custody.check(); err != nil {
		return nil, err
	}
	return c.Connector.Connect(ctx)
}

// unreachable converts a system error about reaching a file to its type.
func unreachable(doing, path string, err error) error {
	if isDeviceError(err) {
		return &eventstore.IOError{Path: path, Err: err}
	}
	return fmt.Errorf("%s %s: %w", doing, path, err)
}
