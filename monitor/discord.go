package monitor

import (
	"context"
	"database/sql"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination/delivery"
	decide "github.com/pronto-lab/openclawd/coordination/response"
	routes "github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/response"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/work"
)

const (
	discordThreadsPath  = "/api/discord/threads"
	discordObservedPath = "/api/discord/observed"
	discordPostsPath    = "/api/discord/posts"
)

// ThreadAnswer is a thread, or a channel, of which the log knows. Times are ms since 1970; null is what is not so.
type ThreadAnswer struct {
	ID             string              `json:"id"`
	Kind           string              `json:"kind"`              // thread, channel, direct
	Use            string              `json:"use,omitempty"`     // of a thread that was opened here: collab, report
	GuildID        string              `json:"guildId,omitempty"` // absent of direct messages
	ChannelID      string              `json:"channelId"`         // of a thread: the channel that it hangs below
	Name           string              `json:"name,omitempty"`
	LastAt         int64               `json:"lastAt"`         // when somebody last spoke there, or was registered
	SuspendedUntil *int64              `json:"suspendedUntil"` // null: what bots write there calls agents
	SuspendedFor   string              `json:"suspendedFor,omitempty"`
	Participants   []ParticipantAnswer `json:"participants"` // in the order in which they were registered, those that have left too
	Link           string              `json:"link"`
}

// ParticipantAnswer is an agent in a thread. Times are ms since 1970.
type ParticipantAnswer struct {
	AgentID   string `json:"agentId"`
	AgentName string `json:"agentName,omitempty"` // absent: it is called by its id
	BotUserID string `json:"botUserId,omitempty"`
	Reason    string `json:"reason"` // collaborate, mentioned, posted
	Since     int64  `json:"since"`
	Left      *int64 `json:"left"`   // null: no event says that it takes part no more
	LastAt    int64  `json:"lastAt"` // when somebody last spoke in the thread
}

// ThreadsOf words places with their participants.
func ThreadsOf(ctx context.Context, tx *sql.Tx, q routing.PlaceQuery, w *Wording, now int64) ([]ThreadAnswer, error) {
	list, err := routing.Places(ctx, tx, q)
	if err != nil {
		return nil, err
	}
	all := make([]ThreadAnswer, len(list))
	for i := range list {
		p := &list[i]
		a := ThreadAnswer{ID: p.ID, Kind: kindOf(p), Use: p.Kind, GuildID: p.GuildID, ChannelID: p.ChannelID, Name: w.Text(p.Name), LastAt: p.LastAt,
			Participants: []ParticipantAnswer{}, Link: linkOf(p.GuildID, p.ID, "")}
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
		all[i] = ParticipantAnswer{AgentID: p.AgentID, BotUserID: p.BotUserID, Reason: p.Reason, Since: p.Since, Left: timeOrNull(p.Left), LastAt: p.LastAt}
		if name := w.agent(p.AgentID); name != p.AgentID {
			all[i].AgentName = name
		}
	}
	return all, err
}

// threadsAnswer answers GET /api/discord/threads.
type threadsAnswer struct {
	Threads    []ThreadAnswer `json:"threads"`
	Count      int            `json:"count"`
	NextCursor *string        `json:"nextCursor"`
	AsOfSeq    int64          `json:"asOfSeq"`
}

