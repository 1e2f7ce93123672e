package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Rules that a log, or what models were asked, may break.
const (
	causeWithoutRun = "cause_without_run" // what tells of a prompt names none, or one that was not asked for, or not once
	causeTwice      = "cause_twice"       // two events tell of one prompt
	runWithoutCause = "run_without_cause" // a prompt was asked for, and nothing tells why
	runTwice        = "run_twice"         // an id is asked for, begins or ends twice
	runNotOver      = "run_not_over"      // in the end one is still open
	flowTwice       = "flow_twice"        // a flow begins, or ends, twice
	flowNotOver     = "flow_not_over"     // in the end one is still open
	promptWhileBusy = "prompt_while_busy" // an agent is told to go on that is at work
	decidedTwice    = "decided_twice"     // two decisions about an agent have the same number
	wrongSession    = "wrong_session"     // a prompt is not in the main session of whom it is for
	restartTwice    = "restart_twice"     // an agent is told twice of one restart
	askedUnknown    = "asked_unknown"     // a model was asked for a run that is not in the log, or asked something else
	askedTwice      = "asked_twice"       // a model was asked about one prompt more than once
)

// promptCause is an event that tells of a prompt.
type promptCause struct {
	typ, agent, to string // to is whom the prompt is for
	flow           bool
}

// judgedRun is what the log says of a run.
type judgedRun struct {
	agent, message, cause, session string
	queued, started, ended         int
}

// judgedFlow is what the log says of a flow.
type judgedFlow struct {
	unblocks       bool
	from, to       string
	started, ended int
}

// promptJudge reads a log, event by event, and notes what it breaks. It folds nothing that the program folds.
type promptJudge struct {
	broken []string
	counts map[string]int // of what was seen

	life    int // number of server starts
	seq     int64
	causes  map[string]promptCause // by id of the run or the flow
	runs    map[string]*judgedRun
	flows   map[string]*judgedFlow
	open    map[string]map[string]bool // runs that are not over, by agent
	decided map[string]int             // the number of the last decision about an agent
	told    map[string]int             // the life in which an agent was told of a restart
}

func newPromptJudge() *promptJudge {
	return &promptJudge{counts: map[string]int{}, causes: map[string]promptCause{}, runs: map[string]*judgedRun{}, flows: map[string]*judgedFlow{},
		open: map[string]map[string]bool{}, decided: map[string]int{}, told: map[string]int{}}
}

func (j *promptJudge) breaks(rule, why string, of ...any) {
	j.broken = append(j.broken, fmt.Sprintf("%s (%d): ", rule, j.seq)+fmt.Sprintf(why, of...))
}

// judgedData is what is read of events.
type judgedData struct {
	RunID, RetryOf, SessionKey, Cause, Message, Reason string
	JobID, Origin, FromAgent, ToAgent                  string
	TargetAgentID, ToldAgentID, Action                 string
}

// read takes in the next events of the log.
func (j *promptJudge) read(events []eventstore.Event) error {
	for i := range events {
		e, d := &events[i], judgedData{}
		j.seq = e.Seq
		family, _, _ := strings.Cut(e.Type, ".")
		if !slices.Contains([]string{"run", "a2a", "continuation", "resume_reminder", "unblock", "zombie", "backlog"}, family) {
			continue
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return fmt.Errorf("%d %s: %w in %s", e.Seq, e.Type, err, e.Data)
		}
		j.see(e, &d)
	}
	return nil
}

