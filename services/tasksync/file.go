package tasksync

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/workspace"
)

// wantedFile is the expected state of a file.
type wantedFile struct {
	agent, name, taskID string
	content             []byte // nil: it should not exist
	seq                 int64  // last event about the file's content; a file found after that stays as found
	through             int64  // for a month: as in file.written
	force               bool
}

func (w *wantedFile) context() coordination.Context {
	return coordination.Context{TaskID: w.taskID, EventRole: coordination.RoleObservability}
}

// loggedFile is the last event about a file.
type loggedFile struct {
	seq           int64  // 0: none
	found         bool   // the file was found so; else it was about to be written so
	seen          bool   // while another gateway managed it
	told          bool   // found with text that is in the log
	redacted      bool   // its text is redacted and must be removed from the file
	sum, previous string // "" for none
	bytes         int64  // of the file found
	through       int64
}

// fileState is the observed state of a file.
type fileState struct {
	home   *workspace.Home
	path   string
	last   loggedFile
	there  bool
	have   []byte
	sum    string // of have; "" if it cannot be read
	edited bool   // it is neither what the log says last nor what it was before
	kept   bool   // it was put aside already
}

// undoEvery is the minimum time between copies of edits of one file: a program that writes it constantly must not fill the disk.
const undoEvery = 10 * time.Second

// tooSoonError postpones a change that would follow another one too closely.
type tooSoonError struct{ at time.Time }

func (e *tooSoonError) Error() string {
	return fmt.Sprintf("the file has just been changed; next attempt at %s", e.at)
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// put makes a file as wanted, and returns the number of writes: one or none.
func (s *Syncer) put(ctx context.Context, w *wantedFile) (int, error) {
	l, err := s.inspect(ctx, w)
	if err != nil || l == nil {
		return 0, err
	}
	return s.write(ctx, w, l)
}

// inspect examines a file; nil if the agent has no workspace.
func (s *Syncer) inspect(ctx context.Context, w *wantedFile) (*fileState, error) {
	dir := s.o.Dir(w.agent)
	if dir == "" {
		return nil, nil
	}
	l := &fileState{home: workspace.NewHome(dir), path: pathOf(w.agent, w.name)}
	var err error
	if l.last, err = s.lastOf(ctx, l.path); err != nil {
		return nil, err
	}
	l.have, err = l.home.Read(w.name)
	var refused *workspace.RefusedError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, aside := s.aside[l.path]
		l.edited = aside || l.last.sum != "" && (l.last.previous != "" || l.last.found || s.seen[l.path])
	case errors.As(err, &refused): // it may be something else, such as a link
		l.there, l.edited = true, true
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", l.path, err)
	default:
		l.there, l.sum = true, sumOf(l.have)
		l.edited = !l.last.redacted && l.sum != l.last.sum && l.sum != l.last.previous
	}
	return l, nil
}

// write makes an examined file as wanted. Its event comes first.
func (s *Syncer) write(ctx context.Context, w *wantedFile, l *fileState) (int, error) {
	want := ""
	if w.content != nil {
		want = sumOf(w.content)
	}
	said := !l.last.redacted && l.last.sum == want && l.last.through == w.through
	written := fileEvent{coordination.TypeFileWritten, coordination.FileWritten{Context: w.context(), Path: l.path, SHA256: want, Previous: l.sum,
		Through: w.through}}
	switch {
	case w.content == nil && (l.last.seq == 0 || !l.there && said):
		return 0, nil // it was never written, or is gone as wanted
	case l.there == (w.content != nil) && l.sum == want:
		if !said {
			if err := s.append(ctx, w, l, written); err != nil {
				return 0, err
			}
		}
		if l.there {
			s.seen[l.path] = true
		} else {
			delete(s.seen, l.path)
		}
		if w.force && l.there {
			return s.change(w, l)
		}
		return 0, nil
	case l.last.found && l.sum == l.last.sum && w.seq <= l.last.seq && (w.content == nil || !w.force):
		s.seen[l.path] = true
		return 0, nil
	}
	if s.differ != nil {
		s.differ(w, l)
		return 0, nil
	}
	if at, ok := s.changed[l.path]; ok && !w.force && time.Since(at) < s.o.Pause {
		return 0, &tooSoonError{at.Add(s.o.Pause)}
	}
	if l.edited {
		if at, ok := s.undone[l.path]; ok && l.there && !w.force && time.Since(at) < undoEvery {
			return 0, &tooSoonError{at.Add(undoEvery)}
		}
		return s.undo(ctx, w, l, want)
	}
	if !said || l.last.found { // else the event was appended before a crash, or before the disk was full
		if err := s.append(ctx, w, l, written); err != nil {
			return 0, err
		}
	}
	return s.change(w, l)
}

