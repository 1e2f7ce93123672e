package collabtools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// Delivered returns the consequences of the end of a delivery of purpose request; it has the type outbound.Then.
func (s *Service) Delivered(tx eventstore.Tx, effectID string, del *delivery.Delivery, o *delivery.Outcome, now time.Time,
) ([]eventstore.StreamAppend, error) {
	if del.CollabID == "" {
		return nil, nil
	}
	t := &requestTask{}
	if err := json.Unmarshal(del.Detail, t); err != nil {
		return nil, fmt.Errorf("decode the request of %s: %w", effectID, err)
	}
	t.Plan.Messages = del.Messages
	row, found, err := responses.Load(tx, del.CollabID)
	if err != nil || !found || row.Delivery == collaborate.StatusSent {
		return nil, err
	}
	switch o.State {
	case delivery.Done:
		return s.sent(tx, &row, t, o, now)
	case delivery.Reroute:
		return s.decideAgain(tx, &row, t, o, now)
	}
	return s.failed(tx, &row, t, o, now)
}

// sent returns the consequences of a posted request: both agents join the thread, the requester's session of the thread records the
// request, and an answer is awaited, unless it has already come.
func (s *Service) sent(tx eventstore.Tx, row *responses.Row, t *requestTask, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	p, conf := &t.Plan, s.o.Config()
	p.ThreadName = cmp.Or(o.ThreadName, p.ThreadName)
	thread, sentAt := cmp.Or(o.ThreadID, p.ThreadID), cmp.Or(o.SentAt, now.UnixMilli())
	sent := p.Sent(t.Context, row.ID, thread, o.MessageIDs, sentAt)
	appends, err := one(coordination.CollabStream(row.ID), sent, now)
	if err != nil {
		return nil, err
	}
	present, err := routing.Attendance(tx, thread)
	if err != nil {
		return nil, err
	}
	joined, err := registered(thread, present.Collaborating(thread, route.Bot{Agent: p.From, UserID: p.BotID},
		route.Bot{Agent: p.Target, UserID: p.TargetBotID}, now.UnixMilli(), conf.Channel(channelOf(row)).Collaboration.ParticipantTTL))
	if err != nil {
		return nil, err
	}
	recalled, err := s.recall(tx, t, thread, now)
	if err != nil {
		return nil, err
	}
	appends = append(append(appends, joined...), recalled...)
	answer, err := answered(tx, row, sent, thread, now)
	if err != nil {
		return nil, err
	}
	policy := Tracking(conf, thread)
	switch {
	case answer != nil:
		told, err := s.notifyAnswer(tx, row, p.Target, thread, p.ThreadName, answer.text, now)
		return append(append(appends, answer.append), told...), err
	case !p.Tracked || !policy.Enabled:
		return appends, nil
	}
	follow := coordination.WorkScheduled{Context: t.Context, EffectID: trackerOf(row.ID), Kind: TrackerKind, Key: trackerOf(row.ID),
		Pool: TrackerPool, Owner: p.From, DueAtMs: sentAt + policy.After.Milliseconds()}
	follow.EventRole = coordination.RoleObservability
	followed, err := schedule(follow, now)
	return append(appends, followed), err
}

// earlyAnswer is an answer that came before the log recorded the request as sent.
type earlyAnswer struct {
	append eventstore.StreamAppend
	text   string
}

// answered finds the message that has already answered a request, nil for none. A service reports a message to its readers before it
// confirms the post, and after a restart the answer may be in the log long before the confirmation.
func answered(tx eventstore.Tx, row *responses.Row, sent collaborate.Event, thread string, now time.Time) (*earlyAnswer, error) {
	asked, ok := sent.Data.(collaborate.Sent)
	if !ok || !asked.Tracked {
		return nil, nil
	}
	heard, err := routing.Answers(tx, thread, asked.TargetAgent, row.Seq)
	if err != nil || len(heard) == 0 {
		return nil, err
	}
	waiting, err := responses.Thread(tx, thread)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(sent.Data)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", sent.Type, err)
	}
	if _, err := waiting.Apply(sent.Type, data, now.UnixMilli()); err != nil {
		return nil, err
	}
	for i := range heard {
		m := &heard[i]
		e, ok := waiting.Match(response.Message{ID: m.ID, ThreadID: thread, AgentID: m.AuthorAgent, At: m.At, Text: m.Text, System: m.System,
			CausedBy: m.CausedBy, CollabID: m.CollabID})
		said, is := e.Data.(response.Responded)
		if !ok || !is || said.RequestID != row.ID {
			continue
		}
		appends, err := one(coordination.CollabStream(row.ID), collaborate.Event(e), now)
		if err != nil {
			return nil, err
		}
		return &earlyAnswer{appends[0], m.Text}, nil
	}
	return nil, nil
}

