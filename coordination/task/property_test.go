package task_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// model is what a task ought to be, kept in another way: statuses of steps by id, the order as a list, and moves as words.
type model struct {
	state    string
	steps    map[string]string
	order    []string
	made     int // steps that there ever were
	lines    int
	session  string
	previous string
	helpers  map[string]bool
	reassign int
	asked    int
	focus    int // the number of the event
	events   int
	version  int // the number of the event that changed it last
}

// ways are the moves that there are: what happens, in which state, and where it leads.
var ways = func() map[string]string {
	m := map[string]string{}
	for _, way := range strings.Split(`update in_progress in_progress, update blocked blocked, complete in_progress completed, block in_progress blocked,
		resume blocked in_progress, resume interrupted in_progress, approve pending_approval in_progress,
		reject pending_approval cancelled, pick backlog in_progress, autopick backlog in_progress,
		cancel backlog cancelled, cancel pending_approval cancelled, cancel in_progress cancelled, cancel blocked cancelled, cancel interrupted cancelled,
		zombie in_progress backlog, zombie interrupted backlog, escalate in_progress interrupted, ask blocked blocked`, ",") {
		words := strings.Fields(way)
		m[words[0]+" "+words[1]] = words[2]
	}
	return m
}()

func (m *model) statuses() string {
	list := make([]string, len(m.order))
	for i, id := range m.order {
		list[i] = id + " " + m.steps[id]
	}
	return strings.Join(list, ", ")
}

func (m *model) count(status string) (n int) {
	for _, s := range m.steps {
		if s == status {
			n++
		}
	}
	return n
}

func (m *model) put(status string) {
	m.made++
	id := fmt.Sprint("s", m.made)
	m.steps[id], m.order = status, append(m.order, id)
}

// ahead begins the next step where none is under way.
func (m *model) ahead() {
	for _, id := range m.order {
		if m.count("in_progress") == 0 && m.steps[id] == "pending" {
			m.steps[id] = "in_progress"
		}
	}
}

// Whatever agents ask for in whatever order, a task is what the model says, a decision that is refused changes nothing, and folding all of its
// events at once gives the same task.
//
// Promise: tasks
func TestTasksAreAsTheModelSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newStream(t)
		m := &model{steps: map[string]string{}, session: "ws_1", helpers: map[string]bool{}, lines: 1, events: 1, version: 1}
		m.begin(t, s)
		m.check(t, s)
		for n := rapid.IntRange(0, 30).Draw(t, "steps"); n > 0; n-- {
			m.next(t, s)
			m.check(t, s)
		}
		again := newStream(t)
		again.stored = s.stored
		for i := range again.stored {
			again.fold(i)
		}
		same(t, again.task, s.task)
		same(t, again.progress, s.progress)
		same(t, stateOf(t, s), s.task.Status)
	})
}

// begin is a task of any kind.
func (m *model) begin(t *rapid.T, s *stream) {
	if rapid.Bool().Draw(t, "backlog") {
		m.state = "backlog"
		s.take(task.AddBacklog(s.backlog()))
		return
	}
	a := s.start()
	a.RequiresApproval = rapid.Bool().Draw(t, "approval")
	for range rapid.IntRange(0, 4).Draw(t, "plan") {
		a.Steps = append(a.Steps, task.NewStep{Content: "x"})
		m.put("pending")
	}
	if m.state = "pending_approval"; !a.RequiresApproval {
		m.state, m.focus = "in_progress", 1
		m.ahead()
	}
	s.take(task.Start(a))
}

// asked is what the model has to say of a request.
type asked struct {
	move   string // of ways; "" is one that leaves the state as it is, and is made in any
	may    bool   // who asks may ask for it
	sound  bool   // nothing else is wrong with it
	lines  int
	focus  bool
	after  func() // what else it changes
	renews string
}

var asks = []string{"update", "set", "add", "finish", "turn", "skip", "reorder", "complete", "force", "cancel", "approve", "reject", "block", "resume", "pick"}

