package collabtools

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// maxAnswer bounds the part of an answer that is reported to the requesting session, in characters.
const maxAnswer = 8000

// Answered ends the tracking of a request that a message has answered and reports the answer to the requesting session. It is called in
// the transaction that appends a2a.collaborate.responded.
func (s *Service) Answered(tx eventstore.Tx, r *response.Request, messageID, text string, now time.Time) ([]eventstore.StreamAppend, error) {
	appends, err := s.cancelTracking(tx, r, now)
	if err != nil {
		return nil, err
	}
	row, found, err := responses.Load(tx, r.ID)
	if err != nil || !found {
		return appends, err
	}
	told, err := s.notifyAnswer(tx, &row, r.TargetAgent, r.ThreadID, row.ThreadName, text, now)
	if err != nil {
		return nil, fmt.Errorf("report message %s to the requester: %w", messageID, err)
	}
	return append(appends, told...), nil
}

// notifyAnswer puts the answer of a thread into the transcript of the requesting session, for the agent's next run. The thread's own
// session reads the answer anyway.
func (s *Service) notifyAnswer(tx eventstore.Tx, row *responses.Row, target, thread, threadName, text string, now time.Time) ([]eventstore.StreamAppend, error) {
	if row.SessionKey == "" || row.SessionKey == coordination.PlaceKey(row.FromAgent, thread, false).String() {
		return nil, nil
	}
	where := cmp.Or(strings.Join(strings.Fields(threadName), " "), thread)
	if text = coordination.Mask(text); utf8.RuneCountInString(text) > maxAnswer {
		text = coordination.Head(text, maxAnswer) + "\n(continued in the thread)"
	}
	return s.appendMessage(tx, row.SessionKey, coordination.SessionMessage{Context: row.Context, FromAgent: target,
		Text: fmt.Sprintf("[%s answered in %s]\n%s", nameOf(s.o.Config(), target), where, text)}, now)
}

// cancelTracking ends the reminders: it cancels the tracking work and what is not posted yet.
func (s *Service) cancelTracking(tx eventstore.Tx, r *response.Request, now time.Time) (appends []eventstore.StreamAppend, err error) {
	effects := []string{trackerOf(r.ID)}
	policy := Tracking(s.o.Config(), r.ThreadID)
	due := int64(policy.Steps)
	if after := policy.After.Milliseconds(); after > 0 {
		due = min(due, (now.UnixMilli()-r.SentAt)/after)
	}
	for step := r.Step + 1; int64(step) <= due; step++ { // earlier ones were posted or have failed
		effects = append(effects, reminderOf(r.ID, step))
	}
	for try := 1; try <= response.MaxEscalate; try++ {
		effects = append(effects, escalationOf(r.ID, try), escalationOf(r.ID, try)+elsewhere)
	}
	for _, effect := range effects {
		item, found, err := workqueue.Load(tx, effect)
		if err != nil {
			return nil, err
		}
		if !found || item.State == workqueue.Leased {
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

// byAnswer is the reason for ending the reminders.
const byAnswer = "answered"
