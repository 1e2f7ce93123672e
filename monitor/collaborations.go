package monitor

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
)

const collaborationsPath = "/api/collaborations"

// Values of status and delivery in GET /api/collaborations.
var (
	CollaborationStatuses = []string{string(response.StatusPending), string(response.StatusResponded), string(response.StatusEscalated),
		string(response.StatusRespondedLate), string(response.StatusFailed)}
	CollaborationDeliveries = []string{string(collaborate.StatusAccepted), string(collaborate.StatusSent), string(collaborate.StatusFailed),
		string(collaborate.StatusUnknown)}
)

// CollaborationAnswer is a request of one agent to another in a channel, with its outcome. Times are ms since 1970; null
// if it has not happened.
type CollaborationAnswer struct {
	CollabID       string             `json:"collabId"`
	Channel        string             `json:"channel"` // discord, telegram, slack
	FromAgent      string             `json:"fromAgent"`
	ToAgent        string             `json:"toAgent"`
	Delivery       collaborate.Status `json:"delivery"`         // accepted, sent, failed, delivery_unknown
	Status         response.Status    `json:"status,omitempty"` // of the answer; absent while none is awaited
	Code           string             `json:"code,omitempty"`   // why it was not delivered, or not answered
	Route          collaborate.Route  `json:"route,omitempty"`  // how its thread was chosen
	ThreadID       string             `json:"threadId,omitempty"`
	ThreadName     string             `json:"threadName,omitempty"`
	ChannelID      string             `json:"channelId,omitempty"`
	GuildID        string             `json:"guildId,omitempty"`
	Message        string             `json:"message"` // the question, truncated
	MessageIDs     []string           `json:"messageIds"`
	SystemIDs      []string           `json:"systemIds"` // messages of reminders and of the escalation
	SessionKey     string             `json:"sessionKey,omitempty"`
	RunID          string             `json:"runId,omitempty"` // run that made the request
	WorkSessionID  string             `json:"workSessionId,omitempty"`
	TaskID         string             `json:"taskId,omitempty"`
	AcceptedAt     int64              `json:"acceptedAt"`
	SentAt         *int64             `json:"sentAt"`
	Step           int                `json:"step"`                 // the last reminder or the escalation, from 1; 0: none yet
	Steps          int                `json:"steps,omitempty"`      // reminders and the escalation; absent: unknown, or no more
	NextStepAt     *int64             `json:"nextStepAt,omitempty"` // likewise
	LastAttemptAt  *int64             `json:"lastAttemptAt"`
	RespondedAt    *int64             `json:"respondedAt"`
	AnswerID       string             `json:"answerId,omitempty"` // the answering message
	Link           string             `json:"link,omitempty"`     // URL of the request's message or thread
	DerivedFromSeq int64              `json:"derivedFromSeq"`
}

// CollaborationAnswerOf converts a request.
func CollaborationAnswerOf(r *responses.Row, w *Wording) CollaborationAnswer {
	a := CollaborationAnswer{CollabID: r.ID, Channel: coordination.ChannelOf(r.ChannelID), FromAgent: r.FromAgent, ToAgent: r.TargetAgent, Delivery: r.Delivery, Status: r.Status, Code: r.Code,
		Route: r.Route, ThreadID: r.ThreadID, ThreadName: w.Text(r.ThreadName), ChannelID: r.ChannelID, GuildID: r.GuildID,
		Message: w.Text(coordination.Mask(r.Original)), MessageIDs: listOf(r.MessageIDs), SystemIDs: listOf(r.SystemIDs), SessionKey: r.SessionKey,
		RunID: r.RunID, WorkSessionID: r.WorkSessionID, TaskID: r.TaskID, AcceptedAt: r.AcceptedAt, SentAt: orNull(r.SentAt), Step: r.Step,
		LastAttemptAt: orNull(r.LastAttemptAt), RespondedAt: orNull(r.RespondedAt), AnswerID: r.AnswerID, DerivedFromSeq: r.LastSeq}
	if a.Code == "" {
		a.Code = r.Reason
	}
	if r.ThreadID != "" && len(r.MessageIDs) > 0 {
		a.Link = w.link(r.GuildID, r.ThreadID, r.MessageIDs[0])
	} else if r.ThreadID != "" {
		a.Link = w.link(r.GuildID, r.ThreadID, "")
	}
	return a
}

