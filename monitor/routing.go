package monitor

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

const routingPath = "/api/routing"

// RoutedMessage is a message in a channel with its routing decision.
type RoutedMessage struct {
	Channel     string `json:"channel"` // discord, telegram, slack
	MessageID   string `json:"messageId"`
	GuildID     string `json:"guildId,omitempty"` // absent for direct messages
	ChannelID   string `json:"channelId"`
	ChannelName string `json:"channelName,omitempty"`
	ThreadID    string `json:"threadId,omitempty"`
	ThreadName  string `json:"threadName,omitempty"`
	AuthorID    string `json:"authorId,omitempty"`
	AuthorName  string `json:"authorName,omitempty"`
	AuthorAgent string `json:"authorAgent,omitempty"` // absent: not written by an agent
	Text        string `json:"text"`                  // of an unhandled message: the text kept for observers
	System      bool   `json:"system,omitempty"`      // posted by openclawd itself
	Link        string `json:"link,omitempty"`        // URL in the channel; absent if there is none
	At          int64  `json:"at"`                    // sending time, ms since 1970
	EditedAt    int64  `json:"editedAt,omitempty"`    // when its author edited it last, ms since 1970
	EditedText  string `json:"editedText,omitempty"`  // what it says since then, like Text
	DeletedAt   int64  `json:"deletedAt,omitempty"`   // ms since 1970
}

// RoutedVerdict is a message's role for one agent, and the reason.
type RoutedVerdict struct {
	AgentID     string       `json:"agentId"`
	AgentName   string       `json:"agentName,omitempty"` // absent: its id is used
	Mode        route.Mode   `json:"mode"`
	Reason      route.Reason `json:"reason"`
	Explanation string       `json:"explanation"`
	Order       route.Order  `json:"order,omitempty"` // the leading agent, if several handle it
	AccountID   string       `json:"accountId,omitempty"`
	RunID       string       `json:"runId,omitempty"` // run of a handler; absent: it was refused
}

// RoutedAgent is a RoutedVerdict with its consequences.
type RoutedAgent struct {
	RoutedVerdict
	Run     *RoutedRun    `json:"run"`     // null: none
	Replies []RoutedReply `json:"replies"` // posts of the run's answer

	Unposted *RoutedUnposted `json:"unposted,omitempty"` // parts of the answer not posted yet, or given up
}

// RoutedUnposted is a part of a run's answer that is not posted, or whose delivery is unknown.
type RoutedUnposted struct {
	EffectID string          `json:"effectId"` // see GET /api/work
	State    workqueue.State `json:"state"`    // waiting, leased, dead
	Attempt  int             `json:"attempt"`
	Error    string          `json:"error,omitempty"`
}

// RoutedRun is the state or outcome of the run caused by a message. Times are ms since 1970; null if it has not
// happened.
type RoutedRun struct {
	RunID      string `json:"runId"` // differs from RoutedVerdict's if it repeats a run interrupted by a restart
	SessionKey string `json:"sessionKey"`
	State      string `json:"state"`
	QueuedAt   int64  `json:"queuedAt"`
	StartedAt  *int64 `json:"startedAt"`
	EndedAt    *int64 `json:"endedAt"`
	Reason     string `json:"reason,omitempty"` // why it was stopped
	ErrorClass string `json:"errorClass,omitempty"`
	Error      string `json:"error,omitempty"`
}

// RoutedReply is a message posted in reply.
type RoutedReply struct {
	MessageID string `json:"messageId"`
	Purpose   string `json:"purpose"`        // reply; notice: a notice of openclawd about the run
	Link      string `json:"link,omitempty"` // absent if there is none
	At        int64  `json:"at"`             // ms since 1970
}

// RoutedParticipant is an agent that participated in the thread when the message arrived.
type RoutedParticipant struct {
	AgentID string `json:"agentId"`
	Reason  string `json:"reason"` // collaborate, mentioned, posted
	Since   int64  `json:"since"`  // ms since 1970
}

// RoutedCollaboration is a message's role in a collaboration request.
type RoutedCollaboration struct {
	CollabID  string             `json:"collabId"`
	Part      string             `json:"part"` // request, answer, reminder, escalate
	FromAgent string             `json:"fromAgent"`
	ToAgent   string             `json:"toAgent"`
	Delivery  collaborate.Status `json:"delivery"`
	Status    response.Status    `json:"status,omitempty"` // of the answer; absent while none is awaited
}

// RoutedWarning is a problem of a decision that operators should know.
type RoutedWarning struct {
	Code    string `json:"code"`
	AgentID string `json:"agentId,omitempty"`
	Text    string `json:"text"`
}

