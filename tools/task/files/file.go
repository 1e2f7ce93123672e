package files

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
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/workspace"
)

// wanted is what a file should be.
type wanted struct {
	agent, name, taskID string
	content             []byte // nil: it should not be there
	seq                 int64  // of the last event about what the file tells of; a file that was found after that stays as it was found
	through             int64  // of a month: as in file.written
	force               bool
}

func (w *wanted) context() coordination.Context {
	return coordination.Context{TaskID: w.taskID, EventRole: coordination.RoleObservability}
}

// last is what the log said last of a file.
type last struct {
	seq           int64  // 0: nothing
	found         bool   // it was found to be so; else it was to become so
	seen          bool   // while another gateway had it
	told          bool   // it was found, and what it says is in the log
	redacted      bool   // what it was is gone from the log, and has to go from the file
	sum, previous string // "" is none
	bytes         int64  // of what was found
	through       int64
}

// look is how a file is.
type look struct {
	home   *workspace.Home
	path   string
	last   last
	there  bool
	have   []byte
	sum    string // of have; "" for something that cannot be read
	edited bool   // it is neither what the log says last nor what it was before
	kept   bool   // that has been put aside
}

// undoEvery is how often what somebody makes of one file is kept aside at most: a program that writes it all the time must not fill the disk.
const undoEvery = 10 * time.Second

// soonError puts off a change that would follow another one too closely.
type soonError struct{ at time.Time }

func (e *soonError) Error() string {
	return fmt.Sprintf("the file has just been changed; again at %s", e.at)
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// put makes a file what it should be, and says how many were written: one or none.
func (k *Keeper) put(ctx context.Context, w *wanted) (int, error) {
	l, err := k.look(ctx, w)
	if err != nil || l == nil {
		return 0, err
	}
	return k.write(ctx, w, l)
}

// look looks at a file; nil where the agent has no workspace.
func (k *Keeper) look(ctx context.Context, w *wanted) (*look, error) {
	dir := k.o.Dir(w.agent)
	if dir == "" {
		return nil, nil
	}
	l := &look{home: workspace.NewHome(dir), path: pathOf(w.agent, w.name)}
	var err error
	if l.last, err = k.lastOf(ctx, l.path); err != nil {
		return nil, err
	}
	l.have, err = l.home.Read(w.name)
	var refused *workspace.RefusedError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, aside := k.aside[l.path]
		l.edited = aside || l.last.sum != "" && (l.last.previous != "" || l.last.found || k.seen[l.path])
	case errors.As(err, &refused): // something else may lie there, such as a link
		l.there, l.edited = true, true
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", l.path, err)
	default:
		l.there, l.sum = true, sumOf(l.have)
		l.edited = !l.last.redacted && l.sum != l.last.sum && l.sum != l.last.previous
	}
	return l, nil
}

// write makes a file that was looked at what it should be. Its event comes first.
func (k *Keeper) write(ctx context.Context, w *wanted, l *look) (int, error) {
	want := ""
	if w.content != nil {
		want = sumOf(w.content)
	}
	said := !l.last.redacted && l.last.sum == want && l.last.through == w.through
	written := fileEvent{coordination.TypeFileWritten, coordination.FileWritten{Context: w.context(), Path: l.path, SHA256: want, Previous: l.sum,
		Through: w.through}}
	switch {
	case w.content == nil && (l.last.seq == 0 || !l.there && said):
		return 0, nil // nobody has ever written it, or it is gone as it should be
	case l.there == (w.content != nil) && l.sum == want:
		if !said {
			if err := k.append(ctx, w, l, written); err != nil {
				return 0, err
			}
		}
		if l.there {
			k.seen[l.path] = true
		} else {
			delete(k.seen, l.path)
		}
		if w.force && l.there {
			return k.change(w, l)
		}
		return 0, nil
	case l.last.found && l.sum == l.last.sum && w.seq <= l.last.seq && (w.content == nil || !w.force):
		k.seen[l.path] = true
		return 0, nil
	}
	if k.differ != nil {
		k.differ(w, l)
		return 0, nil
	}
	if at, ok := k.changed[l.path]; ok && !w.force && time.Since(at) < k.o.Pause {
		return 0, &soonError{at.Add(k.o.Pause)}
	}
	if l.edited {
		if at, ok := k.undone[l.path]; ok && l.there && !w.force && time.Since(at) < undoEvery {
			return 0, &soonError{at.Add(undoEvery)}
		}
		return k.undo(ctx, w, l, want)
	}
	if !said || l.last.found { // else it was said before a crash, or before the disk was full
		if err := k.append(ctx, w, l, written); err != nil {
			return 0, err
		}
	}
	return k.change(w, l)
}

