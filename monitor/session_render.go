package monitor

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

type sessionRenderer struct {
	*view
	events  map[int64]*rendering
	labels  map[coordination.Category]string
	summary bool
}

func (r *sessionRenderer) session(s *conversations.Session) sessionAnswer {
	r.endsWith(s)
	outcome := s.Outcome()
	a := sessionAnswer{
		ID: idPrefix + s.Name, WorkSessionID: s.Name, Status: s.Status(r.now), StartTime: s.Listed.Start, LastTime: s.Listed.Last,
		DurationMs: duration(s.Listed), ThreadCount: s.Listed.Threads, EventCount: s.Listed.Events, CollabCategory: s.Category,
		CollabSubTags: listOf(s.Vote.SubTags), CategorySource: sourceVote, VotedCategory: s.Vote.Winner, RoleCounts: s.ByRole, Threads: make([]threadAnswer, len(s.Threads)),
		Totals: totalsAnswer{s.Whole.Start, s.Whole.Last, duration(s.Whole), s.Whole.Threads, s.Whole.Events}, Title: cmp.Or(coordination.TaskTitle(s.Task, r.roster), s.Title),
		Participants: listOf(s.Participants), Outcome: outcome, OutcomeCounts: s.ByOutcome, OpenThreads: s.OpenThreads,
		OpenTasks: s.OpenTasks, BlockedTasks: s.BlockedTasks, OpenFlows: s.OpenFlows, OpenRuns: s.OpenRuns, LastMessage: r.message(s.MessageSeq), CategoryLabel: r.labels[s.Category],
		CollabSecondary: secondaryOf(s.Vote.Secondary, s.Category), PreviousWorkSessionID: orNull(s.Previous), NextWorkSessionID: orNull(s.Next),
		Seq: s.LatestSeq, EventsTruncated: s.Truncated,
	}
	if o := s.Override; o != nil {
		a.CategorySource, a.UpdatedAt, a.UpdatedBy = sourceOverride, o.UpdatedAt, o.UpdatedBy
	}
	for i := range s.Threads {
		thread, whole := r.thread(&s.Threads[i])
		a.Threads[i] = thread
		a.EventsTruncated = a.EventsTruncated || !whole
	}
	if outcome == coordination.OutcomeBlocked || outcome == coordination.OutcomeNoReply {
		a.BlockedReason = r.readable(cmp.Or(s.Reason(), coordination.OutcomeSentence(outcome)))
		a.ReasonCode = orNull(s.Code())
	}
	switch {
	case a.BlockedReason != nil:
		a.Summary = coordination.LineForPeople(*a.BlockedReason, r.roster, previewLength)
	case a.LastMessage != nil && a.LastMessage.Text != "":
		a.Summary = a.LastMessage.Text
	default:
		a.Summary = a.Title
	}
	return a
}

// endsWith limits for how long the answer is right: a session is archived some time after its latest event.
func (r *sessionRenderer) endsWith(s *conversations.Session) {
	const rounding = 1 // of sums of such times, in ms
	if archived := s.Whole.Last + coordination.ArchiveAfterMs; archived >= r.now-rounding {
		r.until = min(r.until, archived-rounding)
	}
}

// thread renders a thread. whole is false if its events are too large to be shown.
func (r *sessionRenderer) thread(t *conversations.Thread) (a threadAnswer, whole bool) {
	a = threadAnswer{
		ID: t.Key, ConversationID: t.ConversationID(), FromAgent: t.From, ToAgent: t.To, StartTime: t.Listed.Start,
		LastTime: t.Listed.Last, EventCount: t.Listed.Events, CollabCategory: t.Category, CollabSubTags: listOf(t.SubTags),
		ParentConversationID: t.ParentID, Open: t.Open,
	}
	if first, ok := r.events[t.First]; ok {
		a.FromAgent, a.ToAgent = orUnknown(first.from), orUnknown(first.to)
	}
	if t.Outcome != "" {
		a.Outcome = &t.Outcome
	}
	if t.Outcome == coordination.OutcomeBlocked || t.Outcome == coordination.OutcomeNoReply {
		a.Reason = r.readable(t.Reason)
		a.ReasonCode = orNull(cmp.Or(t.Code, coordination.ReasonOther))
	}
	whole = true
	if !r.summary {
		a.Events = make([]json.RawMessage, 0, len(t.Events))
	}
	for _, seq := range t.Events {
		e, ok := r.events[seq]
		if !ok {
			whole = false
			continue
		}
		a.Events = append(a.Events, e.text)
	}
	if a.Reason != nil {
		a.DisplayText = coordination.LineForPeople(*a.Reason, r.roster, previewLength)
	} else {
		a.DisplayText = r.lastSaid(t)
	}
	return a, whole
}

// lastSaid is the last listed event of a thread with a text, in one line.
func (r *sessionRenderer) lastSaid(t *conversations.Thread) string {
	for _, seq := range slices.Backward(t.Events) {
		if e, ok := r.events[seq]; ok && e.said != "" {
			return e.inLine(r.roster)
		}
	}
	return ""
}

func orUnknown(agent string) string { return cmp.Or(agent, coordination.UnknownAgent) }

func (r *sessionRenderer) message(seq int64) *messageAnswer {
	e, ok := r.events[seq]
	if !ok {
		return nil
	}
	return &messageAnswer{From: orUnknown(e.from), To: orNull(e.to), Type: e.typ, Time: e.time, Seq: seq, Text: e.inLine(r.roster)}
}

// readable is a reason with names instead of mentions, null if there is none.
func (r *sessionRenderer) readable(reason string) *string {
	return orNull(coordination.ForPeople(reason, r.roster).Text)
}

// duration is finite, whatever times the log contains.
func duration(x conversations.Extent) float64 { return min(max(x.Last-x.Start, 0), math.MaxFloat64) }