// Routing explains the handling of a message: by whom, by whom not, and why. It answers GET /api/routing/:messageId.
// Times are ms since 1970.
type Routing struct {
	Message            RoutedMessage        `json:"message"`
	Explanation        string               `json:"explanation"` // summary, one sentence
	Agents             []RoutedAgent        `json:"agents"`      // handlers first, the leader before the others; then observers, then the rest
	Mentioned          []string             `json:"mentioned"`   // agents, in text order
	ThreadParticipants []RoutedParticipant  `json:"threadParticipants"`
	Collaboration      *RoutedCollaboration `json:"collaboration,omitempty"`
	Warnings           []RoutedWarning      `json:"warnings,omitempty"`
	At                 int64                `json:"at"`
	DerivedFromSeq     int64                `json:"derivedFromSeq"`
	AsOfSeq            int64                `json:"asOfSeq,omitempty"`
}

// RoutingOf returns a message's routing; nil if no decision was made.
func RoutingOf(ctx context.Context, tx *sql.Tx, messageID string, w *Wording) (*Routing, error) {
	list, err := routing.Messages(ctx, tx, routing.MessageQuery{ID: messageID, Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	b := &routingReader{tx: tx, words: w, places: map[string]routing.Place{}}
	return b.routing(ctx, &list[0])
}

type routingReader struct {
	tx     *sql.Tx
	words  *Wording
	places map[string]routing.Place // by id; the zero Place if unknown
}

func (b *routingReader) routing(ctx context.Context, m *routing.Message) (*Routing, error) {
	message, err := b.message(ctx, m)
	if err != nil {
		return nil, err
	}
	a := &Routing{Message: message, Agents: []RoutedAgent{}, Mentioned: listOf(m.Mentioned), ThreadParticipants: []RoutedParticipant{}, At: m.At,
		DerivedFromSeq: m.Seq}
	for _, v := range b.verdicts(m) {
		agent := RoutedAgent{RoutedVerdict: v, Replies: []RoutedReply{}}
		if err := b.follow(ctx, m.GuildID, &agent); err != nil {
			return nil, err
		}
		a.Agents = append(a.Agents, agent)
	}
	for i := range m.Verdicts {
		a.DerivedFromSeq = max(a.DerivedFromSeq, m.Verdicts[i].Seq)
	}
	if a.ThreadParticipants, err = b.participants(ctx, m); err != nil {
		return nil, err
	}
	if a.Collaboration, err = b.collaboration(ctx, m); err != nil {
		return nil, err
	}
	a.Explanation, a.Warnings = explained(a), warned(a, b.words)
	return a, nil
}

func (b *routingReader) message(ctx context.Context, m *routing.Message) (RoutedMessage, error) {
	a := RoutedMessage{Channel: coordination.ChannelOf(m.ID), MessageID: m.ID, GuildID: m.GuildID, ChannelID: cmp.Or(m.ChannelID, m.PlaceID), ThreadID: m.ThreadID, AuthorID: m.AuthorID,
		AuthorName: m.AuthorName, AuthorAgent: m.AuthorAgent, Text: b.words.Text(m.Text), System: m.System, Link: b.words.link(m.GuildID, m.PlaceID, m.ID),
		At: m.At}
	change, text, err := routing.ChangeOf(projections.Reading(ctx, b.tx), m.ID)
	if err != nil {
		return a, err
	}
	a.EditedAt, a.DeletedAt, a.EditedText = change.EditedAt, change.DeletedAt, b.words.Text(text)
	a.ChannelName, a.ThreadName = b.words.channel(a.ChannelID), b.words.channel(m.ThreadID)
	if m.ThreadID == "" || a.ThreadName != "" {
		return a, nil
	}
	place, err := b.place(ctx, m.ThreadID)
	a.ThreadName = b.words.Text(place.Name)
	return a, err
}

func (b *routingReader) place(ctx context.Context, id string) (routing.Place, error) {
	if p, known := b.places[id]; known {
		return p, nil
	}
	list, err := routing.Places(ctx, b.tx, routing.PlaceQuery{ID: id, Limit: 1})
	if err != nil {
		return routing.Place{}, err
	}
	if len(list) > 0 {
		b.places[id] = list[0]
	} else {
		b.places[id] = routing.Place{}
	}
	return b.places[id], nil
}

// verdicts are a message's verdicts: handlers first, the leader before the others; then observers, then the rest; each
// by id.
func (b *routingReader) verdicts(m *routing.Message) []RoutedVerdict {
	list := make([]RoutedVerdict, len(m.Verdicts))
	for i := range m.Verdicts {
		v := &m.Verdicts[i]
		list[i] = RoutedVerdict{AgentID: v.AgentID, Mode: v.Mode, Reason: v.Reason, Explanation: because(v.Mode, v.Reason), Order: v.Order,
			AccountID: v.AccountID, RunID: v.RunID}
		if name := b.words.agent(v.AgentID); name != v.AgentID {
			list[i].AgentName = name
		}
	}
	rank := func(v *RoutedVerdict) int {
		return 3*slices.Index([]route.Mode{route.Handler, route.Observer, route.Dropped}, v.Mode) +
			slices.Index([]route.Order{route.Primary, route.Secondary, ""}, v.Order)
	}
	slices.SortFunc(list, func(a, b RoutedVerdict) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(a.AgentID, b.AgentID))
	})
	return list
}

