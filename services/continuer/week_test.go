package continuer_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/tools/a2atest"
	"github.com/pronto-lab/openclawd/tools/tasktools"
)

// How much happens in the simulated week.
var (
	weekDays     = testscale.Of(1, 7)
	weekAgents   = testscale.Of(4, 11)
	weekTasks    = testscale.Of(30, 200)
	weekDrops    = testscale.Of(1, 2) // of weekTasks, early ones that are never worked at
	weekInVain   = testscale.Of(1, 3) // tasks of backlogs that can never begin, at least
	weekChats    = testscale.Of(6, 40)
	weekRestarts = testscale.Of(4, 20)
)

// A week of agents that work, block, drop and refuse at random, whose models fail, and whose program ends again and again: no task is
// forgotten, no prompt is sent twice for one cause, and every blocked task ends resumed or reported. OPENCLAWD_WEEK_SEED repeats the
// dice.
//
// Promise: continuation
func TestSimulatedWeek(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64N(1_000_000)
	if text := os.Getenv("OPENCLAWD_WEEK_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("OPENCLAWD_WEEK_SEED is %q, want a number", text)
		}
		seed = n
	}
	t.Logf("OPENCLAWD_WEEK_SEED=%d", seed)
	w := newWeek(t, seed)
	w.run()
	w.check(true)
	w.enough()
}

// week is a team in a time that the test moves.
type week struct {
	*a2atest.Team
	t        testing.TB
	roll     *rand.Rand
	minds    *minds
	house    house
	logs     *errorLines
	begins   time.Time
	ends     time.Time
	calendar []appointment
	added    []string // tasks of backlogs
	crashes  []end    // of the program, that are due
	patience int      // for how many moments the first of them has waited for something to break off
	moved    chan struct{}
	unfollow func()
	events   []eventstore.Event
	count    map[string]int
	steps    int
}

// appointment is something that happens at its time, whatever agents do.
type appointment struct {
	at      time.Time
	happens func()
}

// end is how the program ends.
type end struct {
	crash  bool // nothing more is written
	atOnce bool // whatever is under way
}

// weekNames are the agents; the first one leads.
var weekNames = [...]string{"ruda", "eden", "seum", "dajim", "nara", "bada", "haneul", "byeol", "gaon", "miso", "onyu"}

func newWeek(t testing.TB, seed uint64) *week {
	t.Helper()
	names := weekNames[:weekAgents]
	begins := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	w := &week{t: t, roll: rand.New(rand.NewPCG(seed, 0)), minds: newMinds(seed, names), logs: &errorLines{}, begins: begins,
		ends: begins.AddDate(0, 0, weekDays), moved: make(chan struct{}, 1), count: map[string]int{}}
	w.house = house{policy: continuation.DefaultPolicy(), lead: names[0], slack: 30 * time.Minute,
		barred: func(agent, target string) bool {
			return agent == names[1] && target == names[2] || !slices.Contains(names, target)
		}}
	w.Team = a2atest.New(t, a2atest.Setting{
		Open:  func(path string) (a2atest.Store, error) { return openStore(path) },
		Empty: emptyLog, Agents: names, Answer: w.minds.answer, KeepGoing: true, Begin: begins, Config: weekConfig(names), Logs: w.logs,
		Lanes: map[string]int{"main": 64, "nested": 64, "subagent": 8},
		Then:  func(team *a2atest.Team) []tasktools.Then { return []tasktools.Then{tasktools.NotifyOwners(team.Queue)} },
	})
	w.minds.now = w.Clock.Now
	w.opened()
	t.Cleanup(func() { w.unfollow() })
	w.plan()
	return w
}

// weekConfig has the first agent lead, and keeps the second from writing to the third. Models have little room, so that long histories cost
// little.
func weekConfig(names []string) string {
	var agents, models []any
	for i, id := range names {
		agent := map[string]any{"id": id, "model": "test/" + id}
		if i == 0 {
			agent["default"], agent["role"] = true, "lead"
		}
		agents = append(agents, agent)
		models = append(models, map[string]any{"id": id, "contextWindow": 12_000, "maxTokens": 1_000})
	}
	text, err := json.Marshal(map[string]any{
		"agents":  map[string]any{"list": agents},
		"models":  map[string]any{"providers": map[string]any{"test": map[string]any{"models": models}}},
		"session": map[string]any{"agentToAgent": map[string]any{"maxPingPongTurns": 0}},
		"tools": map[string]any{"agentToAgent": map[string]any{"enabled": true,
			"pairs": []any{map[string]any{"from": names[1], "to": names[2], "allow": false}}}},
	})
	if err != nil {
		panic(err) // texts and numbers can always be written
	}
	return string(text)
}