// next has something be asked for, or happen.
func (m *model) next(t *rapid.T, s *stream) {
	if rapid.IntRange(0, 4).Draw(t, "happens") == 0 {
		m.happens(t, s)
		return
	}
	by := rapid.SampledFrom([]string{"eden", "eden", "eden", "ruda", "seum"}).Draw(t, "by")
	version := rapid.SampledFrom([]int64{-1, -1, -1, 0, s.task.Version, s.task.Version - 1}).Draw(t, "version") // -1: none is given
	ask := s.by(by)
	if version >= 0 {
		ask.Expect = &version
	}
	before := s.task
	steps := slices.Clone(before.Steps)
	want, events, err := m.ask(t, s, ask, rapid.SampledFrom(asks).Draw(t, "what"))
	same(t, s.task, before)
	same(t, s.task.Steps, steps)
	to, leads := ways[want.move+" "+m.state]
	right := want.may && leads && want.sound && (version < 0 || version == int64(m.version))
	if right != (err == nil) {
		t.Fatalf("%s by %s of %s: want %v, have %v", want.move, by, m.state, right, err)
	}
	if err != nil {
		guarded := refused(t, events, err).Reason == task.CodeStopGuard
		if m.events += len(events); guarded {
			m.lines++
			m.version = m.events
			s.take(events, nil)
		}
		return
	}
	s.take(events, nil)
	m.events += len(events)
	m.version = m.events
	m.state, m.lines = to, m.lines+want.lines
	if want.after != nil {
		want.after()
	}
	if want.focus {
		m.focus = m.events
	}
	if want.renews != "" && want.renews != m.session {
		m.previous, m.session = m.session, want.renews
	}
}

func (m *model) ask(t *rapid.T, s *stream, by task.Asked, what string) (asked, []task.Event, error) {
	want := asked{move: what, may: by.By == "eden", sound: true, lines: 1}
	renewed := rapid.SampledFrom([]string{"", "", "ws_1", "ws_2", "ws_3"}).Draw(t, "renewed")
	var events []task.Event
	var err error
	left := m.count("pending") + m.count("in_progress")
	switch what {
	case "complete":
		want.sound = left == 0
		events, err = task.Complete(&s.task, task.CompleteAsk{Asked: by})
	case "force":
		if want.move = "complete"; left > 0 {
			want.lines = 2
		}
		events, err = task.Complete(&s.task, task.CompleteAsk{Asked: by, Force: true})
	case "cancel":
		events, err = task.Cancel(&s.task, by, "x")
	case "approve":
		want.may, want.focus, want.renews, want.after = by.By != "eden", true, renewed, m.ahead
		events, err = task.Approve(&s.task, task.ApproveAsk{Asked: by, Renewed: renewed})
	case "reject":
		reason := rapid.SampledFrom([]string{"r", "r", " "}).Draw(t, "reason")
		want.may, want.sound = by.By != "eden", reason == "r"
		events, err = task.Reject(&s.task, task.ApproveAsk{Asked: by}, reason)
	case "block":
		helpers := rapid.SampledFrom([]string{"ruda", "seum", "ruda seum", "eden", "nix", ""}).Draw(t, "helpers")
		want.sound = strings.Trim(helpers, "ruda sem") == "" && helpers != ""
		want.after = func() {
			m.helpers, m.asked = map[string]bool{}, 0
			for _, h := range strings.Fields(helpers) {
				m.helpers[h] = true
			}
		}
		ask := s.block(strings.Fields(helpers)...)
		ask.Asked = by
		events, err = task.Block(&s.task, ask)
	case "resume":
		want.may = want.may || m.state == "blocked" && m.helpers[by.By]
		want.focus, want.renews, want.after = true, renewed, func() { m.asked, m.helpers = 0, nil }
		events, err = task.Resume(&s.task, by, renewed)
	case "pick":
		active := rapid.SampledFrom([]string{"", "", "task_9"}).Draw(t, "active")
		want.sound, want.focus, want.renews = active == "", true, renewed
		events, err = task.Pick(&s.task, task.PickAsk{Asked: by, Active: active, Renewed: renewed})
	default:
		a := m.update(t, what, &want)
		a.Asked = by
		events, err = task.Update(&s.task, a)
	}
	return want, events, err
}