func (j *promptJudge) see(e *eventstore.Event, d *judgedData) {
	switch e.Type {
	case coordination.TypeContinuationSent, coordination.TypeResumeReminderSent:
		j.counts[strings.TrimSpace(e.Type+" "+d.Reason)]++
		j.prompts(d.RunID, promptCause{typ: e.Type, agent: e.AgentID, to: e.AgentID})
		if e.Type == coordination.TypeContinuationSent && d.Reason == "restart" {
			if j.told[e.AgentID] == j.life {
				j.breaks(restartTwice, "%s is told again of restart %d", e.AgentID, j.life)
			}
			j.told[e.AgentID] = j.life
		}
	case coordination.TypeContinuationBackoff:
		j.counts[e.Type+" "+d.Reason]++
	case coordination.TypeUnblockRequested:
		j.counts[e.Type]++
		j.prompts(d.RunID, promptCause{typ: e.Type, agent: e.AgentID, to: d.TargetAgentID, flow: true})
	case coordination.TypeUnblockFailed, coordination.TypeZombieAbandoned:
		j.counts[strings.TrimSpace(e.Type+" "+d.Action+d.Reason)]++
		if d.ToldAgentID != "" || d.RunID != "" {
			j.prompts(d.RunID, promptCause{typ: e.Type, agent: e.AgentID, to: d.ToldAgentID})
		}
	case coordination.TypeA2AJobCreated:
		f := j.flow(d.JobID)
		if f.started++; f.started > 1 {
			j.breaks(flowTwice, "flow %s begins again", d.JobID)
		}
		f.unblocks, f.from, f.to = d.Origin == "unblock", d.FromAgent, d.ToAgent
	case coordination.TypeA2AJobCompleted, coordination.TypeA2AJobFailed, coordination.TypeA2AJobCancelled, coordination.TypeA2AJobAbandoned:
		f := j.flow(d.JobID)
		if f.ended++; f.ended > 1 || f.started == 0 {
			j.breaks(flowTwice, "flow %s begins %d times and ends %d times", d.JobID, f.started, f.ended)
		}
	case coordination.TypeRunQueued:
		j.queued(d)
	case coordination.TypeRunStarted:
		r := j.run(d.RunID)
		if r.started++; r.started > 1 || r.queued == 0 || r.ended > 0 {
			j.breaks(runTwice, "run %s is asked for %d times, has ended %d times and begins %d times", d.RunID, r.queued, r.ended, r.started)
		}
	case coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunAborted, coordination.TypeRunTimedOut:
		r := j.run(d.RunID)
		if r.ended++; r.ended > 1 || r.queued == 0 {
			j.breaks(runTwice, "run %s is asked for %d times and ends %d times", d.RunID, r.queued, r.ended)
		}
		delete(j.open[r.agent], d.RunID)
		if _, is := j.causes[d.RunID]; is {
			j.counts["prompt "+e.Type]++
		}
	}
}

func (j *promptJudge) run(id string) *judgedRun {
	if j.runs[id] == nil {
		j.runs[id] = &judgedRun{}
	}
	return j.runs[id]
}

func (j *promptJudge) flow(id string) *judgedFlow {
	if j.flows[id] == nil {
		j.flows[id] = &judgedFlow{}
	}
	return j.flows[id]
}

// prompts notes what tells of a prompt.
func (j *promptJudge) prompts(id string, c promptCause) {
	if id == "" {
		j.breaks(causeWithoutRun, "%s of %s names none", c.typ, c.agent)
		return
	}
	if before, twice := j.causes[id]; twice {
		j.breaks(causeTwice, "%s of %s names %s, of which %s of %s tells already", c.typ, c.agent, id, before.typ, before.agent)
	}
	j.causes[id] = c
	if n, is := decisionOf(id, c.agent); is {
		if last, known := j.decided[c.agent]; known && n <= last {
			j.breaks(decidedTwice, "decision %d about %s follows decision %d", n, c.agent, last)
		}
		j.decided[c.agent] = n
	}
}

// decisionOf is the number of the decision about an agent that has asked for a run.
func decisionOf(runID, agent string) (n int, is bool) {
	rest, is := strings.CutPrefix(runID, "continuation:"+agent+":")
	number, _, cut := strings.Cut(rest, ":")
	n, err := strconv.Atoi(number)
	return n, is && cut && err == nil
}

