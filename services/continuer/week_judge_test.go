package continuer_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/eventstore"
)

// house is what a log is judged by.
type house struct {
	policy   continuation.Policy
	lead     string
	barred   func(agent, target string) bool // whether an agent must not write to another one
	restarts []int64                         // when processes began that were not the first, ms since 1970
	slack    time.Duration                   // how late something may be that is due
	settled  bool                            // nothing was blocked for so long that it must be reported
}

// Rules that a log may break.
const (
	runTwice          = "run_twice"         // an id of a run is queued, or ends, more than once
	runWithoutCause   = "run_without_cause" // a run, or a flow, was asked for that no event tells of
	causeWithoutRun   = "cause_without_run" // an event tells of a run, or a flow, that was not asked for, or of none
	causeTwice        = "cause_twice"       // two events tell of the same run
	wrongSession      = "wrong_session"     // a prompt is not in the main session of whom it is for
	wrongState        = "wrong_state"       // what is done about a task does not suit how it stands
	whileBusy         = "while_busy"
	whileBackoff      = "while_backoff"
	whileApproval     = "while_approval"
	tooSoon           = "too_soon"
	tooManyPrompts    = "too_many_prompts" // no idle agent was left alone
	restartTwice      = "restart_twice"
	backoffUnreported = "backoff_unreported"
	backoffValue      = "backoff_value"
	askTooOften       = "ask_too_often"
	askTooSoon        = "ask_too_soon"
	askOutOfTurn      = "ask_out_of_turn"
	askBarred         = "ask_barred"
	askAfterTold      = "ask_after_told"
	toldTwice         = "told_twice"
	toldEarly         = "told_early"
	toldNoOne         = "told_no_one"
	zombieFresh       = "zombie_fresh"
	zombieCount       = "zombie_count"
	pickTooEarly      = "pick_too_early"
	forgotten         = "forgotten"
)

// What is specified, once more: what the program says of it does not count here.
const (
	sameTask     = 5 * time.Minute
	longest      = 2 * time.Hour // between two prompts to go on with one task
	askPause     = 30 * time.Minute
	askAgain     = 5 * time.Minute
	remindPause  = 3 * time.Minute
	summaryPause = 5 * time.Minute
	leastPause   = 10 * time.Second
	mostPause    = 2 * time.Hour
	mostAsks     = 3
	mostLost     = 3
	mostTaken    = 3
	mostDriven   = 20
)

// pauseAfter is how long an agent is left alone after so many failures in a row.
func pauseAfter(cause continuation.Cause, failures int, hint time.Duration) time.Duration {
	pause := map[continuation.Cause]time.Duration{continuation.CauseRateLimit: time.Minute, continuation.CauseTimeout: time.Minute, continuation.CauseUnknown: 5 * time.Minute,
		continuation.CauseOverflow: 30 * time.Minute, continuation.CauseBilling: time.Hour, continuation.CauseAuth: time.Hour}[cause]
	if cause == continuation.CauseRateLimit && hint > 0 {
		pause = max(hint, leastPause)
	}
	for n := 1; n < failures && n <= 3; n++ {
		pause *= 2
	}
	return min(pause, mostPause)
}

// said is what is read of the data of events.
type said struct {
	RunID, SessionKey, Cause, JobID, Origin, FromAgent, ToAgent string
	TaskID, Reason, StepID, Action, Assignee, StartDate         string
	TargetAgentID, ToldAgentID, Error, ErrorClass, Dependency   string
	UnblockedBy, DependsOn                                      []string
	RequiresApproval                                            bool
	RequestCount, ConsecutiveFailures, ReassignCount, Measured  int
	BackoffMs, BackoffUntilMs                                   int64
}

// judge knows what a log has said so far, as plainly as can be: nothing of what the program folds is used.
type judge struct {
	house
	broken []string
	count  map[string]int // of what was done

	causes map[string]cause // by id of the run or the flow
	asked  map[string]int   // how often runs were, by id
	ends   map[string]int   // how often they have ended
	flows  map[string]int   // number of beginnings of flows, by id, which is also that of their first runs
	agents map[string]*standing
	tasks  map[string]*chore

	e  *eventstore.Event
	at int64
	d  said
}

