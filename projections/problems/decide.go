package problems

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/owed"
	"github.com/pronto-lab/openclawd/projections/responses"
)

// Times after which something is a problem.
const (
	RunningLong = 10 * time.Minute // a run
	ReadyLong   = time.Minute      // a queued run that could start
	DueGrace    = owed.DueGrace    // a flow that was not checked when it was due
	BotPatience = 30 * time.Second // a bot without a connection
)

// MaxText limits a reason and a title, in characters.
const MaxText = 500

// shownElsewhere are the codes of warnings of which each case is a problem of another kind.
var shownElsewhere = []health.Code{health.CodeWorkDead, health.CodeDiscordUndelivered, health.CodeDiscordBotOffline,
	health.CodeChannelUndelivered, health.CodeChannelBotOffline}

// Decide returns the problems of the given kinds, none is all, without the first offset of them, and at most limit; 0 is all.
func Decide(f *Facts, kinds []Kind, offset, limit int) List {
	d := decision{Facts: f, counts: map[Kind]int{}}
	d.reasons()
	d.dead()
	d.threads()
	d.tasks()
	d.escalated()
	d.backoff()
	d.runs()
	d.overdue()
	d.places()
	d.bots()
	l := List{Problems: []Problem{}, Counts: map[Kind]int{}}
	order := Kinds()
	for kind, n := range d.counts {
		if n > 0 {
			l.Counts[kind] = n
			l.Total += n
		}
	}
	for i := range d.found {
		if p := &d.found[i]; len(kinds) == 0 || slices.Contains(kinds, p.Kind) {
			l.Problems = append(l.Problems, *p)
		}
	}
	slices.SortStableFunc(l.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)), -cmp.Compare(since(&a), since(&b)), cmp.Compare(a.ID, b.ID))
	})
	l.Problems = l.Problems[min(offset, len(l.Problems)):]
	if limit > 0 {
		l.Problems = l.Problems[:min(limit, len(l.Problems))]
	}
	return l
}

// since is 0 of an unknown time, which comes last.
func since(p *Problem) int64 {
	if p.SinceMs == nil {
		return 0
	}
	return *p.SinceMs
}

type decision struct {
	*Facts
	found  []Problem
	counts map[Kind]int
}

// add completes and adds a problem. id is the subject within its kind. since is ms since 1970; 0 is unknown.
func (d *decision) add(p Problem, id string, since int64) {
	p.ID = string(p.Kind) + ":" + id
	if since > 0 {
		p.SinceMs = &since
	}
	p.AgentID = strings.ToLower(p.AgentID)
	p.AgentName, p.Fields.FromName, p.Fields.ToName = d.name(p.AgentID), d.name(p.Fields.From), d.name(p.Fields.To)
	p.Reason, p.Title = coordination.Beginning(p.Reason, MaxText), coordination.Beginning(p.Title, MaxText)
	p.Code = cmp.Or(p.Code, string(coordination.ReasonOther)) // a redacted event does not say why
	if p.Actions == nil {
		p.Actions = []Action{}
	}
	if p.AgentID != "" && d.Able.Message != nil && d.Able.Message(p.AgentID) {
		p.Actions = append(p.Actions, Message)
	}
	d.found = append(d.found, p)
	d.counts[p.Kind]++
}

// name is an agent's display name, "" if it has none.
func (d *decision) name(agent string) string {
	if agent == "" || d.Name == nil {
		return ""
	}
	if name := d.Name(agent); name != agent {
		return name
	}
	return ""
}

// when returns the actions if they exist.
func when(able bool, actions ...Action) []Action {
	if !able {
		return nil
	}
	return actions
}

func (d *decision) reasons() {
	for _, r := range d.Reasons {
		if slices.Contains(shownElsewhere, r.Code) {
			continue
		}
		p := Problem{Kind: Warning, Severity: r.Severity, Code: string(r.Code), Reason: r.What, Fields: Fields{Subject: r.Subject, Hint: r.Hint}}
		if r.IsError() {
			p.Kind = NotReady
		}
		switch r.Code {
		case health.CodeTaskFilesFailing:
			p.Actions = when(d.Able.TaskFiles, RewriteTasks)
		case health.CodeBackupFailed, health.CodeBackupOverdue:
			p.Actions = when(d.Able.Backup, BackUp)
		}
		id := string(r.Code)
		if r.Subject != "" {
			id += ":" + r.Subject
		}
		d.add(p, id, 0)
	}
}

