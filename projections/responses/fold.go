package responses

import (
	"cmp"
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/projections"
)

// fold folds an event into the request, and into the state's threads. means reports whether the event concerns a
// request or a thread; changed, whether the row must be written.
func (x *row) fold(e *projections.Event, s eventData, state *collaborate.State) (means, changed bool) {
	known, data := x.Seq > 0, []byte(e.Data)
	if e.Redacted() {
		data = x.left(e.Type, e.TS)
	}
	x.remembered(e, known, state)
	held, err := state.Apply(e.Type, data, e.TS)
	if err != nil {
		return false, false
	}
	next := *x
	followed, err := next.follow(e, s, data)
	if err != nil || s.name == "" {
		return err == nil && held, false
	}
	if !known {
		if begins := held && e.Type == coordination.TypeA2ACollaborateRequested || e.Type == coordination.TypeA2ACollaborateSent; !begins {
			return held, false
		}
		next.Seq = e.Seq
	}
	if next.FromAgent == "" && s.own {
		next.FromAgent = e.AgentID
	}
	if held {
		next.hold(e, s, state)
	}
	if s.own {
		next.Version = e.Version
	}
	if s.own || held || followed {
		next.LastSeq = e.Seq
	}
	*x = next
	return held, s.own || held || followed
}

// remembered puts the request into the state, so that its changes are recorded there: a known request is not forgotten
// here. One that is to be decided again can be accepted once more.
func (x *row) remembered(e *projections.Event, known bool, state *collaborate.State) {
	held := x.earlier
	switch {
	case e.Type != coordination.TypeA2ACollaborateRequested:
		held.At = e.TS
	case !known || held.Redecide:
		return
	}
	state.Requests[x.Key] = held
}

// hold stores what later requests are compared with.
func (x *row) hold(e *projections.Event, s eventData, state *collaborate.State) {
	at := x.earlier.At
	if e.Type == coordination.TypeA2ACollaborateRequested {
		x.askedSeq, at = e.Seq, e.TS
		if x.AcceptedAt == 0 {
			x.AcceptedAt = e.TS
		}
		if !e.Redacted() {
			x.setRequest(s, state)
		}
	}
	x.earlier = state.Requests[x.Key]
	x.earlier.At = at
	x.Delivery, x.Code, x.ChannelID = x.earlier.Status, x.earlier.Code, x.earlier.ChannelID
	x.ThreadName = cmp.Or(x.earlier.ThreadName, s.ThreadName, x.ThreadName)
	if s.GuildID != "" {
		x.GuildID = s.GuildID
	}
	switch e.Type {
	case coordination.TypeA2ACollaborateFailed, coordination.TypeDiscordDeliveryUnknown:
		x.Error = s.ErrorMessage
	case coordination.TypeA2ACollaborateRequested, coordination.TypeA2ACollaborateSent:
		x.Error = ""
	}
}

// setRequest stores the request's content.
func (x *row) setRequest(s eventData, state *collaborate.State) {
	x.ThreadName = ""
	x.Key, x.Route, x.SessionKey, x.RunID = s.Key, collaborate.Route(s.Mode), s.SessionKey, s.RunID
	for pair := range state.Pairs {
		x.pair = pair
	}
	if s.Hop != nil {
		x.hop = int64(*s.Hop)
	}
	if x.sentSeq == 0 {
		x.Context, x.FromAgent, x.TargetAgent, x.Original = s.Context, s.FromAgent, s.ToAgent, response.Original(s.Message)
	}
}

// follow folds an event into the request's response tracking.
func (x *row) follow(e *projections.Event, s eventData, data []byte) (followed bool, err error) {
	switch e.Type {
	case coordination.TypeA2ACollaborateRequested:
		return false, nil
	case coordination.TypeA2ACollaborateSent:
		return x.sent(e, s, data)
	}
	t := x.tracker()
	if followed, err = t.Apply(e.Type, data, e.TS); err != nil || !followed {
		return false, err
	}
	if len(t.Requests) == 0 { // it has long been over: it is not forgotten here
		t = x.tracker()
		if _, err := t.Apply(e.Type, data, max(x.RespondedAt, x.LastAttemptAt, x.SentAt)); err != nil {
			return false, err
		}
	}
	x.Request = t.Requests[0]
	return true, nil
}

// sent stores where a request was posted. A request that expects no answer has the same shape, without a status.
func (x *row) sent(e *projections.Event, s eventData, data []byte) (followed bool, err error) {
	if !s.Tracked && x.Status == "" && !e.Redacted() {
		var d response.Sent
		if err := json.Unmarshal(data, &d); err != nil {
			return false, err
		}
		d.Tracked = true
		data = object(d)
	}
	t := x.tracker()
	if followed, err = t.Apply(e.Type, data, e.TS); err != nil {
		return false, err
	}
	if followed {
		x.Request = t.Requests[0]
		x.sentSeq, x.sentAt = e.Seq, x.SentAt
		if !s.Tracked {
			x.Status = ""
		}
	}
	if x.sentSeq == 0 {
		x.sentSeq, x.sentAt, x.ThreadID = e.Seq, e.TS, x.earlier.ThreadID
	}
	return followed, nil
}