// opened follows the log of the team that is open now.
func (w *week) opened() {
	ctx, cancel := context.WithCancel(context.Background())
	log, done := w.Log, make(chan struct{})
	go func() {
		defer close(done)
		for seq, err := int64(0), error(nil); err == nil; {
			seq, err = log.Wait(ctx, seq+1)
			w.move()
		}
	}()
	w.unfollow = func() { cancel(); <-done }
}

func (w *week) move() {
	select {
	case w.moved <- struct{}{}:
	default:
	}
}

// at plans something.
func (w *week) at(at time.Time, happens func()) {
	w.calendar = append(w.calendar, appointment{at: at, happens: happens})
	slices.SortStableFunc(w.calendar, func(a, b appointment) int { return a.at.Compare(b.at) })
}

// between is a moment of the week.
func (w *week) between(from, to float64) time.Time {
	whole := float64(w.ends.Sub(w.begins))
	return w.begins.Add(time.Duration(whole * (from + w.roll.Float64()*(to-from)))).Truncate(time.Second)
}

// plan fills the calendar.
func (w *week) plan() {
	for n := range weekTasks {
		to := 0.85
		if n < weekDrops {
			to = 0.1
		}
		w.at(w.between(0, to), func() { w.newTask(n) })
	}
	at := w.begins
	for n := range weekRestarts {
		if n%4 != 3 { // else soon after the one before
			at = w.between(0.9*float64(n)/float64(weekRestarts), 0.9*float64(n+1)/float64(weekRestarts))
		}
		at = at.Add(time.Minute)
		w.at(at, func() { w.crashes = append(w.crashes, end{crash: n%2 == 0, atOnce: n%4 == 3}) })
	}
	for n := range weekChats {
		w.at(w.between(0, 1), func() { w.SayTo(w.anybody(), fmt.Sprintf("how are you, for the %d. time?", n+1)) })
	}
	for range weekInVain {
		w.at(w.between(0.1, 0.3), w.inVain)
	}
	w.at(w.between(0.3, 0.5), func() { w.minds.fill(w.minds.names[3], true) })
	w.at(w.ends.Add(-min(24*time.Hour, w.ends.Sub(w.begins)/3)), w.minds.calmDown)
}

func (w *week) anybody() string { return w.minds.names[w.roll.IntN(len(w.minds.names))] }

// newTask has an agent begin a task, or put one into a backlog.
func (w *week) newTask(n int) {
	agent, kind := w.anybody(), finishes
	switch k := w.roll.IntN(100); {
	case n < weekDrops:
		agent, kind = w.minds.names[n%len(w.minds.names)], drops
	case k < 1:
		kind = drops
	case k < 22:
		kind = blocks
	case k < 30:
		kind = stuck
	}
	args := map[string]any{"description": fmt.Sprintf("work %d kind=%s", n, kind),
		"priority": []string{"urgent", "high", "medium", "low"}[w.roll.IntN(4)]}
	switch started := w.roll.IntN(2) == 0; {
	case n == 0: // without steps, so that it is asked what is in the way
		args["simple"] = true
		w.uses(agent, "task_start", args)
		return
	case started:
		w.started(agent, args)
		return
	}
	args["assignee"] = agent
	if w.roll.IntN(3) == 0 {
		at := w.Clock.Now().Add(time.Duration(w.roll.IntN(48*60)) * time.Minute)
		args["start_date"] = at.Format([]string{time.RFC3339, time.DateOnly}[w.roll.IntN(2)])
	}
	if len(w.added) > 0 && w.roll.IntN(3) == 0 {
		args["depends_on"] = []string{w.added[max(0, len(w.added)-1-w.roll.IntN(20))]}
	}
	by := w.anybody()
	if w.roll.IntN(2) == 0 {
		by = agent
	}
	w.added = append(w.added, w.uses(by, "task_backlog_add", args))
}

// inVain puts a task into a backlog that depends on another one, and has that one cancelled later.
func (w *week) inVain() {
	agent, other := w.anybody(), w.anybody()
	first := w.uses(other, "task_backlog_add", map[string]any{"description": "work kind=" + finishes, "start_date": w.ends.Add(24 * time.Hour).Format(time.DateOnly)})
	w.uses(agent, "task_backlog_add", map[string]any{"description": "work kind=" + finishes, "depends_on": []string{first}})
	w.at(w.Clock.Now().Add(time.Duration(w.roll.IntN(24*60))*time.Minute), func() {
		w.uses(other, "task_cancel", map[string]any{"task_id": first, "reason": "not needed any more"})
	})
}

