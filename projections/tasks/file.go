package tasks

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// current is the name of the file that names an agent's task in focus.
const current = "CURRENT_TASK.md"

// located is the parsed path of a file.
type located struct {
	dir, agent string
	task       string // id in tasks/<id>.md
	month      string // month in task-history/<month>.md
}

// locate parses a path. ok is false for files that are not task files.
func locate(path string) (l located, ok bool) {
	dir, name, _ := strings.Cut(path, "/")
	agent, is := strings.CutPrefix(dir, "workspace-")
	l.dir, l.agent = dir+"/", strings.ToLower(agent)
	if !is || agent == "" {
		return located{}, false
	}
	if name == current {
		return l, true
	}
	base, is := strings.CutSuffix(name, ".md")
	if !is {
		return located{}, false
	}
	if id, is := strings.CutPrefix(base, "tasks/"); is && strings.HasPrefix(id, "task_") && !strings.Contains(id, "/") {
		l.task = id
		return l, true
	}
	month, is := strings.CutPrefix(base, "task-history/")
	l.month = month
	return l, is && isMonth(month)
}

func isMonth(text string) bool {
	year, month, _ := strings.Cut(text, "-")
	_, err := strconv.ParseUint(year, 10, 16)
	n, err2 := strconv.ParseUint(month, 10, 8)
	return err == nil && err2 == nil && len(year) == 4 && len(month) == 2 && n >= 1 && n <= 12
}

// told are the event types about files.
var told = []string{coordination.TypeFileImported, coordination.TypeFileChanged, coordination.TypeFileWritten, coordination.TypeFileConflict}

// seen is the content of an event about a file that another program has written.
type seen struct {
	located
	imported bool // the file was there before the log knew of it: then the log's data on tasks wins, otherwise the file's
	gone     bool
	text     *string // nil: not known
}

// filed folds an event about a task file.
func (p *projector) filed(tx eventstore.Tx, e *projections.Event) error {
	var said struct {
		Path, Change, SHA256, Previous, Kept string
		Text                                 *string
		Offset, Through                      int64
	}
	if e.Redacted() || !slices.Contains(told, e.Type) {
		return nil
	}
	_ = json.Unmarshal(e.Data, &said) // decoding continues after a member of another type
	l, ok := locate(said.Path)
	if !ok || coordination.FileStream(said.Path) != e.Stream {
		return nil
	}
	s := seen{located: l, text: said.Text, imported: e.Type == coordination.TypeFileImported, gone: said.Change == "unlink"}
	if l.month == "" && said.Offset != 0 {
		s.text = nil // only a month's file is useful in part
	}
	f, _, err := p.files.Edit(tx, said.Path)
	if err != nil {
		return err
	}
	f.path, f.seq = said.Path, e.Seq
	switch e.Type {
	case coordination.TypeFileWritten:
		f.sha256, f.previous, f.through, f.ours, f.points = said.SHA256, said.Previous, max(f.through, said.Through), true, ""
		return nil
	case coordination.TypeFileConflict:
		f.previous = "" // the file that they came from no longer exists
		return nil
	}
	f.sha256, f.previous, f.ours = said.SHA256, "", false
	if s.gone {
		f.sha256 = ""
	}
	switch {
	case l.month != "":
		f.through = e.Seq // earlier ends are in it, or were not ours
		if s.gone {
			f.through = 0
		}
		return p.history(tx, e, &s)
	case l.task != "":
		return p.taskFile(tx, e, &s)
	}
	f.points = ""
	if s.text != nil && !s.gone {
		f.points = taskfile.ParseCurrent(*s.text).TaskID
	}
	return p.point(tx, e, &s, f.points)
}

// point makes an agent turn to the task that its CURRENT_TASK.md names.
func (p *projector) point(tx eventstore.Tx, e *projections.Event, s *seen, taskID string) error {
	if taskID == "" {
		return nil
	}
	h, err := p.load(tx, nameOf(taskID))
	if err != nil || !h.known || h.state.task.Agent != s.agent || s.imported && h.state.own {
		return err
	}
	was := h
	h.work.focus, h.work.last = e.Seq, e.Seq
	return p.store(tx, &was, &h)
}