func (d *decision) dead() {
	for i := range d.Dead {
		w := &d.Dead[i]
		d.add(Problem{Kind: Dead, Severity: health.SeverityError, AgentID: w.Owner, Code: string(coordination.ReasonInText(w.Error)),
			Reason:  coordination.Mask(w.Error),
			Fields:  Fields{Effect: w.Kind, Lane: w.Pool, Attempt: w.Attempt},
			Refs:    Refs{EffectID: w.EffectID, Seq: cmp.Or(w.LastSeq, w.Seq)},
			Actions: when(d.Able.Work, Resend, Cancel)}, w.EffectID, cmp.Or(w.LastAt, w.Since))
	}
	d.counts[Dead] = max(d.DeadN, len(d.Dead))
}

func (d *decision) threads() {
	for i := range d.Threads {
		t := &d.Threads[i]
		kind := NoReply
		if t.Outcome == string(coordination.OutcomeBlocked) {
			kind = Blocked
		}
		d.add(Problem{Kind: kind, Severity: health.SeverityError, AgentID: t.FromAgent,
			Code: string(cmp.Or(t.Code, coordination.ReasonOther)), Reason: t.Reason, Title: t.Title,
			Fields: Fields{From: t.FromAgent, To: t.ToAgent},
			Refs:   Refs{WorkSession: t.WorkSessionID, Thread: t.Key, Seq: t.StepSeq}}, t.WorkSessionID+":"+t.Key, threadSince(t))
	}
	d.counts[Blocked], d.counts[NoReply] = max(d.BlockedN, d.counts[Blocked]), max(d.SilentN, d.counts[NoReply])
}

func threadSince(t *conversations.Stuck) int64 {
	if t.StepSeq == 0 {
		return int64(t.LastTime)
	}
	return int64(t.StepTime)
}

func (d *decision) tasks() {
	for i := range d.Tasks {
		t := &d.Tasks[i]
		p := Problem{Kind: TaskBlocked, Severity: health.SeverityError, AgentID: t.AgentID,
			Code: string(coordination.ReasonTaskBlocked), Reason: coordination.Mask(t.BlockedReason),
			Title:   coordination.Mask(t.Title()),
			Fields:  Fields{Helpers: t.UnblockedBy, Wanted: coordination.Beginning(coordination.Mask(t.UnblockedAction), MaxText)},
			Refs:    Refs{WorkSession: t.WorkSessionID, Task: t.ID, Seq: cmp.Or(t.LastSeq, t.Seq)},
			Actions: when(d.Able.Tasks, Unblock)}
		if n := t.UnblockRequestCount; n != nil {
			p.Fields.Requests = int(*n)
		}
		at := t.LastAt
		if at == 0 {
			if ms, ok := coordination.ParseTime(t.LastActivity); ok {
				at = int64(ms)
			}
		}
		d.add(p, t.AgentID+":"+t.ID, at)
	}
	own := max(d.TasksN, d.counts[TaskBlocked])
	for i := range d.Imported {
		t := &d.Imported[i]
		d.add(Problem{Kind: TaskBlocked, Severity: health.SeverityError, AgentID: t.AgentID, Code: string(coordination.ReasonTaskBlocked),
			Reason: coordination.Mask(t.Reason), Title: t.Title,
			Refs: Refs{WorkSession: t.WorkSessionID, Seq: t.Seq}}, strings.ToLower(t.AgentID)+":"+t.TaskID, int64(t.Time))
	}
	d.counts[TaskBlocked] = own + max(d.ImportedN, len(d.Imported))
}

func (d *decision) escalated() {
	for i := range d.Told {
		t := &d.Told[i]
		d.add(Problem{Kind: Escalated, Severity: health.SeverityError, AgentID: t.AgentID, Code: t.Reason, Title: coordination.Mask(t.Title),
			Fields: Fields{From: t.AgentID, To: t.To, Dependency: t.Dependency},
			Refs:   Refs{WorkSession: t.WorkSessionID, Task: t.TaskID, Seq: t.LastSeq}}, "task:"+t.AgentID+":"+t.TaskID, t.LastAt)
	}
	told := d.counts[Escalated]
	for i := range d.Escalated {
		r := &d.Escalated[i]
		p := request(r, Escalated)
		p.Severity, p.Code = health.SeverityError, string(continuation.NoAnswer)
		d.add(p, "request:"+r.ID, cmp.Or(r.LastAttemptAt, r.Request.SentAt))
	}
	d.counts[Escalated] = max(told+d.EscalatedN, d.counts[Escalated])
}

// request is what the kinds of problems of a request in Discord share.
func request(r *responses.Row, kind Kind) Problem {
	p := Problem{Kind: kind, AgentID: r.FromAgent, Title: coordination.Mask(r.Original), Fields: Fields{From: r.FromAgent, To: r.TargetAgent, Step: r.Step},
		Refs: Refs{WorkSession: r.WorkSessionID, Task: r.TaskID, Seq: r.LastSeq, CollabID: r.ID, PlaceID: r.ThreadID, RunID: r.RunID}}
	if len(r.MessageIDs) > 0 {
		p.Refs.MessageID = r.MessageIDs[0]
	}
	return p
}