// follow reads the consequences of a verdict.
func (b *routingReader) follow(ctx context.Context, guild string, a *RoutedAgent) error {
	if a.RunID == "" {
		return nil
	}
	r, found, err := runs.LoadLast(projections.Reading(ctx, b.tx), a.RunID)
	if err != nil || !found {
		return err
	}
	a.Run = &RoutedRun{RunID: r.RunID, SessionKey: r.SessionKey, State: string(r.State), QueuedAt: r.QueuedAt, StartedAt: orNull(r.StartedAt),
		EndedAt: orNull(r.EndedAt)}
	if o := r.Over; o != nil {
		a.Run.Reason, a.Run.ErrorClass, a.Run.Error = o.Reason, o.ErrorClass, b.words.Text(coordination.Mask(o.Error))
	}
	said := []string{a.RunID}
	if r.RunID != a.RunID {
		said = append(said, r.RunID)
	}
	for _, id := range said {
		if err := b.posted(ctx, guild, delivery.ReplyEffect(id), a); err != nil {
			return err
		}
	}
	return nil
}

func (b *routingReader) posted(ctx context.Context, guild, effect string, a *RoutedAgent) error {
	posts, err := routing.Posts(ctx, b.tx, routing.PostQuery{EffectID: effect, Limit: maxReplies})
	if err != nil {
		return err
	}
	for i := range slices.Backward(posts) {
		p := &posts[i]
		a.Replies = append(a.Replies, RoutedReply{MessageID: p.MessageID, Purpose: p.Purpose, Link: b.words.link(guild, p.PlaceID, p.MessageID), At: p.At})
	}
	item, open, err := workqueue.ByID(ctx, b.tx, effect)
	if open {
		a.Unposted = &RoutedUnposted{EffectID: effect, State: item.State, Attempt: item.Attempt, Error: b.words.Text(coordination.Mask(item.Error))}
	}
	return err
}

// maxReplies is how many posts of one run are shown: more than a text is split into.
const maxReplies = 200

// participants are the agents that participated in the thread when the message arrived, including those it added.
func (b *routingReader) participants(ctx context.Context, m *routing.Message) ([]RoutedParticipant, error) {
	there := []RoutedParticipant{}
	if m.ThreadID == "" {
		return there, nil
	}
	list, err := routing.Participants(ctx, b.tx, m.ThreadID)
	for i := range list {
		if p := &list[i]; p.Since <= m.At && (p.Left == 0 || p.Left > m.At) {
			there = append(there, RoutedParticipant{AgentID: p.AgentID, Reason: p.Reason, Since: p.Since})
		}
	}
	return there, err
}

// partAnswer marks the part of a message that answered a request.
const partAnswer = "answer"

// collaboration returns the request a message belongs to; nil if none.
func (b *routingReader) collaboration(ctx context.Context, m *routing.Message) (*RoutedCollaboration, error) {
	tx := projections.Reading(ctx, b.tx)
	post, posted, err := routing.PostOf(tx, m.ID)
	if err != nil {
		return nil, err
	}
	if posted && post.CollabID != "" {
		r, found, err := responses.Load(tx, post.CollabID)
		if err != nil || !found {
			return nil, err
		}
		return collaborationOf(&r, post.Purpose), nil
	}
	if m.ThreadID == "" || m.AuthorAgent == "" {
		return nil, nil
	}
	list, err := responses.List(ctx, b.tx, responses.Query{ThreadID: m.ThreadID, Target: m.AuthorAgent, Limit: maxLimit})
	for i := range list {
		if list[i].AnswerID == m.ID {
			return collaborationOf(&list[i], partAnswer), err
		}
	}
	return nil, err
}

func collaborationOf(r *responses.Row, part string) *RoutedCollaboration {
	return &RoutedCollaboration{CollabID: r.ID, Part: part, FromAgent: r.FromAgent, ToAgent: r.TargetAgent, Delivery: r.Delivery, Status: r.Status}
}

// RoutedListing is a message in a list.
type RoutedListing struct {
	RoutedMessage
	Mentioned      []string        `json:"mentioned"`
	Agents         []RoutedVerdict `json:"agents"`
	DerivedFromSeq int64           `json:"derivedFromSeq"`
}

