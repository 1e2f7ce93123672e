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

// custody finds out when the files of a log that is open for writing are not the ones any more that were opened, or do not hold what was
// written. SQLite goes on with what it has open, and what is acknowledged then is gone with the process.
//
// Looking costs a few system calls. What is read is little, and only after something has changed that our commits do not change: a
// checkpoint, of ours or of another program, is such a change, and so is a copy that is written over the file.
type custody struct {
	path  string
	inode *inode
	files [3]fs.FileInfo // as they were opened, by madeOf
	wal   *os.File       // for reading: SQLite locks nothing in it
	frame int64          // bytes of a page in the WAL, with its header

	mu      sync.Mutex
	dbSize  int64 // as of the last look; so is what follows
	dbTime  time.Time
	walSize int64
	reader  *tx
	conn    driver.Conn // of reader

	commits int
	recent  [32]eventstore.Head // of the newest commits
	settled [4]eventstore.Head  // of commits that are in the file itself by now
}

// madeOf are the endings of the files that make a database.
var madeOf = [3]string{"", "-wal", "-shm"}

const (
	walHeader   = 32
	frameHeader = 24
)

// takeCustody begins to watch the files of a log whose writer has been started.
func (db *DB) takeCustody() error {
	c := &custody{path: db.path, inode: db.inode}
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

// committed notes where the log ends after a commit.
func (c *custody) committed(head eventstore.Head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent[c.commits%len(c.recent)] = head
	if c.commits++; c.commits%commitsPerCheckpoint == 0 {
		c.settled[c.commits/commitsPerCheckpoint%len(c.settled)] = head
	}
}

// grown notes how large the database is after a checkpoint: it is not cut off by one, so that what is shorter later was.
func (c *custody) grown() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if info, err := c.look(0); err == nil {
		c.dbSize = max(c.dbSize, info.Size())
	}
}

