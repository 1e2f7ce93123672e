package monitor

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	decide "github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/response"
	"github.com/pronto-lab/openclawd/projections/routing"
)

const collaborationsPath = "/api/collaborations"

// Words that GET /api/collaborations takes for status and delivery.
var (
	CollaborationStatuses = []string{string(decide.StatusPending), string(decide.StatusResponded), string(decide.StatusEscalated),
		string(decide.StatusRespondedLate), string(decide.StatusFailed)}
	CollaborationDeliveries = []string{string(collaborate.StatusAccepted), string(collaborate.StatusSent), string(collaborate.StatusFailed),
		string(collaborate.StatusUnknown)}
)

// CollaborationAnswer is what an agent has asked of another one in Discord, and what became of it. Times are ms since 1970; null is what has not
// happened.
type CollaborationAnswer struct {
	CollabID       string             `json:"collabId"`
	FromAgent      string             `json:"fromAgent"`
	ToAgent        string             `json:"toAgent"`
	Delivery       collaborate.Status `json:"delivery"`         // accepted, sent, failed, delivery_unknown
	Status         decide.Status      `json:"status,omitempty"` // of the answer; absent while none is waited for
	Code           string             `json:"code,omitempty"`   // why it was not delivered, or why there is no answer
	Route          collaborate.Route  `json:"route,omitempty"`  // how its thread was chosen
	ThreadID       string             `json:"threadId,omitempty"`
	ThreadName     string             `json:"threadName,omitempty"`
	ChannelID      string             `json:"channelId,omitempty"`
	GuildID        string             `json:"guildId,omitempty"`
	Message        string             `json:"message"` // what was asked, cut
	MessageIDs     []string           `json:"messageIds"`
	SystemIDs      []string           `json:"systemIds"` // messages of reminders and of the escalation
	SessionKey     string             `json:"sessionKey,omitempty"`
	RunID          string             `json:"runId,omitempty"` // in which it was asked
	WorkSessionID  string             `json:"workSessionId,omitempty"`
	TaskID         string             `json:"taskId,omitempty"`
	AcceptedAt     int64              `json:"acceptedAt"`
	SentAt         *int64             `json:"sentAt"`
	Step           int                `json:"step"` // the last reminder, or the escalation, from 1; 0: none yet
	LastAttemptAt  *int64             `json:"lastAttemptAt"`
	RespondedAt    *int64             `json:"respondedAt"`
	AnswerID       string             `json:"answerId,omitempty"` // the message that has answered it
	Link           string             `json:"link,omitempty"`     // with which Discord opens the request, or its thread
	DerivedFromSeq int64              `json:"derivedFromSeq"`
}

// CollaborationAnswerOf words a request.
func CollaborationAnswerOf(r *response.Row, w *Wording) CollaborationAnswer {
	a := CollaborationAnswer{CollabID: r.ID, FromAgent: r.FromAgent, ToAgent: r.TargetAgent, Delivery: r.Delivery, Status: r.Status, Code: r.Code,
		Route: r.Route, ThreadID: r.ThreadID, ThreadName: w.Text(r.ThreadName), ChannelID: r.ChannelID, GuildID: r.GuildID,
		Message: w.Text(coordination.Mask(r.Original)), MessageIDs: listOf(r.MessageIDs), SystemIDs: listOf(r.SystemIDs), SessionKey: r.SessionKey,
		RunID: r.RunID, WorkSessionID: r.WorkSessionID, TaskID: r.TaskID, AcceptedAt: r.AcceptedAt, SentAt: timeOrNull(r.SentAt), Step: r.Step,
		LastAttemptAt: timeOrNull(r.LastAttemptAt), RespondedAt: timeOrNull(r.RespondedAt), AnswerID: r.AnswerID, DerivedFromSeq: r.LastSeq}
	if a.Code == "" {
		a.Code = r.Reason
	}
	if r.ThreadID != "" && len(r.MessageIDs) > 0 {
		a.Link = linkOf(r.GuildID, r.ThreadID, r.MessageIDs[0])
	} else if r.ThreadID != "" {
		a.Link = linkOf(r.GuildID, r.ThreadID, "")
	}
	return a
}