// RoutedListings converts a list of messages.
func RoutedListings(ctx context.Context, tx *sql.Tx, list []routing.Message, w *Wording) ([]RoutedListing, error) {
	b := &routingReader{tx: tx, words: w, places: map[string]routing.Place{}}
	all := make([]RoutedListing, len(list))
	for i := range list {
		message, err := b.message(ctx, &list[i])
		if err != nil {
			return nil, err
		}
		all[i] = RoutedListing{message, listOf(list[i].Mentioned), b.verdicts(&list[i]), list[i].Seq}
		for j := range list[i].Verdicts {
			all[i].DerivedFromSeq = max(all[i].DerivedFromSeq, list[i].Verdicts[j].Seq)
		}
	}
	return all, nil
}

// routingsAnswer answers GET /api/routing.
type routingsAnswer struct {
	Messages       []RoutedListing `json:"messages"`
	Count          int             `json:"count"`
	NextCursor     *string         `json:"nextCursor"`
	DerivedFromSeq int64           `json:"derivedFromSeq,omitempty"` // the last event that changed one of them
	AsOfSeq        int64           `json:"asOfSeq"`
}

func (s *Server) listRouting(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	q := routing.MessageQuery{Channel: p.channel(), Agent: p.agent("agent"), PlaceID: p.placeID("place", ""), Before: p.placeCursor("m"), Limit: limit + 1}
	q.Mode = route.Mode(p.word("mode", string(route.Handler), string(route.Observer), string(route.Dropped)))
	if q.Mode != "" && q.Agent == "" {
		p.refuse("mode", string(q.Mode), "name the agent too: a message has a verdict per agent")
	}
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		list, err := routing.Messages(ctx, v.tx, q)
		if err != nil {
			return nil, err
		}
		a := routingsAnswer{AsOfSeq: v.asOf}
		list, a.NextCursor = pageOf(list, limit, "m", func(m *routing.Message) int64 { return m.Seq })
		if a.Messages, err = RoutedListings(ctx, v.tx, list, v.wording()); err != nil {
			return nil, err
		}
		for i := range a.Messages {
			a.DerivedFromSeq = max(a.DerivedFromSeq, a.Messages[i].DerivedFromSeq)
		}
		a.Count = len(list)
		return a, nil
	})
}

func (s *Server) showRouting(c echo.Context) error {
	id, err := pathID(c, "")
	if err != nil {
		return err
	}
	p := parametersOf(c)
	if of, _ := coordination.ChannelNamed(coordination.ChannelOf(id)); !of.IsMessageIn(id, id) {
		return &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: "messageId",
			Message: fmt.Sprintf("Bad value %q for messageId", coordination.Shown(id)), Hint: hintMessageID}
	}
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		a, err := RoutingOf(ctx, v.tx, id, v.wording())
		if err != nil {
			return nil, err
		}
		if a == nil {
			return nil, &problem{Status: http.StatusNotFound, Code: "not_found", Field: "messageId", Message: "No decision about message " + id,
				Hint: "no bot has reported it: check with GET /api/channels whether one sees its place; GET " + routingPath + " lists the others"}
		}
		a.AsOfSeq = v.asOf
		return a, nil
	})
}

const hintMessageID = "give the id of a message: of Discord 17 to 20 digits, of other channels as GET " + routingPath + " shows it, such as telegram:-1001234:55"

// placeID reads the id of a place or thread; "" if missing.
func (p *parameters) placeID(name string, in string) string {
	text := p.first(name)
	switch c, _ := coordination.ChannelNamed(in); {
	case text == "":
	case in == "" && !coordination.IsPlaceID(text):
		p.refuse(name, text, "give the id of a place or thread: of Discord 17 to 20 digits, of other channels such as telegram:-1001234 or slack:c0123")
	case in != "" && !c.IsPlaceID(text):
		p.refuse(name, text, hintID(&c, ""))
	}
	return text
}

// messageID reads the id of a message; "" if missing.
func (p *parameters) messageID(name string, in string) string {
	text := p.first(name)
	switch c, _ := coordination.ChannelNamed(in); {
	case text == "":
	case in == "" && !coordination.IsMessageID(text):
		p.refuse(name, text, hintMessageID)
	case in != "" && !c.IsMessageID(text):
		p.refuse(name, text, hintID(&c, ":55"))
	}
	return text
}

func hintID(c *coordination.Channel, message string) string {
	if c.Name == coordination.Discord {
		return "give a Discord id, 17 to 20 digits"
	}
	return "give an id of " + c.Title + ", such as " + c.Name + ":c0123" + message
}
