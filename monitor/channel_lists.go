package monitor

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// ThreadAnswer is a known thread or channel. Times are ms since 1970; null if not set.
type ThreadAnswer struct {
	Channel        string              `json:"channel"` // discord, telegram, slack
	ID             string              `json:"id"`
	Kind           string              `json:"kind"`              // thread, channel, direct
	Use            string              `json:"use,omitempty"`     // purpose of a thread created by openclawd: collab, report
	GuildID        string              `json:"guildId,omitempty"` // absent of direct messages
	ChannelID      string              `json:"channelId"`         // a thread's parent channel
	Name           string              `json:"name,omitempty"`
	LastAt         int64               `json:"lastAt"`         // time of the last message or registration
	SuspendedUntil *int64              `json:"suspendedUntil"` // null: messages of bots trigger agents
	SuspendedFor   string              `json:"suspendedFor,omitempty"`
	Participants   []ParticipantAnswer `json:"participants"`   // in order of registration, including those that have left
	Link           string              `json:"link,omitempty"` // absent if there is none
}

// AgentIDs lists the agents that participate now.
func (a *ThreadAnswer) AgentIDs() string {
	var ids []string
	for i := range a.Participants {
		if a.Participants[i].Left == nil {
			ids = append(ids, a.Participants[i].AgentID)
		}
	}
	return strings.Join(ids, ", ")
}

// ParticipantAnswer is an agent in a thread. Times are ms since 1970.
type ParticipantAnswer struct {
	AgentID   string `json:"agentId"`
	AgentName string `json:"agentName,omitempty"` // absent: its id is used
	BotUserID string `json:"botUserId,omitempty"`
	Reason    string `json:"reason"` // collaborate, mentioned, posted
	Since     int64  `json:"since"`
	Left      *int64 `json:"left"`   // null: no event says that it has left
	LastAt    int64  `json:"lastAt"` // time of the last message in the thread
}

// ThreadsOf converts places with their participants.
func ThreadsOf(ctx context.Context, tx *sql.Tx, q routing.PlaceQuery, w *Wording, now int64) ([]ThreadAnswer, error) {
	list, err := routing.Places(ctx, tx, q)
	if err != nil {
		return nil, err
	}
	all := make([]ThreadAnswer, len(list))
	for i := range list {
		p := &list[i]
		a := ThreadAnswer{Channel: coordination.ChannelOf(p.ID), ID: p.ID, Kind: kindOf(p), Use: p.Kind, GuildID: p.GuildID, ChannelID: p.ChannelID, Name: w.Text(p.Name), LastAt: p.LastAt,
			Participants: []ParticipantAnswer{}, Link: w.link(p.GuildID, p.ID, "")}
		if a.Name == "" {
			a.Name = w.channel(p.ID)
		}
		if p.SuspendedUntil > now {
			a.SuspendedUntil, a.SuspendedFor = &p.SuspendedUntil, p.SuspendedFor
		}
		if p.Thread {
			if a.Participants, err = participantsOf(ctx, tx, p.ID, w); err != nil {
				return nil, err
			}
		}
		all[i] = a
	}
	return all, nil
}

func kindOf(p *routing.Place) string {
	switch {
	case p.Thread:
		return "thread"
	case p.GuildID == "":
		return "direct"
	}
	return "channel"
}

func participantsOf(ctx context.Context, tx *sql.Tx, thread string, w *Wording) ([]ParticipantAnswer, error) {
	list, err := routing.Participants(ctx, tx, thread)
	all := make([]ParticipantAnswer, len(list))
	for i := range list {
		p := &list[i]
		all[i] = ParticipantAnswer{AgentID: p.AgentID, BotUserID: p.BotUserID, Reason: p.Reason, Since: p.Since, Left: orNull(p.Left), LastAt: p.LastAt}
		if name := w.agent(p.AgentID); name != p.AgentID {
			all[i].AgentName = name
		}
	}
	return all, err
}

// threadsAnswer answers GET /api/channels/:channel/threads.
type threadsAnswer struct {
	Threads    []ThreadAnswer `json:"threads"`
	Count      int            `json:"count"`
	NextCursor *string        `json:"nextCursor"`
	AsOfSeq    int64          `json:"asOfSeq"`
}

// listThreads lists threads of a channel, "" is all, with participants, the most recently used first.
func (s *Server) listThreads(c echo.Context, channel string) error {
	p := parametersOf(c)
	limit := p.limit()
	q := routing.PlaceQuery{Channel: channel, ID: p.placeID("id", channel), Agent: p.agent("agent"), Threads: p.choice("kind", "thread", "all") == "thread",
		Limit: limit + 1}
	q.Before, q.Place = p.spokenCursor("p")
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		list, err := ThreadsOf(ctx, v.tx, q, v.wording(), int64(v.now))
		if err != nil {
			return nil, err
		}
		a := threadsAnswer{Threads: list, AsOfSeq: v.asOf}
		if len(list) > limit {
			a.Threads = list[:limit]
			next := sealed("p", strconv.FormatInt(list[limit-1].LastAt, 10), list[limit-1].ID)
			a.NextCursor = &next
		}
		a.Count = len(a.Threads)
		return a, nil
	})
}