func (j *promptJudge) queued(d *judgedData) {
	key, err := coordination.ParseSessionKey(d.SessionKey)
	if err != nil {
		j.breaks(wrongSession, "run %s is in session %q", d.RunID, d.SessionKey)
	}
	r := j.run(d.RunID)
	if r.queued++; r.queued > 1 {
		j.breaks(runTwice, "run %s is asked for %d times", d.RunID, r.queued)
	}
	r.agent, r.message, r.cause, r.session = key.Agent, d.Message, d.Cause, d.SessionKey
	c, told := j.causes[d.RunID]
	own := told && !c.flow && (c.typ == coordination.TypeContinuationSent || c.typ == coordination.TypeResumeReminderSent)
	if own && len(j.open[key.Agent]) > 0 {
		j.breaks(promptWhileBusy, "%s is told to go on by %s while it is at %q", key.Agent, d.RunID, slices.Sorted(maps.Keys(j.open[key.Agent])))
	}
	if j.open[key.Agent] == nil {
		j.open[key.Agent] = map[string]bool{}
	}
	j.open[key.Agent][d.RunID] = true
}

// check compares what tells of prompts with what was asked for. over says that everything has ended.
func (j *promptJudge) check(over bool) {
	for id, c := range j.causes {
		switch {
		case c.flow:
			if f := j.flows[id]; f == nil || f.started != 1 || !f.unblocks || f.from != c.agent || f.to != c.to {
				j.breaks(causeWithoutRun, "%s of %s to %s names flow %s: %+v", c.typ, c.agent, c.to, id, f)
			}
		case j.runs[id] == nil || j.runs[id].queued != 1:
			j.breaks(causeWithoutRun, "%s of %s names run %s: %+v", c.typ, c.agent, id, j.runs[id])
		case j.runs[id].session != coordination.MainKey(c.to).String():
			j.breaks(wrongSession, "%s is for %s, and run %s is in %s", c.typ, c.to, id, j.runs[id].session)
		}
	}
	for id, r := range j.runs {
		if c, told := j.causes[id]; r.cause == "continuation" && (!told || c.flow) {
			j.breaks(runWithoutCause, "run %s: %+v", id, r)
		}
		if over && r.ended != 1 {
			j.breaks(runNotOver, "run %s: %+v", id, r)
		}
	}
	for id, f := range j.flows {
		if c, told := j.causes[id]; f.unblocks && (!told || !c.flow) {
			j.breaks(runWithoutCause, "flow %s: %+v", id, f)
		}
		if over && f.ended != 1 {
			j.breaks(flowNotOver, "flow %s: %+v", id, f)
		}
	}
}

// heard compares what models were told, by key, with what was asked for. A key is a run's id and the number of its step; a run that repeats
// another one, after a restart, has that one's.
func (j *promptJudge) heard(calls map[string][]string) {
	for key, texts := range calls {
		id := key[:max(strings.LastIndexByte(key, ':'), 0)]
		r, c := j.runs[id], j.causes[id]
		if r == nil || r.queued == 0 {
			j.breaks(askedUnknown, "run %q was never requested", id)
			continue
		}
		for _, text := range texts {
			if !strings.Contains(text, strings.TrimSpace(r.message)) {
				j.breaks(askedUnknown, "run %s is about %q, and the model was told %q", id, r.message, text)
			}
		}
		if c.typ != "" && !c.flow && len(texts) > 1 {
			j.breaks(askedTwice, "step %s was asked for %d times", key, len(texts))
		}
	}
}

// state counts, of prompts that are not over, those that have not started and those that have.
func (j *promptJudge) state() (waiting, running int) {
	for id, c := range j.causes {
		r := j.runs[id]
		if c.flow { // its first run has its id
			if f := j.flows[id]; f != nil && f.ended > 0 {
				continue
			}
		}
		switch {
		case r == nil, r.ended > 0:
		case r.started > 0:
			running++
		default:
			waiting++
		}
	}
	return waiting, running
}
