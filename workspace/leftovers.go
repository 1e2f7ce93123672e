package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"time"
)

// leftoverAge is the age at which a temporary file named after our process id cannot be in use any more.
const leftoverAge = time.Hour

var temporaryFile = regexp.MustCompile(`^\.openclawd-(\d+)-\d+\.tmp$`)

// RemoveLeftovers removes temporary files of interrupted writes: those of other processes, and old ones named after
// our process id. It returns their number. No other process may write to the workspace meanwhile.
func (h *Home) RemoveLeftovers() (n int, err error) {
	for _, below := range [...][]string{nil, {historyName}, {tasksName}} {
		fault := h.dir.in(below, func(f *folder) error {
			names, _, err := f.list(h.dir.isLeftover)
			for _, name := range names {
				fault := f.root.Remove(name)
				if fault == nil {
					n++
				} else if !isMissing(fault) {
					err = errors.Join(err, fmt.Errorf("remove %s: %w", f.at(name), cause(fault)))
				}
			}
			return err
		})
		if !isMissing(fault) {
			err = errors.Join(err, fault)
		}
	}
	return n, err
}

func (d *Dir) isLeftover(e fs.DirEntry) bool {
	of := temporaryFile.FindStringSubmatch(e.Name())
	if of == nil || !e.Type().IsRegular() {
		return false
	}
	if of[1] != strconv.Itoa(os.Getpid()) {
		return true
	}
	info, err := e.Info()
	return err == nil && d.now().Sub(info.ModTime()) > leftoverAge
}