// cause is an event that has asked for something.
type cause struct {
	typ, agent, to string // to is the agent that is told, or asked
	flow           bool
}

// own reports whether the agent itself is told to go on.
func (c cause) own() bool {
	return c.typ == coordination.TypeContinuationSent || c.typ == coordination.TypeResumeReminderSent
}

// standing is what is known of an agent.
type standing struct {
	open     map[string]int64 // runs that are not over, and when they were asked for
	prompt   string           // run of the last prompt
	promptAt int64
	over     bool // its run has ended
	task     *chore

	endedRun, answered string // the last run of the main session; that after which the last prompt came
	endedWell          bool
	endedAt            int64

	failures     int
	owes         string // failed run without a report yet
	owesMs       int64
	backoffUntil int64

	summaryAt int64
	freeAt    int64 // when the last task was left that was in progress, or waited for approval
}

// chore is what is known of a task.
type chore struct {
	id, agent, status string
	changedAt         int64
	startDate         string
	dependsOn         []string
	endedAt           int64

	sentAt   int64 // the last prompt to go on
	prompts  int   // without progress
	measured int
	stepID   string

	by          []string // of one that is blocked, as all that follows
	blockedAt   int64
	asks        int
	last        int // which of by was asked last
	askedAt     int64
	failedAt    int64
	notReached  int // requests in a row
	told        bool
	hopeless    string // what it depends on, of which it was told that it is never completed
	remindedAt  int64
	reminders   int
	taken       int // how often it was taken away
	interrupted string
}

// judged is what a log has broken, and how often what was done. now is when it ends, ms since 1970; with whole everything that is due has to be
// done.
func (h house) judged(events []eventstore.Event, now int64, whole bool) (broken []string, count map[string]int) {
	j := &judge{house: h, count: map[string]int{}, causes: map[string]cause{}, asked: map[string]int{}, ends: map[string]int{}, flows: map[string]int{},
		agents: map[string]*standing{}, tasks: map[string]*chore{}}
	for i := range events {
		if j.read(&events[i]) {
			j.collect()
		}
	}
	for i := range events {
		if j.read(&events[i]) {
			j.see()
		}
	}
	j.match()
	j.at, j.e = now, nil
	if whole {
		j.rest()
	}
	return j.broken, j.count
}

func (j *judge) read(e *eventstore.Event) bool {
	j.e, j.at, j.d = e, e.TS, said{}
	room, _, _ := strings.Cut(e.Type, ".")
	switch room {
	case "run", "task", "backlog", "zombie", "unblock", "continuation", "resume_reminder":
	case "a2a":
		if e.Type != coordination.TypeA2AJobCreated {
			return false
		}
	default:
		return false
	}
	if err := json.Unmarshal(e.Data, &j.d); err != nil {
		j.breaks("unreadable", "%v", err)
		return false
	}
	return true
}

func (j *judge) breaks(rule, why string, of ...any) {
	where := "in the end"
	if j.e != nil {
		where = fmt.Sprintf("%d %s of %s, %s", j.e.Seq, j.e.Type, j.e.AgentID, time.UnixMilli(j.at).UTC().Format(time.DateTime))
	}
	j.broken = append(j.broken, rule+": "+fmt.Sprintf(why, of...)+" ("+where+")")
}

func (j *judge) agent(id string) *standing {
	a := j.agents[id]
	if a == nil {
		a = &standing{open: map[string]int64{}}
		j.agents[id] = a
	}
	return a
}

func ms(d time.Duration) int64 { return d.Milliseconds() }

