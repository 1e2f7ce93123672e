package monitor

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	decide "github.com/pronto-lab/openclawd/coordination/response"
	routes "github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/response"
	"github.com/pronto-lab/openclawd/projections/routing"
	runs "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/work"
)

const routingPath = "/api/routing"

// RoutedMessage is a message of Discord that was decided about.
type RoutedMessage struct {
	MessageID   string `json:"messageId"`
	GuildID     string `json:"guildId,omitempty"` // absent of direct messages
	ChannelID   string `json:"channelId"`
	ChannelName string `json:"channelName,omitempty"`
	ThreadID    string `json:"threadId,omitempty"`
	ThreadName  string `json:"threadName,omitempty"`
	AuthorID    string `json:"authorId,omitempty"`
	AuthorName  string `json:"authorName,omitempty"`
	AuthorAgent string `json:"authorAgent,omitempty"` // absent: no agent has written it
	Text        string `json:"text"`                  // of a message that nobody handled: what observers keep of it
	System      bool   `json:"system,omitempty"`      // openclawd has posted it by itself
	Link        string `json:"link"`                  // with which Discord opens it
	At          int64  `json:"at"`                    // when it was sent, ms since 1970
}

// RoutedVerdict is what a message was to one agent, and why.
type RoutedVerdict struct {
	AgentID     string        `json:"agentId"`
	AgentName   string        `json:"agentName,omitempty"` // absent: it is called by its id
	Mode        routes.Mode   `json:"mode"`
	Reason      routes.Reason `json:"reason"`
	Explanation string        `json:"explanation"`
	Order       routes.Order  `json:"order,omitempty"` // where several handle it: who leads
	AccountID   string        `json:"accountId,omitempty"`
	RunID       string        `json:"runId,omitempty"` // of a handler; absent: its run was refused
}

// RoutedAgent is a RoutedVerdict with what has followed from it.
type RoutedAgent struct {
	RoutedVerdict
	Run     *RoutedRun    `json:"run"`     // null: there is none
	Replies []RoutedReply `json:"replies"` // what was posted of what the run has said

	Unposted *RoutedUnposted `json:"unposted,omitempty"` // of what it has said something waits, or was given up
}

// RoutedUnposted is what a run has said and does not stand in Discord, or of which nobody knows whether it does.
type RoutedUnposted struct {
	EffectID string     `json:"effectId"` // GET /api/work has it
	State    work.State `json:"state"`    // waiting, leased, dead
	Attempt  int        `json:"attempt"`
	Error    string     `json:"error,omitempty"`
}

// RoutedRun is how the run stands, or has ended, that a message has led to. Times are ms since 1970; null is what has not happened.
type RoutedRun struct {
	RunID      string `json:"runId"` // not that of RoutedVerdict where a restart has broken that one off and this one repeats it
	SessionKey string `json:"sessionKey"`
	State      string `json:"state"`
	QueuedAt   int64  `json:"queuedAt"`
	StartedAt  *int64 `json:"startedAt"`
	EndedAt    *int64 `json:"endedAt"`
	Reason     string `json:"reason,omitempty"` // why it was stopped
	ErrorClass string `json:"errorClass,omitempty"`
	Error      string `json:"error,omitempty"`
}

// RoutedReply is a message that answers another one.
type RoutedReply struct {
	MessageID string `json:"messageId"`
	Purpose   string `json:"purpose"` // reply; notice: openclawd tells of the run
	Link      string `json:"link"`
	At        int64  `json:"at"` // ms since 1970
}

// RoutedParticipant is an agent that took part in the thread of a message when it came.
type RoutedParticipant struct {
	AgentID string `json:"agentId"`
	Reason  string `json:"reason"` // collaborate, mentioned, posted
	Since   int64  `json:"since"`  // ms since 1970
}

// RoutedCollaboration is what a message was in a request of one agent to another.
type RoutedCollaboration struct {
	CollabID  string             `json:"collabId"`
	Part      string             `json:"part"` // request, answer, reminder, escalate
	FromAgent string             `json:"fromAgent"`
	ToAgent   string             `json:"toAgent"`
	Delivery  collaborate.Status `json:"delivery"`
	Status    decide.Status      `json:"status,omitempty"` // of the answer; absent while none is waited for
}

// RoutedWarning is something about a decision that an operator should know.
type RoutedWarning struct {
	Code    string `json:"code"`
	AgentID string `json:"agentId,omitempty"`
	Text    string `json:"text"`
}

