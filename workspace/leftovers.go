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

// leftoverAge is how old a temporary file of a process of our number is when nobody writes it any more.
const leftoverAge = time.Hour

var temporaryFile = regexp.MustCompile(`^\.openclawd-(\d+)-\d+\.tmp$`)

// RemoveLeftovers removes what writes have left behind that a death has cut short: temporary files of other processes, and of a process of our
// number where they are old. It says how many. Nobody else may write to the workspace meanwhile, but this process.
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