// registered returns the events of new participants in a thread.
func registered(thread string, events []route.Event) ([]eventstore.StreamAppend, error) {
	if len(events) == 0 {
		return nil, nil
	}
	a := eventstore.StreamAppend{Stream: coordination.ThreadStream(thread)}
	for _, e := range events {
		if err := a.Add(eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: eventstore.ActorSystem}, e.Data, e.At); err != nil {
			return nil, err
		}
	}
	return []eventstore.StreamAppend{a}, nil
}

// recall records the request in the requester's own session of the thread, unless that session asked.
func (s *Service) recall(tx eventstore.Tx, t *requestTask, thread string, now time.Time) ([]eventstore.StreamAppend, error) {
	p := &t.Plan
	name, text := p.Recall(thread, p.SessionKey, t.Context.TaskID)
	if name == p.SessionKey {
		return nil, nil
	}
	return s.appendMessage(tx, name, coordination.SessionMessage{Context: t.Context, Text: text, Channel: coordination.ChannelOf(thread), To: "channel:" + p.ChannelID,
		Account: p.AccountID, ThreadID: thread}, now)
}

// failed returns the consequences of a request that was given up, or whose delivery is unknown.
func (s *Service) failed(tx eventstore.Tx, row *responses.Row, t *requestTask, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	n := collaborate.Next{Code: o.Code, Text: o.Text, Unknown: o.State == delivery.Unknown, Escalate: o.Escalate, Forget: o.Forget}
	appends, err := one(coordination.CollabStream(row.ID), t.Plan.Failed(t.Context, row.ID, cmp.Or(o.ThreadID, t.Plan.ThreadID), n), now)
	if err != nil {
		return nil, err
	}
	told, err := s.notifyFailure(tx, row, t, o, now)
	if err != nil || !n.Escalate {
		return append(appends, told...), err
	}
	people, err := s.notifyPeople(row, t, o, now)
	return append(append(appends, told...), people...), err
}

// notifyFailure reports the failure to the requesting session if it was told before that the request is under way. A call that still waits
// gets it as the tool's answer.
func (s *Service) notifyFailure(tx eventstore.Tx, row *responses.Row, t *requestTask, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	p := &t.Plan
	if p.SessionKey == "" || now.UnixMilli()-t.At < s.o.Wait.Milliseconds() {
		return nil, nil
	}
	what := "Your request to %s was not posted"
	if o.State == delivery.Unknown {
		what = "It is unknown whether your request to %s was posted"
	}
	why, hint := failureText(channelOf(row), o.Code)
	return s.appendMessage(tx, p.SessionKey, coordination.SessionMessage{Context: t.Context,
		Text: fmt.Sprintf("["+what+" (%s)]\n%s\n\n%s: %s.", p.TargetName, o.Code, p.Original, why, hint)}, now)
}

// notifyPeople returns the delivery that reports the failure to people.
func (s *Service) notifyPeople(row *responses.Row, t *requestTask, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	p := &t.Plan
	in := s.o.Config().Language()
	text := in.Say("%[2]s에게 보낸 %[1]s의 요청이 게시되지 않았습니다 (%[3]s: %[4]s)", "a request of %s to %s was not posted (%s: %s)")
	if o.State == delivery.Unknown {
		text = in.Say("%[2]s에게 보낸 %[1]s의 요청이 게시되었는지 알 수 없습니다 (%[3]s: %[4]s)", "it is unknown whether a request of %s to %s was posted (%s: %s)")
	}
	why, hint := failureWords(in, channelOf(row), o.Code)
	return s.noticePost(row, &failedRequest{p.From, p.AccountID, p.GuildID, t.Context}, fmt.Sprintf(text, p.FromName, p.TargetName, o.Code, cmp.Or(o.Text, why)),
		in.Say(hint, cmp.Or(o.Hint, hint)), fmt.Sprintf("collab/%s/failed/%d", row.ID, row.Version), now) // the version grows with each failure
}

type failedRequest struct {
	agent, account, guild string
	context               coordination.Context
}

