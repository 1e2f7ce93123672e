// Package tasksync keeps the Markdown files of tasks in sync with the log: tasks/<id>.md for open tasks, task-history/<month>.md for
// finished ones, CURRENT_TASK.md for the one in focus, in the workspace of each agent. The log is authoritative. Files from before are
// imported once, and stay as they are until their content changes; later edits are put aside and the file is written again.
//
// Before a file is written, file.written records its new hash and the one found: so after a crash a file with neither was edited by
// someone else.
package tasksync

import (
	"cmp"
	"context"
	"database/sql"
	"log/slog"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Log is the part of the store that is used here, with the projection tasks.
type Log interface {
	eventstore.Store
	View(ctx context.Context, read func(*sql.Tx) error) error
	// Newest returns the newest event of each of these streams, by name; a stream without events is left out.
	Newest(ctx context.Context, streams []string) (map[string]eventstore.Event, error)
}

// Options of New. All but Pause are required.
type Options struct {
	Log    Log
	Agents func() []string           // agents that are configured or have a workspace; lower case
	Dir    func(agent string) string // directory of an agent's workspace, which is not shared; "" for none
	Now    func() time.Time          // time of events
	Pause  time.Duration             // minimum time between changes of one file; 0 is 200 ms
	Logger *slog.Logger
}

// Syncer writes the files. It is safe for concurrent use.
type Syncer struct {
	o      Options
	agenda *syncQueue
	differ func(*wantedFile, *fileState) // for Check: called for what would be written, instead of writing; else nil

	writing sync.Mutex                           // held from the examination of a file to the write
	seen    map[string]bool                      // by path: the file existed, as the log says
	changed map[string]time.Time                 // by path: time of a change within the last Pause
	undone  map[string]time.Time                 // by path: time of an undo within the last undoEvery
	aside   map[string]coordination.FileConflict // by path: renamed, without an event yet

	mu     sync.Mutex
	state  health.TaskFilesState
	unread string              // why the log cannot be read; ""
	filled map[string]string   // by path: full months, with the error to report while they last
	kept   map[string][]string // by agent: names of files put aside that existed at the last search
}

// New returns a service.
func New(o Options) *Syncer {
	if o.Pause == 0 {
		o.Pause = 200 * time.Millisecond
	}
	return &Syncer{o: o, agenda: newSyncQueue(), seen: map[string]bool{}, changed: map[string]time.Time{}, undone: map[string]time.Time{},
		aside: map[string]coordination.FileConflict{}, filled: map[string]string{}, kept: map[string][]string{}}
}

// State returns the current state, without Lag and Refused, which the caller knows.
func (s *Syncer) State() health.TaskFilesState {
	kept := s.conflictRemains()
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state
	state.Seq, state.Failing = s.agenda.settledTo()
	state.Kept, state.Error = kept, cmp.Or(s.unread, state.Error)
	for file, text := range s.filled {
		if file < path.Join(path.Dir(file), s.o.Now().UTC().Format("2006-01")) {
			continue // that month is over: nothing more is missing
		}
		state.Failing++
		state.Error = cmp.Or(state.Error, text)
	}
	return state
}

func (s *Syncer) updateState(change func(*health.TaskFilesState)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
}

// Settled waits until all events up to seq are in the files.
func (s *Syncer) Settled(ctx context.Context, seq int64) error { return s.agenda.await(ctx, seq, true) }

// Drained is Settled for a program that is about to end: failing subjects are retried once at once. It returns the paths of the files
// that are then still not in sync, or their owners if the paths are not known.
func (s *Syncer) Drained(ctx context.Context, seq int64) (behind []string, err error) {
	s.agenda.hurry()
	err = s.agenda.await(ctx, seq, false)
	for _, subj := range s.agenda.remaining(seq) {
		behind = append(behind, s.pathOf(subj))
	}
	return behind, err
}

func (s *Syncer) pathOf(subj subject) string {
	agent, name := subj.agent, currentName
	switch {
	case subj.month != "":
		name = monthName(subj.month)
	case subj.task != "":
		row, err := s.byID(context.Background(), subj.task)
		if err != nil || row == nil {
			return taskName(subj.task)
		}
		agent, name = row.AgentID, taskName(subj.task)
	}
	return filepath.Join(s.o.Dir(agent), filepath.FromSlash(name))
}
