package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
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

// noteEvery is how often one file is noted at most.
const noteEvery = time.Minute

// changeLog notes each change of a file in the log once, also across restarts: what the log said last of a file is compared with what is
// there. A file that the log does not know yet is an addition. Changes that follow each other before they could be noted are one, and
// so are those of a file within noteEvery of its being noted: a program that writes a file all the time must not flood the log.
type changeLog struct {
	log     changeStore
	gone    func(path string) bool // whether a file that was not found has gone
	now     func() time.Time
	begun   bool
	there   []workspace.Change          // what begin was given, until it could compare
	noted   map[string]notedFile        // by path: what the log says
	pending map[string]workspace.Change // by path: what it does not say yet
	lately  map[string]time.Time        // by path: when it was noted, if that is less than noteEvery ago
}

// notedFile is what the log said last of a file.
type notedFile struct {
	agent, taskID string
	sum           string
	bytes         int64
	essence       string // "" where it is not known
}

func newChangeLog(log changeStore, gone func(path string) bool, now func() time.Time) *changeLog {
	return &changeLog{log: log, gone: gone, now: now, noted: map[string]notedFile{}, pending: map[string]workspace.Change{},
		lately: map[string]time.Time{}}
}

// begin compares all files that are there with what the log says. If it cannot read the log, the next append begins. The first change from
// then on is noted at once.
func (l *changeLog) begin(ctx context.Context, there []workspace.Change) error {
	l.there = there
	err := l.append(ctx)
	clear(l.lately)
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
	if known && c.Essence != "" && c.Essence == file.essence {
		return false
	}
	return !known || file.sum != c.SHA256 || file.bytes != c.Bytes
}

// learn keeps the essence of a file that is as the log says, which does not say that.
func (l *changeLog) learn(c *workspace.Change) {
	if file, known := l.noted[c.Path]; known {
		file.essence = c.Essence
		l.noted[c.Path] = file
	}
}

// append stores what is pending of files that were not noted lately, a bounded number of events at a time.
func (l *changeLog) append(ctx context.Context) error {
	const batch = 200
	if err := l.compare(ctx); err != nil {
		return err
	}
	now := l.now()
	maps.DeleteFunc(l.lately, func(_ string, at time.Time) bool { return now.Sub(at) >= noteEvery })
	due := slices.DeleteFunc(slices.Sorted(maps.Keys(l.pending)), func(path string) bool {
		_, late := l.lately[path]
		return late
	})
	for paths := range slices.Chunk(due, batch) {
		appends := make([]eventstore.StreamAppend, len(paths))
		for i, path := range paths {
			c := l.pending[path]
			event, err := l.event(&c)
			if err != nil {
				return err
			}
			appends[i] = eventstore.StreamAppend{Stream: coordination.FileStream(path), Events: []eventstore.NewEvent{event}}
		}
		if _, err := l.log.Append(ctx, appends...); err != nil {
			return fmt.Errorf("note changes of files: %w", err)
		}
		for _, path := range paths {
			l.settle(path, now)
		}
	}
	return nil
}

func (l *changeLog) settle(path string, now time.Time) {
	c := l.pending[path]
	delete(l.pending, path)
	l.lately[path] = now
	if c.Op == workspace.OpUnlink {
		delete(l.noted, path)
		return
	}
	l.noted[path] = notedFile{agent: c.Agent, taskID: c.TaskID, sum: c.SHA256, bytes: c.Bytes, essence: c.Essence}
}

// event says what happened since the log last spoke of the file.
func (l *changeLog) event(c *workspace.Change) (eventstore.NewEvent, error) {
	change := c.Op
	if _, known := l.noted[c.Path]; change != workspace.OpUnlink {
		change = workspace.OpAdd
		if known {
			change = workspace.OpChange
		}
	}
	data, err := json.Marshal(coordination.FileChanged{
		Context: coordination.Context{TaskID: c.TaskID, EventRole: coordination.RoleObservability},
		Path:    c.Path, Change: change, Bytes: c.Bytes, SHA256: c.SHA256,
	})
	if err != nil {
		return eventstore.NewEvent{}, fmt.Errorf("write event of %s: %w", c.Path, err)
	}
	return eventstore.NewEvent{Type: coordination.TypeFileChanged, AgentID: c.Agent, TS: c.Time, Data: data}, nil
}

// readNoted reads what the log said last of each file that was there then.
func readNoted(ctx context.Context, log changeStore) (map[string]notedFile, error) {
	const (
		page  = 500
		query = `SELECT s.name, e.agent_id, coalesce(e.data, '{}') FROM streams s
			JOIN events e ON e.stream_id = s.id AND e.version = (SELECT max(version) FROM events WHERE stream_id = s.id)
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
				var agent, data string
				if err := rows.Scan(&after, &agent, &data); err != nil {
					return err
				}
				var f coordination.FileChanged
				if json.Unmarshal([]byte(data), &f) == nil && f.Path != "" && f.Change != workspace.OpUnlink {
					noted[f.Path] = notedFile{agent: agent, taskID: f.TaskID, sum: f.SHA256, bytes: f.Bytes}
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