// listThreads lists threads with who takes part in them, the one in which somebody spoke last first.
func (s *Server) listThreads(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	q := routing.PlaceQuery{ID: p.snowflake("id"), Agent: p.agent("agent"), Threads: p.choice("kind", "thread", "all") == "thread",
		Limit: limit + 1}
	q.Before, q.Place = p.spokenCursor("p")
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
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

// spokenCursor is when somebody last spoke in the place that is known already, and its id; 0 without one.
func (p *parameters) spokenCursor(list string) (lastAt int64, place string) {
	text := p.first("cursor")
	if text == "" {
		return 0, ""
	}
	if parts, ok := opened(text, list, 2); ok && IsDiscordID(parts[1]) {
		if at, err := strconv.ParseInt(parts[0], 10, 64); err == nil && at > 0 {
			return at, parts[1]
		}
	}
	p.refuse("cursor", text, badCursor)
	return 0, ""
}

// ObservedAnswer is what an agent has observed: its runs in that place are told of it.
type ObservedAnswer struct {
	AgentID string `json:"agentId"`
	routes.Record
}

// ObservedOf words what agents have observed.
func ObservedOf(ctx context.Context, tx *sql.Tx, q routing.ObservedQuery, w *Wording) ([]ObservedAnswer, error) {
	list, err := routing.ObservedRecords(ctx, tx, q)
	all := make([]ObservedAnswer, len(list))
	for i := range list {
		all[i] = ObservedAnswer{list[i].AgentID, list[i].Record}
		all[i].Summary = w.Text(all[i].Summary)
	}
	return all, err
}

// observedAnswer answers GET /api/discord/observed.
type observedAnswer struct {
	Records []ObservedAnswer `json:"records"`
	Count   int              `json:"count"`
	More    bool             `json:"more"` // there are older ones
	AsOfSeq int64            `json:"asOfSeq"`
}

// listObserved lists what agents have observed, the newest first.
func (s *Server) listObserved(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	q := routing.ObservedQuery{Agent: p.agent("agent"), PlaceID: p.snowflake("place"), Limit: limit + 1}
	since := p.instant("since")
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		if q.Since = int64(v.now) - routes.HistoryTTL.Milliseconds(); since != nil {
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

// PostAnswer is a message that openclawd has posted.
type PostAnswer struct {
	MessageID      string `json:"messageId"`
	PlaceID        string `json:"placeId"` // channel or thread
	ThreadID       string `json:"threadId,omitempty"`
	AgentID        string `json:"agentId,omitempty"` // in whose name; absent: in nobody's
	AccountID      string `json:"accountId,omitempty"`
	Purpose        string `json:"purpose,omitempty"`
	EffectID       string `json:"effectId,omitempty"` // the work that it was
	RunID          string `json:"runId,omitempty"`    // that has said it
	CollabID       string `json:"collabId,omitempty"` // the request that it belongs to
	System         bool   `json:"system,omitempty"`   // openclawd says it by itself
	At             int64  `json:"at"`                 // ms since 1970
	DerivedFromSeq int64  `json:"derivedFromSeq"`
}

// PostAnswerOf words a post.
func PostAnswerOf(p *routing.Post) PostAnswer {
	return PostAnswer{MessageID: p.MessageID, PlaceID: p.PlaceID, ThreadID: p.ThreadID, AgentID: p.AgentID, AccountID: p.AccountID, Purpose: p.Purpose,
		EffectID: p.EffectID, RunID: p.RunID, CollabID: p.CollabID, System: p.System, At: p.At, DerivedFromSeq: p.Seq}
}

// postsAnswer answers GET /api/discord/posts.
type postsAnswer struct {
	Posts          []PostAnswer `json:"posts"`
	Count          int          `json:"count"`
	NextCursor     *string      `json:"nextCursor"`
	DerivedFromSeq int64        `json:"derivedFromSeq,omitempty"` // the newest of them
	AsOfSeq        int64        `json:"asOfSeq"`
}

// purposes are the words that GET /api/discord/posts takes for purpose.
var purposes = []string{delivery.Reply, delivery.Announce, delivery.Request, delivery.Reminder, delivery.Escalate, delivery.Report, delivery.Approval,
	delivery.Notice, delivery.Send}

// listPosts lists what openclawd has posted, the newest first.
func (s *Server) listPosts(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	q := routing.PostQuery{MessageID: p.snowflake("messageId"), PlaceID: p.snowflake("place"), Agent: p.agent("agent"), EffectID: p.first("effectId"),
		Before: p.placeCursor("o"), Limit: limit + 1}
	q.Purpose = p.word("purpose", purposes...)
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		list, err := routing.Posts(ctx, v.tx, q)
		if err != nil {
			return nil, err
		}
		a := postsAnswer{Posts: []PostAnswer{}, AsOfSeq: v.asOf}
		if len(list) > limit {
			list = list[:limit]
			next := sealed("o", strconv.FormatInt(list[limit-1].Seq, 10))
			a.NextCursor = &next
		}
		for i := range list {
			a.Posts = append(a.Posts, PostAnswerOf(&list[i]))
			a.DerivedFromSeq = max(a.DerivedFromSeq, list[i].Seq)
		}
		a.Count = len(list)
		return a, nil
	})
}

// DiscordState is what of Discord an operator looks at first.
type DiscordState struct {
	OpenCollaborations int `json:"openCollaborations"` // requests between agents that nobody has answered yet
	Escalated          int `json:"escalated"`          // likewise, and a person was told
	Suspended          int `json:"suspended"`          // threads and channels in which bots have talked too much
	Undelivered        int `json:"undelivered"`        // posts that were given up, or of which nobody knows whether they stand there
	Bots               int `json:"bots"`               // that are to be connected
	BotsReady          int `json:"botsReady"`          // of these, those that are
}

// ReadDiscord reads how things stand in Discord, without what only the bots know.
func ReadDiscord(ctx context.Context, tx *sql.Tx, now int64) (s DiscordState, err error) {
	if s.OpenCollaborations, err = response.Count(ctx, tx, response.Query{Status: decide.StatusPending}); err != nil {
		return s, err
	}
	if s.Escalated, err = response.Count(ctx, tx, response.Query{Status: decide.StatusEscalated}); err != nil {
		return s, err
	}
	lanes, err := work.Lanes(ctx, tx)
	if err != nil {
		return s, err
	}
	for i := range lanes {
		if lanes[i].Pool == delivery.Pool {
			s.Undelivered += lanes[i].Dead
		}
	}
	reading := projections.Reading(ctx, tx)
	began, _, err := routing.Suspended(reading, math.MaxInt64)
	if err != nil {
		return s, err
	}
	over, _, err := routing.Suspended(reading, now)
	s.Suspended = len(began) - len(over)
	return s, err
}

// discordState reads how things stand in Discord; what only the bots know is told by whoever has them.
func (v *view) discordState(ctx context.Context) (s DiscordState, err error) {
	if s, err = ReadDiscord(ctx, v.tx, int64(v.now)); err == nil && v.Bots != nil {
		s.Bots, s.BotsReady = counted(v.Bots())
	}
	return s, err
}

// counted is how many bots are to be connected, and how many are.
func counted(bots []BotStatus) (wanted, ready int) {
	for i := range bots {
		if bots[i].State != botOff {
			wanted++
		}
		if bots[i].State == botReady {
			ready++
		}
	}
	return wanted, ready
}

// BotStatus is how a bot stands in Discord. Times are ms since 1970.
type BotStatus struct {
	AccountID   string `json:"accountId"`
	AgentID     string `json:"agentId,omitempty"` // absent: it speaks for none
	UserID      string `json:"userId,omitempty"`  // absent: Discord has not told it yet
	UserName    string `json:"userName,omitempty"`
	State       string `json:"state"` // off, connecting, ready, resuming, failed
	Since       int64  `json:"since"`
	Class       string `json:"class,omitempty"`   // of failed
	Text        string `json:"text,omitempty"`    // likewise: what is so
	Mend        string `json:"mend,omitempty"`    // likewise: what to do
	NextTry     int64  `json:"nextTry,omitempty"` // likewise
	Missing     string `json:"missing,omitempty"` // what it lacks though it is connected
	MissingMend string `json:"missingMend,omitempty"`
	Connections int    `json:"connections"` // since the start
	Resumes     int    `json:"resumes"`     // of them, those that went on where they were
	Fetched     int    `json:"fetched"`     // messages that were read because it had been away
	Unread      int    `json:"unread"`      // channels in which it may have missed messages
}

// States of bots that are read here.
const (
	botOff    = "off"
	botReady  = "ready"
	botFailed = "failed"
)

// BotsAnswer answers GET /api/discord/bots.
type BotsAnswer struct {
	Bots  []BotStatus `json:"bots"` // by accountId
	Count int         `json:"count"`
	Note  string      `json:"note,omitempty"` // why there are none
}

// listBots says how our bots stand.
func (s *Server) listBots(c echo.Context) error {
	a := BotsAnswer{Bots: []BotStatus{}}
	if s.opts.Bots == nil {
		a.Note = "no bots run here: another gateway has them, or channels.discord is not configured"
	} else {
		a.Bots = listOf(s.opts.Bots())
		if len(a.Bots) == 0 {
			a.Note = "no bots are configured: channels.discord.accounts of openclaw.json names them"
		}
	}
	a.Count = len(a.Bots)
	s.position(c)
	c.Response().Header().Set("Cache-Control", "no-store")
	return writeJSON(c, http.StatusOK, a)
}

// botsHealth is how our bots stand, in short.
type botsHealth struct {
	Bots     int             `json:"bots"`      // that are to be connected
	Ready    int             `json:"botsReady"` // of these, those that are
	Accounts []accountHealth `json:"accounts"`  // all that are configured, by accountId
}

// accountHealth is how one bot stands.
type accountHealth struct {
	AccountID string `json:"accountId"`
	AgentID   string `json:"agentId,omitempty"` // absent: it speaks for none
	State     string `json:"state"`             // off, connecting, ready, resuming, failed
	Since     int64  `json:"since"`             // ms since 1970
}

func botsHealthOf(bots []BotStatus) *botsHealth {
	h := &botsHealth{Accounts: make([]accountHealth, len(bots))}
	h.Bots, h.Ready = counted(bots)
	for i := range bots {
		h.Accounts[i] = accountHealth{bots[i].AccountID, bots[i].AgentID, bots[i].State, bots[i].Since}
	}
	return h
}

// patience is how long a bot may be without a connection before somebody should look.
const patience = 30 * time.Second

// botReasons names the bots that do not do their whole work.
func (s *Server) botReasons() (list []Reason) {
	if s.opts.Bots == nil {
		return nil
	}
	now := s.opts.Now().UnixMilli()
	for _, b := range s.opts.Bots() {
		who := "bot " + strconv.Quote(b.AccountID)
		if b.AgentID != "" {
			who += " of " + b.AgentID
		}
		switch {
		case b.State == botOff:
		case b.State == botFailed:
			list = append(list, Reason{SeverityWarning, "discord_bot_offline", who + " is not connected to Discord: " + b.Text, b.Mend})
		case b.State != botReady && now-b.Since > patience.Milliseconds():
			list = append(list, Reason{SeverityWarning, "discord_bot_offline", who + " is not connected to Discord: " + b.State + " since " + iso(b.Since),
				"look whether Discord can be reached; GET /api/discord/bots tells more"})
		case b.Missing != "":
			list = append(list, Reason{SeverityWarning, "discord_bot_limited", who + " lacks something in Discord: " + b.Missing, b.MissingMend})
		}
	}
	return list
}
