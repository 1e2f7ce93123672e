package a2a

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/handoff"
)

// Values of waitStatus: why there is no answer.
const (
	statusTimeout   = "timeout"       // it took too long
	statusQueue     = "queue_timeout" // no permit in time
	statusError     = "error"
	statusAborted   = "aborted"
	statusNotFound  = "not_found"
	statusEmpty     = "empty"
	statusDispatch  = "dispatch_failed"
	statusCancelled = "cancelled"
	statusKilled    = "killed"
	statusAbandoned = "abandoned"
)

// Reasons why a flow takes fewer turns than possible, in addition to those of EndsEarly.
const (
	endedEmpty   = "empty_reply"
	endedTimeout = "turn_timeout"
	endedError   = "agent_error"
	endedSkip    = "explicit_skip"
	endedAborted = "aborted"
)

// reasonLength bounds the error text in an event, in characters.
const reasonLength = 500

// excerpt shortens a text for an event or a prompt with Cut. Secrets in the whole text were masked before, so only its
// beginning is read.
func excerpt(text string, length int) string {
	return Cut(coordination.Clip(text, 8*length+4<<10), length)
}

// reason shortens an error text for an event.
func reason(text string) string { return excerpt(text, reasonLength) }

func (f *Flow) created() Event {
	data := f.A2AJobCreated
	data.Context = f.contextAs(coordination.RoleOrchestration)
	return Event{coordination.TypeA2AJobCreated, f.FromAgent, data}
}

func (f *Flow) sent(warnings []string) Event {
	data := coordination.A2ASend{
		Context: f.context(f.requester(), f.target()), FromAgent: f.FromAgent, ToAgent: f.ToAgent, TargetSessionKey: f.TargetSessionKey,
		RouteKey: f.routeKey(), Message: excerpt(f.Message, MessageLength), RunID: f.JobID, JobID: f.JobID, MessageIntent: f.MessageIntent,
		PayloadType: f.PayloadType, PayloadJSON: f.PayloadJSON, PayloadWarnings: warnings, Origin: f.Origin,
	}
	if Kind(f.Kind) == Spawn {
		data.Message = excerpt(f.Message, PreviewLength)
		data.ReplyPreview = data.Message
	}
	return Event{coordination.TypeA2ASend, f.FromAgent, data}
}

// routeKey identifies the route of a message's events; those of a sub-agent have none.
func (f *Flow) routeKey() string {
	if Kind(f.Kind) == Spawn {
		return ""
	}
	return coordination.RouteOfSession(f.RequesterSessionKey, f.ToAgent)
}

func (f *Flow) concurrency(typ string, active, waiting int) Event {
	return Event{typ, f.ToAgent, coordination.A2AConcurrency{
		Context: f.contextAs(coordination.RoleObservability), FromAgent: f.FromAgent, ToAgent: f.ToAgent, JobID: f.JobID,
		ActiveCount: active, QueuedCount: waiting, QueueTimeoutMs: f.queueMs(),
	}}
}

// running is the event that a flow continues. It contains the whole state, so that folding it does not depend on
// earlier events.
func (f *Flow) running(job coordination.A2AJob) Event {
	return f.job(coordination.TypeA2AJobRunning, job)
}

func (f *Flow) job(typ string, data coordination.A2AJob) Event {
	data.Context = f.contextAs(coordination.RoleOrchestration)
	data.JobID, data.Kind, data.FromAgent, data.ToAgent = f.JobID, f.Kind, f.FromAgent, f.ToAgent
	return Event{typ, f.FromAgent, data}
}

// putOff postpones the next check of a flow.
func (f *Flow) putOff(due int64) Event {
	return f.running(coordination.A2AJob{
		Phase: string(f.Phase), DueAtMs: due, Speaker: f.Speaker, Turn: f.Turn, RunID: f.RunID, Attempt: f.Attempt,
	})
}

// answered is the event of an answer: the first one, of turn 0, or that of a turn. ended says why no other turn
// follows although some are left. An answer that is only a payload is handed over as such.
func (f *Flow) answered(turn int, text, ended string) Event {
	e := f.response(turn)
	e.Message, e.ReplyPreview = excerpt(text, MessageLength), excerpt(text, PreviewLength)
	e.TerminationReason = ended
	e.PayloadType, e.PayloadJSON = payloadOf(text)
	return Event{coordination.TypeA2AResponse, e.FromAgent, e}
}