// Routing is what became of a message: who handled it, who did not, and why. It answers GET /api/routing/:messageId. Times are ms since 1970.
type Routing struct {
	Message            RoutedMessage        `json:"message"`
	Explanation        string               `json:"explanation"` // all of it in a sentence
	Agents             []RoutedAgent        `json:"agents"`      // handlers first, who leads before the others; then observers, then the others
	Mentioned          []string             `json:"mentioned"`   // agents, in the order of the text
	ThreadParticipants []RoutedParticipant  `json:"threadParticipants"`
	Collaboration      *RoutedCollaboration `json:"collaboration,omitempty"`
	Warnings           []RoutedWarning      `json:"warnings,omitempty"`
	At                 int64                `json:"at"`
	DerivedFromSeq     int64                `json:"derivedFromSeq"`
	AsOfSeq            int64                `json:"asOfSeq,omitempty"`
}

// RoutingOf is what became of a message; nil if nothing was decided about it.
func RoutingOf(ctx context.Context, tx *sql.Tx, messageID string, w *Wording) (*Routing, error) {
	list, err := routing.Messages(ctx, tx, routing.MessageQuery{ID: messageID, Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	b := &routingReader{tx: tx, words: w, places: map[string]routing.Place{}}
	return b.routing(ctx, &list[0])
}

// routingReader reads what belongs to messages.
type routingReader struct {
	tx     *sql.Tx
	words  *Wording
	places map[string]routing.Place // by id; the zero Place for one that is not known
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

// message words a message without what it was to whom.
func (b *routingReader) message(ctx context.Context, m *routing.Message) (RoutedMessage, error) {
	a := RoutedMessage{MessageID: m.ID, GuildID: m.GuildID, ChannelID: cmp.Or(m.ChannelID, m.PlaceID), ThreadID: m.ThreadID, AuthorID: m.AuthorID,
		AuthorName: m.AuthorName, AuthorAgent: m.AuthorAgent, Text: b.words.Text(m.Text), System: m.System, Link: linkOf(m.GuildID, m.PlaceID, m.ID),
		At: m.At}
	a.ChannelName, a.ThreadName = b.words.channel(a.ChannelID), b.words.channel(m.ThreadID)
	if m.ThreadID == "" || a.ThreadName != "" {
		return a, nil
	}
	place, err := b.place(ctx, m.ThreadID)
	a.ThreadName = b.words.Text(place.Name)
	return a, err
}

// place is what the log knows of a channel or thread.
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

// linkOf is the address with which Discord opens a message; message may be "" for the place.
func linkOf(guild, place, message string) string {
	link := "https://discord.com/channels/" + cmp.Or(guild, "@me") + "/" + place
	if message != "" {
		link += "/" + message
	}
	return link
}

// verdicts are what a message was to each agent: handlers first, who leads before the others; then observers, then the others; by id.
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
		return 3*slices.Index([]routes.Mode{routes.Handler, routes.Observer, routes.Dropped}, v.Mode) +
			slices.Index([]routes.Order{routes.Primary, routes.Secondary, ""}, v.Order)
	}
	slices.SortFunc(list, func(a, b RoutedVerdict) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(a.AgentID, b.AgentID))
	})
	return list
}

