package tasksync

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
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/workspace"
)

const importBytes = 1 << 20

// Import takes over existing files that the log does not know, before agents work: one event file.imported each, with the text. Files
// that another gateway has changed in the meantime are recorded as file.changed, also for tasks that have events of their own; removed
// files are recorded, too. It returns the number of files taken over. Unreadable files, and files that hold no task, are logged and left
// alone.
func (s *Syncer) Import(ctx context.Context) (n int, err error) {
	var (
		appends []eventstore.StreamAppend
		bytes   int
	)
	flush := func() (int, error) {
		if len(appends) == 0 {
			return n, nil
		}
		if _, err := s.o.Log.Append(ctx, appends...); err != nil {
			return n, fmt.Errorf("import task files: %w", err)
		}
		n, appends, bytes = n+len(appends), nil, 0
		return n, nil
	}
	homes, err := s.lookAtAll(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.recordRemoved(ctx, homes); err != nil { // first, since history may say that they have ended
		return 0, err
	}
	for _, home := range homes {
		lasts, err := s.lasts(ctx, home.paths(home.news))
		if err != nil {
			return n, err
		}
		for _, name := range inOrder(home.news) {
			a, size, err := s.toImport(home, name, lasts[pathOf(home.agent, name)])
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

// inOrder sorts files: the one in focus first, then the tasks' own files, then the agent's history.
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

// workspaceListing is an agent's workspace as it was listed once, beside what the tables know of it: a thousand files must not cost a
// thousand listings, or queries.
type workspaceListing struct {
	agent, dir string // dir is "" without one
	names      []string
	known      map[string]tasks.KnownFile // by name
	news       []string                   // names of the files for which an event may be due
}

// lookAtAll lists the workspaces of all agents, several at a time, because nothing is answered before the last one.
func (s *Syncer) lookAtAll(ctx context.Context) ([]*workspaceListing, error) {
	agents := s.o.Agents()
	homes := make([]*workspaceListing, len(agents))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, agent := range agents {
		group.Go(func() (err error) {
			homes[i], err = s.lookAt(ctx, agent)
			return err
		})
	}
	return homes, group.Wait()
}

func (s *Syncer) lookAt(ctx context.Context, agent string) (*workspaceListing, error) {
	home := &workspaceListing{agent: agent, dir: s.o.Dir(agent)}
	if home.names = s.listedIn(agent, home.dir); len(home.names) == 0 {
		return home, nil
	}
	err := s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		home.known, err = tasks.KnownFiles(ctx, tx, pathOf(agent, ""))
		return err
	})
	if err != nil {
		return nil, err
	}
	return home, home.findNews(ctx)
}

// findNews finds the files for which an event may be due: all but those of which the tables know that they were taken over, or are as another
// gateway left them when it was last followed. Nearly all are known at every start but the first.
func (h *workspaceListing) findNews(ctx context.Context) error {
	var followed []string
	for _, name := range h.names {
		switch k, ok := h.known[name]; {
		case !ok:
			h.news = append(h.news, name)
		case !k.Followed:
		case k.Told:
			followed = append(followed, name)
		default:
			h.news = append(h.news, name)
		}
	}
	return workspace.NewHome(h.dir).ReadEach(followed, func(name string, text []byte, err error) error {
		if err != nil || sumOf(text) != h.known[name].SHA256 {
			h.news = append(h.news, name)
		}
		return ctx.Err()
	})
}

// removed returns the names of tasks' files that another gateway had left and that are not there. If an agent has no file at all, its
// workspace is another one, or not mounted, and none counts.
func (h *workspaceListing) removed() (names []string) {
	if len(h.names) == 0 {
		return nil
	}
	there := make(map[string]bool, len(h.names))
	for _, name := range h.names {
		there[name] = true
	}
	for name, k := range h.known {
		if subj, _ := subjectOf(h.agent, name); k.Followed && k.SHA256 != "" && subj.task != "" && !there[name] {
			names = append(names, name)
		}
	}
	return names
}

func (h *workspaceListing) paths(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = pathOf(h.agent, name)
	}
	return all
}

// toImport returns the event for a file; nil for one that the log knows as it is, or has taken over before. last is its last event.
func (s *Syncer) toImport(home *workspaceListing, name string, last loggedFile) (a *eventstore.StreamAppend, size int, err error) {
	agent, dir := home.agent, home.dir
	subj, ok := subjectOf(agent, name)
	path := pathOf(agent, name)
	if !ok || last.seq > 0 && !last.seen {
		return nil, 0, nil
	}
	text, err := workspace.NewHome(dir).Read(name)
	if err != nil {
		s.o.Logger.Warn("cannot read a task file; leaving it alone", "file", path, "err", err)
		return nil, 0, nil
	}
	sum := sumOf(text)
	if last.told && last.sum == sum {
		return nil, 0, nil
	}
	if subj.task != "" && !isTask(agent, subj.task, string(text)) {
		s.o.Logger.Warn("task file contains no task; ignored", "file", path)
		if !last.seen {
			return nil, 0, nil
		}
	}
	typ, what := found(subj, path, text, &last)
	data, err := json.Marshal(what)
	if err != nil {
		return nil, 0, fmt.Errorf("encode event of %s: %w", path, err)
	}
	if len(data) > eventstore.MaxDataBytes {
		s.o.Logger.Warn("a task file is not valid text; leaving it alone", "file", path)
		return nil, 0, nil
	}
	e := eventstore.NewEvent{Type: typ, AgentID: agent, TS: s.o.Now().UnixMilli(), Data: data}
	if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
		e.TS = info.ModTime().UnixMilli()
	}
	return &eventstore.StreamAppend{Stream: coordination.FileStream(path), Events: []eventstore.NewEvent{e}}, len(data), nil
}