func (w *week) started(agent string, args map[string]any) {
	var steps []any
	for i := range w.roll.IntN(5) {
		steps = append(steps, map[string]any{"content": fmt.Sprintf("step %d", i+1)})
	}
	if len(steps) > 0 {
		args["steps"] = steps
	} else {
		args["simple"] = w.roll.IntN(2) == 0
	}
	waits := w.roll.IntN(6) == 0
	args["requires_approval"] = waits
	id := w.uses(agent, "task_start", args)
	if !waits {
		return
	}
	later := w.Clock.Now().Add(time.Duration(1+w.roll.IntN(30*60)) * time.Minute)
	switch n := w.roll.IntN(10); {
	case n < 7:
		w.at(later, func() { w.person("approve", id) })
	case n < 9:
		w.at(later, func() { w.person("reject", id) })
	}
}

// person decides about a task that waits for approval, which its agent may have ended meanwhile.
func (w *week) person(what, id string) {
	ctx := context.WithoutCancel(w.t.Context())
	var err error
	if what == "approve" {
		_, err = w.Tasks.Approve(ctx, id, "jin")
	} else {
		_, err = w.Tasks.Reject(ctx, id, "jin", "not now")
	}
	if err != nil {
		w.t.Errorf("%s %s: %v", what, id, err)
	}
	w.count[what]++
}

// uses calls a tool of tasks in the name of an agent, and gives the id of the task.
func (w *week) uses(agent, name string, args map[string]any) string {
	w.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	out := w.Use(agent, name, string(text))
	var answer struct{ TaskID string }
	if err := json.Unmarshal([]byte(out.Text), &answer); err != nil || answer.TaskID == "" {
		w.t.Fatalf("%s %s: %s", name, text, out.Text)
	}
	return answer.TaskID
}

// run has the week pass: the clock goes from one moment at which something is due to the next.
func (w *week) run() {
	for !w.t.Failed() {
		next, due := w.settle()
		if due && !next.After(w.Clock.Now()) {
			w.t.Fatalf("at %s it is to be looked again at %s", w.Clock.Now(), next)
		}
		if len(w.calendar) > 0 && (!due || w.calendar[0].at.Before(next)) {
			next, due = w.calendar[0].at, true
		}
		if !due || !next.Before(w.ends) {
			break
		}
		w.steps++
		w.to(next)
		for len(w.calendar) > 0 && !w.calendar[0].at.After(next) {
			a := w.calendar[0]
			w.calendar = w.calendar[1:]
			a.happens()
		}
		w.crash()
	}
	w.to(w.ends)
	w.settle()
	for _, last := range w.crashes {
		w.restart(last.crash)
		w.settle()
	}
}

// crash ends the program if it is time for that: in the midst of something, if there is anything before long.
func (w *week) crash() {
	if len(w.crashes) == 0 {
		return
	}
	for range w.roll.IntN(12) {
		w.stir()
	}
	next := w.crashes[0]
	if quiet, _ := w.quiet(); quiet && !next.atOnce && w.patience < 15 {
		w.patience++
		return
	}
	w.crashes, w.patience = w.crashes[1:], 0
	w.restart(next.crash)
}

// to sets the clock.
func (w *week) to(at time.Time) {
	if d := at.Sub(w.Clock.Now()); d > 0 {
		w.Advance(d)
	}
	w.minds.wake()
	known := len(w.events)
	w.read()
	for i := range w.events[known:] {
		if e := &w.events[known+i]; e.Type == coordination.TypeSessionReset {
			w.minds.fill(e.AgentID, false)
		}
	}
}

// stir waits until something moves, or nothing does any more.
func (w *week) stir() {
	if quiet, _ := w.quiet(); !quiet {
		w.awaitMove()
	}
}

func (w *week) awaitMove() {
	patience := time.NewTimer(a2atest.Patience)
	defer patience.Stop()
	select {
	case <-w.moved:
	case <-w.minds.changed:
	case <-patience.C:
		_, what := w.quiet()
		w.t.Fatalf("nothing moves at %s, but not all is done: %s", w.Clock.Now(), what)
	}
}

