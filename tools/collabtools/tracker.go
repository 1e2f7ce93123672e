package collabtools

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
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// TrackerKind is the kind of the work that tracks a request: one row per request that awaits an answer, due at the next reminder or
// escalation.
const TrackerKind = "collab_tracker"

// TrackerPool is the pool of that work.
const TrackerPool = "collab"

// Tracker returns the handler of TrackerKind.
func (s *Service) Tracker() worker.Handler { return &tracker{s} }

// tracker handles tracking work entirely in Begin: posts are deliveries, and the row waits for the next step.
type tracker struct{ service *Service }

const (
	trackerPrefix = "collab/"
	trackerSuffix = "/tracker"

	// elsewhere is the id suffix of an escalation posted to the channel of notices, in addition to the one in the thread.
	elsewhere = "/channel"
)

// trackerOf returns the effect id, and the key, of a request's tracking work.
func trackerOf(collabID string) string { return trackerPrefix + collabID + trackerSuffix }

func reminderOf(collabID string, step int) string {
	return fmt.Sprintf("collab/%s/remind/%d", collabID, step)
}

func escalationOf(collabID string, try int) string {
	return fmt.Sprintf("collab/%s/escalate/%d", collabID, try)
}

// Tracking is how unanswered requests are followed up in the channel of a place or thread.
func Tracking(conf *config.Config, place string) response.Policy {
	r := &conf.Channel(coordination.ChannelOf(place)).Retry
	return response.Policy{Enabled: r.Enabled, After: r.ResponseTimeout, Steps: r.MaxAttempts, Notify: r.NotifyOnFailure}
}

// personOf returns the person to escalate to in a channel; the zero Party for none.
func personOf(conf *config.Config, channel string) response.Party {
	own := conf.Channel(channel)
	id := cmp.Or(own.Collaboration.Escalation.MentionUserID, own.Retry.EscalationUserID)
	return response.Party{Name: own.Mentions[id], UserID: id}
}

// channelOf is the channel of a request: that of its thread, else of the place for it.
func channelOf(row *responses.Row) string {
	return coordination.ChannelOf(cmp.Or(row.ThreadID, row.ChannelID))
}

// Begin implements worker.Handler.
func (t *tracker) Begin(tx eventstore.Tx, item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	id := strings.TrimSuffix(strings.TrimPrefix(item.EffectID, trackerPrefix), trackerSuffix)
	row, found, err := responses.Load(tx, id)
	if err != nil {
		return nil, err
	}
	conf := t.service.o.Config()
	policy := Tracking(conf, row.ThreadID)
	if !found {
		return t.over(&item, now)
	}
	switch a := row.Next(policy, now.UnixMilli()); {
	case a.Kind != response.Nothing:
		return t.act(tx, &item, &row, a, policy, now)
	case a.LookAgainAt > now.UnixMilli():
		return t.schedule(&item, a.LookAgainAt, now)
	}
	return t.over(&item, now)
}

func (t *tracker) over(item *workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	a, err := item.Append(coordination.TypeWorkCompleted, coordination.WorkAttempt{}, now)
	return []eventstore.StreamAppend{a}, err
}

// schedule makes the row due at a time, ms since 1970.
func (t *tracker) schedule(item *workqueue.Item, dueAt int64, now time.Time) ([]eventstore.StreamAppend, error) {
	a, err := item.Append(coordination.TypeWorkReleased, coordination.WorkAttempt{DueAtMs: max(dueAt, now.UnixMilli()+1)}, now)
	return []eventstore.StreamAppend{a}, err
}

