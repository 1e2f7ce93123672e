package monitor

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

// sessionAnswer is a work session. StartTime to EventCount and Threads describe the listed events, everything else the
// whole session.
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
	VotedCategory  coordination.Category       `json:"votedCategory"`       // the vote's result, even if overridden
	UpdatedAt      string                      `json:"updatedAt,omitempty"` // of the override
	UpdatedBy      string                      `json:"updatedBy,omitempty"`
	RoleCounts     map[coordination.Role]int64 `json:"roleCounts"`
	Threads        []threadAnswer              `json:"threads"`

	Totals                totalsAnswer                   `json:"totals"`
	Title                 string                         `json:"title"`
	Summary               string                         `json:"summary"`
	Participants          []conversations.Participant    `json:"participants"`
	Outcome               coordination.Outcome           `json:"outcome"`
	OutcomeCounts         map[coordination.Outcome]int64 `json:"outcomeCounts"`
	BlockedReason         *string                        `json:"blockedReason"`
	ReasonCode            *coordination.ReasonCode       `json:"reasonCode"` // of blockedReason
	OpenThreads           int64                          `json:"openThreads"`
	OpenTasks             int64                          `json:"openTasks"`
	BlockedTasks          int64                          `json:"blockedTasks"`
	OpenFlows             int64                          `json:"openFlows,omitempty"` // between our own agents; absent for imported logs
	OpenRuns              int64                          `json:"openRuns,omitempty"`  // likewise
	LastMessage           *messageAnswer                 `json:"lastMessage"`
	CategoryLabel         string                         `json:"categoryLabel"`
	CollabSecondary       []coordination.Category        `json:"collabSecondary"`
	PreviousWorkSessionID *string                        `json:"previousWorkSessionId"`
	NextWorkSessionID     *string                        `json:"nextWorkSessionId"`
	Seq                   int64                          `json:"seq"` // of the latest event
	EventsTruncated       bool                           `json:"eventsTruncated,omitempty"`
}

// totalsAnswer are a session's totals, regardless of what is listed.
type totalsAnswer struct {
	StartTime   float64 `json:"startTime"`
	LastTime    float64 `json:"lastTime"`
	DurationMs  float64 `json:"durationMs"`
	ThreadCount int64   `json:"threadCount"`
	EventCount  int64   `json:"eventCount"`
}

// threadAnswer is a thread. StartTime, LastTime, EventCount, the agents and Events describe its listed events, the
// rest the whole thread.
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

	ParentConversationID string                   `json:"parentConversationId,omitempty"`
	Outcome              *coordination.Outcome    `json:"outcome"` // null if there was no question
	Open                 bool                     `json:"open"`
	Reason               *string                  `json:"reason"`
	ReasonCode           *coordination.ReasonCode `json:"reasonCode"`            // of the outcome, if it is blocked or without reply
	DisplayText          string                   `json:"displayText,omitempty"` // not in a summary, unless there is a reason
}

type messageAnswer struct {
	From string  `json:"from"`
	To   *string `json:"to"`
	Text string  `json:"text"`
	Type string  `json:"type"`
	Time float64 `json:"time"`
	Seq  int64   `json:"seq"`
}

// previewLength is the length of a one-line preview, in characters.
const previewLength = 160

// renderSessions reads work sessions with their events, or without in a summary.
func (v *view) renderSessions(ctx context.Context, kinds *conversations.Kinds, ids []int64, summary bool) ([]sessionAnswer, error) {
	most := v.MaxEvents
	if summary {
		most = 0
	}
	sessions, err := conversations.Load(ctx, v.tx, kinds, ids, most)
	if err != nil {
		return nil, err
	}
	listed := listedSeqs(sessions)
	events, err := v.render(ctx, slices.Concat(neededSeqs(sessions), listed))
	if err != nil {
		return nil, err
	}
	r := sessionRenderer{view: v, events: events, labels: categoryLabels(), summary: summary}
	answers := make([]sessionAnswer, len(sessions))
	for i := range sessions {
		answers[i] = r.session(&sessions[i])
	}
	return answers, nil
}

// neededSeqs are the events read even if none is listed: last messages, and the first ones of threads.
func neededSeqs(sessions []conversations.Session) (seqs []int64) {
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

// listedSeqs are the listed events, newest first per session.
func listedSeqs(sessions []conversations.Session) (seqs []int64) {
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

// Sources of a work session's category.
const (
	sourceVote     = "event"
	sourceOverride = "manual_override"
)

func secondaryOf(list []coordination.Category, one coordination.Category) []coordination.Category {
	return listOf(slices.DeleteFunc(slices.Clone(list), func(c coordination.Category) bool { return c == one }))
}

func listOf[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// each converts all elements of a list. The result is not nil, as in listOf.
func each[T, A any](list []T, convert func(*T) A) []A {
	converted := make([]A, len(list))
	for i := range list {
		converted[i] = convert(&list[i])
	}
	return converted
}

// orNull makes an empty value null in JSON.
func orNull[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}
