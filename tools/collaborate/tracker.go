package collaborate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/response"
	"github.com/pronto-lab/openclawd/projections/work"
)

// TrackerKind is the kind of work that following a request is: one row for each request that waits for an answer, due when something has to be done
// about it.
const TrackerKind = "collab_tracker"

// TrackerPool is its pool.
const TrackerPool = "collab"

// Tracker is the handler of TrackerKind.
func (d *Desk) Tracker() worker.Handler { return &tracker{d} }

// tracker has requests followed. All of it is done as a row begins: what is posted is a delivery, and the row waits for what is due next.
type tracker struct{ desk *Desk }

const (
	trackerPrefix = "collab/"
	trackerSuffix = "/tracker"

	// elsewhere ends the id of an escalation that is posted where people are told, beside the one in the thread.
	elsewhere = "/channel"
)

// trackerOf is the effect id, and the key, of the row that follows a request.
func trackerOf(collabID string) string { return trackerPrefix + collabID + trackerSuffix }

func reminderOf(collabID string, step int) string {
	return fmt.Sprintf("collab/%s/remind/%d", collabID, step)
}

func escalationOf(collabID string, try int) string {
	return fmt.Sprintf("collab/%s/escalate/%d", collabID, try)
}

// trackingOf says how requests are followed.
func trackingOf(conf *config.Config) response.Policy {
	r := &conf.Discord.Retry
	return response.Policy{Enabled: r.Enabled, After: r.ResponseTimeout, Steps: r.MaxAttempts, Notify: r.NotifyOnFailure}
}

// personOf is who is told in the end; the zero Party is nobody.
func personOf(conf *config.Config) response.Party {
	id := cmp.Or(conf.Discord.Collaboration.Escalation.MentionUserID, conf.Discord.Retry.EscalationUserID)
	return response.Party{Name: conf.Discord.Mentions[id], UserID: id}
}

// Begin is that of worker.Handler.
func (t *tracker) Begin(tx eventstore.Tx, item work.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	id := strings.TrimSuffix(strings.TrimPrefix(item.EffectID, trackerPrefix), trackerSuffix)
	row, found, err := projection.Load(tx, id)
	if err != nil {
		return nil, err
	}
	conf := t.desk.o.Config()
	policy := trackingOf(conf)
	if !found {
		return t.over(&item, now)
	}
	switch a := row.Next(policy, now.UnixMilli()); {
	case a.Kind != response.Nothing:
		return t.act(tx, &item, &row, a, policy, now)
	case a.LookAgainAt > now.UnixMilli():
		return t.waits(&item, a.LookAgainAt, now)
	}
	return t.over(&item, now)
}

// over is that nothing is to be done about a request any more.
func (t *tracker) over(item *work.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	a, err := item.Append(coordination.TypeWorkCompleted, coordination.WorkAttempt{}, now)
	return []eventstore.StreamAppend{a}, err
}

// waits is that something is to be done at a time, ms since 1970.
func (t *tracker) waits(item *work.Item, dueAt int64, now time.Time) ([]eventstore.StreamAppend, error) {
	a, err := item.Append(coordination.TypeWorkReleased, coordination.WorkAttempt{DueAtMs: max(dueAt, now.UnixMilli()+1)}, now)
	return []eventstore.StreamAppend{a}, err
}

// act has somebody told, and waits for the next step. What was asked for and is not posted yet is not asked for twice.
func (t *tracker) act(tx eventstore.Tx, item *work.Item, row *projection.Row, a response.Action, policy response.Policy, now time.Time,
) ([]eventstore.StreamAppend, error) {
	if a.Quiet {
		done, err := one(coordination.CollabStream(row.ID), collaborate.Event(row.Done(a, "", "")), now)
		if err != nil {
			return nil, err
		}
		asker, err := t.desk.tellEscalated(tx, row, a.Minutes, now)
		if err != nil {
			return nil, err
		}
		over, err := t.over(item, now)
		return append(append(done, asker...), over...), err
	}
	effect, next := reminderOf(row.ID, a.Step), row.SentAt+int64(a.Step+1)*policy.After.Milliseconds()
	if a.Kind == response.Escalate {
		effect, next = escalationOf(row.ID, row.Tries+1), now.Add(response.EscalateWait).UnixMilli()
	}
	asked, err := isAsked(tx, effect)
	if err != nil {
		return nil, err
	}
	later, err := t.waits(item, next, now)
	if err != nil {
		return nil, err
	}
	if asked {
		_, waiting, err := work.Load(tx, effect)
		if err == nil && !waiting && a.Kind == response.Escalate { // it has ended, and nobody could say how
			return t.over(item, now)
		}
		return later, err
	}
	told, err := t.desk.tellsOf(tx, row, a, effect, now)
	if err == nil && a.Kind == response.Escalate {
		var asker []eventstore.StreamAppend
		asker, err = t.desk.tellEscalated(tx, row, a.Minutes, now)
		told = append(told, asker...)
	}
	return append(told, later...), err
}