// act posts the due reminder or escalation and waits for the next step. A post that is still pending is not requested again.
func (t *tracker) act(tx eventstore.Tx, item *workqueue.Item, row *responses.Row, a response.Action, policy response.Policy, now time.Time,
) ([]eventstore.StreamAppend, error) {
	if a.Quiet {
		done, err := one(coordination.CollabStream(row.ID), collaborate.Event(row.Done(a, "", "")), now)
		if err != nil {
			return nil, err
		}
		asker, err := t.service.notifyEscalated(tx, row, a.Minutes, now)
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
	later, err := t.schedule(item, next, now)
	if err != nil {
		return nil, err
	}
	if asked {
		_, waiting, err := workqueue.Load(tx, effect)
		if err == nil && !waiting && a.Kind == response.Escalate { // it ended with an unknown outcome
			return t.over(item, now)
		}
		return later, err
	}
	told, err := t.service.trackerPosts(tx, row, a, effect, now)
	if err == nil && a.Kind == response.Escalate {
		var asker []eventstore.StreamAppend
		asker, err = t.service.notifyEscalated(tx, row, a.Minutes, now)
		told = append(told, asker...)
	}
	return append(told, later...), err
}

const selectAsked = `SELECT 1 FROM streams WHERE name = ?`

// isAsked reports whether an effect was ever requested, pending or not.
func isAsked(tx eventstore.Tx, effectID string) (is bool, err error) {
	err = tx.Query(selectAsked, []any{coordination.WorkStream(effectID)}, func(eventstore.Row) error {
		is = true
		return nil
	})
	return is, err
}

// Do implements worker.Handler. Tracking work is never leased.
func (t *tracker) Do(_ context.Context, item workqueue.Item) error {
	return errors.New("the row " + item.EffectID + " tracks a request and has no outside effect")
}

// Lost implements worker.Handler.
func (t *tracker) Lost(_ eventstore.Tx, item workqueue.Item, why string, now time.Time) ([]eventstore.StreamAppend, error) {
	a, err := item.Append(coordination.TypeWorkLeaseExpired, coordination.WorkAttempt{Attempt: item.Attempt, Reason: why}, now)
	return []eventstore.StreamAppend{a}, err
}

type trackerPost struct {
	Kind    response.Kind `json:"kind"`
	Step    int           `json:"step"`
	Of      int           `json:"of"`
	Minutes int           `json:"minutes"`
}

func (t *trackerPost) action(id string) response.Action {
	return response.Action{Kind: t.Kind, RequestID: id, Step: t.Step, Of: t.Of, Minutes: t.Minutes}
}

// trackerPosts returns the posts of a reminder or an escalation: in the thread, by the bot of the requesting agent; an escalation once in the
// channel of notices, too.
func (s *Service) trackerPosts(tx eventstore.Tx, row *responses.Row, a response.Action, effectID string, now time.Time) ([]eventstore.StreamAppend, error) {
	conf := s.o.Config()
	target := response.Party{Name: nameOf(conf, row.TargetAgent), UserID: row.TargetBot}
	detail, err := json.Marshal(trackerPost{a.Kind, a.Step, a.Of, a.Minutes})
	if err != nil {
		return nil, fmt.Errorf("encode the notice: %w", err)
	}
	channel := channelOf(row)
	del := delivery.Delivery{Context: row.Context, Channel: coordination.OtherChannel(row.ThreadID), AgentID: row.FromAgent, AccountID: row.FromAccount, GuildID: row.GuildID, ChannelID: row.ChannelID,
		ThreadID: row.ThreadID, System: true, CollabID: row.ID}
	inThread := del
	inThread.Detail = detail
	if a.Kind == response.Remind {
		inThread.Purpose, inThread.Messages, inThread.Notify = delivery.Reminder, []string{response.Reminder(target)}, notified(target.UserID)
		return s.posts(&inThread, effectID, now)
	}
	person := personOf(conf, channel)
	text := response.Escalation(person, target, a.Minutes)
	inThread.Purpose, inThread.Messages, inThread.Notify = delivery.Escalate, []string{text}, notified(person.UserID)
	appends, err := s.posts(&inThread, effectID, now)
	to := conf.Channel(channel).Collaboration.Escalation.ChannelID
	if err != nil || to == "" || to == row.ThreadID {
		return appends, err
	}
	if told, err := isTold(tx, row); err != nil || told {
		return appends, err
	}
	beside := del
	beside.Purpose, beside.Notify = delivery.Escalate, notified(person.UserID)
	beside.To(to)
	beside.Messages = []string{text + "\n" + whereOf(row)}
	if !s.isConnected(channel, row.FromAccount) {
		beside.AccountID = s.reporterOf(conf, channel, row.FromAccount)
	}
	more, err := s.posts(&beside, effectID+elsewhere, now)
	return append(appends, more...), err
}

// notifyEscalated reports once to the requesting session that there was no answer, in the words of a flow without an answer.
func (s *Service) notifyEscalated(tx eventstore.Tx, row *responses.Row, minutes int, now time.Time) ([]eventstore.StreamAppend, error) {
	if row.SessionKey == "" || row.Tries > 0 {
		return nil, nil
	}
	conf, where := s.o.Config(), cmp.Or(strings.Join(strings.Fields(row.ThreadName), " "), row.ThreadID)
	text := a2a.OutcomeText(response.Silence(nameOf(conf, row.TargetAgent), minutes), "")
	return s.appendMessage(tx, row.SessionKey, coordination.SessionMessage{Context: row.Context, FromAgent: row.TargetAgent,
		Text: fmt.Sprintf("%s\n\n→ %s: %s", text, where, row.Original)}, now)
}

// isTold reports whether an earlier attempt has already posted the escalation to the channel of notices, or is about to.
func isTold(tx eventstore.Tx, row *responses.Row) (bool, error) {
	for try := 1; try <= row.Tries; try++ {
		effect := escalationOf(row.ID, try) + elsewhere
		asked, err := isAsked(tx, effect)
		switch {
		case err != nil:
			return false, err
		case !asked:
			continue
		}
		if item, found, err := workqueue.Load(tx, effect); err != nil || !found || item.State != workqueue.Dead {
			return err == nil, err
		}
	}
	return false, nil
}

// whereOf says where a request stands: as a link, or by the thread's name where there is none.
func whereOf(row *responses.Row) string {
	return cmp.Or(coordination.Link(row.GuildID, row.ThreadID, "", nil), strings.Join(strings.Fields(row.ThreadName), " "), row.ThreadID)
}

// Reported returns the consequences of the end of a delivery of purpose reminder or escalate about a request; nil for others.
func (s *Service) Reported(tx eventstore.Tx, effectID string, del *delivery.Delivery, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	if del.CollabID == "" || len(del.Detail) == 0 {
		return nil, nil
	}
	t := trackerPost{}
	if err := json.Unmarshal(del.Detail, &t); err != nil {
		return nil, fmt.Errorf("decode the notice of %s: %w", effectID, err)
	}
	row, found, err := responses.Load(tx, del.CollabID)
	if err != nil || !found {
		return nil, err
	}
	a, message, code := t.action(row.ID), "", ""
	switch {
	case o.State == delivery.Done && len(o.MessageIDs) > 0:
		message = o.MessageIDs[0]
	case o.State == delivery.Unknown:
		a.Quiet, code = true, collaborate.CodeUnknown // it may have been posted, so it is not posted again
	default:
		code = cmp.Or(o.Code, collaborate.CodeUnavailable)
	}
	if code == collaborate.CodeNotFound && row.Status.Open() {
		return s.threadLost(tx, &row, a, now)
	}
	return one(coordination.CollabStream(row.ID), collaborate.Event(row.Done(a, message, code)), now)
}

// threadLost returns the consequences of the loss of a thread that awaits an answer: the request fails, and the requester is told,
// and people unless they just were.
func (s *Service) threadLost(tx eventstore.Tx, row *responses.Row, a response.Action, now time.Time) ([]eventstore.StreamAppend, error) {
	appends, err := one(coordination.CollabStream(row.ID), collaborate.Event(row.Impossible(collaborate.CodeNotFound)), now)
	if err != nil {
		return nil, err
	}
	conf, where := s.o.Config(), cmp.Or(strings.Join(strings.Fields(row.ThreadName), " "), row.ThreadID)
	from, target := nameOf(conf, row.FromAgent), nameOf(conf, row.TargetAgent)
	if row.SessionKey != "" {
		told, err := s.appendMessage(tx, row.SessionKey, coordination.SessionMessage{Context: row.Context,
			Text: fmt.Sprintf("[%s can no longer answer: thread %s is gone]\n%s", target, where, row.Original)}, now)
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
		"%s can no longer answer a request of %s: thread %s is gone"), target, from, where)
	people, err := s.noticePost(row, &failedRequest{row.FromAgent, row.FromAccount, row.GuildID, row.Context}, text,
		in.Say("아직 필요하면 다시 요청하게 하세요", "repeat the request if it still matters"), fmt.Sprintf("collab/%s/gone", row.ID), now)
	return append(appends, people...), err
}
