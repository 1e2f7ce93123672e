package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/workspace"
)

// importBytes is how much text is appended at once.
const importBytes = 1 << 20

// Import takes over the files that are there and that the log does not know, before agents work: one event file.imported each, with the
// text. Those that another gateway has changed while nobody watched are noted as file.changed, which counts also for tasks that have events of
// their own; one that it has removed is noted too. It says how many files it took over. What cannot be read, and what is no task where one
// should be, is logged and left alone.
func (k *Keeper) Import(ctx context.Context) (n int, err error) {
	var (
		appends []eventstore.StreamAppend
		bytes   int
	)
	flush := func() (int, error) {
		if len(appends) == 0 {
			return n, nil
		}
		if _, err := k.o.Log.Append(ctx, appends...); err != nil {
			return n, fmt.Errorf("import files of tasks: %w", err)
		}
		n, appends, bytes = n+len(appends), nil, 0
		return n, nil
	}
	if err := k.noteGone(ctx); err != nil { // first: history may say that they have ended
		return 0, err
	}
	for _, agent := range k.o.Agents() {
		for _, name := range inOrder(k.listed(agent)) {
			a, size, err := k.toImport(ctx, agent, name)
			if err != nil {
				return n, err
			}
			if a == nil {
				continue
			}
			appends, bytes = append(appends, *a), bytes+size
			if bytes >= importBytes {
				if _, err := flush(); err != nil {
					return n, err
				}
			}
		}
	}
	return flush()
}

// inOrder puts which task is in focus before what the tasks' own files say, and that before what the agent's history says of them.
func inOrder(names []string) []string {
	rank := func(name string) int {
		s, _ := subjectOf("", name)
		switch {
		case s.task != "":
			return 1
		case s.month != "":
			return 2
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(names), func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
}

// toImport is what is appended for a file; nil for one that the log knows as it is, or has taken over before.
func (k *Keeper) toImport(ctx context.Context, agent, name string) (a *eventstore.StreamAppend, size int, err error) {
	s, ok := subjectOf(agent, name)
	path := pathOf(agent, name)
	last, err := k.lastOf(ctx, path)
	if err != nil || !ok || last.seq > 0 && !last.seen {
		return nil, 0, err
	}
	dir := k.o.Dir(agent)
	text, err := workspace.NewHome(dir).Read(name)
	if err != nil {
		k.o.Logger.Warn("a file of tasks cannot be read; it is left alone", "file", path, "err", err)
		return nil, 0, nil
	}
	sum := sumOf(text)
	if last.told && last.sum == sum {
		return nil, 0, nil
	}
	if s.task != "" && !isTask(agent, s.task, string(text)) {
		k.o.Logger.Warn("a file of tasks holds none; it is left alone", "file", path)
		if !last.seen {
			return nil, 0, nil
		}
	}
	typ, what := found(s, path, text, &last)
	data, err := json.Marshal(what)
	if err != nil {
		return nil, 0, fmt.Errorf("write event of %s: %w", path, err)
	}
	if len(data) > eventstore.MaxDataBytes {
		k.o.Logger.Warn("a file of tasks is no text that an event can hold; it is left alone", "file", path)
		return nil, 0, nil
	}
	e := eventstore.NewEvent{Type: typ, AgentID: agent, TS: k.o.Now().UnixMilli(), Data: data}
	if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
		e.TS = info.ModTime().UnixMilli()
	}
	return &eventstore.StreamAppend{Stream: coordination.FileStream(path), Events: []eventstore.NewEvent{e}}, len(data), nil
}

// isTask reports whether a file can be read as a task, or says that it holds none.
func isTask(agent, id, text string) bool {
	f, ok := taskfile.Parse(id, text)
	if ok {
		_, _, ok = decide.FromFile(agent, &f, 0)
		return ok
	}
	return true
}

// found is what is appended for a file: that it was there, or, where another gateway had it before, what that has made of it. Of a month that it
// has only added to, that is what was added.
func found(s subject, path string, text []byte, last *last) (typ string, data any) {
	context := coordination.Context{TaskID: s.task, EventRole: coordination.RoleObservability}
	sum, size := sumOf(text), int64(len(text))
	if !last.seen {
		return coordination.TypeFileImported, coordination.FileImported{Context: context, Path: path, Bytes: size, SHA256: sum, Text: string(text)}
	}
	c := coordination.FileChanged{Context: context, Path: path, Change: workspace.OpChange, Bytes: size, SHA256: sum}
	if last.sum == "" {
		c.Change = workspace.OpAdd
	}
	if s.month != "" && last.told && last.bytes <= size && sumOf(text[:last.bytes]) == last.sum {
		c.Offset = last.bytes
	}
	added := string(text[c.Offset:])
	c.Text = &added
	return coordination.TypeFileChanged, c
}

// noteGone notes that another gateway has removed the files of tasks while nobody watched: these are not open any more. Where an agent has no
// file at all its workspace is another one, or not mounted: nobody has removed each of them.
func (k *Keeper) noteGone(ctx context.Context) error {
	open, empty := true, map[string]bool{}
	var appends []eventstore.StreamAppend
	var failed error
	err := k.rows(ctx, task.Filter{Open: &open}, func(row *task.Row) bool {
		name := taskName(row.ID)
		path, dir := pathOf(row.AgentID, name), k.o.Dir(row.AgentID)
		last, err := k.lastOf(ctx, path)
		if err != nil {
			failed = err
			return false
		}
		if !last.seen || last.sum == "" || dir == "" {
			return true
		}
		if _, known := empty[row.AgentID]; !known {
			empty[row.AgentID] = len(k.listed(row.AgentID)) == 0
		}
		if empty[row.AgentID] {
			return true
		}
		if _, err := workspace.NewHome(dir).Read(name); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
		data, err := json.Marshal(coordination.FileChanged{Context: coordination.Context{TaskID: row.ID, EventRole: coordination.RoleObservability},
			Path: path, Change: workspace.OpUnlink})
		if err != nil {
			failed = fmt.Errorf("write event of %s: %w", path, err)
			return false
		}
		appends = append(appends, eventstore.StreamAppend{Stream: coordination.FileStream(path), Events: []eventstore.NewEvent{
			{Type: coordination.TypeFileChanged, AgentID: row.AgentID, TS: k.o.Now().UnixMilli(), Data: data}}})
		return true
	})
	if err = errors.Join(err, failed); err != nil || len(appends) == 0 {
		return err
	}
	if _, err := k.o.Log.Append(ctx, appends...); err != nil {
		return fmt.Errorf("note which files of tasks are gone: %w", err)
	}
	return nil
}