// follow reads what has followed from a verdict.
func (b *routingReader) follow(ctx context.Context, guild string, a *RoutedAgent) error {
	if a.RunID == "" {
		return nil
	}
	r, found, err := runs.LoadLast(projections.Reading(ctx, b.tx), a.RunID)
	if err != nil || !found {
		return err
	}
	a.Run = &RoutedRun{RunID: r.RunID, SessionKey: r.SessionKey, State: string(r.State), QueuedAt: r.QueuedAt, StartedAt: timeOrNull(r.StartedAt),
		EndedAt: timeOrNull(r.EndedAt)}
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

// posted reads what has become of what a run has said.
func (b *routingReader) posted(ctx context.Context, guild, effect string, a *RoutedAgent) error {
	posts, err := routing.Posts(ctx, b.tx, routing.PostQuery{EffectID: effect, Limit: maxReplies})
	if err != nil {
		return err
	}
	for i := range slices.Backward(posts) {
		p := &posts[i]
		a.Replies = append(a.Replies, RoutedReply{MessageID: p.MessageID, Purpose: p.Purpose, Link: linkOf(guild, p.PlaceID, p.MessageID), At: p.At})
	}
	item, open, err := work.ByID(ctx, b.tx, effect)
	if open {
		a.Unposted = &RoutedUnposted{EffectID: effect, State: item.State, Attempt: item.Attempt, Error: b.words.Text(coordination.Mask(item.Error))}
	}
	return err
}

// maxReplies is how many posts of one run are shown: more than a text is divided into.
const maxReplies = 200

// participants are the agents that took part in the thread of a message when it came, those among them that it has called itself.
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

// partAnswer is the part of a message that has answered a request.
const partAnswer = "answer"

// collaboration is the request that a message belongs to; nil for none.
func (b *routingReader) collaboration(ctx context.Context, m *routing.Message) (*RoutedCollaboration, error) {
	tx := projections.Reading(ctx, b.tx)
	post, posted, err := routing.PostOf(tx, m.ID)
	if err != nil {
		return nil, err
	}
	if posted && post.CollabID != "" {
		r, found, err := response.Load(tx, post.CollabID)
		if err != nil || !found {
			return nil, err
		}
		return collaborationOf(&r, post.Purpose), nil
	}
	if m.ThreadID == "" || m.AuthorAgent == "" {
		return nil, nil
	}
	list, err := response.List(ctx, b.tx, response.Query{ThreadID: m.ThreadID, Target: m.AuthorAgent, Limit: maxLimit})
	for i := range list {
		if list[i].AnswerID == m.ID {
			return collaborationOf(&list[i], partAnswer), err
		}
	}
	return nil, err
}

func collaborationOf(r *response.Row, part string) *RoutedCollaboration {
	return &RoutedCollaboration{CollabID: r.ID, Part: part, FromAgent: r.FromAgent, ToAgent: r.TargetAgent, Delivery: r.Delivery, Status: r.Status}
}

// RoutedListing is a message of a list.
type RoutedListing struct {
	RoutedMessage
	Mentioned      []string        `json:"mentioned"`
	Agents         []RoutedVerdict `json:"agents"`
	DerivedFromSeq int64           `json:"derivedFromSeq"`
}

// RoutedListings words a list of messages.
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

// listRouting lists messages with what they were to each agent, the newest first.
func (s *Server) listRouting(c echo.Context) error {
	p := parametersOf(c)
	limit := p.limit()
	q := routing.MessageQuery{Agent: p.agent("agent"), PlaceID: p.snowflake("place"), Before: p.placeCursor("m"), Limit: limit + 1}
	q.Mode = routes.Mode(p.word("mode", string(routes.Handler), string(routes.Observer), string(routes.Dropped)))
	if q.Mode != "" && q.Agent == "" {
		p.refuse("mode", string(q.Mode), "name the agent too: a message is one thing to one agent, and another to others")
	}
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		list, err := routing.Messages(ctx, v.tx, q)
		if err != nil {
			return nil, err
		}
		a := routingsAnswer{AsOfSeq: v.asOf}
		if len(list) > limit {
			list = list[:limit]
			next := sealed("m", strconv.FormatInt(list[limit-1].Seq, 10))
			a.NextCursor = &next
		}
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

// showRouting says of one message who handled it, who did not, and why.
func (s *Server) showRouting(c echo.Context) error {
	id, err := pathID(c, "")
	if err != nil {
		return err
	}
	p := parametersOf(c)
	if !IsDiscordID(id) {
		return &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: "messageId",
			Message: fmt.Sprintf("Bad value %q for messageId", shortened(id)), Hint: hintMessageID}
	}
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		a, err := RoutingOf(ctx, v.tx, id, v.wording())
		if err != nil {
			return nil, err
		}
		if a == nil {
			return nil, &problem{Status: http.StatusNotFound, Code: "not_found", Field: "messageId", Message: "Nothing was decided about message " + id,
				Hint: "no bot of ours has told of it: look whether one sees its channel with GET /api/discord/bots; GET " + routingPath + " lists the others"}
		}
		a.AsOfSeq = v.asOf
		return a, nil
	})
}

const hintMessageID = "give the id of a message in Discord, 17 to 20 digits: Copy Message ID in its menu, with developer mode on"

// IsDiscordID reports whether a text can be an id of Discord.
func IsDiscordID(text string) bool {
	n, err := strconv.ParseUint(text, 10, 64)
	return err == nil && n > 0 && text[0] != '+' && text[0] != '0'
}

// snowflake reads an id of Discord.
func (p *parameters) snowflake(name string) string {
	text := p.first(name)
	if text != "" && !IsDiscordID(text) {
		p.refuse(name, text, "give an id of Discord, 17 to 20 digits")
	}
	return text
}
