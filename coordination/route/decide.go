package route

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Decide returns what a message is to every agent whose bot sees it. The result depends only on the situation, not on the order of the
// bots nor on which of them reported the message. A message decided before keeps its decision when it arrives again or is edited.
func Decide(s *Situation) Decision {
	if s.Earlier != nil {
		d := *s.Earlier
		d.Verdicts = slices.Clone(d.Verdicts)
		d.Enrol, d.Lapsed, d.Suspend, d.Release, d.Warnings = nil, nil, nil, false, nil
		d.Turn, d.Answers, d.Touches, d.Again = NoTurn, false, false, true
		return d
	}
	c := newCase(s)
	reason := s.Policy.refuses(c.m, &s.Sinks)
	switch {
	case reason != "":
		c.dropAll(reason)
	case c.foreign && (c.m.direct() || !s.Policy.acceptsBots(len(c.d.Mentioned) > 0)):
		c.ignoreForeign()
	case !c.foreign && c.d.Author == "" && s.Policy.Bars(c.m) != "":
		c.dropAll(s.Policy.Bars(c.m))
	case c.m.direct():
		c.direct()
	default:
		c.call()
		c.guard()
		c.conclude()
		c.enrol()
	}
	c.finish()
	return c.d
}

// deliberation is the state of Decide.
type deliberation struct {
	s        *Situation
	m        *Message
	d        Decision
	team     team
	text     string   // text without code and quotes
	mentions []string // user ids, in order
	foreign  bool     // the author is a bot of none of our agents

	handlers map[string]Reason // handlers
	held     map[string]Reason // handlers that something prevented
	others   Reason            // reason of the agents that are not called
}

func newCase(s *Situation) *deliberation {
	c := &deliberation{s: s, m: &s.Message, text: spoken(s.Message.Text), handlers: map[string]Reason{}, held: map[string]Reason{}}
	c.mentions = mentionedUsers(c.text, c.channel())
	c.team = newTeam(s.Bots, c.m, c.mentions)
	c.d = Decision{at: s.Message, hop: s.Hop, Author: c.team.agents[c.m.Author.ID]}
	c.d.sender = coordination.Head(cmp.Or(c.m.Author.Name, c.m.Author.ID), maxName)
	if c.d.Author != "" {
		c.d.sender = c.team.name(c.d.Author)
	}
	c.d.Mentioned = c.team.called(c.mentions, c.d.Author)
	c.foreign = c.d.Author == "" && (c.m.Author.Bot || c.m.Author.Webhook)
	c.d.Touches = c.m.ThreadID != ""
	return c
}

// dropAll drops the message for all agents.
func (c *deliberation) dropAll(reason Reason) { c.allHandle(Dropped, reason) }

// ignoreForeign drops or observes a foreign bot's message, as the policy says.
func (c *deliberation) ignoreForeign() {
	if c.s.Policy.RecordBots && !c.m.direct() {
		c.allHandle(Observer, ForeignBot)
		return
	}
	c.allHandle(Dropped, ForeignBot)
}

func (c *deliberation) allHandle(mode Mode, reason Reason) {
	for _, b := range c.team.seeing {
		c.d.Verdicts = append(c.d.Verdicts, c.own(Verdict{Agent: b.Agent, BotUserID: b.UserID, AccountID: b.AccountID, Mode: mode, Reason: reason}))
	}
}

// own drops an agent's own message for that agent.
func (c *deliberation) own(v Verdict) Verdict {
	if v.Agent == c.d.Author {
		v.Mode, v.Reason, v.Order, v.Hints = Dropped, OwnMessage, "", nil
	}
	return v
}

// direct gives a direct message to one agent, not necessarily the bot's own.
func (c *deliberation) direct() {
	if len(c.team.seeing) == 0 {
		c.warn(WarnNoBot)
		return
	}
	b := c.team.seeing[0]
	if b.Agent == c.d.Author {
		c.dropAll(OwnMessage)
		return
	}
	agent, tier, bound := Recipient(c.s.Bindings, coordination.ChannelOf(c.m.ChannelID), b.AccountID, c.m.Author.ID, c.known, b.Agent)
	if bound != "" && bound != agent {
		c.warn(WarnOwnerAbsent)
	}
	c.d.Turn = HumanTurn
	c.d.Verdicts = []Verdict{{Agent: agent, BotUserID: b.UserID, AccountID: b.AccountID, Mode: Handler, Reason: ownership(tier)}}
	c.d.Verdicts[0].Hints = c.namedHints(agent)
}

// known reports whether the agent exists: it has a bot, or is the default agent.
func (c *deliberation) known(agent string) bool {
	_, found := c.team.names[agent]
	return found || agent != "" && agent == strings.ToLower(c.s.Policy.DefaultAgent)
}