func span(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// collect notes what has asked for runs and flows, wherever in its transaction it lies.
func (j *judge) collect() {
	c := cause{typ: j.e.Type, agent: j.e.AgentID, to: j.e.AgentID}
	switch j.e.Type {
	case coordination.TypeContinuationSent, coordination.TypeResumeReminderSent:
	case coordination.TypeUnblockRequested:
		c.to, c.flow = j.d.TargetAgentID, true
	case coordination.TypeUnblockFailed, coordination.TypeZombieAbandoned:
		if j.d.ToldAgentID == "" {
			return
		}
		c.to = j.d.ToldAgentID
	default:
		return
	}
	if before, twice := j.causes[j.d.RunID]; twice && j.d.RunID != "" {
		j.breaks(causeTwice, "run %s was reported by %s of %s already", j.d.RunID, before.typ, before.agent)
	}
	if j.d.RunID == "" {
		j.breaks(causeWithoutRun, "it names none")
	}
	j.causes[j.d.RunID] = c
}

// see takes one event in.
func (j *judge) see() {
	switch j.e.Type {
	case coordination.TypeRunQueued:
		j.queued()
	case coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunAborted, coordination.TypeRunTimedOut:
		j.ended()
	case coordination.TypeA2AJobCreated:
		j.flow()
	case coordination.TypeContinuationSent:
		j.sent()
	case coordination.TypeResumeReminderSent:
		j.reminded()
	case coordination.TypeContinuationBackoff:
		j.backoff()
	case coordination.TypeUnblockRequested:
		j.askedFor()
	case coordination.TypeUnblockFailed:
		j.askFailed()
	case coordination.TypeZombieAbandoned:
		j.zombie()
	case coordination.TypeBacklogAutoPicked:
		j.picked()
	default:
		j.moved()
	}
}

// match compares what was asked for with what has asked for it.
func (j *judge) match() {
	j.e = nil
	for _, id := range slices.Sorted(maps.Keys(j.causes)) {
		c, n := j.causes[id], j.asked[id]
		if c.flow {
			n = j.flows[id]
		}
		if n != 1 && id != "" {
			j.breaks(causeWithoutRun, "%s of %s names %s, of which there are %d", c.typ, c.agent, id, n)
		}
	}
}

// agentOf is whose session it is.
func agentOf(sessionKey string) string {
	_, rest, _ := strings.Cut(sessionKey, ":")
	agent, _, _ := strings.Cut(rest, ":")
	return agent
}

func mainOf(agent string) string { return coordination.MainKey(agent).String() }

func (j *judge) queued() {
	id := j.d.RunID
	if j.asked[id]++; j.asked[id] > 1 {
		j.breaks(runTwice, "run %s is queued %d times", id, j.asked[id])
	}
	agent := agentOf(j.d.SessionKey)
	a := j.agent(agent)
	c, is := j.causes[id]
	if j.d.Cause == "continuation" || is && !c.flow {
		switch {
		case !is:
			j.breaks(runWithoutCause, "nothing tells why run %s was asked for", id)
		case c.flow:
			j.breaks(causeWithoutRun, "%s of %s is a run rather than a flow", id, c.agent)
		case j.d.SessionKey != mainOf(c.to):
			j.breaks(wrongSession, "run %s is in %s, want %s", id, j.d.SessionKey, mainOf(c.to))
		case c.own() && len(a.open) > 0:
			j.breaks(whileBusy, "run %s is queued while there is %s", id, slices.Sorted(maps.Keys(a.open)))
		}
	}
	a.open[id] = j.at
}

func (j *judge) flow() {
	c, is := j.causes[j.d.JobID]
	if !is && j.d.Origin != "unblock" {
		return
	}
	if j.flows[j.d.JobID]++; j.flows[j.d.JobID] > 1 {
		j.breaks(runTwice, "flow %s begins %d times", j.d.JobID, j.flows[j.d.JobID])
	}
	switch {
	case !is:
		j.breaks(runWithoutCause, "nothing tells why flow %s was asked for", j.d.JobID)
	case !c.flow:
		j.breaks(causeWithoutRun, "%s of %s is a flow rather than a run", j.d.JobID, c.agent)
	case j.d.ToAgent != c.to || j.d.FromAgent != c.agent:
		j.breaks(wrongSession, "flow %s is from %s to %s, want from %s to %s", j.d.JobID, j.d.FromAgent, j.d.ToAgent, c.agent, c.to)
	}
}

func (j *judge) ended() {
	id := j.d.RunID
	if j.ends[id]++; j.ends[id] > 1 || j.asked[id] == 0 {
		j.breaks(runTwice, "run %s, which was queued %d times, ends %d times", id, j.asked[id], j.ends[id])
	}
	agent := agentOf(j.d.SessionKey)
	a := j.agent(agent)
	delete(a.open, id)
	ours := id == a.prompt && !a.over
	if j.e.Type == coordination.TypeRunAborted && (j.d.Reason == "restart" || j.d.Reason == "shutdown") {
		j.count["broken off"]++
	}
	if !ours && j.d.SessionKey != mainOf(agent) {
		return
	}
	well := j.e.Type == coordination.TypeRunEnded
	a.endedRun, a.endedWell, a.endedAt = id, well, j.at
	if well {
		a.failures, a.owes, a.backoffUntil = 0, "", 0
	}
	if !ours {
		return
	}
	a.over = true
	if !well && a.task != nil && a.task.prompts > 0 {
		a.task.prompts--
	}
	if j.e.Type == coordination.TypeRunFailed || j.e.Type == coordination.TypeRunTimedOut {
		class := j.d.ErrorClass
		if j.e.Type == coordination.TypeRunTimedOut {
			class = "timeout"
		}
		a.failures++
		a.owes, a.owesMs = id, ms(pauseAfter(continuation.CauseOf(class, j.d.Error), a.failures, continuation.Hint(j.d.Error)))
		a.backoffUntil = j.at + a.owesMs
		j.count["failed"]++
	}
}

func (j *judge) backoff() {
	a := j.agent(j.e.AgentID)
	j.count["backoff "+j.d.Reason]++
	if j.d.RunID != "" {
		if j.d.RunID != a.owes {
			j.breaks(backoffUnreported, "run %s was reported, want %q", j.d.RunID, a.owes)
		}
		if j.d.BackoffMs != a.owesMs || j.d.ConsecutiveFailures != a.failures {
			j.breaks(backoffValue, "%s after %d failures, want %s after %d", span(j.d.BackoffMs), j.d.ConsecutiveFailures, span(a.owesMs), a.failures)
		}
	}
	if j.d.BackoffMs < ms(leastPause) || j.d.BackoffMs > ms(mostPause) {
		j.breaks(backoffValue, "%s, want 10 s to 2 h", span(j.d.BackoffMs))
	}
	a.owes, a.failures = "", j.d.ConsecutiveFailures
	a.backoffUntil = cmp.Or(j.d.BackoffUntilMs, j.at+j.d.BackoffMs)
}

// prompts is what holds of each prompt to the agent itself.
func (j *judge) prompts(a *standing) {
	if j.at < a.backoffUntil {
		j.breaks(whileBackoff, "it goes on for %s", span(a.backoffUntil-j.at))
	}
	if a.owes != "" {
		j.breaks(backoffUnreported, "run %s has failed before", a.owes)
	}
	if len(j.in(j.e.AgentID, coordination.StatePendingApproval)) > 0 && len(j.in(j.e.AgentID, coordination.StateInProgress)) == 0 {
		j.breaks(whileApproval, "%s waits for approval", j.in(j.e.AgentID, coordination.StatePendingApproval)[0].id)
	}
}

func (j *judge) prompted(a *standing, t *chore) {
	a.prompt, a.promptAt, a.over, a.task, a.answered = j.d.RunID, j.at, false, t, a.endedRun
}

// in are the tasks of an agent that stand so.
func (j *judge) in(agent, status string) (list []*chore) {
	for _, t := range j.tasks {
		if t.agent == agent && t.status == status {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *chore) int { return cmp.Compare(a.id, b.id) })
	return list
}

func (j *judge) sent() {
	a, t := j.agent(j.e.AgentID), j.tasks[j.d.TaskID]
	reason := continuation.Reason(j.d.Reason)
	j.count["sent "+j.d.Reason]++
	j.prompts(a)
	switch {
	case t == nil || t.agent != j.e.AgentID:
		j.breaks(wrongState, "task %q does not belong to %s", j.d.TaskID, j.e.AgentID)
		t = &chore{}
	case reason == continuation.GatewayRestarted:
		j.restarted(a)
	case t.status != coordination.StateInProgress:
		j.breaks(wrongState, "task %s is %s", t.id, t.status)
	case reason == continuation.FromBacklog:
		if j.at < a.endedAt+ms(j.policy.Pick) {
			j.breaks(tooSoon, "%s after its last run", span(j.at-a.endedAt))
		}
	default:
		j.goesOn(a, t, reason)
	}
	if t.sentAt > 0 && (j.d.Measured > t.measured || t.stepID == "" && j.d.StepID != "") {
		t.prompts = 0
	}
	t.sentAt, t.measured, t.stepID, t.prompts = j.at, j.d.Measured, j.d.StepID, t.prompts+1
	j.prompted(a, t)
}

func (j *judge) restarted(a *standing) {
	at := int64(0)
	for _, r := range j.house.restarts {
		if r <= j.at {
			at = r
		}
	}
	switch {
	case at == 0:
		j.breaks(restartTwice, "there was no restart")
	case a.summaryAt > 0 && (a.summaryAt >= at || at < a.summaryAt+ms(summaryPause)):
		j.breaks(restartTwice, "it was told so %s ago, the restart was %s ago", span(j.at-a.summaryAt), span(j.at-at))
	}
	a.summaryAt = j.at
}

// stands is how long an agent is left alone after so many prompts that have come to nothing.
func stands(stalled int) time.Duration {
	if stalled == 0 {
		return 0
	}
	return min(30*time.Second<<min(stalled-1, 10), longest)
}

// goesOn is what holds of prompts to go on with one task.
func (j *judge) goesOn(a *standing, t *chore, reason continuation.Reason) {
	stalled := t.prompts
	if j.d.Measured > t.measured || t.stepID == "" && j.d.StepID != "" {
		stalled = 0
	}
	driven := a.endedWell && a.endedRun != a.answered
	rested := j.at >= max(a.endedAt, t.changedAt)+ms(j.policy.Idle)
	pause := stands(stalled)
	if t.sentAt > 0 && a.failures == 0 {
		rested = rested && j.at >= t.sentAt+ms(max(sameTask, pause))
	}
	driven = driven && stalled < mostDriven
	switch {
	case rested:
	case driven && stalled > 0 && j.at < max(t.sentAt, a.endedAt)+ms(pause), stalled >= mostDriven:
		j.breaks(tooManyPrompts, "%d came to nothing, the last one %s ago", stalled, span(j.at-t.sentAt))
	case !driven, reason == continuation.Idle:
		j.breaks(tooSoon, "the last prompt was %s ago, the last run %s, the last change of the task %s",
			span(j.at-t.sentAt), span(j.at-a.endedAt), span(j.at-t.changedAt))
	}
}

func (j *judge) reminded() {
	a, t := j.agent(j.e.AgentID), j.tasks[j.d.TaskID]
	j.count["reminded"]++
	j.prompts(a)
	if t == nil || t.status != coordination.StateBlocked || t.asks == 0 || t.told {
		j.breaks(wrongState, "no agent was asked to help with task %q", j.d.TaskID)
		return
	}
	if at := max(t.askedAt, t.remindedAt) + ms(remindPause)<<min(t.reminders, 4); j.at < max(at, a.endedAt+ms(j.policy.Idle)) {
		j.breaks(tooSoon, "%s after the last request, %s after the last reminder", span(j.at-t.askedAt), span(j.at-t.remindedAt))
	}
	t.remindedAt, t.reminders = j.at, t.reminders+1
	j.prompted(a, t)
}

func (j *judge) askedFor() {
	t := j.tasks[j.d.TaskID]
	j.count[fmt.Sprintf("asked %d", j.d.RequestCount)]++
	if t == nil || t.status != coordination.StateBlocked || t.agent != j.e.AgentID {
		j.breaks(wrongState, "task %q is not blocked", j.d.TaskID)
		return
	}
	if t.told {
		j.breaks(askAfterTold, "task %s was given up", t.id)
	}
	t.asks++
	if t.asks > mostAsks || j.d.RequestCount != t.asks {
		j.breaks(askTooOften, "request %d of task %s calls itself %d", t.asks, t.id, j.d.RequestCount)
	}
	if t.askedAt > 0 && j.at < t.askedAt+ms(askPause) || t.failedAt > 0 && j.at < t.failedAt+ms(askAgain) {
		j.breaks(askTooSoon, "%s after the last request, %s after one that did not arrive", span(j.at-t.askedAt), span(j.at-t.failedAt))
	}
	j.turnOf(t, j.d.TargetAgentID)
	t.changedAt, t.askedAt, t.failedAt, t.notReached, t.reminders, t.remindedAt = j.at, j.at, 0, 0, 0, 0
}

// turnOf checks that it is this agent's turn to be asked.
func (j *judge) turnOf(t *chore, target string) {
	if target == t.agent || j.barred(t.agent, target) {
		j.breaks(askBarred, "%s must not ask %s", t.agent, target)
	}
	if want := j.next(t); want != "" && target != want {
		j.breaks(askOutOfTurn, "%s is asked, want %s of %v after %d", target, want, t.by, t.last)
	}
	t.last = slices.Index(t.by, target)
}

// next is the agent to be asked next, "" for none.
func (j *judge) next(t *chore) string {
	for i := range t.by {
		if agent := t.by[(t.last+1+i)%len(t.by)]; agent != t.agent && !j.barred(t.agent, agent) {
			return agent
		}
	}
	return ""
}

func (j *judge) askFailed() {
	t := j.tasks[j.d.TaskID]
	if continuation.Reason(j.d.Reason) == continuation.DependencyGone {
		j.neverBegins(t)
		return
	}
	if t == nil || t.status != coordination.StateBlocked || t.agent != j.e.AgentID {
		j.breaks(wrongState, "task %q is not blocked", j.d.TaskID)
		return
	}
	t.changedAt = j.at
	if j.d.TargetAgentID != "" {
		j.count["not delivered"]++
		t.failedAt, t.notReached = j.at, t.notReached+1
		if i := slices.Index(t.by, j.d.TargetAgentID); i >= 0 {
			t.last = i
		}
		return
	}
	j.count["told "+j.d.Reason]++
	if t.told {
		j.breaks(toldTwice, "task %s was given up before", t.id)
	}
	if t.asks < mostAsks && t.notReached < mostLost && j.next(t) != "" ||
		t.notReached < mostLost && t.asks > 0 && j.at < t.askedAt+ms(askPause) {
		j.breaks(toldEarly, "task %s is given up %s after request %d, and %d that did not arrive", t.id, span(j.at-t.askedAt), t.asks, t.notReached)
	}
	t.told = true
	j.tells(t.agent)
}

// neverBegins is what holds when it is told that a task of the backlog can never begin.
func (j *judge) neverBegins(t *chore) {
	j.count["told "+j.d.Reason]++
	if t == nil || t.status != coordination.StateBacklog || t.agent != j.e.AgentID {
		j.breaks(wrongState, "task %q is not in the backlog", j.d.TaskID)
		return
	}
	if t.hopeless == j.d.Dependency {
		j.breaks(toldTwice, "task %s was told to depend on %s before", t.id, t.hopeless)
	}
	since, is := j.inVain(t)
	if !slices.Contains(t.dependsOn, j.d.Dependency) || !is || j.at < since+ms(j.policy.Idle) {
		j.breaks(toldEarly, "task %s may begin after %v, or was changed %s ago", t.id, t.dependsOn, span(j.at-since))
	}
	t.hopeless = j.d.Dependency
	j.tells(t.agent)
}

// inVain reports whether a task of the backlog can never begin, and when that has changed last.
func (j *judge) inVain(t *chore) (since int64, is bool) {
	since = t.changedAt
	for _, id := range t.dependsOn {
		if before := j.tasks[id]; before == nil || before.status == coordination.StateCancelled {
			is = true
			if before != nil {
				since = max(since, before.endedAt)
			}
		}
	}
	return since, is
}

// tells checks that the lead was told.
func (j *judge) tells(agent string) {
	if want := j.lead; agent != want && j.d.ToldAgentID != want || agent == want && j.d.ToldAgentID != "" {
		j.breaks(toldNoOne, "%q gets the report about what %s cannot help, want the lead, %s, or people for it", j.d.ToldAgentID, agent, want)
	}
}

func (j *judge) zombie() {
	t := j.tasks[j.d.TaskID]
	j.count["zombie "+j.d.Action]++
	if t == nil || t.status != coordination.StateInProgress {
		j.breaks(wrongState, "task %q is not in progress", j.d.TaskID)
		return
	}
	if j.at-t.changedAt <= ms(j.policy.ZombieTTL) {
		j.breaks(zombieFresh, "task %s has changed %s ago", t.id, span(j.at-t.changedAt))
	}
	t.taken++
	want, status := coordination.ZombieMovedToBacklog, coordination.StateBacklog
	if t.taken >= mostTaken {
		want, status = coordination.ZombieEscalated, coordination.StateInterrupted
		t.interrupted = cmp.Or(j.d.ToldAgentID, "people")
		j.tells(t.agent)
	}
	if j.d.Action != want || j.d.ReassignCount != t.taken {
		j.breaks(zombieCount, "%s, the %d. time, of task %s; want %s, the %d. time", j.d.Action, j.d.ReassignCount, t.id, want, t.taken)
	}
	j.becomes(t, status)
	t.sentAt, t.prompts, t.measured, t.stepID = 0, 0, 0, ""
}

func (j *judge) picked() {
	t := j.tasks[j.d.TaskID]
	j.count["picked"]++
	a := j.agent(j.e.AgentID)
	j.prompts(a)
	switch {
	case t == nil || t.status != coordination.StateBacklog:
		j.breaks(wrongState, "task %q is not in the backlog", j.d.TaskID)
		return
	case len(j.in(j.e.AgentID, coordination.StateInProgress)) > 0:
		j.breaks(wrongState, "%s is in progress", j.in(j.e.AgentID, coordination.StateInProgress)[0].id)
	case !j.pickable(t, j.at):
		j.breaks(pickTooEarly, "task %s begins %q, and depends on %v", t.id, t.startDate, t.dependsOn)
	}
	j.becomes(t, coordination.StateInProgress)
}

// pickable reports whether a task of the backlog can begin.
func (j *judge) pickable(t *chore, at int64) bool {
	return at >= startOf(t) && !slices.ContainsFunc(t.dependsOn, func(id string) bool {
		before := j.tasks[id]
		return before == nil || before.status != coordination.StateCompleted
	})
}

func (j *judge) pickableNow(t *chore) bool { return j.pickable(t, j.at) }

// startOf is when a task of the backlog may begin, ms since 1970; 0 at once.
func startOf(t *chore) int64 {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, t.startDate); err == nil {
			return at.UnixMilli()
		}
	}
	return 0
}