// taskFile takes over a task from its file.
func (p *projector) taskFile(tx eventstore.Tx, e *projections.Event, s *seen) error {
	if s.text == nil && !s.gone {
		return nil
	}
	h, err := p.load(tx, nameOf(s.task))
	if err != nil || s.imported && h.state.own {
		return err
	}
	if other := h.known && h.state.task.Agent != s.agent; other && (s.gone || s.imported && !h.state.gone) {
		return nil // agents do not know each other's files: a task belongs to the first agent, or to the one that changes it
	}
	was := h
	f, t, lines, ok := read(e, s)
	if !ok {
		if !h.known || h.state.over != 0 {
			return nil
		}
		t := h.task()
		h.state.gone = true
		h.update(e, &t, 0)
		return p.store(tx, &was, &h)
	}
	if h.state.month != "" && t.Terminal() {
		return nil // leftover file: history has more details of the task's end
	}
	t.Version, t.Focus = h.work.version, h.work.focus
	if t.Focus, err = p.pointed(tx, s, t.Focus); err != nil {
		return err
	}
	h.state.gone, h.state.carried = false, carry(&f)
	h.update(e, &t, 0)
	p.sayAll(e, &h, lines)
	return p.store(tx, &was, &h)
}

// read parses the task of a file, and its progress lines.
func read(e *projections.Event, s *seen) (f taskfile.Task, t task.Task, lines []string, ok bool) {
	if s.gone {
		return f, t, nil, false
	}
	if f, ok = taskfile.Parse(s.task, *s.text); !ok {
		return f, t, nil, false
	}
	t, lines, ok = task.FromFile(s.agent, &f, e.TS)
	t.ID, t.Agent = s.task, s.agent
	return f, t, lines, ok
}

// pointed returns the focus of the task of a file that has it so far: CURRENT_TASK.md may have named it before it was
// known.
func (p *projector) pointed(tx eventstore.Tx, s *seen, focus int64) (int64, error) {
	f, err := p.files.Get(tx, s.dir+current)
	if err != nil || f == nil || f.points != s.task {
		return focus, err
	}
	return max(focus, f.seq), nil
}

// sayAll sets the progress lines of a task. Equal existing ones are kept.
func (p *projector) sayAll(e *projections.Event, h *loadedTask, lines []string) {
	known := min(h.work.count, len(lines))
	var sum int64
	for _, line := range lines[:known] {
		sum = addLine(sum, line)
	}
	if known < h.work.count || sum != h.work.sum {
		h.work.forget()
		known = 0
	}
	for _, line := range lines[known:] {
		p.addProgress(e, h, line)
	}
}

// history takes over the tasks that have ended according to a month's file.
func (p *projector) history(tx eventstore.Tx, e *projections.Event, s *seen) error {
	if s.text == nil || s.gone {
		return nil // ended tasks stay so
	}
	for i, entry := range taskfile.ParseMonth(*s.text).Entries() {
		if err := p.entry(tx, e, s, &entry, i); err != nil {
			return err
		}
	}
	return nil
}

// entry ends a task as its entry says, the nth of the event's entries.
func (p *projector) entry(tx eventstore.Tx, e *projections.Event, s *seen, entry *taskfile.Entry, n int) error {
	id := entry.TaskID
	if id == "" {
		id = namelessID(s, entry)
	}
	h, err := p.load(tx, nameOf(id))
	if err != nil || h.state.month != "" || s.imported && h.state.own {
		return err
	}
	if h.known && (h.state.task.Agent != s.agent || s.imported && h.state.over == 0) {
		return nil // another agent's task; or an open one, because its file exists
	}
	f := entry.Task()
	f.ID, f.Context = id, entry.Context
	t, lines, ok := task.FromFile(s.agent, &f, e.TS)
	if !ok {
		return nil
	}
	ended := cmp.Or(t.EndedAt, t.ActiveAt)
	if h.known {
		before := h.task()
		before.Status, before.Outcome, before.ActiveAt = t.Status, t.Outcome, max(before.ActiveAt, ended)
		t = before
	}
	was := h
	t.ID, t.Agent, t.EndedAt = id, s.agent, ended
	h.state.gone, h.state.over, h.state.month = false, 0, s.month
	h.update(e, &t, n)
	if len(lines) >= h.work.count {
		p.sayAll(e, &h, lines)
	}
	return p.store(tx, &was, &h)
}

// namelessID is an id for a task of which only an entry without an id is left. Equal entries have equal ids.
func namelessID(s *seen, entry *taskfile.Entry) string {
	text, _ := json.Marshal(entry) // texts always marshal
	sum := sha256.Sum256(slices.Concat([]byte(s.agent+"/"+s.month+"\n"), text))
	return namelessPrefix + hex.EncodeToString(sum[:10])
}

const namelessPrefix = "history_"
