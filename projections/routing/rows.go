package routing

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// message is a row of discord_messages.
type message struct {
	id   int64
	name string // as in its stream

	placeID, channelID, threadID, guildID string
	authorID, authorName, authorAgent     string
	mentioned                             string // JSON
	system                                bool
	at                                    int64
	agents                                string // JSON
}

var messageColumns = []string{"id", "message_id", "place_id", "channel_id", "thread_id", "guild_id", "author_id", "author_name", "author_agent",
	"mentioned", "system", "at", "agents"}

// newMessage is a message whose first event this is.
func newMessage(name string, e *projections.Event, d *coordination.DiscordInbound) message {
	return message{id: e.Seq, name: name, placeID: placeOf(d.ThreadID, d.ChannelID), channelID: d.ChannelID, threadID: d.ThreadID, guildID: d.GuildID,
		authorID: d.AuthorID, authorName: d.AuthorName, authorAgent: d.AuthorAgent, mentioned: projections.JSONList(d.MentionedAgents), system: d.System, at: e.TS, agents: projections.NoneJSON}
}

func newMessages(table string) *projections.Table[string, message] {
	return projections.NewTable(projections.Columns[string, message]{
		Table: table, Key: 1, Fixed: 12, Keep: 500, Names: messageColumns,
		Lookup: "message_id = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, m *message) error {
			*m = message{id: r.Int(0), name: r.Text(1), placeID: r.Text(2), channelID: r.Text(3), threadID: r.Text(4), guildID: r.Text(5), authorID: r.Text(6),
				authorName: r.Text(7), authorAgent: r.Text(8), mentioned: r.Text(9), system: r.Int(10) != 0, at: r.Int(11), agents: r.Text(12)}
			return nil
		},
		Args: func(args []any, m *message) []any {
			return append(args, m.id, m.name, m.placeID, m.channelID, m.threadID, m.guildID, m.authorID, m.authorName, m.authorAgent, m.mentioned,
				m.system, m.at, m.agents)
		},
	})
}

func newVerdicts(table string) *projections.Inserts {
	return projections.NewInserts(table, "message", "agent", "account_id", "mode", "reason", "ord", "run_id", "seq")
}

// place is a row of discord_places.
type place struct {
	id                 string
	seq                int64
	guildID, channelID string
	thread             bool
	name, kind         string
	reportOf           string
	opened             int64
	accountID          string
	lastID             string
	lastAt             int64
	talk               route.Talk
	attendance         route.Thread
}

var placeColumns = []string{"place_id", "seq", "guild_id", "channel_id", "thread", "name", "kind", "report_of", "opened", "account_id", "last_id", "last_at",
	"suspended_until", "suspended_for", "talk", "attendance"}

// lies stores where the place is, if known.
func (x *place) lies(guild, channel string, thread bool) {
	if guild != "" {
		x.guildID = guild
	}
	if !thread {
		return
	}
	if !x.thread {
		x.thread, x.channelID = true, ""
	}
	if channel != "" && channel != x.id {
		x.channelID = channel
	}
}

// attend folds an event that may concern participation.
func (x *place) attend(typ, agent string, data []byte, ts int64) {
	p := route.Attendance{}
	if len(x.attendance.Agents) > 0 {
		p[x.id] = x.attendance
		p = p.Clone()
	}
	if means, err := p.Apply(typ, agent, data, ts); err == nil && means {
		x.attendance = p[x.id]
	}
}

// guard folds an event that may concern bot loops.
func (x *place) guard(typ, agent string, data []byte, ts int64) {
	g := route.Guard{Places: map[string]route.Talk{}}
	if !isZero(&x.talk) {
		g.Places[x.id] = x.talk
	}
	if means, err := g.Apply(typ, agent, data, ts); err == nil && means {
		x.talk = g.Places[x.id]
	}
}

func isZero(t *route.Talk) bool {
	return len(t.Bots) == 0 && t.Turns == 0 && t.Until == 0 && t.Reason == ""
}

func newPlaces(table string) *projections.Table[string, place] {
	return projections.NewTable(projections.Columns[string, place]{
		Table: table, Key: 1, Fixed: 2, Keep: 1_000, Names: placeColumns,
		Lookup: "place_id = ?", LookUp: func(id string) []any { return []any{id} },
		Scan: func(r eventstore.Row, x *place) (err error) {
			*x = place{id: r.Text(0), seq: r.Int(1), guildID: r.Text(2), channelID: r.Text(3), thread: r.Int(4) != 0, name: r.Text(5), kind: r.Text(6),
				reportOf: r.Text(7), opened: r.Int(8), accountID: r.Text(9), lastID: r.Text(10), lastAt: r.Int(11)}
			if x.talk, err = scan[route.Talk](r.Text(14)); err == nil {
				x.attendance, err = scan[route.Thread](r.Text(15))
			}
			return err
		},
		Args: func(args []any, x *place) []any {
			var talk, attendance []byte
			if !isZero(&x.talk) {
				talk = encode(&x.talk)
			}
			if len(x.attendance.Agents) > 0 {
				attendance = encode(&x.attendance)
			}
			return append(args, x.id, x.seq, x.guildID, x.channelID, x.thread, x.name, x.kind, x.reportOf, x.opened, x.accountID, x.lastID, x.lastAt,
				x.talk.Until, string(x.talk.Reason), string(talk), string(attendance))
		},
	})
}

// participantKey is an agent in a thread.
type participantKey struct{ threadID, agent string }

// participant is a row of discord_participants.
type participant struct {
	participantKey
	botUserID, reason string
	since, left, seq  int64
}

