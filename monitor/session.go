package monitor

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversation"
	"github.com/pronto-lab/openclawd/projections/index"
)

// sessionAnswer is a work session. StartTime to EventCount and Threads describe its listed events, everything else all of it.
type sessionAnswer struct {
	ID             string                      `json:"id"`
	WorkSessionID  string                      `json:"workSessionId"`
	Status         coordination.Status         `json:"status"`
	StartTime      float64                     `json:"startTime"`
	LastTime       float64                     `json:"lastTime"`
	DurationMs     float64                     `json:"durationMs"`
	ThreadCount    int64                       `json:"threadCount"`
	EventCount     int64                       `json:"eventCount"`
	CollabCategory coordination.Category       `json:"collabCategory"`
	CollabSubTags  []string                    `json:"collabSubTags"`
	CategorySource string                      `json:"categorySource"`
	VotedCategory  coordination.Category       `json:"votedCategory"`       // what the vote says, also where an operator says otherwise
	UpdatedAt      string                      `json:"updatedAt,omitempty"` // of the override
	UpdatedBy      string                      `json:"updatedBy,omitempty"`
	RoleCounts     map[coordination.Role]int64 `json:"roleCounts"`
	Threads        []threadAnswer              `json:"threads"`

	Totals                totalsAnswer                   `json:"totals"`
	Title                 string                         `json:"title"`
	Summary               string                         `json:"summary"`
	Participants          []conversation.Participant     `json:"participants"`
	Outcome               coordination.Outcome           `json:"outcome"`
	OutcomeCounts         map[coordination.Outcome]int64 `json:"outcomeCounts"`
	BlockedReason         *string                        `json:"blockedReason"`
	OpenThreads           int64                          `json:"openThreads"`
	OpenTasks             int64                          `json:"openTasks"`
	BlockedTasks          int64                          `json:"blockedTasks"`
	LastMessage           *messageAnswer                 `json:"lastMessage"`
	CategoryLabel         string                         `json:"categoryLabel"`
	CollabSecondary       []coordination.Category        `json:"collabSecondary"`
	PreviousWorkSessionID *string                        `json:"previousWorkSessionId"`
	NextWorkSessionID     *string                        `json:"nextWorkSessionId"`
	Seq                   int64                          `json:"seq"` // of the latest event
	EventsTruncated       bool                           `json:"eventsTruncated,omitempty"`
}

// totalsAnswer is what all events of a session make, whatever is listed.
type totalsAnswer struct {
	StartTime   float64 `json:"startTime"`
	LastTime    float64 `json:"lastTime"`
	DurationMs  float64 `json:"durationMs"`
	ThreadCount int64   `json:"threadCount"`
	EventCount  int64   `json:"eventCount"`
}

// threadAnswer is a thread. StartTime, LastTime, EventCount, the agents and Events describe its listed events, the rest all of it.
type threadAnswer struct {
	ID             string                `json:"id"`
	ConversationID string                `json:"conversationId,omitempty"`
	FromAgent      string                `json:"fromAgent"`
	ToAgent        string                `json:"toAgent"`
	StartTime      float64               `json:"startTime"`
	LastTime       float64               `json:"lastTime"`
	EventCount     int64                 `json:"eventCount"`
	CollabCategory coordination.Category `json:"collabCategory"`
	CollabSubTags  []string              `json:"collabSubTags"`
	Events         []json.RawMessage     `json:"events,omitzero"` // not in a summary

	ParentConversationID string                `json:"parentConversationId,omitempty"`
	Outcome              *coordination.Outcome `json:"outcome"` // null where nothing was asked
	Open                 bool                  `json:"open"`
	Reason               *string               `json:"reason"`
	DisplayText          string                `json:"displayText,omitempty"` // not in a summary, unless there is a reason
}

// messageAnswer is the last event of a session that says something.
type messageAnswer struct {
	From string  `json:"from"`
	To   *string `json:"to"`
	Text string  `json:"text"`
	Type string  `json:"type"`
	Time float64 `json:"time"`
	Seq  int64   `json:"seq"`
}

// previewLength is how many characters of a message are shown in one line.
const previewLength = 160

// renderSessions reads work sessions with their events, or without in a summary.
func (v *view) renderSessions(ctx context.Context, kinds *conversation.Kinds, ids []int64, summary bool) ([]sessionAnswer, error) {
	most := v.MaxEvents
	if summary {
		most = 0
	}
	sessions, err := conversation.Load(ctx, v.tx, kinds, ids, most)
	if err != nil {
		return nil, err
	}
	listed := listedSeqs(sessions)
	events, err := v.fetch(ctx, slices.Concat(neededSeqs(sessions), listed))
	if err != nil {
		return nil, err
	}
	entries, err := index.Entries(ctx, v.tx, listed)
	if err != nil {
		return nil, err
	}
	r := sessionRenderer{view: v, events: events, entries: entries, labels: categoryLabels(), summary: summary}
	answers := make([]sessionAnswer, len(sessions))
	for i := range sessions {
		answers[i] = r.session(&sessions[i])
	}
	return answers, nil
}

// neededSeqs are the events that are read even where none is shown: last messages, and the first ones of threads.
func neededSeqs(sessions []conversation.Session) (seqs []int64) {
	for i := range sessions {
		if s := &sessions[i]; s.MessageSeq > 0 {
			seqs = append(seqs, s.MessageSeq)
		}
		for j := range sessions[i].Threads {
			if t := &sessions[i].Threads[j]; t.First > 0 {
				seqs = append(seqs, t.First)
			}
		}
	}
	return seqs
}