const selectAsked = `SELECT 1 FROM streams WHERE name = ?`

// isAsked reports whether something was asked for once, be it over or not.
func isAsked(tx eventstore.Tx, effectID string) (is bool, err error) {
	err = tx.Query(selectAsked, []any{coordination.WorkStream(effectID)}, func(eventstore.Row) error {
		is = true
		return nil
	})
	return is, err
}

// Do is that of worker.Handler. Nothing is ever leased.
func (t *tracker) Do(_ context.Context, item work.Item) error {
	return errors.New("the row " + item.EffectID + " follows a request, and there is nothing to do outside")
}

// Lost is that of worker.Handler.
func (t *tracker) Lost(_ eventstore.Tx, item work.Item, why string, now time.Time) ([]eventstore.StreamAppend, error) {
	a, err := item.Append(coordination.TypeWorkLeaseExpired, coordination.WorkAttempt{Attempt: item.Attempt, Reason: why}, now)
	return []eventstore.StreamAppend{a}, err
}

// telling is what a reminder or an escalation carries.
type telling struct {
	Kind    response.Kind `json:"kind"`
	Step    int           `json:"step"`
	Of      int           `json:"of"`
	Minutes int           `json:"minutes"`
}

func (t *telling) action(id string) response.Action {
	return response.Action{Kind: t.Kind, RequestID: id, Step: t.Step, Of: t.Of, Minutes: t.Minutes}
}

// tellsOf asks for the posts of a reminder or an escalation: in the thread, by the bot of the agent who has asked; an escalation also where people
// are told of such things, once.
func (d *Desk) tellsOf(tx eventstore.Tx, row *projection.Row, a response.Action, effectID string, now time.Time) ([]eventstore.StreamAppend, error) {
	conf := d.o.Config()
	target := response.Party{Name: nameOf(conf, row.TargetAgent), UserID: row.TargetBot}
	detail, err := json.Marshal(telling{a.Kind, a.Step, a.Of, a.Minutes})
	if err != nil {
		return nil, fmt.Errorf("write what is told: %w", err)
	}
	del := delivery.Delivery{Context: row.Context, AgentID: row.FromAgent, AccountID: row.FromAccount, GuildID: row.GuildID, ChannelID: row.ChannelID,
		ThreadID: row.ThreadID, System: true, CollabID: row.ID}
	inThread := del
	inThread.Detail = detail
	if a.Kind == response.Remind {
		inThread.Purpose, inThread.Messages, inThread.Notify = delivery.Reminder, []string{response.Reminder(target)}, notified(target.UserID)
		return d.posts(&inThread, effectID, now)
	}
	person := personOf(conf)
	text := response.Escalation(person, target, a.Minutes)
	inThread.Purpose, inThread.Messages, inThread.Notify = delivery.Escalate, []string{text}, notified(person.UserID)
	appends, err := d.posts(&inThread, effectID, now)
	to := conf.Discord.Collaboration.Escalation.ChannelID
	if err != nil || to == "" || to == row.ThreadID {
		return appends, err
	}
	if told, err := isTold(tx, row); err != nil || told {
		return appends, err
	}
	beside := del
	beside.Purpose, beside.ChannelID, beside.ThreadID, beside.Notify = delivery.Escalate, to, "", notified(person.UserID)
	beside.Messages = []string{text + "\n" + linkTo(row.GuildID, row.ThreadID)}
	if !d.isConnected(row.FromAccount) {
		beside.AccountID = d.herald(conf, row.FromAccount)
	}
	more, err := d.posts(&beside, effectID+elsewhere, now)
	return append(appends, more...), err
}