func ownership(tier Tier) Reason {
	if tier == TierDefault {
		return ByDefault
	}
	return ByBinding
}

// call determines the called agents, before the loop guard.
func (c *deliberation) call() {
	for _, agent := range c.d.Mentioned {
		if c.team.sees(agent) {
			c.handlers[agent] = ByMention
		} else {
			c.warn(WarnMentionedAbsent)
		}
	}
	if c.m.ThreadID != "" {
		c.callInThread()
	} else {
		c.callInChannel()
	}
}

func (c *deliberation) callInThread() {
	p := &c.s.Policy
	if c.s.Participants == nil {
		c.warn(WarnParticipantsUnknown)
		c.others = MentionOnly
		if len(c.d.Mentioned) > 0 {
			c.others = OthersMentioned
		}
		return
	}
	present, lapsed := c.s.Participants[c.m.ThreadID].at(c.m.At, p.ParticipantTTL)
	c.d.Lapsed = lapsed
	c.others = NotParticipant
	switch {
	case len(c.d.Mentioned) > 0 && p.ThreadMention != Participants:
		c.others = OthersMentioned
	case c.m.System:
		c.others = SystemText
	default:
		for _, agent := range present {
			if _, called := c.handlers[agent]; !called && agent != c.d.Author && c.team.sees(agent) {
				c.handlers[agent] = ByParticipation
			}
		}
	}
}

func (c *deliberation) callInChannel() {
	switch {
	case len(c.d.Mentioned) > 0:
		c.others = OthersMentioned
	case c.m.System:
		c.others = SystemText
	case c.d.Author != "":
		c.others = SiblingSpeaks
	case c.s.Policy.RequireMention:
		c.others = NeedsMention
	default:
		c.callOwner()
	}
}

// channel is the channel of the message.
func (c *deliberation) channel() coordination.Channel {
	own, _ := coordination.ChannelNamed(coordination.ChannelOf(c.m.ChannelID))
	return own
}

// peerOf is the place as bindings name it: by the service's own id.
func peerOf(m *Message) Peer {
	id, _ := coordination.ParseChatID(m.ChannelID)
	return Peer{string(coordination.PlaceKey("", m.ChannelID, m.Group).Kind), id.Chat}
}

// callOwner calls the agent responsible for a channel.
func (c *deliberation) callOwner() {
	fallback := strings.ToLower(c.s.Policy.DefaultAgent)
	spot := Spot{Channel: coordination.ChannelOf(c.m.ChannelID), Accounts: c.team.accounts(), Peer: peerOf(c.m), Guild: c.m.GuildID, Roles: c.m.Author.Roles}
	agent, tier, bound := Resolve(c.s.Bindings, &spot, c.team.sees, fallback)
	c.others = NotOwner
	switch {
	case !c.team.sees(agent):
		c.others = NobodyOwns
		c.warn(WarnNobodyOwns)
		return
	case bound != "" && bound != agent:
		c.warn(WarnOwnerAbsent)
	}
	c.handlers[agent] = ownership(tier)
}

// guard holds messages of bots over the limits. openclawd's own posts are held too, but not counted. A request accepted by the pair
// limit counts for the pair but is not held by it: its sender was told that it was sent.
func (c *deliberation) guard() {
	c.refuseAgents()
	talk, over := c.s.Guard.Talk(c.m.Place(), c.m.At)
	c.d.Release = over
	switch {
	case c.d.Author == "" && !c.foreign:
		c.d.Turn = HumanTurn
		return
	case talk.Until != 0:
		c.holdAll(Suspended)
		return
	case c.m.System:
		return
	case c.m.ThreadID == "" && len(c.handlers) == 0:
		return
	}
	if c.d.Suspend = c.s.Policy.Guard.judge(c.m.Place(), talk, c.m.At); c.d.Suspend != nil {
		c.holdAll(Suspended)
		return
	}
	c.d.Turn = BotTurn
	if most := c.s.Policy.MaxHops; most > 0 && c.s.Hop > most && c.d.Author != "" {
		c.holdAll(HopLimit)
		return
	}
	for agent := range c.handlers {
		if c.d.Author != "" && !c.m.Request && c.s.Guard.pairSpent(&c.s.Policy.Guard, c.d.Author, agent, c.m.At) {
			c.held[agent] = PairLimited
			delete(c.handlers, agent)
		}
	}
}

// refuseAgents holds an agent's message from mentioned agents that it may not run.
func (c *deliberation) refuseAgents() {
	if c.d.Author == "" || c.m.System || c.s.Policy.Allowed == nil {
		return
	}
	present := c.s.Participants.Of(c.m.ThreadID, c.m.At, c.s.Policy.ParticipantTTL)
	for agent, reason := range c.handlers {
		if reason == ByMention && !slices.Contains(present, agent) && !c.s.Policy.Allowed(c.d.Author, agent) {
			c.held[agent] = AgentNotAllowed
			delete(c.handlers, agent)
		}
	}
}