// isTask reports whether a file can be parsed as a task, or as one without a task.
func isTask(agent, id, text string) bool {
	f, ok := taskfile.Parse(id, text)
	if ok {
		_, _, ok = task.FromFile(agent, &f, 0)
		return ok
	}
	return true
}

// found returns the event for a file: that it was found, or how another gateway that managed it has changed it. For a month that it has
// only appended to, that is the appended text.
func found(s subject, path string, text []byte, last *loggedFile) (typ string, data any) {
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

// recordRemoved records that another gateway has removed task files in the meantime: these tasks are no longer open.
func (s *Syncer) recordRemoved(ctx context.Context, homes []*workspaceListing) error {
	dirs := map[string]string{} // by the path of a removed file
	for _, home := range homes {
		for _, name := range home.removed() {
			dirs[pathOf(home.agent, name)] = home.dir
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	var open []tasks.Owned
	err := s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		open, err = tasks.OpenTasks(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(t tasks.Owned) bool { return dirs[pathOf(t.AgentID, taskName(t.ID))] == "" })
	if len(open) == 0 {
		return nil
	}
	paths := make([]string, len(open))
	for i, t := range open {
		paths[i] = pathOf(t.AgentID, taskName(t.ID))
	}
	lasts, err := s.lasts(ctx, paths)
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
		if _, err := workspace.NewHome(dirs[path]).Read(taskName(t.ID)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		data, err := json.Marshal(coordination.FileChanged{Context: coordination.Context{TaskID: t.ID, EventRole: coordination.RoleObservability},
			Path: path, Change: workspace.OpUnlink})
		if err != nil {
			return fmt.Errorf("encode event of %s: %w", path, err)
		}
		appends = append(appends, eventstore.StreamAppend{Stream: coordination.FileStream(path), Events: []eventstore.NewEvent{
			{Type: coordination.TypeFileChanged, AgentID: t.AgentID, TS: s.o.Now().UnixMilli(), Data: data}}})
	}
	if len(appends) == 0 {
		return nil
	}
	if _, err := s.o.Log.Append(ctx, appends...); err != nil {
		return fmt.Errorf("record removed task files: %w", err)
	}
	return nil
}
