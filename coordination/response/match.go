package response

import "slices"

// Message is a message in Discord, as far as it may be an answer.
type Message struct {
	ID       string
	ThreadID string
	AgentID  string // of the agent whose bot has written it; "" for everybody else
	At       int64  // ms since 1970
	ReplyTo  string // the message that it is a reply to; ""
	CausedBy string // the message that the run was asked by which has said it; "" if none has, or that is not known
	CollabID string // likewise: the request that this message was, or reminded of; "" if it was about none
	Nonce    string // "" if it is not known
	Text     string
	System   bool // a reminder, an escalation, a notice of ours
	Report   bool // posted by a sink: a report about what happens elsewhere
}

// Match is the request that a message answers, as an event. ok is false if it answers none, or has answered one before.
//
// It is the one that the message replies to; else the one by which the run was asked that has said the message. Only where neither is known, as with
// what is said to a person who has asked about it, it is the oldest one that is open, of those that came before the cause of the message. The message is
// of the target, in the thread of the request, and came after it: by the ids that Discord gave them, as clocks differ, and by time where one of them has
// no such id. What replies to a request, or was caused by one, that is over or is another agent's, answers none.
func (s *State) Match(m Message) (e Event, ok bool) {
	if m.ID == "" || m.AgentID == "" || s.said(m) || s.answered(m.ID) || s.posted(m.ID) {
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

// repliedTo is the request that a message is about, be it a reminder of it; nil if it is about none.
func (s *State) repliedTo(messageID string) *Request {
	for i := range s.Requests {
		if r := &s.Requests[i]; messageID != "" && (slices.Contains(r.MessageIDs, messageID) || slices.Contains(r.SystemIDs, messageID)) {
			return r
		}
	}
	return nil
}

// oldest is the request that has waited longest for such a message, and was there before its cause; nil if there is none.
func (s *State) oldest(m Message) *Request {
	for i := range s.Requests {
		if r := &s.Requests[i]; r.answeredBy(m) && !r.cameAfter(m.CausedBy) {
			return r
		}
	}
	return nil
}

// said says whether the message is the system's own.
func (s *State) said(m Message) bool {
	return m.System || m.Report || SystemNonce(m.Nonce) || SystemText(m.Text)
}

// cameAfter says whether a message is known to have come before the request.
func (r *Request) cameAfter(messageID string) bool {
	if len(r.MessageIDs) == 0 {
		return false
	}
	yes, known := earlier(messageID, r.MessageIDs[0])
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
		if yes, known := earlier(r.MessageIDs[0], m.ID); known {
			return yes
		}
	}
	return m.At >= r.SentAt
}
