package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/workspace"
)

// changeStore is the part of the log that changeLog needs.
type changeStore interface {
	eventstore.Appender
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Minimum interval between two events of one file.
const (
	noteEvery     = time.Minute
	noteTextEvery = time.Second // of a file about tasks
)

// changeLog records each change of a file in the log once, also across restarts: the last recorded state of a file is compared with the
// current one. A file unknown to the log is an addition. Changes in quick succession are recorded as one, as are those within noteEvery, so
// that a program that writes a file continuously does not flood the log. For files about tasks the log also stores their content, with a
// shorter interval.
type changeLog struct {
	log     changeStore
	gone    func(path string) bool            // whether a missing file was removed
	read    func(path string) ([]byte, error) // reads a file about tasks
	now     func() time.Time
	looked  bool
	there   []workspace.Change          // argument of begin, until it could compare
	noted   map[string]recordedFile     // by path: the recorded state
	pending map[string]workspace.Change // by path: changes not recorded yet
	resting map[string]time.Time        // by path: not recorded again before
}

// recordedFile is the last recorded state of a file.
type recordedFile struct {
	agent, taskID string
	sum           string
	bytes         int64  // -1 if unknown
	essence       string // "" if unknown
	told          bool   // with its content
	redacted      bool   // its content was redacted; if the file is unchanged when seen next, it is not recorded again
}

func newChangeLog(log changeStore, gone func(path string) bool, read func(path string) ([]byte, error), now func() time.Time) *changeLog {
	return &changeLog{log: log, gone: gone, read: read, now: now, noted: map[string]recordedFile{}, pending: map[string]workspace.Change{},
		resting: map[string]time.Time{}}
}

// begin compares all existing files with the log. If the log cannot be read, the next append does it. The first change after that is
// recorded at once.
func (l *changeLog) begin(ctx context.Context, there []workspace.Change) error {
	l.there = there
	err := l.append(ctx)
	clear(l.resting)
	return err
}

func (l *changeLog) compare(ctx context.Context) error {
	if l.looked {
		return nil
	}
	noted, err := readNoted(ctx, l.log)
	if err != nil {
		return err
	}
	l.looked, l.noted = true, noted
	later := l.pending
	l.pending = map[string]workspace.Change{}
	l.add(l.there)
	there := map[string]bool{}
	for i := range l.there {
		there[l.there[i].Path] = true
	}
	for path, file := range noted {
		// If no file exists at all, this is another directory, or it is not mounted: the files were not removed one by
		// one.
		if len(there) > 0 && !there[path] && l.gone(path) {
			l.pending[path] = workspace.Change{Path: path, Op: workspace.OpUnlink, Agent: file.agent, TaskID: file.taskID}
		}
	}
	l.there = nil
	l.add(slices.Collect(maps.Values(later)))
	return nil
}

// add queues changes to be recorded.
func (l *changeLog) add(changes []workspace.Change) {
	for _, c := range changes {
		if l.looked && !l.isNews(&c) {
			delete(l.pending, c.Path)
			l.learn(&c)
			continue
		}
		l.pending[c.Path] = c
	}
}

// isNews reports whether a file differs from its recorded state.
func (l *changeLog) isNews(c *workspace.Change) bool {
	file, known := l.noted[c.Path]
	if c.Op == workspace.OpUnlink {
		return known
	}
	if file.redacted {
		l.noted[c.Path] = recordedFile{agent: c.Agent, taskID: c.TaskID, sum: c.SHA256, bytes: c.Bytes, essence: c.Essence, told: true}
		return false
	}
	if known && c.Essence != "" && c.Essence == file.essence {
		return false
	}
	if !known || file.sum != c.SHA256 || file.bytes >= 0 && file.bytes != c.Bytes {
		return true
	}
	return !file.told && c.Bytes <= workspace.MaxFileBytes && hasStoredContent(c)
}

// learn stores the content summary of an unchanged file whose recorded state lacks it.
func (l *changeLog) learn(c *workspace.Change) {
	if file, known := l.noted[c.Path]; known {
		file.essence = c.Essence
		l.noted[c.Path] = file
	}
}

// append records pending changes that are due, a bounded number of events and bytes at a time.
func (l *changeLog) append(ctx context.Context) error {
	const (
		batch      = 200
		batchBytes = 1 << 20
	)
	if err := l.compare(ctx); err != nil {
		return err
	}
	now := l.now()
	maps.DeleteFunc(l.resting, func(_ string, until time.Time) bool { return !now.Before(until) })
	due := slices.DeleteFunc(slices.Sorted(maps.Keys(l.pending)), func(path string) bool {
		_, resting := l.resting[path]
		return resting
	})
	for len(due) > 0 {
		var notes []fileChange
		for bytes := 0; len(due) > 0 && len(notes) < batch && bytes < batchBytes; due = due[1:] {
			c := l.pending[due[0]]
			n, err := l.describe(&c)
			switch {
			case errors.Is(err, fs.ErrNotExist): // the next poll finds it gone
				continue
			case err != nil:
				return err
			}
			notes, bytes = append(notes, n), bytes+len(n.event.Data)
		}
		if err := l.store(ctx, notes, now); err != nil {
			return err
		}
	}
	return nil
}

func (l *changeLog) store(ctx context.Context, notes []fileChange, now time.Time) error {
	if len(notes) == 0 {
		return nil
	}
	appends := make([]eventstore.StreamAppend, len(notes))
	for i := range notes {
		appends[i] = eventstore.StreamAppend{Stream: coordination.FileStream(notes[i].change.Path), Events: []eventstore.NewEvent{notes[i].event}}
	}
	if _, err := l.log.Append(ctx, appends...); err != nil {
		return fmt.Errorf("record file changes: %w", err)
	}
	for i := range notes {
		c := &notes[i].change
		delete(l.pending, c.Path)
		rest := noteEvery
		if hasStoredContent(c) {
			rest = noteTextEvery
		}
		l.resting[c.Path] = now.Add(rest)
		if c.Op == workspace.OpUnlink {
			delete(l.noted, c.Path)
		} else {
			l.noted[c.Path] = notes[i].file
		}
	}
	return nil
}

// readNoted reads the last recorded state of each file that existed then. Files that this program wrote itself are
// known with their content.
func readNoted(ctx context.Context, log changeStore) (map[string]recordedFile, error) {
	const (
		page  = 500
		query = `SELECT s.name, e.type, e.agent_id, coalesce(e.data ->> '$.path', ''), coalesce(e.data ->> '$.change', ''),
				coalesce(e.data ->> '$.taskId', ''), coalesce(e.data ->> '$.sha256', ''), coalesce(e.data ->> '$.bytes', 0),
				coalesce(json_type(e.data, '$.text') = 'text', 0), e.data IS NULL
			FROM streams s JOIN events e ON e.stream_id = s.id AND e.version = (SELECT max(version) FROM events WHERE stream_id = s.id)
			WHERE s.name > ? AND s.name < ? ORDER BY s.name LIMIT ?`
	)
	end := strings.TrimSuffix(coordination.FileStreams, "/") + "0" // the part after the slash
	noted := map[string]recordedFile{}
	for after, n := coordination.FileStreams, page; n == page; {
		n = 0
		err := log.View(ctx, func(tx *sql.Tx) error {
			rows, err := tx.QueryContext(ctx, query, after, end, page)
			if err != nil {
				return err
			}
			defer rows.Close()
			for ; rows.Next(); n++ {
				var (
					typ, path, change string
					f                 recordedFile
				)
				if err := rows.Scan(&after, &typ, &f.agent, &path, &change, &f.taskID, &f.sum, &f.bytes, &f.told, &f.redacted); err != nil {
					return err
				}
				if f.redacted {
					path = strings.TrimPrefix(after, coordination.FileStreams)
				}
				if typ == coordination.TypeFileWritten { // the log had the text before the file
					f.bytes, f.told = -1, true
				}
				gone := change == workspace.OpUnlink || typ == coordination.TypeFileWritten && f.sum == ""
				if path != "" && !gone && typ != coordination.TypeFileConflict {
					noted[path] = f
				}
			}
			return rows.Err()
		})
		if err != nil {
			return nil, fmt.Errorf("read recorded file changes: %w", err)
		}
	}
	return noted, nil
}
