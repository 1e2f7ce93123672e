package task_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

const day = 24 * 60 * 60 * 1000

// stream is the events of one task, as they are stored, and what they make of it.
type stream struct {
	tb          tester
	task        task.Task
	delegations map[string]*task.Delegation
	stored      []stored
	progress    []string
	now         int64
}

type stored struct {
	typ, agent string
	data       []byte
	ts         int64
	means      bool
}

// tester is a test, or a run of a property.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newStream(tb tester) *stream {
	return &stream{tb: tb, delegations: map[string]*task.Delegation{}, now: 1_771_000_000_000}
}

// started returns a started task of eden with steps of that content.
func started(tb tester, steps ...string) *stream {
	s := newStream(tb)
	s.take(task.Start(s.start(steps...)))
	return s
}

func (s *stream) start(steps ...string) task.StartAsk {
	a := task.StartAsk{Asked: s.by("eden"), TaskID: "task_1", WorkSessionID: "ws_1", Description: "로그인 기능", Priority: "high"}
	a.SessionKey = "agent:eden:main"
	for _, content := range steps {
		a.Steps = append(a.Steps, task.NewStep{Content: content})
	}
	return a
}

// in is a task of eden in a state.
func in(tb tester, state string) *stream {
	var s *stream
	switch state {
	case coordination.StatePendingApproval:
		s = newStream(tb)
		a := s.start()
		a.RequiresApproval = true
		s.take(task.Start(a))
	case coordination.StateBacklog:
		s = newStream(tb)
		s.take(task.AddBacklog(s.backlog()))
	case coordination.StatePending, coordination.StateAbandoned, coordination.StateFailed: // only files have them
		s = started(tb)
		s.task.Status = state
	default:
		s = started(tb)
		switch state {
		case coordination.StateBlocked:
			s.take(task.Block(&s.task, s.block("ruda")))
		case coordination.StateInterrupted:
			s.happen(coordination.TypeZombieAbandoned, coordination.ZombieAbandoned{Action: coordination.ZombieEscalated})
		case coordination.StateCompleted:
			s.take(task.Complete(&s.task, task.CompleteAsk{Asked: s.by("eden")}))
		case coordination.StateCancelled:
			s.take(task.Cancel(&s.task, s.by("eden"), ""))
		}
	}
	if s.task.Status != state {
		tb.Fatalf("the task is %s, want %s", s.task.Status, state)
	}
	return s
}

func (s *stream) by(agent string) task.Asked {
	return task.Asked{By: agent, Now: s.now, NewWorkSession: "ws_new"}
}

func (s *stream) block(by ...string) task.BlockAsk {
	return task.BlockAsk{Asked: s.by("eden"), Reason: "키 대기", By: by, Action: "키 발급", Known: []string{"eden", "ruda", "seum"}}
}

func (s *stream) backlog() task.BacklogAsk {
	return task.BacklogAsk{Asked: s.by("eden"), TaskID: "task_1", WorkSessionID: "ws_1", Known: []string{"eden", "ruda"}, Description: "백로그"}
}

// take folds what a decision says, which must not be refused.
func (s *stream) take(events []task.Event, err error) []task.Event {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatalf("refused: %v", err)
	}
	for _, e := range events {
		s.append(e.Type, e.AgentID, e.Data)
	}
	return events
}

// happen folds what no decision of the package says.
func (s *stream) happen(typ string, data any) bool {
	s.tb.Helper()
	return s.append(typ, s.task.Agent, data)
}

func (s *stream) append(typ, agent string, data any) bool {
	s.tb.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.now += 1000
	s.stored = append(s.stored, stored{typ: typ, agent: agent, data: text, ts: s.now})
	return s.fold(len(s.stored) - 1)
}

// fold folds a stored event. Seqs are a hundred times the version.
func (s *stream) fold(i int) bool {
	s.tb.Helper()
	e := s.stored[i]
	version := int64(i + 1)
	before := s.task.ProgressCount
	means, err := s.task.Apply(e.typ, e.agent, e.data, version*100, version, e.ts)
	if err != nil {
		s.tb.Fatalf("%s %s: %v", e.typ, e.data, err)
	}
	s.stored[i].means = means
	if s.task.ProgressCount != before {
		s.progress = append(s.progress, s.task.Progress)
	}
	var data coordination.Delegation
	if json.Unmarshal(e.data, &data) == nil && data.DelegationID != "" && data.ToAgent != "" {
		d := s.delegations[data.DelegationID]
		if d == nil {
			d = &task.Delegation{}
			s.delegations[data.DelegationID] = d
		}
		if _, err := d.Apply(e.typ, e.data, version*100, e.ts); err != nil {
			s.tb.Fatal(err)
		}
	}
	return means
}

// refused is why a decision says no.
func refused(t tester, events []task.Event, err error) *task.Refusal {
	t.Helper()
	var r *task.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("not refused: %v, %v", events, err)
	}
	if r.Text == "" || r.HintText == "" || len(events) > 0 && r.Reason != task.CodeStopGuard {
		t.Fatalf("%+v with %v", r, events)
	}
	return r
}

func code(err error) string {
	var r *task.Refusal
	if errors.As(err, &r) {
		return r.Code()
	}
	return ""
}

// shape is the steps as one line, such as "s1 done, s2 in_progress".
func shape(steps []coordination.TaskStep) (text string) {
	for i, s := range steps {
		if i > 0 {
			text += ", "
		}
		text += s.ID + " " + s.Status
	}
	return text
}

func types(events []task.Event) (list []string) {
	for _, e := range events {
		list = append(list, e.Type)
	}
	return list
}

func sameTypes(t *testing.T, events []task.Event, want ...string) {
	t.Helper()
	if got := types(events); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func same[T any](t tester, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
}
