package routing

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "routing"

// version of the fold. Increment it with every change of what it writes.
const version = "3"

// Definition describes the projection "routing".
func Definition() projections.Definition {
	return projections.Definition{
		Name: Name, Version: version, Kind: projections.Decision,
		Tables: []string{"discord_messages", "discord_verdicts", "discord_places", "discord_participants", "discord_observed", "discord_observers",
			"discord_pairs", "discord_posts", "channel_people", "discord_changes"},
		New: func(name func(string) string) projections.Projector {
			return &projector{
				messages:     newMessages(name("discord_messages")),
				verdicts:     newVerdicts(name("discord_verdicts")),
				places:       newPlaces(name("discord_places")),
				participants: newParticipants(name("discord_participants")),
				observed:     newObserved(name("discord_observed")),
				observers:    newObservers(name("discord_observers")),
				pairs:        newPairs(name("discord_pairs")),
				posts:        newPosts(name("discord_posts")),
				people:       newPeople(name("channel_people")),
				changes:      newChanges(name("discord_changes")),
			}
		},
	}
}

type projector struct {
	messages     *projections.Table[string, message]
	verdicts     *projections.Inserts
	places       *projections.Table[string, place]
	participants *projections.Table[participantKey, participant]
	observed     *projections.Table[slot, observed]
	observers    *projections.Table[observer, numbers]
	pairs        *projections.Table[string, pair]
	posts        *projections.Table[string, post]
	people       *projections.Table[personKey, person]
	changes      *projections.Table[string, change]
}

func (p *projector) Rows() []projections.Rows {
	return []projections.Rows{p.messages, p.verdicts, p.places, p.participants, p.observed, p.observers, p.pairs, p.posts, p.people, p.changes}
}

// Apply folds one event. It never refuses an event: an event that is inconsistent, cannot be read, or is in the wrong
// stream changes nothing.
func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	if e.Actor == eventstore.ActorImport {
		return nil
	}
	switch e.Type {
	case coordination.TypeDiscordInboundHandled:
		return p.applyVerdict(tx, e, route.Handler)
	case coordination.TypeDiscordInboundObserved:
		return p.applyVerdict(tx, e, route.Observer)
	case coordination.TypeDiscordInboundDropped:
		return p.applyVerdict(tx, e, route.Dropped)
	case coordination.TypeThreadParticipantRegistered, coordination.TypeThreadParticipantExpired:
		return p.attended(tx, e)
	case coordination.TypeThreadSuspended, coordination.TypeThreadReleased:
		return p.applySuspension(tx, e)
	case coordination.TypeThreadCreated:
		return p.applyThread(tx, e)
	case coordination.TypeDiscordSent:
		return p.sent(tx, e)
	case coordination.TypeDiscordSendFailed:
		return p.failed(tx, e)
	case coordination.TypePairingRequested, coordination.TypePairingApproved, coordination.TypePairingRevoked, coordination.TypePairingRefused:
		return p.paired(tx, e)
	case coordination.TypeDiscordInboundEdited, coordination.TypeDiscordInboundDeleted:
		return p.changed(tx, e)
	}
	return nil
}

// applyVerdict folds a verdict on a message. For a redacted event, the stream gives the message and the type gives the
// verdict for its agent.
func (p *projector) applyVerdict(tx eventstore.Tx, e *projections.Event, mode route.Mode) error {
	name, is := coordination.MessageOfStream(e.Stream)
	var d coordination.DiscordInbound
	if !is || !e.Redacted() && (json.Unmarshal(e.Data, &d) != nil || d.MessageID == "" || nameOf(d.MessageID) != name) {
		return nil
	}
	agents := d.Agents
	if len(agents) == 0 {
		agents = []string{e.AgentID} // "" if it concerns no agent, or an unknown one
	}
	m, existed, err := p.messages.Edit(tx, name)
	if err != nil {
		return err
	}
	if !existed {
		*m = newMessage(name, e, &d)
	}
	place, decided := placeOf(d.ThreadID, d.ChannelID), projections.ListOf[string](m.agents)
	for _, agent := range agents {
		if slices.Contains(decided, agent) {
			continue
		}
		decided = append(decided, agent)
		p.verdicts.Add(m.id, agent, d.AccountID, string(mode), d.Reason, d.Order, d.RunID, e.Seq)
		if mode == route.Observer && place != "" && agent != "" {
			if err := p.observe(tx, observer{place, agent}, e, d.MessageID); err != nil {
				return err
			}
		}
	}
	m.agents = projections.JSONList(decided)
	if place == "" {
		return nil
	}
	if mode == route.Handler {
		if err := p.talked(tx, e, &d); err != nil {
			return err
		}
	}
	x, err := p.place(tx, e, place)
	if err != nil {
		return err
	}
	x.lies(d.GuildID, d.ChannelID, d.ThreadID != "")
	x.lastID, x.lastAt = newer(x.lastID, d.MessageID), max(x.lastAt, e.TS)
	if d.GuildID == "" && d.AccountID != "" {
		x.accountID = d.AccountID
	}
	if d.Turn != "" {
		x.guard(e.Type, e.AgentID, e.Data, e.TS)
	}
	x.attend(e.Type, e.AgentID, e.Data, e.TS)
	return nil
}

