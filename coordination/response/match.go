package response

import "slices"

// Message is a Discord message that may be an answer.
type Message struct {
	ID       string
	ThreadID string
	AgentID  string // of the agent whose bot wrote it; "" for any other author
	At       int64  // ms since 1970
	ReplyTo  string // the reply target; ""
	CausedBy string // the message that the author's run answers; "" for none or unknown
	CollabID string // likewise: the request that this message was, or reminded of; "" for none
	Nonce    string // "" if unknown
	Text     string
	System   bool // a reminder, escalation or notice from openclawd
	Report   bool // posted by a sink: a report about another place
}

// Match returns the event that a message answers a request; ok is false if it answers none, or was matched before.
//
// The answered request is the reply target; else the one that caused the author's run. If neither is known, as for an answer to a person
// who asked, it is the oldest open request from before the message's cause. The message must be from the target, in the request's
// thread, and later: by ids, since clocks differ, or by time where ids tell no order. A reply to, or consequence of, a request that is
// over or is another agent's answers none.
func (s *State) Match(m Message) (e Event, ok bool) {
	if m.ID == "" || m.AgentID == "" || s.isSystemMessage(m) || s.answered(m.ID) || s.posted(m.ID) {
		return Event{}, false
	}
	r := s.repliedTo(m.ReplyTo)
	switch {
	case r != nil:
	case m.CollabID != "":
		r = s.Find(m.CollabID)
	default:
		if r = s.repliedTo(m.CausedBy); r == nil {
			r = s.oldest(m)
		}
	}
	if r == nil || !r.answeredBy(m) {
		return Event{}, false
	}
	return r.responded(m), true
}

// repliedTo returns the request that a message is, or reminds of; nil for none.
func (s *State) repliedTo(messageID string) *Request {
	for i := range s.Requests {
		if r := &s.Requests[i]; messageID != "" && (slices.Contains(r.MessageIDs, messageID) || slices.Contains(r.SystemIDs, messageID)) {
			return r
		}
	}
	return nil
}

// oldest returns the oldest request that such a message may answer, from before its cause; nil for none.
func (s *State) oldest(m Message) *Request {
	for i := range s.Requests {
		if r := &s.Requests[i]; r.answeredBy(m) && !r.cameAfter(m.CausedBy) {
			return r
		}
	}
	return nil
}

// isSystemMessage reports whether openclawd itself wrote the message.
func (s *State) isSystemMessage(m Message) bool {
	return m.System || m.Report || SystemNonce(m.Nonce) || SystemText(m.Text)
}

// cameAfter reports whether the request is known to be later than a message.
func (r *Request) cameAfter(messageID string) bool {
	if len(r.MessageIDs) == 0 {
		return false
	}
	yes, known := precedes(messageID, r.MessageIDs[0])
	return known && yes
}

func (r *Request) answeredBy(m Message) bool {
	if !r.Status.Open() || r.ThreadID != m.ThreadID || r.TargetAgent != m.AgentID {
		return false
	}
	if r.Status == StatusEscalated && m.At >= r.LastAttemptAt+Keep.Milliseconds() {
		return false
	}
	if len(r.MessageIDs) > 0 {
		if yes, known := precedes(r.MessageIDs[0], m.ID); known {
			return yes
		}
	}
	return m.At >= r.SentAt
}
