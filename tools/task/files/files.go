// Package files keeps the Markdown files of tasks equal to what the log says: tasks/<id>.md of those that are open, task-history/<month>.md of
// those that are over, CURRENT_TASK.md of the one in focus, in the workspace of each agent. The log is the truth. Files that were there before
// it are imported, once, and stand as they are until something happens to what they tell of; what is edited by hand after that is kept beside,
// and the true file is written again.
//
// Before a file is written, what it is going to be (its hash) and what it was found to be are appended as file.written: so after a crash a
// file that is neither was edited by somebody else.
package files

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
	"github.com/pronto-lab/openclawd/eventstore"
)

// Log is what a Keeper needs of the store, with the projection task in it.
type Log interface {
	eventstore.Store
	View(ctx context.Context, read func(*sql.Tx) error) error
	// Newest returns the newest event of each of these streams, by their names; a stream without events is left out.
	Newest(ctx context.Context, streams []string) (map[string]eventstore.Event, error)
}

// Options of New. All are required, but Pause.
type Options struct {
	Log    Log
	Agents func() []string           // that are configured, and those that have a workspace; lower case
	Dir    func(agent string) string // an agent's workspace, which no other agent has; "" is none
	Now    func() time.Time          // what events say
	Pause  time.Duration             // that changes of one file have at least between them; 0 is 200 ms
	Logger *slog.Logger
}

// Keeper writes files. Its methods may be called by many goroutines.
type Keeper struct {
	o      Options
	agenda *agenda
	differ func(*wanted, *look) // of a Check: is told of what would be written, and nothing is; else nil

	writing sync.Mutex                           // is held from the look at a file to the write
	seen    map[string]bool                      // by path: the file was there, as the log says
	changed map[string]time.Time                 // by path: when it was changed, if that is less than a Pause ago
	undone  map[string]time.Time                 // by path: when it was made good, if that is less than undoEvery ago
	aside   map[string]coordination.FileConflict // by path: it was renamed, and the log does not say so yet

	mu     sync.Mutex
	state  State
	unread string              // why the log cannot be read; ""
	filled map[string]string   // by path: months that take no more, with what is told of that while they last
	kept   map[string][]string // by agent: names of what was put aside, and was there when it was looked for
}

// New makes a Keeper.
func New(o Options) *Keeper {
	if o.Pause == 0 {
		o.Pause = 200 * time.Millisecond
	}
	return &Keeper{o: o, agenda: newAgenda(), seen: map[string]bool{}, changed: map[string]time.Time{}, undone: map[string]time.Time{},
		aside: map[string]coordination.FileConflict{}, filled: map[string]string{}, kept: map[string][]string{}}
}

// State is how the files are.
type State struct {
	Seq       int64 // up to which events are in the files
	Written   int64 // files, since the program began
	Conflicts int64 // edits by hand that were kept aside, or undone, likewise
	LastError string
	Failing   int      // tasks, months and focuses whose files cannot be written now, or hold no more
	Kept      []string // paths of what was kept aside, now or before the program began, and that nobody has removed since
}

// State says how the files are.
func (k *Keeper) State() State {
	kept := k.stillKept()
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.state
	s.Seq, s.Failing = k.agenda.settledTo()
	s.Kept, s.LastError = kept, cmp.Or(k.unread, s.LastError)
	for file, text := range k.filled {
		if file < path.Join(path.Dir(file), k.o.Now().UTC().Format("2006-01")) {
			continue // that month is over: no more is missing
		}
		s.Failing++
		s.LastError = cmp.Or(s.LastError, text)
	}
	return s
}

// note changes the state.
func (k *Keeper) note(change func(*State)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(&k.state)
}

// Settled waits until everything up to seq is in the files.
func (k *Keeper) Settled(ctx context.Context, seq int64) error { return k.agenda.await(ctx, seq, true) }

// Drained is Settled for a program that is about to end: what could not be written is tried once more at once, and not waited for if that fails
// too. It returns the paths of the files that are not as the log says then, as far as they are known, else whose they are.
func (k *Keeper) Drained(ctx context.Context, seq int64) (behind []string, err error) {
	k.agenda.hurry()
	err = k.agenda.await(ctx, seq, false)
	for _, s := range k.agenda.remaining(seq) {
		behind = append(behind, k.pathOf(s))
	}
	return behind, err
}

// pathOf is the file of a subject.
func (k *Keeper) pathOf(s subject) string {
	agent, name := s.agent, currentName
	switch {
	case s.month != "":
		name = monthName(s.month)
	case s.task != "":
		row, err := k.byID(context.Background(), s.task)
		if err != nil || row == nil {
			return taskName(s.task)
		}
		agent, name = row.AgentID, taskName(s.task)
	}
	return filepath.Join(k.o.Dir(agent), filepath.FromSlash(name))
}