// becomes notes how a task stands now.
func (j *judge) becomes(t *chore, status string) {
	if t.status == coordination.StateInProgress || t.status == coordination.StatePendingApproval {
		j.agent(t.agent).freeAt = j.at
	}
	t.status, t.changedAt = status, j.at
}

// moved takes in what happens to tasks otherwise.
func (j *judge) moved() {
	if !strings.HasPrefix(j.e.Type, "task.") || j.d.TaskID == "" {
		return
	}
	t := j.tasks[j.d.TaskID]
	if t == nil {
		t = &chore{id: j.d.TaskID, agent: cmp.Or(j.d.Assignee, j.e.AgentID), startDate: j.d.StartDate, dependsOn: j.d.DependsOn}
		j.tasks[t.id] = t
	}
	t.changedAt = j.at
	switch j.e.Type {
	case coordination.TypeTaskStarted:
		t.status = coordination.StateInProgress
		if j.d.RequiresApproval {
			t.status = coordination.StatePendingApproval
		}
		return
	case coordination.TypeTaskBacklogAdded:
		t.status = coordination.StateBacklog
		return
	case coordination.TypeTaskApproved:
		j.becomes(t, coordination.StateInProgress)
		return
	case coordination.TypeTaskResumed, coordination.TypeTaskBacklogPicked:
		j.becomes(t, coordination.StateInProgress)
	case coordination.TypeTaskCompleted, coordination.TypeTaskForceCompleted:
		j.becomes(t, coordination.StateCompleted)
		t.endedAt = j.at
	case coordination.TypeTaskCancelled:
		j.becomes(t, coordination.StateCancelled)
		t.endedAt = j.at
	case coordination.TypeTaskBlocked:
		j.becomes(t, coordination.StateBlocked)
		t.by, t.last, t.blockedAt = j.d.UnblockedBy, -1, j.at
	default:
		return
	}
	t.sentAt, t.prompts, t.measured, t.stepID = 0, 0, 0, ""
	if t.status != coordination.StateBlocked {
		t.by = nil
	}
	t.asks, t.askedAt, t.failedAt, t.notReached, t.told, t.remindedAt, t.reminders = 0, 0, 0, 0, false, 0, 0
}