// check is an error where what is committed from now on would not be kept: a *eventstore.LostError or *eventstore.IOError. Files that were
// moved away and are back are well again. It may be called at any time.
func (c *custody) check() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var now [3]fs.FileInfo
	for i := range madeOf {
		var err error
		if now[i], err = c.look(i); err != nil {
			return err
		}
	}
	db, wal := now[0], now[1]
	if hole, err := c.hole(wal.Size()); err != nil || hole {
		if err == nil {
			err = c.lost("-wal", "was cut off")
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

// beforeCommit is check for a commit that is about to be made: it looks whether the files are there. What it does not see check does, afterwards.
func (c *custody) beforeCommit() error {
	if c == nil {
		return nil
	}
	changed, err := c.changed()
	if changed {
		return c.check()
	}
	return err
}

// changed reports whether the files are there, and may hold something else than at the last look.
func (c *custody) changed() (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	db, err := c.look(0)
	if err != nil {
		return false, err
	}
	wal, err := c.look(1)
	if err != nil {
		return false, err
	}
	_, err = c.look(2)
	return err == nil && (wal.Size() < c.walSize || db.Size() < c.dbSize || !db.ModTime().Equal(c.dbTime)), err
}

// look finds a file where it was, and the same one.
func (c *custody) look(i int) (fs.FileInfo, error) {
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

func (c *custody) lost(end, what string) error {
	return &eventstore.LostError{Path: c.path, Detail: filepath.Base(c.path) + end + " " + what}
}

// hole reports whether the WAL was cut off and has grown over that: what lies before its newest pages is zeros then.
func (c *custody) hole(size int64) (bool, error) {
	if c.walSize < walHeader+c.frame || (c.walSize-walHeader)%c.frame != 0 || size < c.walSize {
		return false, nil
	}
	var page [4]byte // the number of the last page that it had at the last look
	if _, err := c.wal.ReadAt(page[:], c.walSize-c.frame); err != nil && !errors.Is(err, io.EOF) {
		return false, unreachable("read", c.path+"-wal", err)
	}
	return page == [4]byte{}, nil
}

// What the header of a database says of it.
const (
	magic    = "SQLite format 3\x00"
	pagesAt  = 28 // how many pages it has, in four bytes
	dbHeader = 100
)

// begins is an error where the database does not begin as one, or where it is shorter by now than it says itself: SQLite makes it shorter, and
// says so, when it has compacted it.
func (c *custody) begins(size int64, shorter bool) error {
	var header [dbHeader]byte
	if _, err := c.inode.file.ReadAt(header[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return unreachable("read", c.path, err)
	}
	pages := int64(binary.BigEndian.Uint32(header[pagesAt:]))
	if string(header[:len(magic)]) != magic || shorter && pages*(c.frame-frameHeader) > size {
		return c.lost("", "was overwritten or cut off")
	}
	return nil
}

// read finds in the files what was committed: the newest commit and an older one, and one that has long been in the database itself; more of
// them where thoroughly is set. done is false where that cannot be told now.
func (c *custody) read(thoroughly bool) (done bool, err error) {
	// What this connection has read before is not what is in the files.
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

// connect opens a connection that keeps SQLite's hold of the file from now on.
func (c *custody) connect() error {
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
var errNotThere = errors.New("an event that was stored is not there")

func (c *custody) find(head eventstore.Head) error {
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

// judge says what it means that the files could not be read; nil where it means nothing.
func (c *custody) judge(err error) error {
	switch code := extendedCode(err); {
	case code&0xff == sqlite3lib.SQLITE_BUSY, code&0xff == sqlite3lib.SQLITE_NOMEM:
		return nil
	case code&0xff == sqlite3lib.SQLITE_IOERR && code != sqlite3lib.SQLITE_IOERR_SHORT_READ:
		return &eventstore.IOError{Path: c.path, Err: err}
	}
	if why := deviceFails(c.inode.file, c.wal); why != nil {
		return &eventstore.IOError{Path: c.path, Err: why}
	}
	return c.lost("", "was overwritten or cut off: "+err.Error())
}

// names is how many names the file has by now.
func (c *custody) names() uint64 {
	if c == nil {
		return 1
	}
	names, err := linksOf(c.inode.file)
	if err != nil {
		return 1
	}
	return names
}

// end gives back what custody has open. Where the files are not those that were opened, the connection stays until the process ends: SQLite
// would take the one that is closed last as a reason to write into what lies there now, and to remove a WAL that is not its own. Where nothing
// but the rest of the database is gone, all is closed: that saves what was in the WAL.
func (c *custody) end() error {
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

// alone reports whether the database is the one that was opened and nothing lies where its WAL was.
func (c *custody) alone() bool {
	_, err := c.look(0)
	_, wal := os.Lstat(c.path + "-wal")
	return err == nil && errors.Is(wal, fs.ErrNotExist)
}

// Intact is an error where what is appended from now on would not be kept, because the files of the log were removed, replaced or cut off, or
// cannot be reached: a *eventstore.LostError or *eventstore.IOError. It is nil for a log that is open for reading only.
func (db *DB) Intact() error { return db.custody.check() }

// Names is how many names the file has: one that has two can be opened under the other one, by a program that does not see its WAL.
func (db *DB) Names() uint64 { return db.custody.names() }

// inCustody connects to a log only as long as its files are those that are open. Another file would be read for it; and where one has no byte,
// SQLite removes the WAL beside it.
type inCustody struct {
	driver.Connector
	db *DB
}

func (c inCustody) Connect(ctx context.Context) (driver.Conn, error) {
	if err := c.db.custody.check(); err != nil {
		return nil, err
	}
	return c.Connector.Connect(ctx)
}

// unreachable gives a failure of the system to reach a file its type.
func unreachable(doing, path string, err error) error {
	if isDeviceError(err) {
		return &eventstore.IOError{Path: path, Err: err}
	}
	return fmt.Errorf("%s %s: %w", doing, path, err)
}
