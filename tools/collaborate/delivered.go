package collaborate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	tracking "github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/response"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// Delivered is what follows from the end of a delivery of purpose request: an outbound.Then, by shape.
func (d *Desk) Delivered(tx eventstore.Tx, effectID string, del *delivery.Delivery, o *delivery.Outcome, now time.Time,
) ([]eventstore.StreamAppend, error) {
	if del.CollabID == "" {
		return nil, nil
	}
	t := &task{}
	if err := json.Unmarshal(del.Detail, t); err != nil {
		return nil, fmt.Errorf("read what is asked by %s: %w", effectID, err)
	}
	t.Plan.Messages = del.Messages
	row, found, err := response.Load(tx, del.CollabID)
	if err != nil || !found || row.Delivery == collaborate.StatusSent {
		return nil, err
	}
	switch o.State {
	case delivery.Done:
		return d.sent(tx, &row, t, o, now)
	case delivery.Anew:
		return d.anew(tx, &row, t, o, now)
	}
	return d.failed(tx, &row, t, o, now)
}

// sent is what follows when a request stands in its thread: both agents take part, the requester's session of the thread knows what was asked, and
// an answer is waited for, unless it was faster.
func (d *Desk) sent(tx eventstore.Tx, row *response.Row, t *task, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	p, conf := &t.Plan, d.o.Config()
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
		route.Bot{Agent: p.Target, UserID: p.TargetBotID}, now.UnixMilli(), conf.Discord.Collaboration.ParticipantTTL))
	if err != nil {
		return nil, err
	}
	recalled, err := d.recall(tx, t, thread, now)
	if err != nil {
		return nil, err
	}
	appends = append(append(appends, joined...), recalled...)
	answer, err := answered(tx, row, sent, thread, now)
	if err != nil {
		return nil, err
	}
	policy := trackingOf(conf)
	switch {
	case answer != nil:
		told, err := d.tellAnswer(tx, row, p.Target, thread, p.ThreadName, answer.text, now)
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

// early is an answer that came before the log knew that the request was sent.
type early struct {
	append eventstore.StreamAppend
	text   string
}

// answered finds the message that has answered a request already, nil if none has. Discord tells of what is posted before it says that it is, and
// after a restart the log may know for long what was answered before it knows what was asked.
func answered(tx eventstore.Tx, row *response.Row, sent collaborate.Event, thread string, now time.Time) (*early, error) {
	asked, ok := sent.Data.(collaborate.Sent)
	if !ok || !asked.Tracked {
		return nil, nil
	}
	heard, err := routing.Answers(tx, thread, asked.TargetAgent, row.Seq)
	if err != nil || len(heard) == 0 {
		return nil, err
	}
	waiting, err := response.Thread(tx, thread)
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
		e, ok := waiting.Match(tracking.Message{ID: m.ID, ThreadID: thread, AgentID: m.AuthorAgent, At: m.At, Text: m.Text, System: m.System,
			CausedBy: m.CausedBy, CollabID: m.CollabID})
		said, is := e.Data.(tracking.Responded)
		if !ok || !is || said.RequestID != row.ID {
			continue
		}
		appends, err := one(coordination.CollabStream(row.ID), collaborate.Event(e), now)
		if err != nil {
			return nil, err
		}
		return &early{appends[0], m.Text}, nil
	}
	return nil, nil
}

// registered are the events of who takes part in a thread from now on.
func registered(thread string, events []route.Event) ([]eventstore.StreamAppend, error) {
	if len(events) == 0 {
		return nil, nil
	}
	a := eventstore.StreamAppend{Stream: coordination.ThreadStream(thread)}
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", e.Type, err)
		}
		a.Events = append(a.Events, eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: eventstore.ActorSystem, Data: data}.WithTS(e.At))
	}
	return []eventstore.StreamAppend{a}, nil
}

// recall tells the requester, in its own session of the thread, what it has asked there. The session that asks itself knows.
func (d *Desk) recall(tx eventstore.Tx, t *task, thread string, now time.Time) ([]eventstore.StreamAppend, error) {
	p := &t.Plan
	name, text := p.Recall(thread, p.SessionKey, t.Context.TaskID)
	if name == p.SessionKey {
		return nil, nil
	}
	return d.tells(tx, name, coordination.SessionMessage{Context: t.Context, Text: text, Channel: channel, To: "channel:" + p.ChannelID,
		Account: p.AccountID, ThreadID: thread}, now)
}

// failed is what follows when a request was given up, or nobody knows.
func (d *Desk) failed(tx eventstore.Tx, row *response.Row, t *task, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	n := collaborate.Next{Code: o.Code, Text: o.Text, Unknown: o.State == delivery.Unknown, Escalate: o.Escalate, Forget: o.Forget}
	appends, err := one(coordination.CollabStream(row.ID), t.Plan.Failed(t.Context, row.ID, cmp.Or(o.ThreadID, t.Plan.ThreadID), n), now)
	if err != nil {
		return nil, err
	}
	told, err := d.tellFailure(tx, t, o, now)
	if err != nil || !n.Escalate {
		return append(appends, told...), err
	}
	people, err := d.tellPeople(row, t, o, now)
	return append(append(appends, told...), people...), err
}

