package sqlite

import (
	"errors"
	"fmt"
	"os"

	"github.com/pronto-lab/openclawd/eventstore"
)

// inode is the database file itself, under any name, open and locked for as long as this process writes to it. The
// lock file beside the database names its holder, but can be removed, and is beside one name only.
//
// The file is opened before SQLite opens it and closed after SQLite has closed it: on systems without locks of open
// files, closing it earlier would drop SQLite's locks.
type inode struct{ file *os.File }

// lockedByte is beyond everything that SQLite locks or writes.
const lockedByte = 1 << 62

// lockInode creates the file if it does not exist, accessible to its owner only because it will contain what agents
// say, and locks it. Errors: *eventstore.LockedError, *eventstore.LinkedError.
func lockInode(path string) (*inode, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unreachable("open", path, err)
	}
	err = lockByte(file, lockedByte)
	if errors.Is(err, errLocked) {
		err = &eventstore.LockedError{Path: path, Owner: Owner(path)}
	} else if err != nil {
		err = fmt.Errorf("lock %s: %w", path, err)
	}
	if err == nil {
		err = soleName(path, file)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &inode{file}, nil
}

// errLocked says that another process has locked the file.
var errLocked = errors.New("locked by another process")

// soleName returns an error if the path does not lead to the file, or the file has another name too.
func soleName(path string, file *os.File) error {
	held, err := file.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	now, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if !os.SameFile(held, now) {
		return &eventstore.LockedError{Path: path, Owner: "it is being replaced"}
	}
	names, err := linksOf(file)
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if names > 1 {
		return &eventstore.LinkedError{Path: path, Names: names}
	}
	return nil
}

func (i *inode) close() error {
	if i == nil {
		return nil
	}
	return errors.Join(unlockByte(i.file, lockedByte), i.file.Close())
}