// tellEscalated tells the session that has asked that nobody has answered, in the words of a flow without an answer, once.
func (d *Desk) tellEscalated(tx eventstore.Tx, row *projection.Row, minutes int, now time.Time) ([]eventstore.StreamAppend, error) {
	if row.SessionKey == "" || row.Tries > 0 {
		return nil, nil
	}
	conf, where := d.o.Config(), cmp.Or(strings.Join(strings.Fields(row.ThreadName), " "), row.ThreadID)
	text := a2a.OutcomeText(response.Silence(nameOf(conf, row.TargetAgent), minutes), "")
	return d.tells(tx, row.SessionKey, coordination.SessionMessage{Context: row.Context, FromAgent: row.TargetAgent,
		Text: fmt.Sprintf("%s\n\n→ %s: %s", text, where, row.Original)}, now)
}

// isTold reports whether an escalation was asked for where people are told, by an earlier try of the one in the thread, and not given up.
func isTold(tx eventstore.Tx, row *projection.Row) (bool, error) {
	for try := 1; try <= row.Tries; try++ {
		effect := escalationOf(row.ID, try) + elsewhere
		asked, err := isAsked(tx, effect)
		switch {
		case err != nil:
			return false, err
		case !asked:
			continue
		}
		if item, found, err := work.Load(tx, effect); err != nil || !found || item.State != work.Dead {
			return err == nil, err
		}
	}
	return false, nil
}

// linkTo is where somebody who clicks finds a thread.
func linkTo(guild, thread string) string {
	return "https://discord.com/channels/" + cmp.Or(guild, "@me") + "/" + thread
}

// Told is what follows from the end of a delivery of purpose reminder or escalate that is about a request; nothing of any other.
func (d *Desk) Told(tx eventstore.Tx, effectID string, del *delivery.Delivery, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	if del.CollabID == "" || len(del.Detail) == 0 {
		return nil, nil
	}
	t := telling{}
	if err := json.Unmarshal(del.Detail, &t); err != nil {
		return nil, fmt.Errorf("read what is told by %s: %w", effectID, err)
	}
	row, found, err := projection.Load(tx, del.CollabID)
	if err != nil || !found {
		return nil, err
	}
	a, message, code := t.action(row.ID), "", ""
	switch {
	case o.State == delivery.Done && len(o.MessageIDs) > 0:
		message = o.MessageIDs[0]
	case o.State == delivery.Unknown:
		a.Quiet, code = true, collaborate.CodeUnknown // what may stand there is not posted again
	default:
		code = cmp.Or(o.Code, collaborate.CodeUnavailable)
	}
	if code == collaborate.CodeNotFound && row.Status.Open() {
		return d.goneWhileWaiting(tx, &row, a, now)
	}
	return one(coordination.CollabStream(row.ID), collaborate.Event(row.Done(a, message, code)), now)
}

// goneWhileWaiting is what follows when a thread is no more in which an answer is waited for: the request has failed, and whoever has asked is told,
// and people, unless they have just been.
func (d *Desk) goneWhileWaiting(tx eventstore.Tx, row *projection.Row, a response.Action, now time.Time) ([]eventstore.StreamAppend, error) {
	appends, err := one(coordination.CollabStream(row.ID), collaborate.Event(row.Impossible(collaborate.CodeNotFound)), now)
	if err != nil {
		return nil, err
	}
	conf, where := d.o.Config(), cmp.Or(strings.Join(strings.Fields(row.ThreadName), " "), row.ThreadID)
	from, target := nameOf(conf, row.FromAgent), nameOf(conf, row.TargetAgent)
	if row.SessionKey != "" {
		told, err := d.tells(tx, row.SessionKey, coordination.SessionMessage{Context: row.Context,
			Text: fmt.Sprintf("[%s cannot answer any more: thread %s is gone]\n%s", target, where, row.Original)}, now)
		if err != nil {
			return nil, err
		}
		appends = append(appends, told...)
	}
	if a.Kind == response.Escalate {
		return appends, nil
	}
	in := conf.Language()
	text := fmt.Sprintf(in.Say("%[1]s에게 보낸 %[2]s의 요청에 더 이상 응답할 수 없습니다: 스레드 %[3]s이(가) 사라졌습니다",
		"%s cannot answer a request of %s any more: thread %s is gone"), target, from, where)
	people, err := d.warns(row, &failing{row.FromAgent, row.FromAccount, row.GuildID, row.Context}, text,
		in.Say("아직 필요하면 다시 요청하게 하세요", "have it asked again if it still matters"), fmt.Sprintf("collab/%s/gone", row.ID), now)
	return append(appends, people...), err
}