// collaborationsAnswer answers GET /api/collaborations.
type collaborationsAnswer struct {
	Collaborations []CollaborationAnswer `json:"collaborations"`
	Count          int                   `json:"count"`
	Total          int                   `json:"total"` // how many there are of what was asked for
	NextCursor     *string               `json:"nextCursor"`
	DerivedFromSeq int64                 `json:"derivedFromSeq,omitempty"` // the last event that changed one of them
	AsOfSeq        int64                 `json:"asOfSeq"`
}

// listCollaborations lists requests between agents in Discord, the newest first.
func (s *Server) listCollaborations(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	q := response.Query{From: p.agent("from"), Target: p.agent("to"), ThreadID: p.snowflake("threadId"), WorkSession: p.workSession("workSessionId")}
	q.Status = decide.Status(p.word("status", CollaborationStatuses...))
	q.Delivery = collaborate.Status(p.word("delivery", CollaborationDeliveries...))
	before := p.placeCursor("c")
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		a := collaborationsAnswer{Collaborations: []CollaborationAnswer{}, AsOfSeq: v.asOf}
		var err error
		if a.Total, err = response.Count(ctx, v.tx, q); err != nil {
			return nil, err
		}
		page := q
		page.Before, page.Limit = before, limit+1
		list, err := response.List(ctx, v.tx, page)
		if err != nil {
			return nil, err
		}
		if len(list) > limit {
			list = list[:limit]
			next := sealed("c", strconv.FormatInt(list[limit-1].Seq, 10))
			a.NextCursor = &next
		}
		for i := range list {
			a.Collaborations = append(a.Collaborations, CollaborationAnswerOf(&list[i], v.wording()))
			a.DerivedFromSeq = max(a.DerivedFromSeq, list[i].LastSeq)
		}
		a.Count = len(list)
		return a, nil
	})
}

// ShownCollaboration is a request with what was posted for it. It answers GET /api/collaborations/:id.
type ShownCollaboration struct {
	Collaboration CollaborationAnswer `json:"collaboration"`
	Posts         []PostAnswer        `json:"posts"` // the request, reminders, the escalation: in the order in which they were posted
	AsOfSeq       int64               `json:"asOfSeq,omitempty"`
}

// CollaborationOf is a request with what was posted for it; nil if there is none of that id.
func CollaborationOf(ctx context.Context, tx *sql.Tx, id string, w *Wording) (*ShownCollaboration, error) {
	reading := projections.Reading(ctx, tx)
	r, found, err := response.Load(reading, id)
	if err != nil || !found {
		return nil, err
	}
	a := &ShownCollaboration{Collaboration: CollaborationAnswerOf(&r, w), Posts: []PostAnswer{}}
	for _, message := range slices.Concat(r.MessageIDs, r.SystemIDs) {
		post, found, err := routing.PostOf(reading, message)
		if err != nil {
			return nil, err
		}
		if found {
			a.Posts = append(a.Posts, PostAnswerOf(&post))
		}
	}
	return a, nil
}

// showCollaboration shows a request with what was posted for it.
func (s *Server) showCollaboration(c echo.Context) error {
	id, err := pathID(c, "")
	if err != nil {
		return err
	}
	p := parametersOf(c)
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		a, err := CollaborationOf(ctx, v.tx, id, v.wording())
		if err != nil {
			return nil, err
		}
		if a == nil {
			return nil, &problem{Status: http.StatusNotFound, Code: "not_found", Field: "id", Message: fmt.Sprintf("There is no request %.80q", id),
				Hint: "GET " + collaborationsPath + " lists them"}
		}
		a.AsOfSeq = v.asOf
		return a, nil
	})
}