// settle waits until nothing happens any more, and returns when time alone changes that.
func (w *week) settle() (next time.Time, due bool) {
	for {
		before, err := w.Log.Head(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if quiet, _ := w.quiet(); !quiet {
			w.awaitMove()
			continue
		}
		next, err = w.Continuer.Check(w.t.Context())
		if err != nil {
			w.t.Fatalf("look at %s: %v", w.Clock.Now(), err)
		}
		after, err := w.Log.Head(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if after.Seq == before.Seq {
			return w.earliest(next)
		}
	}
}

// items is what waits, or is under way.
func (w *week) items() (list []workqueue.Item) {
	err := w.Log.View(w.t.Context(), func(tx *sql.Tx) (err error) {
		list, err = workqueue.List(w.t.Context(), tx, workqueue.Query{})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// quiet reports whether nothing is under way but models that take time, and nothing can be started; else it says what.
func (w *week) quiet() (quiet bool, what string) {
	now := w.Clock.Now()
	leased := map[string]bool{}
	items := w.items()
	for _, i := range items {
		if i.State == workqueue.Leased {
			leased[i.Key] = true
		}
	}
	for _, i := range items {
		if i.State == workqueue.Waiting && !leased[i.Key] && i.DueAt <= now.UnixMilli() {
			return false, "waiting " + i.EffectID
		}
	}
	taking, _ := w.minds.taking(now)
	if len(leased) != taking {
		return false, fmt.Sprintf("%d are under way (%v), of which %d take time", len(leased), slices.Sorted(maps.Keys(leased)), taking)
	}
	return true, ""
}

// earliest is when something changes: by the continuation, by a model, or by work that is due.
func (w *week) earliest(look time.Time) (next time.Time, due bool) {
	sooner := func(at time.Time) {
		if !at.IsZero() && (!due || at.Before(next)) {
			next, due = at, true
		}
	}
	sooner(look)
	_, answer := w.minds.taking(w.Clock.Now())
	sooner(answer)
	for _, i := range w.items() {
		if i.State == workqueue.Waiting && i.DueAt > w.Clock.Now().UnixMilli() {
			sooner(time.UnixMilli(i.DueAt))
		}
	}
	return next, due
}

// restart ends the program, and begins it again.
func (w *week) restart(crash bool) {
	w.unfollow()
	if crash {
		w.Team = w.Crash()
	} else {
		w.Team = w.Reopen()
	}
	w.house.restarts = append(w.house.restarts, w.Clock.Now().UnixMilli())
	w.opened()
	w.check(false)
}

// read takes in what was appended since.
func (w *week) read() {
	for {
		after := int64(len(w.events))
		more, err := w.Log.Read(context.WithoutCancel(w.t.Context()), after, 5_000)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(more) == 0 {
			return
		}
		if more[0].Seq != after+1 {
			w.t.Fatalf("event %d follows event %d", more[0].Seq, after)
		}
		w.events = append(w.events, more...)
	}
}

// check judges all that the log says.
func (w *week) check(final bool) {
	w.t.Helper()
	w.read()
	w.house.settled = final && weekDays == 7
	broken, count := w.house.judged(w.events, w.Clock.Now().UnixMilli(), true)
	maps.Copy(w.count, count)
	for i, b := range broken {
		if i == 20 {
			w.t.Errorf("and %d more", len(broken)-i)
			break
		}
		w.t.Error(b)
	}
	for _, line := range w.logs.all() {
		w.t.Errorf("logged: %s", line)
	}
	if final || len(broken) > 0 {
		w.t.Logf("%d events, %d moments until %s, %d restarts", len(w.events), w.steps, w.Clock.Now(), len(w.house.restarts))
		for _, what := range slices.Sorted(maps.Keys(w.count)) {
			w.t.Logf("%6d %s", w.count[what], what)
		}
	}
	if final && len(w.house.restarts) != weekRestarts {
		w.t.Errorf("%d restarts, want %d", len(w.house.restarts), weekRestarts)
	}
}

// enough checks that there was something of everything, so that what was not broken could have been.
func (w *week) enough() {
	w.t.Helper()
	want := map[string]int{"sent idle": 3, "sent self_driving": 3, "picked": 1, "failed": 2}
	if weekDays == 7 {
		want = map[string]int{"sent idle": 100, "sent self_driving": 50, "sent steps_missing": 10, "sent backlog": 20, "sent restart": 10,
			"sent no_progress": 5, "picked": 20, "asked 1": 20, "asked 2": 5, "asked 3": 3, "reminded": 20, "told no_answer": 1, "told dependency_gone": 1,
			"zombie moved_to_backlog": 2, "zombie escalated": 1, "failed": 50, "backoff timeout": 1, "backoff billing": 2, "backoff context_overflow": 5,
			"backoff context_reset": 1, "approve": 1, "broken off": 3}
	}
	for what, least := range want {
		if w.count[what] < least {
			w.t.Errorf("%s: %d, want at least %d", what, w.count[what], least)
		}
	}
}

// errorLines keeps what is logged as an error.
type errorLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *errorLines) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("level=ERROR")) && !bytes.Contains(p, []byte("closed")) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, strings.TrimSpace(string(p)))
	}
	return len(p), nil
}

// all are those that were not asked for before.
func (l *errorLines) all() (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines, l.lines = l.lines, nil
	return lines
}
