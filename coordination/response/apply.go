package response

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// Apply folds an event and reports whether it has an effect; an event folded before has none. Redacted data (nil) has no effect. An
// event that cannot be read is an error and changes nothing. ts is ms since 1970.
func (s *State) Apply(typ string, data []byte, ts int64) (bool, error) {
	next := State{Requests: slices.Clone(s.Requests)}
	means, err := next.fold(typ, data, ts)
	if err != nil {
		return false, fmt.Errorf("fold %s into the requests of threads: %w", typ, err)
	}
	if means {
		next.forget(ts)
		*s = next
	}
	return means, nil
}

func (s *State) fold(typ string, data []byte, ts int64) (bool, error) {
	if len(data) == 0 {
		return false, nil
	}
	switch typ {
	case coordination.TypeA2ACollaborateSent:
		var d Sent
		err := json.Unmarshal(data, &d)
		return err == nil && s.sent(d, ts), err
	case coordination.TypeA2ACollaborateResponded:
		var d Responded
		err := json.Unmarshal(data, &d)
		return err == nil && s.responded(d), err
	case coordination.TypeCollabReminded:
		var d Notified
		err := json.Unmarshal(data, &d)
		return err == nil && s.reminded(d, ts), err
	case coordination.TypeCollabEscalated:
		var d Notified
		err := json.Unmarshal(data, &d)
		return err == nil && s.escalated(d, ts), err
	case coordination.TypeA2ACollaborateFailed:
		var d Failed
		err := json.Unmarshal(data, &d)
		return err == nil && s.failed(d, ts), err
	}
	return false, nil
}

func (s *State) sent(d Sent, ts int64) bool {
	if !d.Tracked || d.RequestID == "" || d.ThreadID == "" || d.TargetAgent == "" || s.Find(d.RequestID) != nil {
		return false
	}
	r := Request{Context: d.Context, ID: d.RequestID, ThreadID: d.ThreadID, FromAgent: d.FromAgent, FromAccount: d.FromAccount,
		TargetAgent: d.TargetAgent, TargetBot: d.TargetBot, MessageIDs: d.MessageIDs, Original: Original(d.Original), SentAt: d.SentAt,
		Status: StatusPending}
	if r.SentAt == 0 {
		r.SentAt = ts
	}
	at := len(s.Requests)
	for at > 0 && s.Requests[at-1].SentAt > r.SentAt {
		at--
	}
	s.Requests = slices.Insert(s.Requests, at, r)
	return true
}

func (s *State) responded(d Responded) bool {
	r := s.Find(d.RequestID)
	if r == nil || !r.Status.Open() || s.answered(d.MessageID) {
		return false
	}
	if r.Status == StatusEscalated {
		r.Status = StatusRespondedLate
	} else {
		r.Status = StatusResponded
	}
	r.RespondedAt, r.AnswerID = d.RespondedAt, d.MessageID
	return true
}

func (s *State) reminded(d Notified, ts int64) bool {
	r := s.Find(d.RequestID)
	if r == nil {
		return false
	}
	known := r.addPosted(d.MessageID)
	if r.Status != StatusPending || d.Step <= r.Step {
		return known
	}
	r.Step, r.LastAttemptAt = d.Step, ts
	return true
}

func (s *State) escalated(d Notified, ts int64) bool {
	r := s.Find(d.RequestID)
	if r == nil {
		return false
	}
	known := r.addPosted(d.MessageID)
	if !r.Status.Open() || r.Told {
		return known
	}
	r.Status, r.Step, r.LastAttemptAt = StatusEscalated, max(r.Step, d.Step), ts
	r.Tries++
	r.Told = d.Error == "" || d.Quiet
	return true
}

// addPosted records a message that openclawd posted, and reports whether it is new.
func (r *Request) addPosted(messageID string) bool {
	if messageID == "" || slices.Contains(r.SystemIDs, messageID) {
		return false
	}
	r.SystemIDs = append(slices.Clone(r.SystemIDs), messageID)
	return true
}

func (s *State) failed(d Failed, ts int64) bool {
	r := s.Find(d.RequestID)
	if r == nil || !r.Status.Open() {
		return false
	}
	r.Status, r.Reason, r.LastAttemptAt = StatusFailed, d.Code, ts
	return true
}

// forget drops requests that ended, or were escalated, longer than Keep ago.
func (s *State) forget(ts int64) {
	s.Requests = slices.DeleteFunc(s.Requests, func(r Request) bool {
		return r.Status != StatusPending && ts-max(r.RespondedAt, r.LastAttemptAt, r.SentAt) >= Keep.Milliseconds()
	})
}
