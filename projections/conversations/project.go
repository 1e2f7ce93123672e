// Package conversations projects work sessions, their threads (conversations, pairs of agents, the rest), participants
// and status, and the routes by which an exchange between two agents finds its conversation again.
package conversations

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection of work sessions and threads.
const Name = "conversation"

// version of the fold. Increment it with every change of what it writes.
const version = "10"

// Definition describes the projection of work sessions and threads under the given classification rules.
func Definition(rules coordination.Rules) projections.Definition {
	return projections.Definition{
		Name: Name, Version: version + "/" + string(rules), Kind: projections.ReadModel,
		Tables: []string{"work_sessions", "session_profiles", "session_kinds", "session_slots", "list_slots", "session_census", "session_hours", "session_tasks",
			"session_events", "session_members", "threads", "category_overrides", "category_changes"},
		New: func(name func(string) string) projections.Projector { return newProjector(rules, name) },
	}
}

type projector struct {
	rules    coordination.Rules
	sessions *projections.Table[string, session]
	profiles *projections.Table[int64, profile]
	kinds    *projections.Table[kindKey, kind]
	threads  *projections.Table[threadKey, thread]
	tasks    *projections.Table[taskKey, task]
	slots    *projections.Table[slotKey, slot]
	lists    *projections.Table[listKey, list]
	census   *projections.Table[censusKey, census]
	hours    *projections.Table[hourKey, hour]
	events   *projections.Inserts
	members  *projections.Inserts
	listing  *listing

	overrides *overrides
	changes   *projections.Inserts // for overrides
}

func newProjector(rules coordination.Rules, name func(string) string) *projector {
	p := &projector{
		rules:    rules,
		sessions: newSessions(name("work_sessions")),
		profiles: newProfiles(name("session_profiles")),
		kinds:    newKinds(name("session_kinds")),
		threads:  newThreads(name("threads")),
		tasks:    newTasks(name("session_tasks")),
		slots:    newSlots(name("session_slots")),
		lists:    newLists(name("list_slots")),
		census:   newCensus(name("session_census")),
		hours:    newHours(name("session_hours")),
		events:   projections.NewInserts(name("session_events"), "session_id", "seq", "thread_id", "kind_id", "time"),
		members:  projections.NewInserts(name("session_members"), "agent", "session_id"),

		overrides: newOverrides(name("category_overrides")),
		changes:   projections.NewInserts(name("category_changes"), "name", "seq", "category", "updated_at", "updated_by"),
	}
	p.listing = &listing{slots: p.slots, lists: p.lists, census: p.census, hours: p.hours}
	return p
}

func (p *projector) Rows() []projections.Rows {
	// The listing comes first: its flush changes rows of the next four.
	return []projections.Rows{p.listing, p.slots, p.lists, p.census, p.hours, p.profiles, p.kinds, p.threads, p.tasks, p.events, p.members, p.sessions,
		p.overrides, p.changes}
}

// Apply folds one event into its work session. Events without one are ignored.
func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	r := &e.Record
	switch {
	case isOverride(e):
		return p.override(tx, e)
	case r.WorkSessionID == "":
		return nil
	}
	s, existed, err := p.sessions.Edit(tx, r.WorkSessionID)
	if err != nil {
		return err
	}
	if !existed {
		*s = newSession(e)
	}
	if err := p.settle(tx, s); err != nil {
		return err
	}
	p.listing.touch(s)

	k, err := p.kind(tx, e)
	if err != nil {
		return err
	}
	t, err := p.thread(tx, e, s)
	if err != nil {
		return err
	}
	if err := p.task(tx, e, s); err != nil {
		return err
	}
	if err := p.profile(tx, e, s); err != nil {
		return err
	}
	s.count(e, k.id)
	s.judge(p.rules, e)
	s.tally.add(&e.Class)
	p.events.Add(s.id, e.Seq, t.id, k.id, r.Time)
	return nil
}