// talked folds that an agent handles a message of another one.
func (p *projector) talked(tx eventstore.Tx, e *projections.Event, d *coordination.DiscordInbound) error {
	if d.AuthorAgent == "" || e.AgentID == "" || d.AuthorAgent == e.AgentID {
		return nil
	}
	key := route.PairKey(d.AuthorAgent, e.AgentID)
	known, err := p.pairs.Get(tx, key)
	if err != nil {
		return err
	}
	g := &route.Guard{}
	if known != nil {
		g.Pairs = map[string]route.Window{key: known.handled}
	}
	pairing := coordination.DiscordInbound{AuthorAgent: d.AuthorAgent, System: d.System} // the place is folded separately
	if means, err := g.Apply(e.Type, e.AgentID, encode(&pairing), e.TS); err != nil || !means {
		return nil
	}
	x, _, err := p.pairs.Edit(tx, key)
	if err != nil {
		return err
	}
	*x = pair{key: key, agent: min(d.AuthorAgent, e.AgentID), other: max(d.AuthorAgent, e.AgentID), handled: g.Pairs[key]}
	return nil
}

// attended folds that an agent joins or leaves a thread. Redacted events still say so by their stream and agent.
func (p *projector) attended(tx eventstore.Tx, e *projections.Event) error {
	var d coordination.ThreadParticipant
	if e.Redacted() {
		d.ThreadID, d.AgentID = idIn(e.Stream, threadStreams), e.AgentID
	} else if json.Unmarshal(e.Data, &d) != nil {
		return nil
	}
	if d.ThreadID == "" || d.AgentID == "" || e.Stream != coordination.ThreadStream(d.ThreadID) {
		return nil
	}
	x, err := p.place(tx, e, d.ThreadID)
	if err != nil {
		return err
	}
	x.lies("", "", true)
	x.attend(e.Type, e.AgentID, encode(&d), e.TS)
	key := participantKey{d.ThreadID, d.AgentID}
	known, err := p.participants.Get(tx, key)
	if err != nil {
		return err
	}
	next := participant{participantKey: key, botUserID: d.BotUserID, reason: d.Reason, seq: e.Seq}
	if e.Type == coordination.TypeThreadParticipantExpired {
		if known == nil || known.left != 0 {
			return nil
		}
		next = *known
		next.left = e.TS
	} else {
		x.lastAt = max(x.lastAt, e.TS)
		next.since = x.attendance.Agents[d.AgentID].Since
		if known != nil && known.left == 0 && known.since == next.since {
			return nil
		}
	}
	row, _, err := p.participants.Edit(tx, key)
	if err == nil {
		*row = next
	}
	return err
}

// applySuspension folds that bots are suspended in a place, or released. A redacted release still counts.
func (p *projector) applySuspension(tx eventstore.Tx, e *projections.Event) error {
	var d coordination.Thread
	if e.Redacted() {
		if e.Type != coordination.TypeThreadReleased {
			return nil
		}
		d.ThreadID = idIn(e.Stream, threadStreams)
	} else if json.Unmarshal(e.Data, &d) != nil {
		return nil
	}
	if d.ThreadID == "" || e.Stream != coordination.ThreadStream(d.ThreadID) {
		return nil
	}
	x, err := p.place(tx, e, d.ThreadID)
	if err != nil {
		return err
	}
	x.lies(d.GuildID, d.ChannelID, d.ChannelID != "" && d.ChannelID != d.ThreadID)
	x.guard(e.Type, e.AgentID, encode(&d), e.TS)
	return nil
}