func (d *decision) backoff() {
	for i := range d.Continuations {
		c := &d.Continuations[i]
		if c.Failures == 0 {
			continue
		}
		at := c.Ended.At
		if c.Ended.OK || c.Ended.RunID != c.FailedRun {
			at = c.Prompt.At
		}
		d.add(Problem{Kind: Backoff, Severity: health.SeverityWarning, AgentID: c.AgentID, Code: cmp.Or(c.Cause, string(continuation.CauseUnknown)),
			Fields: Fields{Failures: c.Failures, UntilMs: c.BackoffUntil}, Refs: Refs{Task: c.FailedTask, RunID: c.FailedRun, Seq: c.Seq}}, c.AgentID, at)
	}
}

func (d *decision) runs() {
	add := func(r *run.Result, code Code, since int64) {
		d.add(Problem{Kind: StuckRun, Severity: health.SeverityWarning, AgentID: r.AgentID, Code: string(code), Fields: Fields{Lane: r.Lane},
			Refs: Refs{WorkSession: r.WorkSessionID, RunID: r.RunID, JobID: r.JobID, Seq: r.Seq}}, r.RunID, since)
	}
	for i := range d.Running {
		if r := &d.Running[i]; d.Now-r.StartedAt > RunningLong.Milliseconds() {
			add(r, RunsLong, r.StartedAt)
		}
	}
	for i := range d.Startable {
		s := &d.Startable[i]
		if s.Running < max(s.Capacity, 1) && d.Now-s.ReadySince > ReadyLong.Milliseconds() {
			add(&s.Result, LaneFree, s.QueuedAt)
		}
	}
}

func (d *decision) overdue() {
	for i := range d.Flows {
		if f := &d.Flows[i]; owed.FlowOverdue(f.DueAt, d.Now) {
			d.overdueFlow(f)
		}
	}
	for i := range d.Pending {
		r := &d.Pending[i]
		if !owed.RequestOverdue(response.StatusPending, r.Step) {
			continue
		}
		p := request(r, Overdue)
		p.Severity, p.Code = health.SeverityWarning, string(Reminded)
		d.add(p, "request:"+r.ID, r.Request.SentAt)
	}
	d.counts[Overdue] = max(d.FlowsN+d.PendingN, d.counts[Overdue])
}

func (d *decision) overdueFlow(f *flows.Row) {
	d.add(Problem{Kind: Overdue, Severity: health.SeverityWarning, AgentID: f.FromAgent, Code: string(CheckMissed), Title: coordination.Mask(f.Preview),
		Fields: Fields{From: f.FromAgent, To: f.ToAgent, DueMs: f.DueAt, State: string(f.Phase)},
		Refs: Refs{WorkSession: f.WorkSessionID, Thread: conversations.ThreadOf(f.ConversationID), Task: f.TaskID, RunID: f.RunID,
			JobID: f.JobID, Seq: f.Seq},
		Actions: when(d.Able.Flows, CancelFlow)}, "flow:"+f.JobID, f.DueAt)
}

func (d *decision) places() {
	for i := range d.Places {
		p := &d.Places[i]
		if p.SuspendedUntil <= d.Now {
			continue
		}
		d.add(Problem{Kind: Suspended, Severity: health.SeverityWarning, Code: p.SuspendedFor, Title: p.Name, Fields: Fields{UntilMs: p.SuspendedUntil},
			Refs: Refs{PlaceID: p.ID, Seq: p.LastSeq}}, p.ID, p.Last.LastAt)
	}
}

func (d *decision) bots() {
	for i := range d.Bots {
		b := &d.Bots[i]
		if !Offline(b, d.Now) {
			continue
		}
		p := Problem{Kind: BotDown, Severity: health.SeverityWarning, AgentID: b.AgentID, Code: cmp.Or(b.Class, string(b.State)), Reason: b.Text,
			Fields: Fields{State: string(b.State), Hint: b.Hint, UntilMs: b.NextTry}, Refs: Refs{AccountID: b.AccountID, Channel: b.Channel}}
		if b.State == health.BotFailed {
			p.Severity = health.SeverityError
		}
		d.add(p, botID(b), b.Since)
	}
}

// botID names a bot: accounts of two channels may have the same id.
func botID(b *health.Bot) string {
	if b.Channel == "" || b.Channel == coordination.Discord {
		return b.AccountID
	}
	return b.Channel + ":" + b.AccountID
}

// Offline reports whether an enabled bot is not connected although it should be, as of now in ms since 1970.
func Offline(b *health.Bot, now int64) bool {
	switch b.State {
	case health.BotOff, health.BotReady:
		return false
	case health.BotFailed:
		return true
	}
	return now-b.Since > BotPatience.Milliseconds()
}
