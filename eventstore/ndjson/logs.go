package ndjson

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// LiveLog is the name of the log that is currently written.
const LiveLog = logStem + logSuffix

const (
	logMode    = 0o600 // mode of a new log
	logDir     = "logs"
	logStem    = "coordination-events"
	logSuffix  = ".ndjson"
	monthStamp = "2006-01"
	sizeStamp  = "2006-01-02T15-04-05.000Z"
)

// LogDir returns the directory of logs in an OpenClaw state directory.
func LogDir(stateDir string) string { return filepath.Join(stateDir, logDir) }

// Logs lists the coordination logs of an OpenClaw state directory, oldest first, the live one last.
//
// Archives are ordered by the time of rotation in their names: a size archive by its time, a month archive at the end
// of its month, so that 2026-02 comes after the size archives of February. Only regular files with such a name count.
// A directory that does not exist has no logs.
func Logs(stateDir string) ([]string, error) {
	paths, _, err := list(stateDir)
	return paths, err
}

// list does what Logs does, and also returns what has the name of a log but is not a regular file.
func list(stateDir string) (paths, odd []string, err error) {
	dir := filepath.Join(stateDir, logDir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("list logs: %w", err)
	}
	type log struct {
		path string
		cut  int64
	}
	var logs []log
	for _, e := range entries {
		cut, ok := cutTime(e.Name())
		switch path := filepath.Join(dir, e.Name()); {
		case ok && e.Type().IsRegular():
			logs = append(logs, log{path, cut})
		case ok:
			odd = append(odd, path)
		}
	}
	slices.SortFunc(logs, func(a, b log) int { return cmp.Or(cmp.Compare(a.cut, b.cut), strings.Compare(a.path, b.path)) })
	paths = make([]string, len(logs))
	for i, l := range logs {
		paths[i] = l.path
	}
	return paths, odd, nil
}

// refusedLog reports a path that has the name of a log but is not a regular file.
func refusedLog(path string) error {
	return &eventstore.InvalidError{Field: "log", Value: path, HintText: "logs must be regular files; move the log itself here"}
}

// openRegular opens a log to read or write it. Anything but a regular file, including a symbolic link, is refused
// without blocking.
func openRegular(path string, flags int) (*os.File, fs.FileInfo, error) {
	if there, err := os.Lstat(path); err == nil && !there.Mode().IsRegular() {
		return nil, nil, refusedLog(path)
	}
	file, err := openLog(path, flags)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = refusedLog(path)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// cutTime returns when the log of that name was rotated, in ms since 1970; the live one is last.
func cutTime(name string) (ms int64, ok bool) {
	stamp, isLog := strings.CutPrefix(name, logStem)
	stamp, hasSuffix := strings.CutSuffix(stamp, logSuffix)
	if !isLog || !hasSuffix {
		return 0, false
	}
	if stamp == "" {
		return math.MaxInt64, true
	}
	stamp, ok = strings.CutPrefix(stamp, "-")
	if !ok {
		return 0, false
	}
	if t, err := time.Parse(monthStamp, stamp); err == nil {
		return t.AddDate(0, 1, 0).UnixMilli(), true
	}
	// The name has '-' instead of '.' before the milliseconds, which Go cannot parse.
	if dot := len("2006-01-02T15-04-05"); len(stamp) > dot && stamp[dot] == '-' {
		t, err := time.Parse(sizeStamp, stamp[:dot]+"."+stamp[dot+1:])
		return t.UnixMilli(), err == nil
	}
	return 0, false
}
