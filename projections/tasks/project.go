package tasks

import (
	"cmp"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "task"

// version of the fold. Increment it with every change of what it writes.
const version = "1"

// Definition describes the projection "task".
func Definition() projections.Definition {
	return projections.Definition{
		Name: Name, Version: version, Kind: projections.Decision,
		Tables: []string{"tasks", "task_work", "task_progress", "task_delegations", "task_files"},
		New: func(name func(string) string) projections.Projector {
			return &projector{
				states: newStates(name("tasks")), works: newWorks(name("task_work")), delegations: newDelegations(name("task_delegations")),
				files: newFiles(name("task_files")),
				lines: projections.NewInserts(name("task_progress"), "id", "task", "n", "previous", "at", "text"),
			}
		},
	}
}

type projector struct {
	states      *projections.Table[string, state]
	works       *projections.Table[int64, work]
	delegations *projections.Table[string, delegation]
	files       *projections.Table[string, file]
	lines       *projections.Inserts
	said        int // progress lines added by the current event
}

func (p *projector) Rows() []projections.Rows {
	return []projections.Rows{p.states, p.works, p.delegations, p.files, p.lines}
}

// Apply folds one event. It never refuses an event: inconsistent ones change nothing. The task of an event in a task's
// stream is identified by the stream, so redacted events count too.
func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	if e.Actor == eventstore.ActorImport {
		return nil
	}
	p.said = 0
	if name, is := strings.CutPrefix(e.Stream, streamPrefix); is {
		return p.moved(tx, e, name)
	}
	if strings.HasPrefix(e.Type, "file.") && strings.HasPrefix(e.Stream, coordination.FileStreams) {
		return p.filed(tx, e)
	}
	return nil
}

// moved folds an event of a task, or of its delegations.
func (p *projector) moved(tx eventstore.Tx, e *projections.Event, name string) error {
	if !e.Redacted() && nameOf(e.Record.TaskID) != name {
		return nil
	}
	h, err := p.load(tx, name)
	if err != nil {
		return err
	}
	if !h.known && e.Type != coordination.TypeTaskStarted && e.Type != coordination.TypeTaskBacklogAdded {
		return nil
	}
	if strings.HasPrefix(e.Type, "delegation.") {
		if err := p.delegated(tx, e, &h); err != nil {
			return err
		}
	}
	t := h.task()
	if !h.known {
		t.ID, t.Seq = cmp.Or(e.Record.TaskID, name), e.Seq // the name if the event with the id is redacted
	}
	if changed, err := t.Apply(e.Type, e.AgentID, e.Data, e.Seq, e.Version, e.TS); err != nil || !changed {
		return nil
	}
	t.Agent = strings.ToLower(t.Agent)
	was := h
	h.state.own, h.state.gone = true, false
	h.update(e, &t, 0)
	if h.state.over != 0 && h.state.month == "" {
		h.state.month = monthOf(h.state.overAt)
	}
	if t.ProgressCount > h.work.count {
		p.addProgress(e, &h, t.Progress)
		h.work.count = t.ProgressCount
	}
	return p.store(tx, &was, &h)
}

// loadedTask is a task with its work, for changing and storing.
type loadedTask struct {
	state state
	work  work
	known bool
}

// load returns a task, or a new one of that name.
func (p *projector) load(tx eventstore.Tx, name string) (loadedTask, error) {
	s, err := p.states.Get(tx, name)
	if err != nil || s == nil {
		return loadedTask{state: state{name: name}}, err
	}
	h := loadedTask{state: *s, known: true}
	w, err := p.works.Get(tx, s.id)
	if err != nil {
		return loadedTask{}, err
	}
	if w != nil {
		h.work = *w
	}
	return h, nil
}

// task returns the current state of the task.
func (h *loadedTask) task() task.Task {
	t := h.state.task
	h.work.onto(&t)
	return t
}

// update stores the state of a task after an event, except for its progress lines. n is the number of the task among
// those in the event.
func (h *loadedTask) update(e *projections.Event, t *task.Task, n int) {
	if !h.known {
		h.state.id, h.work.id = place(e.Seq, n), place(e.Seq, n)
	}
	if t.ID != h.state.name {
		h.state.taskID = t.ID
	}
	h.state.set(t, place(e.Seq, n), e.TS)
	h.work.set(t, e.Seq)
}

// store writes the changed parts of a task: usually only its work.
func (p *projector) store(tx eventstore.Tx, was, h *loadedTask) error {
	if !was.known || !was.state.same(&h.state) {
		s, _, err := p.states.Edit(tx, h.state.name)
		if err != nil {
			return err
		}
		*s = h.state
	}
	w, _, err := p.work(tx, h)
	if err != nil {
		return err
	}
	*w = h.work
	return nil
}

func (p *projector) work(tx eventstore.Tx, h *loadedTask) (*work, bool, error) {
	if h.known {
		return p.works.Edit(tx, h.work.id)
	}
	return p.works.EditNew(tx, h.work.id)
}

// addProgress adds a progress line to a task.
func (p *projector) addProgress(e *projections.Event, h *loadedTask, text string) {
	id := place(e.Seq, p.said)
	p.said++
	w := &h.work
	w.count++
	p.lines.Add(id, w.id, w.count, w.end, e.TS, text)
	if w.first == 0 {
		w.first = id
	}
	w.end, w.line, w.sum = id, text, addLine(w.sum, text)
}

const streamPrefix = "task/"

// nameOf returns the name of a task in its stream's name.
func nameOf(taskID string) string {
	return strings.TrimPrefix(coordination.TaskStream(taskID), streamPrefix)
}

// places bounds the number of items of one event: an event has fewer bytes, and every item takes some.
const places = 1 << 24

// place is a number for the nth item of an event; it exceeds those of all earlier events.
func place(seq int64, n int) int64 { return seq*places + int64(n) }

// seqOf returns the seq of a place.
func seqOf(place int64) int64 { return place / places }

// monthOf returns the month of history that contains a time.
func monthOf(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01") }