// payloadOf returns the payload that an answer consists of: one JSON object, alone or in a fence. It is "" for text,
// or if the payload violates a rule of its type.
func payloadOf(text string) (typ, payload string) {
	if len(text) > maxRead {
		return "", ""
	}
	text = coordination.TrimJS(Plain(text))
	if fenced, opened := strings.CutPrefix(text, "```json"); opened {
		body, closed := strings.CutSuffix(fenced, "```")
		if !closed {
			return "", ""
		}
		text = coordination.TrimJS(body)
	}
	if !strings.HasPrefix(text, "{") {
		return "", ""
	}
	p, _ := handoff.Parse(text)
	if p == nil {
		return "", ""
	}
	masked := maskJSON(text)
	if p, _ = handoff.Parse(masked); p == nil { // a payload that violates the rules counts as none
		return "", ""
	}
	return string(p.Type), masked
}

// silence says why there is no first answer.
type silence struct {
	outcome, status, err string
	class                string // of err, if a run has failed
	blocked              bool   // by no permit
}

// unanswered is the event in the place of a first answer. It takes the same way as the answer would.
func (f *Flow) unanswered(why silence) Event {
	e := f.response(0)
	text := OutcomeText(reason(why.err), why.status)
	if why.status == statusTimeout && why.err == "" && f.waitMs() != WaitMs {
		text = OutcomeText("대기 시간 "+strconv.FormatInt(f.waitMs()/1000, 10)+"초 초과", "")
	}
	e.Message, e.ReplyPreview = excerpt(text, MessageLength), excerpt(text, PreviewLength)
	e.Outcome, e.WaitStatus, e.WaitError, e.ErrorClass, e.ConcurrencyBlocked = why.outcome, why.status, reason(why.err), why.class, why.blocked
	return Event{coordination.TypeA2AResponse, e.FromAgent, e}
}

// response has the fields common to all responses of a turn.
func (f *Flow) response(turn int) coordination.A2AResponse {
	speaker, listener := f.at(turn)
	data := coordination.A2AResponse{
		Context: f.context(speaker, listener), FromAgent: speaker.agent, ToAgent: listener.agent, TargetSessionKey: listener.session,
		RouteKey: f.routeKey(), RunID: f.RunID, JobID: f.JobID, MessageIntent: f.MessageIntent,
	}
	if data.RunID == "" {
		data.RunID = f.JobID // it was never dispatched
	}
	if turn > 0 {
		data.Turn, data.MaxTurns = turn, f.turns()
	}
	if turn%2 == 0 {
		data.InResponseToPayload = f.PayloadType
	}
	if Kind(f.Kind) == Spawn {
		data.Turn, data.MaxTurns = 1, 1
	}
	return data
}

func (f *Flow) retry(n int, why Failure, text string, pauseMs, now int64) Event {
	return Event{coordination.TypeA2ARetry, f.ToAgent, coordination.A2ARetry{
		Context: f.contextAs(coordination.RoleObservability), FromAgent: f.FromAgent, ToAgent: f.ToAgent, RunID: f.RunID, JobID: f.JobID,
		Attempt: n, MaxAttempts: MaxRetries, ErrorCategory: why.Category, ErrorCode: why.Code, Reason: cmp.Or(reason(text), why.Code), BackoffMs: pauseMs,
		ElapsedMs: max(now-f.CreatedAt, 0),
	}}
}

func (f *Flow) dispatchFailed(runID, session, code, why string) Event {
	return Event{coordination.TypeA2ADispatchFailed, f.FromAgent, coordination.A2ARefusal{
		Context: f.contextAs(coordination.RoleObservability), FromAgent: f.FromAgent, ToAgent: f.ToAgent, TargetSessionKey: session,
		RunID: runID, JobID: f.JobID, Code: code, Reason: reason(why),
	}}
}

func (f *Flow) spawned() Event {
	preview := excerpt(f.Message, PreviewLength)
	return Event{coordination.TypeA2ASpawn, f.FromAgent, coordination.A2ASpawn{
		Context: f.context(f.requester(), f.target()), FromAgent: f.FromAgent, ToAgent: f.ToAgent, TargetSessionKey: f.TargetSessionKey,
		Message: preview, ReplyPreview: preview, Label: f.Label,
	}}
}

func (f *Flow) spawnResult(status, why string) Event {
	data := coordination.A2ASpawnResult{
		Context: f.context(f.requester(), f.target()), FromAgent: f.FromAgent, ToAgent: f.ToAgent, TargetSessionKey: f.TargetSessionKey,
		RunID: f.JobID, Status: status, Error: reason(why), ReplyPreview: excerpt(f.Message, PreviewLength),
	}
	if status == coordination.SpawnAccepted {
		data.Label = f.Label
	}
	return Event{coordination.TypeA2ASpawnResult, f.FromAgent, data}
}
