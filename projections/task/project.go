package task

import (
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "task"

// version of the fold. Count it up with every change of what it writes.
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
	said        int // lines of progress that the event under way has added
}

func (p *projector) Rows() []projections.Rows {
	return []projections.Rows{p.states, p.works, p.delegations, p.files, p.lines}
}

// Apply folds one event. It never refuses one: what makes no sense changes nothing. Which task an event of a task's stream is about, its
// stream says, so that it counts also when it is redacted.
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

// moved folds what happens to a task, or to what is delegated for it.
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
		t.ID, t.Seq = idOf(e.Record.TaskID, name), e.Seq
	}
	if changed, err := t.Apply(e.Type, e.AgentID, e.Data, e.Seq, e.Version, e.TS); err != nil || !changed {
		return nil
	}
	t.Agent = strings.ToLower(t.Agent)
	was := h
	h.state.own, h.state.gone = true, false
	h.take(e, &t, 0)
	if h.state.over != 0 && h.state.month == "" {
		h.state.month = monthOf(h.state.overAt)
	}
	if t.ProgressCount > h.work.count {
		p.say(e, &h, t.Progress)
		h.work.count = t.ProgressCount
	}
	return p.store(tx, &was, &h)
}

// held is a task with its work, to be changed and stored.
type held struct {
	state state
	work  work
	known bool
}

// load gives a task, or a new one of that name.
func (p *projector) load(tx eventstore.Tx, name string) (held, error) {
	s, err := p.states.Get(tx, name)
	if err != nil || s == nil {
		return held{state: state{name: name}}, err
	}
	h := held{state: *s, known: true}
	w, err := p.works.Get(tx, s.id)
	if err != nil {
		return held{}, err
	}
	if w != nil {
		h.work = *w
	}
	return h, nil
}

// task is the task as it stands.
func (h *held) task() decide.Task {
	t := h.state.task
	h.work.onto(&t)
	return t
}

// take takes over how a task stands after an event, but for its lines of progress. n is the number of the task among those that the event
// speaks of.
func (h *held) take(e *projections.Event, t *decide.Task, n int) {
	if !h.known {
		h.state.id, h.work.id = place(e.Seq, n), place(e.Seq, n)
	}
	if t.ID != h.state.name {
		h.state.taskID = t.ID
	}
	h.state.set(t, place(e.Seq, n), e.TS)
	h.work.set(t, e.Seq)
}

// store writes what has changed of a task: mostly that is its work alone.
func (p *projector) store(tx eventstore.Tx, was, h *held) error {
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

func (p *projector) work(tx eventstore.Tx, h *held) (*work, bool, error) {
	if h.known {
		return p.works.Edit(tx, h.work.id)
	}
	return p.works.EditNew(tx, h.work.id)
}

// say adds a line to the progress of a task.
func (p *projector) say(e *projections.Event, h *held, text string) {
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

// nameOf is what a task is called by in the name of its stream.
func nameOf(taskID string) string {
	return strings.TrimPrefix(coordination.TaskStream(taskID), streamPrefix)
}

// idOf is the id of a task, or its name in the stream where the event that said it is redacted.
func idOf(said, name string) string {
	if said == "" {
		return name
	}
	return said
}

// places is how many things there may be of one event: it has not so many bytes, and a row of each takes some.
const places = 1 << 24

// place is a number for the nth thing that an event speaks of; it is above those of all events before it.
func place(seq int64, n int) int64 { return seq*places + int64(n) }

// seqOf is the seq of the event of a place.
func seqOf(place int64) int64 { return place / places }

// monthOf is the month of history to which a moment belongs.
func monthOf(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01") }