// update is progress, or an action on steps.
func (m *model) update(t *rapid.T, what string, want *asked) (a task.UpdateAsk) {
	want.move, want.focus = "update", true
	id := rapid.SampledFrom(append([]string{"s99", ""}, m.order...)).Draw(t, "step")
	_, there := m.steps[id]
	if rapid.Bool().Draw(t, "with progress") {
		a.Progress = "p"
	}
	mark := func(status string) {
		want.sound = there
		want.after = func() { m.steps[id] = status; m.ahead() }
		a.StepID = id
	}
	switch what {
	case "update":
		want.sound = a.Progress != ""
	case "set":
		n := rapid.IntRange(0, 3).Draw(t, "new steps")
		a.Action, a.Steps = "set_steps", news(slices.Repeat([]string{"x"}, n)...)
		want.sound = n > 0 && m.made+n <= task.MaxSteps
		want.after = func() {
			m.steps, m.order = map[string]string{}, nil
			for range n {
				m.put("pending")
			}
			m.ahead()
		}
	case "add":
		a.Action, a.StepContent = "add_step", "x"
		want.after = func() { m.put("pending") }
	case "finish":
		a.Action = "complete_step"
		mark("done")
	case "skip":
		a.Action = "skip_step"
		mark("skipped")
	case "turn":
		a.Action = "start_step"
		mark("in_progress")
		want.after = func() {
			for other, status := range m.steps {
				if status == "in_progress" {
					m.steps[other] = "pending"
				}
			}
			m.steps[id] = "in_progress"
		}
	case "reorder":
		a.Action, a.Order = "reorder_steps", rapid.Permutation(append([]string{"s99"}, m.order...)).Draw(t, "order")
		a.Order = a.Order[:rapid.IntRange(0, len(a.Order)).Draw(t, "listed")]
		want.sound = len(a.Order) > 0
		want.after = func() {
			first := slices.DeleteFunc(slices.Clone(a.Order), func(id string) bool { return id == "s99" })
			rest := slices.DeleteFunc(slices.Clone(m.order), func(id string) bool { return slices.Contains(first, id) })
			m.order = append(first, rest...)
		}
	}
	return a
}

// happens is what no agent asks for.
func (m *model) happens(t *rapid.T, s *stream) {
	what := rapid.SampledFrom([]string{"autopick", "zombie", "escalate", "ask", "delegate", "other"}).Draw(t, "happens to it")
	to, leads := ways[what+" "+m.state]
	var means bool
	switch what {
	case "autopick":
		if means = s.happen(coordination.TypeBacklogAutoPicked, coordination.TaskState{Progress: "p"}); leads {
			m.focus = m.events + 1
		}
	case "zombie", "escalate":
		action := coordination.ZombieMovedToBacklog
		if what == "escalate" {
			action = coordination.ZombieEscalated
		}
		if means = s.happen(coordination.TypeZombieAbandoned, coordination.ZombieAbandoned{Action: action, Progress: "p"}); leads {
			m.reassign++
		}
	case "ask":
		if means = s.happen(coordination.TypeUnblockRequested, coordination.Unblock{TargetAgentID: "ruda", Progress: "p"}); leads {
			m.asked++
		}
	case "delegate":
		means = s.happen(coordination.TypeDelegationSpawned, coordination.Delegation{DelegationID: fmt.Sprint("d", m.events), ToAgent: "seum"})
	case "other":
		means = s.happen(coordination.TypeMilestoneSyncFailed, coordination.Milestone{MilestoneID: "m"})
	}
	if m.events++; means != leads {
		t.Fatalf("%s of %s means something: %v", what, m.state, means)
	}
	if leads {
		m.state, m.version = to, m.events
		m.lines++
	}
}

func (m *model) check(t *rapid.T, s *stream) {
	t.Helper()
	k := &s.task
	have := fmt.Sprint(k.Status, " ", shape(k.Steps), " ", k.ProgressCount, k.Version, k.Focus, " ",
		k.WorkSessionID, k.PreviousWorkSessionID, k.Backlog.Reassigned, k.Blocked.Requests)
	want := fmt.Sprint(m.state, " ", m.statuses(), " ", m.lines, m.version, m.focus*100, " ", m.session, m.previous, m.reassign, m.asked)
	if have != want {
		t.Fatalf("have %s\nwant %s", have, want)
	}
	over := m.state == "completed" || m.state == "cancelled"
	if len(s.progress) != m.lines || k.Terminal() != over || (k.EndedAt > 0) != over || len(k.Blocked.By) != len(m.helpers) {
		t.Fatalf("%+v", k)
	}
}

// stateOf is the state of the task as those see it who know nothing but types and what records say, of the events that mean something.
func stateOf(t *rapid.T, s *stream) (state string) {
	t.Helper()
	for i := range s.stored {
		e := &s.stored[i]
		r := coordination.ReadRecord(coordination.RulesV2, e.typ, e.agent, e.ts, e.ts, e.data, nil)
		if c := coordination.TaskStateOf(&r); e.means && c.Affects && (!c.OnlyIfUnknown || state == "") {
			state = c.State
		}
	}
	return state
}