// kind is a combination of role and type that occurs in work sessions.
type kind struct {
	id int64
	kindKey
}

type kindKey struct {
	internal  bool
	role, typ string
}

func newKinds(table string) *projections.Table[kindKey, kind] {
	return projections.NewTable(projections.Columns[kindKey, kind]{
		Table: table, Names: []string{"id", "internal", "role", "type"}, Key: 1, Fixed: 4, Keep: 2_000,
		Lookup: "internal = ? AND role = ? AND type = ?", LookUp: func(k kindKey) []any { return []any{k.internal, k.role, k.typ} },
		Scan: func(r eventstore.Row, k *kind) error {
			*k = kind{id: r.Int(0), kindKey: kindKey{r.Int(1) != 0, r.Text(2), r.Text(3)}}
			return nil
		},
		Args: func(args []any, k *kind) []any { return append(args, k.id, k.internal, k.role, k.typ) },
	})
}

func (p *projector) kind(tx eventstore.Tx, e *projections.Event) (*kind, error) {
	key := kindKey{e.Internal(), string(e.Class.Role), e.Type}
	if k, err := p.kinds.Get(tx, key); k != nil || err != nil {
		return k, err
	}
	k, _, err := p.kinds.Edit(tx, key)
	if err == nil {
		*k = kind{id: e.Seq, kindKey: key}
	}
	return k, err
}

// task is a task as known from the events of one work session.
type task struct {
	id      int64
	session int64
	taskID  string
	state   string
	time    float64 // of the event that set the state
	seq     int64
	reason  string // why it is blocked
}

type taskKey struct {
	session int64
	task    string
}

func newTasks(table string) *projections.Table[taskKey, task] {
	return projections.NewTable(projections.Columns[taskKey, task]{
		Table: table, Names: []string{"id", "session_id", "task_id", "state", "time", "seq", "reason"}, Key: 1, Fixed: 3, Keep: 5_000,
		Lookup: "session_id = ? AND task_id = ?", LookUp: func(k taskKey) []any { return []any{k.session, k.task} },
		Scan: func(r eventstore.Row, t *task) error {
			*t = task{id: r.Int(0), session: r.Int(1), taskID: r.Text(2), state: r.Text(3), time: r.Float(4), seq: r.Int(5), reason: r.Text(6)}
			return nil
		},
		Args: func(args []any, t *task) []any {
			return append(args, t.id, t.session, t.taskID, t.state, t.time, t.seq, t.reason)
		},
	})
}

// task folds what the event says about its task, and maintains the session's counts of open and blocked ones.
func (p *projector) task(tx eventstore.Tx, e *projections.Event, s *session) error {
	r := &e.Record
	step := coordination.TaskStateOf(r)
	if !step.Affects || r.TaskID == "" {
		return nil
	}
	edit := p.tasks.Edit
	if s.isNew() {
		edit = p.tasks.EditNew
	}
	t, existed, err := edit(tx, taskKey{s.id, r.TaskID})
	if err != nil {
		return err
	}
	if !existed {
		*t = task{id: e.Seq, session: s.id, taskID: r.TaskID}
	}
	if step.OnlyIfUnknown && t.state != "" || newer(t.time, t.seq, r.Time, e.Seq) {
		return nil
	}
	s.countTask(t.state, -1)
	t.state, t.time, t.seq, t.reason = step.State, r.Time, e.Seq, ""
	if t.state == coordination.StateBlocked {
		t.reason = coordination.Clean(r.Reason, e.Roster).Text
	}
	s.countTask(t.state, +1)
	return nil
}

// newer reports whether the stored value, from an event at (time, seq), is newer than one at (atTime, atSeq). seq 0
// means no value.
func newer(time float64, seq int64, atTime float64, atSeq int64) bool {
	return seq != 0 && (time > atTime || time == atTime && seq > atSeq)
}