// noticePost returns a line for the notices of the request's channel, else of another one, that mentions the configured people; none
// if no channel has notices.
func (s *Service) noticePost(row *responses.Row, f *failedRequest, text, hint, effectID string, now time.Time) ([]eventstore.StreamAppend, error) {
	conf := s.o.Config()
	channel, account, guild := channelOf(row), f.account, f.guild
	if other := s.noticesOf(conf, channel); other != channel {
		channel, account, guild = other, defaultAccount(conf, other), ""
	}
	to := conf.Channel(channel).Collaboration.Escalation.ChannelID
	if to == "" {
		return nil, nil
	}
	person, address := personOf(conf, channel), ""
	if person.UserID != "" {
		address = "<@" + person.UserID + ">\n"
	}
	text = address + delivery.Alarm(conf.Language(), text, hint)
	traits, _ := coordination.ChannelNamed(channel)
	del := delivery.Delivery{Context: f.context, Purpose: delivery.Escalate, AgentID: f.agent, AccountID: s.reporterOf(conf, channel, account),
		GuildID: guild, Messages: collaborate.ChunksFor(traits, text), Notify: notified(person.UserID), System: true, CollabID: row.ID}
	del.To(to)
	return s.posts(&del, effectID, now)
}

// noticesOf is the channel whose notices tell of a failure in a channel: its own, else the first one that is used and has some.
func (s *Service) noticesOf(conf *config.Config, own string) string {
	if conf.Channel(own).Collaboration.Escalation.ChannelID != "" {
		return own
	}
	for _, c := range coordination.Channels() {
		if conf.Channel(c.Name).Collaboration.Escalation.ChannelID != "" && s.channel(c.Name) != nil && defaultAccount(conf, c.Name) != "" {
			return c.Name
		}
	}
	return own
}

// defaultAccount is the account that speaks in a channel where no other one is due; "" for none.
func defaultAccount(conf *config.Config, channel string) (account string) {
	own := conf.Channel(channel)
	for _, a := range own.Accounts {
		switch {
		case !own.Enabled || !a.Enabled || a.Token == "":
		case strings.EqualFold(a.ID, own.DefaultAccount):
			return a.ID
		case account == "":
			account = a.ID
		}
	}
	return account
}

// reporterOf chooses the bot that reports the failure of an account: another one if there is one, since the account itself may be failing.
func (s *Service) reporterOf(conf *config.Config, channel, failing string) string {
	best, bots := failing, s.channel(channel)
	if bots == nil {
		return best
	}
	for _, b := range bots.Connected() {
		switch {
		case b.AccountID == failing:
		case b.AccountID == conf.Channel(channel).DefaultAccount:
			return b.AccountID
		case best == failing:
			best = b.AccountID
		}
	}
	return best
}

func (s *Service) isConnected(channel, account string) bool {
	bots := s.channel(channel)
	return bots != nil && slices.ContainsFunc(bots.Connected(), func(b collaborate.Bot) bool { return b.AccountID == account })
}

// decideAgain decides again about a request whose thread no longer exists.
func (s *Service) decideAgain(tx eventstore.Tx, row *responses.Row, t *requestTask, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	conf, at, collabID := s.o.Config(), now.UnixMilli(), row.ID
	gone := t.Plan.Failed(t.Context, collabID, cmp.Or(o.ThreadID, t.Plan.ThreadID),
		collaborate.Next{Code: o.Code, Text: o.Text, Redecide: true, Forget: true})
	appends, err := one(coordination.CollabStream(collabID), gone, now)
	if err != nil {
		return nil, err
	}
	situation := s.situation(conf, channelOf(row), t.Session)
	if err := read(tx, conf, situation, t.Request, at); err != nil {
		return nil, err
	}
	if err := apply(&situation.State, gone, at); err != nil {
		return nil, err
	}
	situation.Places = s.known(situation, t.Request)
	p, no := collaborate.Decide(situation, t.Request, at)
	if no != nil {
		over, err := s.failed(tx, row, t, &delivery.Outcome{State: delivery.Failed, Code: no.Reason, Text: no.Text, Hint: no.HintText, Escalate: true}, now)
		return append(appends, over...), err
	}
	next := *t
	next.Plan, next.Try = *p, t.Try+1
	more, err := next.appends(collabID, eventstore.ID{}, now)
	return append(appends, more...), err
}

// apply folds events that are about to be appended.
func apply(s *collaborate.State, e collaborate.Event, at int64) error {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return fmt.Errorf("write %s: %w", e.Type, err)
	}
	_, err = s.Apply(e.Type, data, at)
	return err
}

func one(stream string, e collaborate.Event, now time.Time) ([]eventstore.StreamAppend, error) {
	is, err := event(e, eventstore.ActorSystem, "", now)
	return []eventstore.StreamAppend{{Stream: stream, Events: []eventstore.NewEvent{is}}}, err
}

func (s *Service) posts(del *delivery.Delivery, effectID string, now time.Time) ([]eventstore.StreamAppend, error) {
	del.Context.EventRole = coordination.RoleObservability
	a, err := scheduleDelivery(del, effectID, now)
	return []eventstore.StreamAppend{a}, err
}

func notified(userID string) []string {
	if userID == "" {
		return nil
	}
	return []string{userID}
}