// undo puts an edited file aside and writes the wanted one.
func (s *Syncer) undo(ctx context.Context, w *wantedFile, l *fileState, want string) (int, error) {
	conflict, ok := s.aside[l.path] // it was renamed before, but the event could not be appended
	if !ok || l.there {
		conflict = coordination.FileConflict{Context: w.context(), Path: l.path, SHA256: l.sum, Expected: l.last.sum}
	}
	if l.there {
		kept, err := l.home.KeepAside(w.name)
		if err != nil {
			return 0, fmt.Errorf("put the edited %s aside: %w", l.path, err)
		}
		conflict.Kept = path.Base(kept)
		s.aside[l.path], l.kept = conflict, true
	}
	err := s.append(ctx, w, l, fileEvent{coordination.TypeFileConflict, conflict},
		fileEvent{coordination.TypeFileWritten, coordination.FileWritten{Context: w.context(), Path: l.path, SHA256: want, Through: w.through}})
	if err != nil {
		return 0, err
	}
	delete(s.aside, l.path)
	delete(s.seen, l.path)
	now := time.Now()
	maps.DeleteFunc(s.undone, func(_ string, at time.Time) bool { return now.Sub(at) >= undoEvery })
	s.undone[l.path] = now
	s.updateState(func(state *health.TaskFilesState) { state.Conflicts++ })
	s.findConflicts(w.agent)
	if conflict.Kept == "" {
		s.o.Logger.Warn("a task file was removed; writing it again", "file", l.path)
	} else {
		s.o.Logger.Warn("a task file was edited; putting the edit aside and writing the file again", "file", l.path, "kept", conflict.Kept)
	}
	return s.change(w, l)
}

// change performs a write that the log has announced. A file that was changed since it was examined, during the append, is examined
// again.
func (s *Syncer) change(w *wantedFile, l *fileState) (n int, err error) {
	switch now, err := l.home.Read(w.name); {
	case errors.Is(err, fs.ErrNotExist): // gone, or put aside by us
	case err != nil:
		return 0, fmt.Errorf("read %s: %w", l.path, err)
	case l.kept || !l.there || sumOf(now) != l.sum:
		return 0, &tooSoonError{time.Now()}
	}
	if w.content == nil {
		err = l.home.Remove(w.name)
	} else {
		err = l.home.Replace(w.name, w.content)
	}
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", l.path, err)
	}
	now := time.Now()
	maps.DeleteFunc(s.changed, func(_ string, at time.Time) bool { return now.Sub(at) >= s.o.Pause })
	s.changed[l.path] = now
	if s.seen[l.path] = true; w.content == nil {
		delete(s.seen, l.path)
	}
	s.updateState(func(state *health.TaskFilesState) { state.Written++ })
	return 1, nil
}

type fileEvent struct {
	typ  string
	data any
}

func (s *Syncer) append(ctx context.Context, w *wantedFile, l *fileState, events ...fileEvent) error {
	if s.differ != nil {
		return nil
	}
	a := eventstore.StreamAppend{Stream: coordination.FileStream(l.path)}
	for _, e := range events {
		data, err := json.Marshal(e.data)
		if err != nil {
			return fmt.Errorf("encode event of %s: %w", l.path, err)
		}
		a.Events = append(a.Events, eventstore.NewEvent{Type: e.typ, AgentID: w.agent, TS: s.o.Now().UnixMilli(), Data: data})
	}
	if _, err := s.o.Log.Append(ctx, a); err != nil {
		return fmt.Errorf("record the change of %s: %w", l.path, err)
	}
	return nil
}

func (s *Syncer) lastOf(ctx context.Context, file string) (loggedFile, error) {
	stream := coordination.FileStream(file)
	version, err := s.o.Log.StreamVersion(ctx, stream)
	if err != nil || version == 0 {
		return loggedFile{}, err
	}
	events, err := s.o.Log.ReadStream(ctx, stream, version-1, 1)
	if err != nil || len(events) == 0 {
		return loggedFile{}, err
	}
	return lastIn(&events[0]), nil
}

// lasts reads the last events of files, by path. Files without events are left out.
func (s *Syncer) lasts(ctx context.Context, files []string) (map[string]loggedFile, error) {
	streams := make([]string, len(files))
	for i, file := range files {
		streams[i] = coordination.FileStream(file)
	}
	newest, err := s.o.Log.Newest(ctx, streams)
	if err != nil {
		return nil, err
	}
	all := make(map[string]loggedFile, len(newest))
	for i, file := range files {
		if e, ok := newest[streams[i]]; ok {
			all[file] = lastIn(&e)
		}
	}
	return all, nil
}

func lastIn(e *eventstore.Event) loggedFile {
	l := loggedFile{seq: e.Seq, redacted: e.Redacted()}
	var data struct {
		Text             json.RawMessage
		SHA256, Previous string
		Bytes, Through   int64
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return l
	}
	switch e.Type {
	case coordination.TypeFileWritten:
		l.sum, l.previous, l.through = data.SHA256, data.Previous, data.Through
	case coordination.TypeFileImported, coordination.TypeFileChanged:
		l.bytes = max(data.Bytes, 0)
		l.sum, l.found, l.seen, l.told = data.SHA256, true, e.Type == coordination.TypeFileChanged, data.Text != nil
	}
	return l
}