// applyThread folds that a thread was opened, or taken over.
func (p *projector) applyThread(tx eventstore.Tx, e *projections.Event) error {
	var d coordination.Thread
	if e.Redacted() || json.Unmarshal(e.Data, &d) != nil || d.ThreadID == "" || effectOf(e.Stream, d.EffectID) == "" {
		return nil
	}
	x, err := p.place(tx, e, d.ThreadID)
	if err != nil {
		return err
	}
	x.lies(d.GuildID, d.ChannelID, true)
	x.name, x.kind, x.reportOf = cmp.Or(d.Name, x.name), cmp.Or(d.Kind, x.kind), cmp.Or(d.ReportOf, x.reportOf)
	x.opened, x.lastAt = e.Seq, max(x.lastAt, e.TS)
	x.attend(e.Type, e.AgentID, e.Data, e.TS)
	return nil
}

// sent folds that a message was posted.
func (p *projector) sent(tx eventstore.Tx, e *projections.Event) error {
	d, effect, ok := outbound(e)
	if !ok {
		return nil
	}
	at := placeOf(d.ThreadID, d.ChannelID)
	x, err := p.place(tx, e, at)
	if err != nil {
		return err
	}
	x.lies(d.GuildID, d.ChannelID, d.ThreadID != "")
	x.lastAt = max(x.lastAt, e.TS)
	x.attend(e.Type, e.AgentID, e.Data, e.TS)
	if d.MessageID == "" {
		return nil
	}
	known, err := p.posts.Get(tx, d.MessageID)
	if err != nil || known != nil {
		return err
	}
	row, _, err := p.posts.Edit(tx, d.MessageID)
	if err == nil {
		*row = post{Post{MessageID: d.MessageID, PlaceID: at, ThreadID: d.ThreadID, AgentID: e.AgentID, AccountID: d.AccountID, Purpose: d.Purpose, EffectID: effect,
			RunID: d.RunID, CollabID: d.CollabID, System: d.System, At: e.TS, Seq: e.Seq}}
	}
	return err
}

// failed folds that the thread of a delivery no longer exists: reports about its conversation do not go there again.
func (p *projector) failed(tx eventstore.Tx, e *projections.Event) error {
	d, _, ok := outbound(e)
	if !ok || d.ThreadID == "" || d.Forgets == "" && d.ErrorClass != string(collaborate.ClassNotFound) {
		return nil
	}
	known, err := p.places.Get(tx, d.ThreadID)
	if err != nil || known == nil || known.reportOf == "" {
		return err
	}
	x, _, err := p.places.Edit(tx, d.ThreadID)
	if err == nil {
		x.reportOf = ""
	}
	return err
}

// outbound parses the result of a delivery step.
func outbound(e *projections.Event) (d coordination.DiscordOutbound, effect string, ok bool) {
	if e.Redacted() || json.Unmarshal(e.Data, &d) != nil {
		return d, "", false
	}
	effect = effectOf(e.Stream, d.EffectID)
	return d, effect, effect != "" && placeOf(d.ThreadID, d.ChannelID) != ""
}

// place returns a place for changing. A new one has only its id.
func (p *projector) place(tx eventstore.Tx, e *projections.Event, id string) (*place, error) {
	x, existed, err := p.places.Edit(tx, id)
	if err == nil && !existed {
		*x = place{id: id, seq: e.Seq, channelID: id}
	}
	return x, err
}

// Prefixes of stream names.
const (
	threadStreams = "thread/"
	workStreams   = "work/"
)

// nameOf returns the name of a message in the tables: that of its stream, which a redacted event has, too.
func nameOf(messageID string) string {
	name, _ := coordination.MessageOfStream(coordination.MessageStream(messageID))
	return name
}

// idIn returns the id in the name of a stream of a family; "" for other streams, or without an id.
func idIn(stream, family string) string {
	id, is := strings.CutPrefix(stream, family)
	if !is || strings.HasPrefix(id, "sha256:") {
		return ""
	}
	return id
}

// effectOf returns the work that a stream belongs to, if it matches the given work or none is given; "" for other
// streams.
func effectOf(stream, told string) string {
	id, is := strings.CutPrefix(stream, workStreams)
	switch {
	case !is, told != "" && stream != coordination.WorkStream(told):
		return ""
	case told != "":
		return told
	}
	return id
}

func placeOf(thread, channel string) string {
	if thread != "" {
		return thread
	}
	return channel
}

// newer returns the newer of two messages of a place, b being decided later: Discord's ids are ascending numbers, and others say nothing of
// their order. An id of Discord that is not a number is ignored.
func newer(a, b string) string {
	if coordination.OtherChannel(b) != "" {
		return b
	}
	if strings.Trim(b, "0123456789") == "" && (len(b) > len(a) || len(b) == len(a) && b > a) {
		return b
	}
	return a
}