// listedSeqs are the events that are shown, of each session the newest first.
func listedSeqs(sessions []conversation.Session) (seqs []int64) {
	for i := range sessions {
		from := len(seqs)
		for j := range sessions[i].Threads {
			seqs = append(seqs, sessions[i].Threads[j].Events...)
		}
		slices.Sort(seqs[from:])
		slices.Reverse(seqs[from:])
	}
	return seqs
}

func categoryLabels() map[coordination.Category]string {
	labels := map[coordination.Category]string{}
	for _, c := range coordination.Categories() {
		labels[c.Category] = c.NameKo
	}
	return labels
}

// Who says what a work session's category is.
const (
	sourceVote     = "event"
	sourceOverride = "manual_override"
)

// besides lists the others.
func besides(list []coordination.Category, one coordination.Category) []coordination.Category {
	return listOf(slices.DeleteFunc(slices.Clone(list), func(c coordination.Category) bool { return c == one }))
}

// sessionRenderer turns sessions into answers.
type sessionRenderer struct {
	*view
	events  map[int64]*eventstore.Event
	entries map[int64]*index.Entry
	labels  map[coordination.Category]string
	summary bool
}

func (r *sessionRenderer) session(s *conversation.Session) sessionAnswer {
	outcome := s.Outcome()
	a := sessionAnswer{
		ID: idPrefix + s.Name, WorkSessionID: s.Name, Status: s.Status(r.now), StartTime: s.Listed.Start, LastTime: s.Listed.Last,
		DurationMs: duration(s.Listed), ThreadCount: s.Listed.Threads, EventCount: s.Listed.Events, CollabCategory: s.Category,
		CollabSubTags: listOf(s.Vote.SubTags), CategorySource: sourceVote, VotedCategory: s.Vote.Winner, RoleCounts: s.ByRole, Threads: make([]threadAnswer, len(s.Threads)),
		Totals: totalsAnswer{s.Whole.Start, s.Whole.Last, duration(s.Whole), s.Whole.Threads, s.Whole.Events}, Title: s.Title,
		Participants: listOf(s.Participants), Outcome: outcome, OutcomeCounts: s.ByOutcome, OpenThreads: s.OpenThreads,
		OpenTasks: s.OpenTasks, BlockedTasks: s.BlockedTasks, LastMessage: r.message(s.MessageSeq), CategoryLabel: r.labels[s.Category],
		CollabSecondary: besides(s.Vote.Secondary, s.Category), PreviousWorkSessionID: textOrNull(s.Previous), NextWorkSessionID: textOrNull(s.Next),
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
		a.BlockedReason = r.readable(s.Reason())
	}
	switch {
	case a.BlockedReason != nil:
		a.Summary = coordination.Preview(*a.BlockedReason, r.roster, previewLength)
	case a.LastMessage != nil && a.LastMessage.Text != "":
		a.Summary = a.LastMessage.Text
	default:
		a.Summary = s.Title
	}
	return a
}

// thread renders a thread. whole is false where events of it are too many bytes to be shown.
func (r *sessionRenderer) thread(t *conversation.Thread) (a threadAnswer, whole bool) {
	a = threadAnswer{
		ID: t.Key, ConversationID: t.ConversationID(), FromAgent: t.From, ToAgent: t.To, StartTime: t.Listed.Start,
		LastTime: t.Listed.Last, EventCount: t.Listed.Events, CollabCategory: t.Category, CollabSubTags: listOf(t.SubTags),
		ParentConversationID: t.ParentID, Open: t.Open,
	}
	if first, ok := r.events[t.First]; ok {
		a.FromAgent, a.ToAgent = r.parties(first)
	}
	if t.Outcome != "" {
		a.Outcome = &t.Outcome
	}
	if t.Outcome == coordination.OutcomeBlocked || t.Outcome == coordination.OutcomeNoReply {
		a.Reason = r.readable(t.Reason)
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
		a.Events = append(a.Events, r.renderEvent(e, r.entries[seq]))
	}
	if a.Reason != nil {
		a.DisplayText = coordination.Preview(*a.Reason, r.roster, previewLength)
	} else {
		a.DisplayText = r.lastSaid(t)
	}
	return a, whole
}

// lastSaid is the last listed event of a thread that says something, in one line.
func (r *sessionRenderer) lastSaid(t *conversation.Thread) string {
	for _, seq := range slices.Backward(t.Events) {
		if e, ok := r.events[seq]; ok {
			record := r.record(e)
			if text := coordination.Said(&record); text != "" {
				return coordination.Preview(text, r.roster, previewLength)
			}
		}
	}
	return ""
}

// parties are the agents of an event; those that it does not name are unknown.
func (r *sessionRenderer) parties(e *eventstore.Event) (from, to string) {
	record := r.record(e)
	return orUnknown(record.From()), orUnknown(record.To())
}

func orUnknown(agent string) string { return cmp.Or(agent, coordination.UnknownAgent) }

func (r *sessionRenderer) message(seq int64) *messageAnswer {
	e, ok := r.events[seq]
	if !ok {
		return nil
	}
	record := r.record(e)
	from, _ := r.parties(e)
	return &messageAnswer{From: from, To: textOrNull(record.To()), Type: record.Type, Time: record.Time, Seq: seq,
		Text: coordination.Preview(coordination.Said(&record), r.roster, previewLength)}
}

// readable is a reason with names instead of mentions, null where there is none.
func (r *sessionRenderer) readable(reason string) *string {
	return textOrNull(coordination.Clean(reason, r.roster).Text)
}

// duration is finite, whatever times a log claims.
func duration(x conversation.Extent) float64 { return min(max(x.Last-x.Start, 0), math.MaxFloat64) }

// listOf makes sure that an empty list is [], never null.
func listOf[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
