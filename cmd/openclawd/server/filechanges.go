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

// changeStore is what a changeLog needs of the log.
type changeStore interface {
	eventstore.Appender
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// How often one file is noted at most.
const (
	noteEvery     = time.Minute
	noteTextEvery = time.Second // of one that tells of tasks
)

// changeLog notes each change of a file in the log once, also across restarts: what the log said last of a file is compared with what is
// there. A file that the log does not know yet is an addition. Changes that follow each other before they could be noted are one, and
// so are those of a file within noteEvery of its being noted: a program that writes a file all the time must not flood the log. Of files that
// tell of tasks the log keeps what they say, and hears sooner.
type changeLog struct {
	log     changeStore
	gone    func(path string) bool            // whether a file that was not found has gone
	read    func(path string) ([]byte, error) // gives a file that tells of tasks
	now     func() time.Time
	begun   bool
	there   []workspace.Change          // what begin was given, until it could compare
	noted   map[string]notedFile        // by path: what the log says
	pending map[string]workspace.Change // by path: what it does not say yet
	resting map[string]time.Time        // by path: until when it is not noted again
}

// notedFile is what the log said last of a file.
type notedFile struct {
	agent, taskID string
	sum           string
	bytes         int64  // -1 where it is not known
	essence       string // "" where it is not known
	told          bool   // with what it says
	redacted      bool   // what it said is gone; as the file is when it is seen next, it is not told again
}

func newChangeLog(log changeStore, gone func(path string) bool, read func(path string) ([]byte, error), now func() time.Time) *changeLog {
	return &changeLog{log: log, gone: gone, read: read, now: now, noted: map[string]notedFile{}, pending: map[string]workspace.Change{},
		resting: map[string]time.Time{}}
}

// begin compares all files that are there with what the log says. If it cannot read the log, the next append begins. The first change from
// then on is noted at once.
func (l *changeLog) begin(ctx context.Context, there []workspace.Change) error {
	l.there = there
	err := l.append(ctx)
	clear(l.resting)
	return err
}

func (l *changeLog) compare(ctx context.Context) error {
	if l.begun {
		return nil
	}
	noted, err := readNoted(ctx, l.log)
	if err != nil {
		return err
	}
	l.begun, l.noted = true, noted
	later := l.pending
	l.pending = map[string]workspace.Change{}
	l.add(l.there)
	there := map[string]bool{}
	for i := range l.there {
		there[l.there[i].Path] = true
	}
	for path, file := range noted {
		// Where nothing at all is, the directory is another one, or not mounted: nobody has removed each of the files.
		if len(there) > 0 && !there[path] && l.gone(path) {
			l.pending[path] = workspace.Change{Path: path, Op: workspace.OpUnlink, Agent: file.agent, TaskID: file.taskID}
		}
	}
	l.there = nil
	l.add(slices.Collect(maps.Values(later)))
	return nil
}

// add keeps changes to be noted.
func (l *changeLog) add(changes []workspace.Change) {
	for _, c := range changes {
		if l.begun && !l.isNews(&c) {
			delete(l.pending, c.Path)
			l.learn(&c)
			continue
		}
		l.pending[c.Path] = c
	}
}

// isNews reports whether the log says something else of a file.
func (l *changeLog) isNews(c *workspace.Change) bool {
	file, known := l.noted[c.Path]
	if c.Op == workspace.OpUnlink {
		return known
	}
	if file.redacted {
		l.noted[c.Path] = notedFile{agent: c.Agent, taskID: c.TaskID, sum: c.SHA256, bytes: c.Bytes, essence: c.Essence, told: true}
		return false
	}
	if known && c.Essence != "" && c.Essence == file.essence {
		return false
	}
	if !known || file.sum != c.SHA256 || file.bytes >= 0 && file.bytes != c.Bytes {
		return true
	}
	return !file.told && c.Bytes <= workspace.MaxFileBytes && tellsOfTasks(c)
}

// learn keeps the essence of a file that is as the log says, which does not say that.
func (l *changeLog) learn(c *workspace.Change) {
	if file, known := l.noted[c.Path]; known {
		file.essence = c.Essence
		l.noted[c.Path] = file
	}
}

// append stores what is pending of files that do not rest, a bounded number of events, and of bytes, at a time.
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
		var notes []note
		for bytes := 0; len(due) > 0 && len(notes) < batch && bytes < batchBytes; due = due[1:] {
			c := l.pending[due[0]]
			n, err := l.note(&c)
			switch {
			case errors.Is(err, fs.ErrNotExist): // the next look finds it gone
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

// store appends what is noted, and keeps it in mind.
func (l *changeLog) store(ctx context.Context, notes []note, now time.Time) error {
	if len(notes) == 0 {
		return nil
	}
	appends := make([]eventstore.StreamAppend, len(notes))
	for i := range notes {
		appends[i] = eventstore.StreamAppend{Stream: coordination.FileStream(notes[i].change.Path), Events: []eventstore.NewEvent{notes[i].event}}
	}
	if _, err := l.log.Append(ctx, appends...); err != nil {
		return fmt.Errorf("note changes of files: %w", err)
	}
	for i := range notes {
		c := &notes[i].change
		delete(l.pending, c.Path)
		rest := noteEvery
		if tellsOfTasks(c) {
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

// readNoted reads what the log said last of each file that was there then. What we have written ourselves, while we produced, is known with what
// it says.
func readNoted(ctx context.Context, log changeStore) (map[string]notedFile, error) {
	const (
		page  = 500
		query = `SELECT s.name, e.type, e.agent_id, coalesce(e.data ->> '$.path', ''), coalesce(e.data ->> '$.change', ''),
				coalesce(e.data ->> '$.taskId', ''), coalesce(e.data ->> '$.sha256', ''), coalesce(e.data ->> '$.bytes', 0),
				coalesce(json_type(e.data, '$.text') = 'text', 0), e.data IS NULL
			FROM streams s JOIN events e ON e.stream_id = s.id AND e.version = (SELECT max(version) FROM events WHERE stream_id = s.id)
			WHERE s.name > ? AND s.name < ? ORDER BY s.name LIMIT ?`
	)
	end := strings.TrimSuffix(coordination.FileStreams, "/") + "0" // what follows the slash
	noted := map[string]notedFile{}
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
					f                 notedFile
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
			return nil, fmt.Errorf("read what is noted of files: %w", err)
		}
	}
	return noted, nil
}
