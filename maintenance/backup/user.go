package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/pronto-lab/openclawd/internal/systemd"
)

// CheckUser refuses root where the database and the directory of its backups belong to another user: backups and manifests that root writes
// there are files that the server cannot open, and its own backups would fail from then on. Root may write to directories of its own.
func CheckUser(db, dir string) error { return checkUser(os.Geteuid(), db, dir) }

func checkUser(euid int, db, dir string) error {
	if euid != 0 {
		return nil
	}
	of, known, err := ownerOf(db)
	if err != nil || !known || of == 0 {
		return nil // opening it says why it cannot be read
	}
	for {
		at, _, err := ownerOf(dir)
		parent := filepath.Dir(dir)
		if errors.Is(err, fs.ErrNotExist) && parent != dir {
			dir = parent // it would be made
			continue
		}
		if err != nil || at != of {
			return nil
		}
		return &WrongUserError{Dir: dir, Owner: nameOfUser(of)}
	}
}

func nameOfUser(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return "#" + strconv.Itoa(uid)
}

// WrongUserError says that root would write files to a directory in which another user's server must open them.
type WrongUserError struct{ Dir, Owner string }

func (e *WrongUserError) Error() string {
	return fmt.Sprintf("root would leave files in %s that %s cannot open", e.Dir, e.Owner)
}
func (e *WrongUserError) Code() string { return "wrong_user" }
func (e *WrongUserError) Hint() string {
	return "run it as the owner of the database: sudo -u " + systemd.ShellQuote(e.Owner) + " openclawd ..., or choose a directory of root's with --dir"
}
