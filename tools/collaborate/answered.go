package collaborate

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/response"
	"github.com/pronto-lab/openclawd/projections/work"
)

// maxAnswer is how many characters of an answer the session that has asked is told.
const maxAnswer = 8000

// Answered is what follows when a message has answered a request: nobody is reminded any more, and the session that has asked is told. It is asked
// in the transaction that appends a2a.collaborate.responded.
func (d *Desk) Answered(tx eventstore.Tx, r *response.Request, messageID, text string, now time.Time) ([]eventstore.StreamAppend, error) {
	appends, err := d.untrack(tx, r, now)
	if err != nil {
		return nil, err
	}
	row, found, err := projection.Load(tx, r.ID)
	if err != nil || !found {
		return appends, err
	}
	told, err := d.tellAnswer(tx, &row, r.TargetAgent, r.ThreadID, row.ThreadName, text, now)
	if err != nil {
		return nil, fmt.Errorf("tell who has asked of message %s: %w", messageID, err)
	}
	return append(appends, told...), nil
}

// tellAnswer tells the session that has asked what was answered in a thread: its agent finds it there when it runs the next time. In the thread's own
// session the answer is read anyway.
func (d *Desk) tellAnswer(tx eventstore.Tx, row *projection.Row, target, thread, threadName, text string, now time.Time) ([]eventstore.StreamAppend, error) {
	if row.SessionKey == "" || row.SessionKey == coordination.ChannelKey(row.FromAgent, channel, thread).String() {
		return nil, nil
	}
	where := cmp.Or(strings.Join(strings.Fields(threadName), " "), thread)
	if text = coordination.Mask(text); utf8.RuneCountInString(text) > maxAnswer {
		text = coordination.Head(text, maxAnswer) + "\n(it goes on in the thread)"
	}
	return d.tells(tx, row.SessionKey, coordination.SessionMessage{Context: row.Context, FromAgent: target,
		Text: fmt.Sprintf("[%s answered in %s]\n%s", nameOf(d.o.Config(), target), where, text)}, now)
}

// untrack has nobody reminded: the row that follows the request goes, and what was to be posted and is not.
func (d *Desk) untrack(tx eventstore.Tx, r *response.Request, now time.Time) (appends []eventstore.StreamAppend, err error) {
	effects := []string{trackerOf(r.ID)}
	policy := trackingOf(d.o.Config())
	due := int64(policy.Steps)
	if after := policy.After.Milliseconds(); after > 0 {
		due = min(due, (now.UnixMilli()-r.SentAt)/after)
	}
	for step := r.Step + 1; int64(step) <= due; step++ { // the ones before were posted, or could not be
		effects = append(effects, reminderOf(r.ID, step))
	}
	for try := 1; try <= response.MaxEscalate; try++ {
		effects = append(effects, escalationOf(r.ID, try), escalationOf(r.ID, try)+elsewhere)
	}
	for _, effect := range effects {
		item, found, err := work.Load(tx, effect)
		if err != nil {
			return nil, err
		}
		if !found || item.State == work.Leased {
			continue
		}
		a, err := item.Append(coordination.TypeWorkCancelled, coordination.WorkAttempt{By: byAnswer, Reason: byAnswer}, now)
		if err != nil {
			return nil, err
		}
		appends = append(appends, a)
	}
	return appends, nil
}

// byAnswer is why nobody is reminded any more.
const byAnswer = "answered"