// tellFailure tells the session that has asked that its request has failed, if it was told before that it is under way. Whoever still waits for the
// answer of the tool is told there.
func (d *Desk) tellFailure(tx eventstore.Tx, t *task, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	p := &t.Plan
	if p.SessionKey == "" || now.UnixMilli()-t.At < d.o.Wait.Milliseconds() {
		return nil, nil
	}
	what := "Your request to %s was not posted"
	if o.State == delivery.Unknown {
		what = "Nobody knows whether your request to %s was posted"
	}
	why, mend := failureText(o.Code)
	return d.tells(tx, p.SessionKey, coordination.SessionMessage{Context: t.Context,
		Text: fmt.Sprintf("["+what+" (%s)]\n%s\n\n%s: %s.", p.TargetName, o.Code, p.Original, why, mend)}, now)
}

// tellPeople asks for a post that says what has failed.
func (d *Desk) tellPeople(row *response.Row, t *task, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	p := &t.Plan
	in := d.o.Config().Language()
	text := in.Say("%[2]s에게 보낸 %[1]s의 요청이 게시되지 않았습니다 (%[3]s: %[4]s)", "a request of %s to %s was not posted (%s: %s)")
	if o.State == delivery.Unknown {
		text = in.Say("%[2]s에게 보낸 %[1]s의 요청이 게시되었는지 알 수 없습니다 (%[3]s: %[4]s)", "nobody knows whether a request of %s to %s was posted (%s: %s)")
	}
	why, mend := failureWords(in, o.Code)
	return d.warns(row, &failing{p.From, p.AccountID, p.GuildID, t.Context}, fmt.Sprintf(text, p.FromName, p.TargetName, o.Code, cmp.Or(o.Text, why)),
		in.Say(mend, cmp.Or(o.Mend, mend)), fmt.Sprintf("collab/%s/failed/%d", row.ID, row.Version), now) // the version grows with each failure
}

// failing is whose request has failed, and by which account.
type failing struct {
	agent, account, guild string
	context               coordination.Context
}

// warns asks for a line where people are told of such things, which calls who is configured; nowhere if there is no such place.
func (d *Desk) warns(row *response.Row, f *failing, text, mend, effectID string, now time.Time) ([]eventstore.StreamAppend, error) {
	conf := d.o.Config()
	to := conf.Discord.Collaboration.Escalation.ChannelID
	if to == "" {
		return nil, nil
	}
	person, address := personOf(conf), ""
	if person.UserID != "" {
		address = "<@" + person.UserID + ">\n"
	}
	text = address + delivery.Alarm(conf.Language(), text, mend)
	return d.posts(&delivery.Delivery{Context: f.context, Purpose: delivery.Escalate, AgentID: f.agent, AccountID: d.herald(conf, f.account),
		GuildID: f.guild, ChannelID: to, Messages: collaborate.Chunks(text), Notify: notified(person.UserID), System: true, CollabID: row.ID},
		effectID, now)
}

// herald is whose bot tells people of the failure of an account: another one's, if there is one. It may be the account itself that fails.
func (d *Desk) herald(conf *config.Config, failing string) string {
	best := failing
	if d.o.Discord == nil {
		return best
	}
	for _, b := range d.o.Discord.Connected() {
		switch {
		case b.AccountID == failing:
		case b.AccountID == conf.Discord.DefaultAccount:
			return b.AccountID
		case best == failing:
			best = b.AccountID
		}
	}
	return best
}

func (d *Desk) isConnected(account string) bool {
	return d.o.Discord != nil && slices.ContainsFunc(d.o.Discord.Connected(), func(b collaborate.Bot) bool { return b.AccountID == account })
}

// anew decides about a request again whose thread, one from before, is no more.
func (d *Desk) anew(tx eventstore.Tx, row *response.Row, t *task, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	conf, at, collabID := d.o.Config(), now.UnixMilli(), row.ID
	gone := t.Plan.Failed(t.Context, collabID, cmp.Or(o.ThreadID, t.Plan.ThreadID),
		collaborate.Next{Code: o.Code, Text: o.Text, Anew: true, Forget: true})
	appends, err := one(coordination.CollabStream(collabID), gone, now)
	if err != nil {
		return nil, err
	}
	s := d.situation(conf, t.Session)
	if err := read(tx, conf, s, t.Request, at); err != nil {
		return nil, err
	}
	if err := apply(&s.State, gone, at); err != nil {
		return nil, err
	}
	s.Places = d.known(s, t.Request)
	p, no := collaborate.Decide(s, t.Request, at)
	if no != nil {
		over, err := d.failed(tx, row, t, &delivery.Outcome{State: delivery.Failed, Code: no.Reason, Text: no.Text, Mend: no.Mend, Escalate: true}, now)
		return append(appends, over...), err
	}
	next := *t
	next.Plan, next.Try = *p, t.Try+1
	more, err := next.appends(collabID, eventstore.ID{}, now)
	return append(appends, more...), err
}

// apply folds what is going to be appended.
func apply(s *collaborate.State, e collaborate.Event, at int64) error {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return fmt.Errorf("write %s: %w", e.Type, err)
	}
	_, err = s.Apply(e.Type, data, at)
	return err
}

// one is the append of one event that the system has.
func one(stream string, e collaborate.Event, now time.Time) ([]eventstore.StreamAppend, error) {
	is, err := event(e, eventstore.ActorSystem, "", now)
	return []eventstore.StreamAppend{{Stream: stream, Events: []eventstore.NewEvent{is}}}, err
}

// posts asks for a delivery of the system's.
func (d *Desk) posts(del *delivery.Delivery, effectID string, now time.Time) ([]eventstore.StreamAppend, error) {
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