// spokenCursor parses the time of the last message and the id of the last listed place; 0 without a cursor.
func (p *parameters) spokenCursor(list string) (lastAt int64, place string) {
	text := p.first("cursor")
	if text == "" {
		return 0, ""
	}
	if parts, ok := opened(text, list, 2); ok && coordination.IsPlaceID(parts[1]) {
		if at, err := strconv.ParseInt(parts[0], 10, 64); err == nil && at > 0 {
			return at, parts[1]
		}
	}
	p.refuse("cursor", text, badCursor)
	return 0, ""
}

// ObservedAnswer is a message an agent has observed: its runs there receive it as context.
type ObservedAnswer struct {
	AgentID string `json:"agentId"`
	route.Record
}

// ObservedOf converts observed messages.
func ObservedOf(ctx context.Context, tx *sql.Tx, q routing.ObservedQuery, w *Wording) ([]ObservedAnswer, error) {
	list, err := routing.ObservedRecords(ctx, tx, q)
	all := make([]ObservedAnswer, len(list))
	for i := range list {
		all[i] = ObservedAnswer{list[i].AgentID, list[i].Record}
		all[i].Summary = w.Text(all[i].Summary)
	}
	return all, err
}

// observedAnswer answers GET /api/channels/:channel/observed.
type observedAnswer struct {
	Records []ObservedAnswer `json:"records"`
	Count   int              `json:"count"`
	More    bool             `json:"more"` // older ones exist
	AsOfSeq int64            `json:"asOfSeq"`
}

func (s *Server) listObserved(c echo.Context, channel string) error {
	p := parametersOf(c)
	limit := p.limit()
	q := routing.ObservedQuery{Channel: channel, Agent: p.agent("agent"), PlaceID: p.placeID("place", channel), Limit: limit + 1}
	since := p.instant("since")
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		if q.Since = int64(v.now) - route.HistoryTTL.Milliseconds(); since != nil {
			q.Since = int64(*since)
		}
		list, err := ObservedOf(ctx, v.tx, q, v.wording())
		if err != nil {
			return nil, err
		}
		a := observedAnswer{Records: list, More: len(list) > limit, AsOfSeq: v.asOf}
		if a.More {
			a.Records = list[:limit]
		}
		a.Count = len(a.Records)
		return a, nil
	})
}

// PostAnswer is a message posted by openclawd.
type PostAnswer struct {
	Channel        string `json:"channel"` // discord, telegram, slack
	MessageID      string `json:"messageId"`
	PlaceID        string `json:"placeId"` // channel or thread
	ThreadID       string `json:"threadId,omitempty"`
	AgentID        string `json:"agentId,omitempty"` // agent it was posted for; absent if none
	AccountID      string `json:"accountId,omitempty"`
	Purpose        string `json:"purpose,omitempty"`
	EffectID       string `json:"effectId,omitempty"` // its effect in the work queue
	RunID          string `json:"runId,omitempty"`    // run whose text it is
	CollabID       string `json:"collabId,omitempty"` // collaboration request it belongs to
	System         bool   `json:"system,omitempty"`   // a notice of openclawd itself
	At             int64  `json:"at"`                 // ms since 1970
	DerivedFromSeq int64  `json:"derivedFromSeq"`
}

// PostAnswerOf converts a post.
func PostAnswerOf(p *routing.Post) PostAnswer {
	return PostAnswer{Channel: coordination.ChannelOf(p.PlaceID), MessageID: p.MessageID, PlaceID: p.PlaceID, ThreadID: p.ThreadID, AgentID: p.AgentID, AccountID: p.AccountID, Purpose: p.Purpose,
		EffectID: p.EffectID, RunID: p.RunID, CollabID: p.CollabID, System: p.System, At: p.At, DerivedFromSeq: p.Seq}
}

// postsAnswer answers GET /api/channels/:channel/posts.
type postsAnswer struct {
	Posts          []PostAnswer `json:"posts"`
	Count          int          `json:"count"`
	NextCursor     *string      `json:"nextCursor"`
	DerivedFromSeq int64        `json:"derivedFromSeq,omitempty"` // newest
	AsOfSeq        int64        `json:"asOfSeq"`
}

// purposes are the values of purpose in GET /api/channels/:channel/posts.
var purposes = []string{delivery.Reply, delivery.Announce, delivery.Request, delivery.Reminder, delivery.Escalate, delivery.Report, delivery.Approval,
	delivery.Notice, delivery.Send}

func (s *Server) listPosts(c echo.Context, channel string) error {
	p := parametersOf(c)
	limit := p.limit()
	q := routing.PostQuery{Channel: channel, MessageID: p.messageID("messageId", channel), PlaceID: p.placeID("place", channel), Agent: p.agent("agent"), EffectID: p.first("effectId"),
		Before: p.placeCursor("o"), Limit: limit + 1}
	q.Purpose = p.word("purpose", purposes...)
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		list, err := routing.Posts(ctx, v.tx, q)
		if err != nil {
			return nil, err
		}
		list, next := pageOf(list, limit, "o", func(p *routing.Post) int64 { return p.Seq })
		a := postsAnswer{Posts: each(list, PostAnswerOf), Count: len(list), NextCursor: next, AsOfSeq: v.asOf}
		for i := range list {
			a.DerivedFromSeq = max(a.DerivedFromSeq, list[i].Seq)
		}
		return a, nil
	})
}
