package owed

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/responses"
)

// Item is one answer that is, or was, owed. Times are ms since 1970; nil: it has not happened, or nothing is planned. Texts are as stored:
// without masks and names.
type Item struct {
	Kind    Kind   `json:"kind"`
	ID      string `json:"id"`
	From    string `json:"from"` // the agent that asked
	To      string `json:"to"`   // the agent that is to answer
	Text    string `json:"text"` // the beginning of what was asked
	Subject string `json:"subject,omitempty"`

	Prompt    coordination.Prompt `json:"prompt,omitempty"`    // what openclawd asked in the name of From; "": From asked
	TaskTitle string              `json:"taskTitle,omitempty"` // of Refs.Task; not set by Read

	State   State  `json:"state"`
	Overdue bool   `json:"overdue"`
	Reason  string `json:"reason,omitempty"` // why it was not delivered, or how it ended

	Since       int64  `json:"since"`
	DeliveredAt *int64 `json:"deliveredAt"`
	AnsweredAt  *int64 `json:"answeredAt"`
	EndedAt     *int64 `json:"endedAt"`
	DueAt       *int64 `json:"dueAt"`  // of a flow: its next check; of a request: when people are told
	NextAt      *int64 `json:"nextAt"` // the next reminder, or the escalation
	Step        int    `json:"step"`   // the last reminder or the escalation, from 1; 0: none yet
	Steps       int    `json:"steps"`  // of which there are so many; 0: unknown, or none

	Turn  int `json:"turn,omitempty"` // of a flow
	Turns int `json:"turns,omitempty"`

	Refs Refs `json:"refs"`
}

// Refs say where to look; absent where there is nothing.
type Refs struct {
	WorkSession string `json:"ws,omitempty"`
	Thread      string `json:"thread,omitempty"` // id of the conversation within the work session
	JobID       string `json:"jobId,omitempty"`
	CollabID    string `json:"collabId,omitempty"`
	Task        string `json:"task,omitempty"`
	RunID       string `json:"runId,omitempty"`
	Seq         int64  `json:"seq,omitempty"`
	Channel     string `json:"channel,omitempty"` // in which it was asked
	Link        string `json:"link,omitempty"`    // to the message there

	GuildID, PlaceID, MessageID string `json:"-"`
}

func orNil(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// ofFlow is a flow as an item; sentAt is when it was delivered, 0 if it was not.
func ofFlow(r *flows.Row, sentAt int64) Item {
	i := Item{Kind: Flow, ID: r.JobID, From: r.FromAgent, To: r.ToAgent, Text: r.Preview, Prompt: coordination.PromptOf(r.Preview), Since: r.CreatedAt, DeliveredAt: orNil(sentAt), EndedAt: orNil(r.EndedAt),
		Turn: r.Turn, Turns: r.EffectiveTurns,
		Refs: Refs{WorkSession: r.WorkSessionID, Thread: conversations.ThreadOf(r.ConversationID), JobID: r.JobID, Task: r.TaskID, RunID: r.RunID, Seq: r.Seq}}
	switch {
	case r.Phase != a2a.Over && r.Phase == a2a.Dispatching:
		i.State, i.DueAt = Sending, orNil(r.DueAt)
	case r.Phase != a2a.Over:
		i.State, i.DueAt = Waiting, orNil(r.DueAt)
	case r.Outcome == "ok":
		i.State, i.AnsweredAt = Answered, orNil(r.EndedAt)
	case r.Outcome == "no_reply" || r.Outcome == "timeout":
		i.State, i.Reason = NoReply, r.Outcome
	case r.Outcome == "blocked" && sentAt == 0:
		i.State, i.Reason = Undelivered, r.Outcome
	default:
		i.State, i.Reason = Ended, r.Outcome
	}
	return i
}

func ofHandoff(h *flows.Handoff, of *flows.Row) Item {
	i := Item{Kind: Handoff, ID: h.JobID, From: h.From, To: h.To, Text: of.Preview, Subject: h.Subject, Since: h.At, DeliveredAt: &h.At, AnsweredAt: orNil(h.AnsweredAt),
		Refs: Refs{WorkSession: h.WorkSessionID, Thread: conversations.ThreadOf(h.ConversationID), JobID: h.JobID, Task: of.TaskID, RunID: h.RunID, Seq: h.Seq}}
	switch h.State {
	case flows.HandoffOpen:
		i.State = Waiting
		if of.Phase != a2a.Over {
			i.DueAt = orNil(of.DueAt)
		}
	case flows.HandoffAnswered:
		i.State = Answered
	case flows.HandoffReplaced:
		i.State = Replaced
	default:
		i.State, i.Reason = Ended, h.State
	}
	return i
}

func ofRequest(r *responses.Row, policy func(place string) response.Policy) Item {
	i := Item{Kind: Request, ID: r.ID, From: r.FromAgent, To: r.TargetAgent, Text: r.Original, Since: r.AcceptedAt, AnsweredAt: orNil(r.RespondedAt), Step: r.Step,
		Refs: Refs{WorkSession: r.WorkSessionID, CollabID: r.ID, Task: r.TaskID, RunID: r.RunID, Seq: r.LastSeq, GuildID: r.GuildID, PlaceID: r.ThreadID}}
	if len(r.MessageIDs) > 0 {
		i.Refs.MessageID = r.MessageIDs[0]
	}
	if r.Delivery == collaborate.StatusSent {
		i.DeliveredAt = orNil(r.SentAt)
	}
	if policy != nil {
		next, last, steps := r.Schedule(policy(r.ThreadID))
		i.NextAt, i.DueAt, i.Steps = orNil(next), orNil(last), steps
	}
	switch {
	case r.Status == response.StatusPending && r.Step > 0:
		i.State = Reminded
	case r.Status == response.StatusPending:
		i.State = Waiting
	case r.Status == response.StatusEscalated:
		i.State = Escalated
	case r.Status == response.StatusResponded:
		i.State = Answered
	case r.Status == response.StatusRespondedLate:
		i.State = Late
	case r.Delivery == collaborate.StatusAccepted:
		i.State = Sending
	case r.Status == response.StatusFailed, r.Delivery == collaborate.StatusFailed, r.Delivery == collaborate.StatusUnknown:
		i.State, i.Reason = Undelivered, r.Code
		if i.Reason == "" {
			i.Reason = r.Reason
		}
	default:
		i.State = Ended // no answer is awaited
	}
	return i
}