func (c *deliberation) holdAll(reason Reason) {
	for agent := range c.handlers {
		c.held[agent] = reason
	}
	clear(c.handlers)
}

// conclude makes the verdicts.
func (c *deliberation) conclude() {
	var order []string // mentioned agents that handle the message
	for _, agent := range c.d.Mentioned {
		if c.handlers[agent] == ByMention {
			order = append(order, agent)
		}
	}
	c.d.Verdicts = make([]Verdict, 0, len(c.team.seeing))
	for _, b := range c.team.seeing {
		v := Verdict{Agent: b.Agent, BotUserID: b.UserID, AccountID: b.AccountID, Mode: Observer, Reason: cmp.Or(c.held[b.Agent], c.others)}
		if reason, called := c.handlers[b.Agent]; called {
			v.Mode, v.Reason = Handler, reason
			v.lead(order, len(c.handlers), &c.team)
			if reason == ByParticipation && len(c.d.Mentioned) > 0 {
				v.Hints = append(v.Hints, addressedHint(c.team.all(c.d.Mentioned)))
			}
			v.Hints = append(v.Hints, c.namedHints(b.Agent)...)
		}
		c.d.Verdicts = append(c.d.Verdicts, c.own(v))
	}
}

// lead gives a mentioned agent its order if several handle the message.
func (v *Verdict) lead(order []string, handlers int, t *team) {
	if handlers < 2 || !slices.Contains(order, v.Agent) {
		return
	}
	if v.Agent == order[0] {
		v.Order, v.Hints = Primary, []string{primaryHint}
	} else {
		v.Order, v.Hints = Secondary, []string{secondaryHint(t.name(order[0]))}
	}
}

// namedHints are the hints for a handler about agents that the message names, or in a direct message mentions, and that do not handle
// it.
func (c *deliberation) namedHints(handler string) (hints []string) {
	lower := strings.ToLower(c.text)
	agents := make([]string, 0, len(c.team.names))
	for agent := range c.team.names {
		agents = append(agents, agent)
	}
	slices.Sort(agents)
	for _, agent := range agents {
		_, handles := c.handlers[agent]
		mentioned := slices.Contains(c.d.Mentioned, agent)
		if handles || agent == handler || agent == c.d.Author || mentioned && !c.m.direct() {
			continue
		}
		if mentioned || named(lower, c.team.names[agent]) || named(lower, agent) {
			hints = append(hints, collaborateHint(c.team.name(agent), agent))
		}
	}
	return hints
}

// enrol registers mentioned agents and an agent that writes as participants of a thread. openclawd's own posts register no author.
func (c *deliberation) enrol() {
	if c.m.ThreadID == "" {
		return
	}
	present := c.s.Participants.Of(c.m.ThreadID, c.m.At, c.s.Policy.ParticipantTTL)
	for _, b := range c.team.seeing {
		e := Enrolment{Agent: b.Agent, BotUserID: b.UserID}
		switch {
		case slices.Contains(present, b.Agent), c.held[b.Agent] == AgentNotAllowed:
			continue
		case slices.Contains(c.d.Mentioned, b.Agent):
			e.Reason = EnrolMentioned
		case b.Agent == c.d.Author && !c.m.System:
			e.Reason = EnrolPosted
		default:
			continue
		}
		c.d.Enrol = append(c.d.Enrol, e)
	}
	c.d.Answers = c.d.Author != "" && !c.m.System && !c.m.Silent
}

// finish adds the record that observers keep.
func (c *deliberation) finish() {
	c.drop()
	for i := range c.d.Verdicts {
		if c.d.Verdicts[i].Mode == Observer {
			c.d.Record = record(c.m, c.d.sender, c.d.Mentioned, c.mentions, c.team.roster(c.m))
			break
		}
	}
	slices.Sort(c.d.Warnings)
	c.d.Warnings = slices.Compact(c.d.Warnings)
}

// drop drops the message for agents whose bots refuse it.
func (c *deliberation) drop() {
	for _, b := range c.team.barred {
		known := slices.ContainsFunc(c.d.Verdicts, func(v Verdict) bool { return v.Agent == b.Agent })
		if !known && !c.team.sees(b.Agent) {
			c.d.Verdicts = append(c.d.Verdicts, c.own(Verdict{Agent: b.Agent, BotUserID: b.UserID, AccountID: b.AccountID, Mode: Dropped, Reason: b.Bars}))
		}
	}
	slices.SortStableFunc(c.d.Verdicts, func(x, y Verdict) int { return cmp.Compare(x.Agent, y.Agent) })
}

func (c *deliberation) warn(w Warning) { c.d.Warnings = append(c.d.Warnings, w) }