// collaborationsAnswer answers GET /api/collaborations.
type collaborationsAnswer struct {
	Collaborations []CollaborationAnswer `json:"collaborations"`
	Count          int                   `json:"count"`
	Total          int                   `json:"total"` // number of matches
	NextCursor     *string               `json:"nextCursor"`
	DerivedFromSeq int64                 `json:"derivedFromSeq,omitempty"` // the last event that changed one of them
	AsOfSeq        int64                 `json:"asOfSeq"`
}

// listCollaborations lists requests between agents in channels, newest first.
func (s *Server) listCollaborations(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	q := responses.Query{From: p.agent("from"), Target: p.agent("to"), Channel: p.channel(), ThreadID: p.placeID("threadId", ""), WorkSession: p.workSession("workSessionId")}
	q.Status = response.Status(p.word("status", CollaborationStatuses...))
	q.Delivery = collaborate.Status(p.word("delivery", CollaborationDeliveries...))
	before := p.placeCursor("c")
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		a := collaborationsAnswer{Collaborations: []CollaborationAnswer{}, AsOfSeq: v.asOf}
		var err error
		if a.Total, err = responses.Count(ctx, v.tx, q); err != nil {
			return nil, err
		}
		page := q
		page.Before, page.Limit = before, limit+1
		list, err := responses.List(ctx, v.tx, page)
		if err != nil {
			return nil, err
		}
		list, a.NextCursor = pageOf(list, limit, "c", func(r *responses.Row) int64 { return r.Seq })
		for i := range list {
			a.Collaborations = append(a.Collaborations, CollaborationAnswerOf(&list[i], v.wording()))
			v.schedule(&a.Collaborations[i], &list[i].Request)
			a.DerivedFromSeq = max(a.DerivedFromSeq, list[i].LastSeq)
		}
		a.Count = len(list)
		return a, nil
	})
}

// ShownCollaboration is a request with its posts. It answers GET /api/collaborations/:id.
type ShownCollaboration struct {
	Collaboration CollaborationAnswer `json:"collaboration"`
	Posts         []PostAnswer        `json:"posts"` // the request, reminders, the escalation: in posting order
	AsOfSeq       int64               `json:"asOfSeq,omitempty"`

	request *response.Request
}

// CollaborationOf returns a request with its posts; nil if there is none with the id.
func CollaborationOf(ctx context.Context, tx *sql.Tx, id string, w *Wording) (*ShownCollaboration, error) {
	reading := projections.Reading(ctx, tx)
	r, found, err := responses.Load(reading, id)
	if err != nil || !found {
		return nil, err
	}
	a := &ShownCollaboration{Collaboration: CollaborationAnswerOf(&r, w), Posts: []PostAnswer{}, request: &r.Request}
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

func (s *Server) showCollaboration(c echo.Context) error {
	id, err := pathID(c, "")
	if err != nil {
		return err
	}
	p := parametersOf(c)
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		a, err := CollaborationOf(ctx, v.tx, id, v.wording())
		if err != nil {
			return nil, err
		}
		if a == nil {
			return nil, &problem{Status: http.StatusNotFound, Code: "not_found", Field: "id", Message: fmt.Sprintf("Request not found: %.80q", id),
				Hint: "GET " + collaborationsPath + " lists them"}
		}
		v.schedule(&a.Collaboration, a.request)
		a.AsOfSeq = v.asOf
		return a, nil
	})
}