// rest checks that nothing is forgotten: what is not over waits for something that is named, and nothing is overdue.
func (j *judge) rest() {
	for _, id := range slices.Sorted(maps.Keys(j.agents)) {
		a := j.agents[id]
		for _, run := range slices.Sorted(maps.Keys(a.open)) {
			j.late("run "+run+" of "+id+" is not over", a.open[run]+ms(j.policy.ZombieTTL))
		}
		if working := j.in(id, coordination.StateInProgress); len(working) > 0 && len(a.open) == 0 {
			last := max(a.promptAt, a.endedAt, a.backoffUntil)
			for _, t := range working {
				last = max(last, t.changedAt)
			}
			j.late(id+" is not told to go on with "+working[0].id, last+ms(longest))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(j.tasks)) {
		t := j.tasks[id]
		a := j.agent(t.agent)
		if len(a.open) == 0 {
			j.waits(t, a)
		}
	}
}

// waits checks what a task waits for whose agent is at nothing.
func (j *judge) waits(t *chore, a *standing) {
	switch t.status {
	case coordination.StateInProgress:
		j.late(t.id+" of "+t.agent+" is not taken away", t.changedAt+ms(j.policy.ZombieTTL))
	case coordination.StateBlocked:
		if t.told {
			return
		}
		if j.settled {
			j.breaks(forgotten, "%s of %s is blocked without a report", t.id, t.agent)
		}
		at := t.blockedAt + ms(j.policy.Idle)
		if t.asks > 0 {
			at = t.askedAt + ms(askPause)
		}
		j.late(t.id+" of "+t.agent+" is blocked without a request or a report", max(at, t.failedAt+ms(askAgain), a.backoffUntil, a.endedAt))
	case coordination.StateInterrupted:
		if t.interrupted == "" {
			j.breaks(forgotten, "%s of %s was interrupted without a report", t.id, t.agent)
		}
	case coordination.StateBacklog:
		if len(j.in(t.agent, coordination.StateInProgress)) > 0 {
			return
		}
		if since, is := j.inVain(t); is && t.hopeless == "" && !slices.ContainsFunc(j.in(t.agent, coordination.StateBacklog), j.pickableNow) {
			j.late(t.id+" of "+t.agent+" can never begin, without a report", max(since, a.freeAt, a.endedAt, a.promptAt, a.backoffUntil)+ms(j.policy.Idle))
		}
		if !j.pickable(t, j.at) || len(j.in(t.agent, coordination.StatePendingApproval)) > 0 {
			return
		}
		at := max(startOf(t), t.changedAt, a.freeAt, a.endedAt, a.promptAt, a.backoffUntil)
		for _, id := range t.dependsOn {
			at = max(at, j.tasks[id].endedAt)
		}
		j.late(t.id+" of "+t.agent+" is not started", at+ms(j.policy.Pick))
	}
}

func (j *judge) late(what string, due int64) {
	if j.at > due+ms(j.slack) {
		j.breaks(forgotten, "%s: it was due %s ago", what, span(j.at-due))
	}
}