// undo keeps aside what somebody else has made of a file, and makes it what it should be.
func (k *Keeper) undo(ctx context.Context, w *wanted, l *look, want string) (int, error) {
	conflict, ok := k.aside[l.path] // it was renamed before, and that could not be said
	if !ok || l.there {
		conflict = coordination.FileConflict{Context: w.context(), Path: l.path, SHA256: l.sum, Expected: l.last.sum}
	}
	if l.there {
		kept, err := l.home.KeepAside(w.name)
		if err != nil {
			return 0, fmt.Errorf("keep what somebody has made of %s: %w", l.path, err)
		}
		conflict.Kept = path.Base(kept)
		k.aside[l.path], l.kept = conflict, true
	}
	err := k.append(ctx, w, l, fileEvent{coordination.TypeFileConflict, conflict},
		fileEvent{coordination.TypeFileWritten, coordination.FileWritten{Context: w.context(), Path: l.path, SHA256: want, Through: w.through}})
	if err != nil {
		return 0, err
	}
	delete(k.aside, l.path)
	delete(k.seen, l.path)
	now := time.Now()
	maps.DeleteFunc(k.undone, func(_ string, at time.Time) bool { return now.Sub(at) >= undoEvery })
	k.undone[l.path] = now
	k.note(func(s *State) { s.Conflicts++ })
	k.seekKept(w.agent)
	if conflict.Kept == "" {
		k.o.Logger.Warn("a file of tasks was removed by hand; it is written again", "file", l.path)
	} else {
		k.o.Logger.Warn("a file of tasks was edited by hand; that is kept beside, and it is written again", "file", l.path, "kept", conflict.Kept)
	}
	return k.change(w, l)
}

// change does to a file what the log has said. One that somebody has made something of since it was looked at is looked at again: that took as
// long as a write of the log.
func (k *Keeper) change(w *wanted, l *look) (n int, err error) {
	switch now, err := l.home.Read(w.name); {
	case errors.Is(err, fs.ErrNotExist): // gone by itself, or put aside by us
	case err != nil:
		return 0, fmt.Errorf("read %s: %w", l.path, err)
	case l.kept || !l.there || sumOf(now) != l.sum:
		return 0, &soonError{time.Now()}
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
	maps.DeleteFunc(k.changed, func(_ string, at time.Time) bool { return now.Sub(at) >= k.o.Pause })
	k.changed[l.path] = now
	if k.seen[l.path] = true; w.content == nil {
		delete(k.seen, l.path)
	}
	k.note(func(s *State) { s.Written++ })
	return 1, nil
}

// fileEvent is an event of a file.
type fileEvent struct {
	typ  string
	data any
}

func (k *Keeper) append(ctx context.Context, w *wanted, l *look, events ...fileEvent) error {
	if k.differ != nil {
		return nil
	}
	a := eventstore.StreamAppend{Stream: coordination.FileStream(l.path)}
	for _, e := range events {
		data, err := json.Marshal(e.data)
		if err != nil {
			return fmt.Errorf("write event of %s: %w", l.path, err)
		}
		a.Events = append(a.Events, eventstore.NewEvent{Type: e.typ, AgentID: w.agent, TS: k.o.Now().UnixMilli(), Data: data})
	}
	if _, err := k.o.Log.Append(ctx, a); err != nil {
		return fmt.Errorf("note what becomes of %s: %w", l.path, err)
	}
	return nil
}

// lastOf reads what the log said last of a file.
func (k *Keeper) lastOf(ctx context.Context, file string) (last, error) {
	stream := coordination.FileStream(file)
	version, err := k.o.Log.StreamVersion(ctx, stream)
	if err != nil || version == 0 {
		return last{}, err
	}
	events, err := k.o.Log.ReadStream(ctx, stream, version-1, 1)
	if err != nil || len(events) == 0 {
		return last{}, err
	}
	return lastIn(&events[0]), nil
}

// lasts reads what the log said last of many files, by their paths. One of which it has said nothing is left out.
func (k *Keeper) lasts(ctx context.Context, files []string) (map[string]last, error) {
	streams := make([]string, len(files))
	for i, file := range files {
		streams[i] = coordination.FileStream(file)
	}
	newest, err := k.o.Log.Newest(ctx, streams)
	if err != nil {
		return nil, err
	}
	all := make(map[string]last, len(newest))
	for i, file := range files {
		if e, ok := newest[streams[i]]; ok {
			all[file] = lastIn(&e)
		}
	}
	return all, nil
}

// lastIn is what the newest event of a file says of it.
func lastIn(e *eventstore.Event) last {
	l := last{seq: e.Seq, redacted: e.Redacted()}
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
