package files

import (
	"cmp"
	"context"
	"database/sql"
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
	homes := k.newHomes()
	if err := k.noteGone(ctx, homes); err != nil { // first: history may say that they have ended
		return 0, err
	}
	for _, agent := range k.o.Agents() {
		home := homes.of(agent)
		lasts, err := k.lasts(ctx, home.paths())
		if err != nil {
			return n, err
		}
		for _, name := range inOrder(home.names) {
			a, size, err := k.toImport(home, name, lasts[pathOf(agent, name)])
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

// homes are workspaces with what is listed there, each looked at once: a thousand files must not cost a thousand looks at where they lie.
type homes struct {
	keeper  *Keeper
	byAgent map[string]*home
}

// home is an agent's workspace as it was listed.
type home struct {
	agent, dir string // dir is "" where there is none
	names      []string
	there      map[string]bool // by name
}

func (k *Keeper) newHomes() *homes { return &homes{k, map[string]*home{}} }

func (h *homes) of(agent string) *home {
	if known := h.byAgent[agent]; known != nil {
		return known
	}
	one := &home{agent: agent, dir: h.keeper.o.Dir(agent), there: map[string]bool{}}
	one.names = h.keeper.listedIn(agent, one.dir)
	for _, name := range one.names {
		one.there[name] = true
	}
	h.byAgent[agent] = one
	return one
}

// paths are the files that are listed, as events name them.
func (h *home) paths() []string {
	all := make([]string, len(h.names))
	for i, name := range h.names {
		all[i] = pathOf(h.agent, name)
	}
	return all
}

// toImport is what is appended for a file; nil for one that the log knows as it is, or has taken over before. last is what the log said last of it.
func (k *Keeper) toImport(home *home, name string, last last) (a *eventstore.StreamAppend, size int, err error) {
	agent, dir := home.agent, home.dir
	s, ok := subjectOf(agent, name)
	path := pathOf(agent, name)
	if !ok || last.seq > 0 && !last.seen {
		return nil, 0, nil
	}
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
func (k *Keeper) noteGone(ctx context.Context, homes *homes) error {
	var open []task.Owned
	err := k.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		open, err = task.OpenTasks(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(t task.Owned) bool {
		home := homes.of(t.AgentID)
		return home.dir == "" || len(home.names) == 0 || home.there[taskName(t.ID)]
	})
	if len(open) == 0 {
		return nil
	}
	paths := make([]string, len(open))
	for i, t := range open {
		paths[i] = pathOf(t.AgentID, taskName(t.ID))
	}
	lasts, err := k.lasts(ctx, paths)
	if err != nil {
		return err
	}
	var appends []eventstore.StreamAppend
	for i, t := range open {
		path := paths[i]
		last := lasts[path]
		if !last.seen || last.sum == "" {
			continue
		}
		if _, err := workspace.NewHome(homes.of(t.AgentID).dir).Read(taskName(t.ID)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		data, err := json.Marshal(coordination.FileChanged{Context: coordination.Context{TaskID: t.ID, EventRole: coordination.RoleObservability},
			Path: path, Change: workspace.OpUnlink})
		if err != nil {
			return fmt.Errorf("write event of %s: %w", path, err)
		}
		appends = append(appends, eventstore.StreamAppend{Stream: coordination.FileStream(path), Events: []eventstore.NewEvent{
			{Type: coordination.TypeFileChanged, AgentID: t.AgentID, TS: k.o.Now().UnixMilli(), Data: data}}})
	}
	if len(appends) == 0 {
		return nil
	}
	if _, err := k.o.Log.Append(ctx, appends...); err != nil {
		return fmt.Errorf("note which files of tasks are gone: %w", err)
	}
	return nil
}