func newParticipants(table string) *projections.Table[participantKey, participant] {
	return projections.NewTable(projections.Columns[participantKey, participant]{
		Table: table, Key: 2, Fixed: 2, Keep: 1_000, Names: []string{"thread_id", "agent", "bot_user_id", "reason", "since", "left_at", "seq"},
		Lookup: "thread_id = ? AND agent = ?", LookUp: func(k participantKey) []any { return []any{k.threadID, k.agent} },
		Scan: func(r eventstore.Row, x *participant) error {
			*x = participant{participantKey{r.Text(0), r.Text(1)}, r.Text(2), r.Text(3), r.Int(4), r.Int(5), r.Int(6)}
			return nil
		},
		Args: func(args []any, x *participant) []any {
			return append(args, x.threadID, x.agent, x.botUserID, x.reason, x.since, x.left, x.seq)
		},
	})
}

// observer is an agent and a place that it observes.
type observer struct{ placeID, agent string }

func (o observer) slot(n int64) slot { return slot{o, n % kept} }

// slot is the place of one record of an observer.
type slot struct {
	observer
	slot int64
}

// observed is a row of discord_observed. It is empty if n is 0.
type observed struct {
	slot
	n         int64
	messageID string
	at, seq   int64
}

func newObserved(table string) *projections.Table[slot, observed] {
	return projections.NewTable(projections.Columns[slot, observed]{
		Table: table, Key: 3, Fixed: 3, Keep: 4_000, Names: []string{"place_id", "agent", "slot", "n", "message_id", "at", "seq"},
		Lookup: "place_id = ? AND agent = ? AND slot = ?", LookUp: func(s slot) []any { return []any{s.placeID, s.agent, s.slot} },
		Scan: func(r eventstore.Row, x *observed) error {
			*x = observed{slot{observer{r.Text(0), r.Text(1)}, r.Int(2)}, r.Int(3), r.Text(4), r.Int(5), r.Int(6)}
			return nil
		},
		Args: func(args []any, x *observed) []any {
			return append(args, x.placeID, x.agent, x.slot.slot, x.n, x.messageID, x.at, x.seq)
		},
		Empty: func(x *observed) bool { return x.n == 0 },
	})
}

// numbers is a row of discord_observers.
type numbers struct {
	observer
	first, last int64
}

func newObservers(table string) *projections.Table[observer, numbers] {
	return projections.NewTable(projections.Columns[observer, numbers]{
		Table: table, Key: 2, Fixed: 2, Keep: 2_000, Names: []string{"place_id", "agent", "first_n", "last_n"},
		Lookup: "place_id = ? AND agent = ?", LookUp: func(o observer) []any { return []any{o.placeID, o.agent} },
		Scan: func(r eventstore.Row, x *numbers) error {
			*x = numbers{observer{r.Text(0), r.Text(1)}, r.Int(2), r.Int(3)}
			return nil
		},
		Args:  func(args []any, x *numbers) []any { return append(args, x.placeID, x.agent, x.first, x.last) },
		Empty: func(x *numbers) bool { return x.last == 0 },
	})
}

// pair is a row of discord_pairs.
type pair struct {
	key, agent, other string
	handled           route.Window
}

func newPairs(table string) *projections.Table[string, pair] {
	return projections.NewTable(projections.Columns[string, pair]{
		Table: table, Key: 1, Fixed: 3, Keep: 500, Names: []string{"pair", "agent", "other", "handled"},
		Lookup: "pair = ?", LookUp: func(key string) []any { return []any{key} },
		Scan: func(r eventstore.Row, x *pair) (err error) {
			*x = pair{key: r.Text(0), agent: r.Text(1), other: r.Text(2)}
			x.handled, err = scan[route.Window](r.Text(3))
			return err
		},
		Args: func(args []any, x *pair) []any {
			return append(args, x.key, x.agent, x.other, string(encode(x.handled)))
		},
	})
}

// post is a row of discord_posts.
type post struct{ Post }

var postColumns = []string{"id", "message_id", "place_id", "thread_id", "agent", "account_id", "purpose", "effect_id", "run_id", "collab_id", "system", "at"}

func newPosts(table string) *projections.Table[string, post] {
	return projections.NewTable(projections.Columns[string, post]{
		Table: table, Key: 1, Fixed: len(postColumns), Keep: 500, Names: postColumns,
		Lookup: "message_id = ?", LookUp: func(id string) []any { return []any{id} },
		Scan: func(r eventstore.Row, x *post) error {
			x.Post = scanPost(r)
			return nil
		},
		Args: func(args []any, x *post) []any {
			return append(args, x.Seq, x.MessageID, x.PlaceID, x.ThreadID, x.AgentID, x.AccountID, x.Purpose, x.EffectID, x.RunID, x.CollabID, x.System, x.At)
		},
	})
}

// scanPost reads postColumns.
func scanPost(r eventstore.Row) Post {
	return Post{Seq: r.Int(0), MessageID: r.Text(1), PlaceID: r.Text(2), ThreadID: r.Text(3), AgentID: r.Text(4), AccountID: r.Text(5), Purpose: r.Text(6),
		EffectID: r.Text(7), RunID: r.Text(8), CollabID: r.Text(9), System: r.Int(10) != 0, At: r.Int(11)}
}

// encode marshals texts, numbers, and structures of them, which cannot fail.
func encode(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}

// scan decodes the result of encode; "" is the zero value.
func scan[T any](text string) (v T, err error) {
	if text == "" {
		return v, nil
	}
	err = json.Unmarshal([]byte(text), &v)
	return v, err
}
