package collaborate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Bounds of what a state remembers.
const (
	keepPairs   = time.Hour
	keepThreads = 7 * 24 * time.Hour
	mostOfPair  = 1000
)

// Status is the state of a request.
type Status string

const (
	StatusAccepted Status = "accepted" // in progress
	StatusSent     Status = "sent"
	StatusFailed   Status = "failed"
	StatusUnknown  Status = "delivery_unknown"
)

// Earlier is an accepted request. Times are ms since 1970.
type Earlier struct {
	RequestID  string   `json:"requestId"`
	Content    string   `json:"content"`
	At         int64    `json:"at"`
	Base       int64    `json:"base"`
	Status     Status   `json:"status"`
	Code       string   `json:"code,omitempty"` // of a failed one
	Redecide   bool     `json:"anew,omitempty"` // likewise: decided again at once
	ThreadID   string   `json:"threadId,omitempty"`
	ThreadName string   `json:"threadName,omitempty"`
	ChannelID  string   `json:"channelId,omitempty"`
	MessageIDs []string `json:"messageIds,omitempty"`
}

// Kept is a thread that can be reused.
type Kept struct {
	ThreadID     string `json:"threadId"`
	ThreadName   string `json:"threadName,omitempty"`
	ChannelID    string `json:"channelId"`
	CreatedAt    int64  `json:"createdAt"`
	LastUsedAt   int64  `json:"lastUsedAt"`
	MessageCount int    `json:"messageCount"`
}

// State is what the log says about requests. Apply folds it; a copy is an independent State.
type State struct {
	Requests map[string]Earlier `json:"requests,omitempty"` // by key; those of the last SameRequest
	Pairs    map[string][]int64 `json:"pairs,omitempty"`    // when two agents have asked each other, by both, sorted
	Threads  map[string]Kept    `json:"threads,omitempty"`  // by reuse key
}

// Apply folds an event. It reports whether the event is relevant here. Redacted data (nil) is ignored. An event that
// cannot be read is an error and changes nothing. ts is ms since 1970.
func (s *State) Apply(typ string, data []byte, ts int64) (bool, error) {
	next := State{Requests: copied(s.Requests), Pairs: copied(s.Pairs), Threads: copied(s.Threads)}
	means, err := next.fold(typ, data, ts)
	if err != nil {
		return false, fmt.Errorf("fold %s into the requests of agents: %w", typ, err)
	}
	if means {
		next.forget(ts)
		*s = next
	}
	return means, nil
}

func copied[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

func (s *State) fold(typ string, data []byte, ts int64) (bool, error) {
	if len(data) == 0 {
		return false, nil
	}
	switch typ {
	case coordination.TypeA2ACollaborateRequested:
		var d Requested
		err := json.Unmarshal(data, &d)
		return err == nil && s.requested(d, ts), err
	case coordination.TypeThreadCreated:
		var d Opened
		err := json.Unmarshal(data, &d)
		return err == nil && s.opened(d, ts), err
	case coordination.TypeA2ACollaborateSent:
		var d Sent
		err := json.Unmarshal(data, &d)
		return err == nil && s.sent(d, ts), err
	case coordination.TypeA2ACollaborateFailed, coordination.TypeDiscordDeliveryUnknown:
		var d Failed
		err := json.Unmarshal(data, &d)
		return err == nil && s.failed(typ, d), err
	}
	return false, nil
}

func (s *State) requested(d Requested, ts int64) bool {
	if e := s.Requests[d.Key]; d.RequestID == "" || e.RequestID == d.RequestID && !e.Redecide {
		return false
	}
	s.Requests[d.Key] = Earlier{RequestID: d.RequestID, Content: d.Content, At: ts, Base: d.Base, Status: StatusAccepted, ThreadID: d.ThreadID,
		ChannelID: d.ChannelID}
	delete(s.Threads, d.Forgets)
	if d.Again {
		return true
	}
	pair := pairKey(d.FromAgent, d.TargetAgent)
	times := append(slices.Clone(s.Pairs[pair]), ts)
	slices.Sort(times)
	s.Pairs[pair] = times[max(0, len(times)-mostOfPair):]
	return true
}

func (s *State) opened(d Opened, ts int64) bool {
	if d.ThreadID == "" {
		return false
	}
	if d.ReuseKey != "" {
		s.Threads[d.ReuseKey] = Kept{ThreadID: d.ThreadID, ThreadName: d.ThreadName, ChannelID: d.ChannelID, CreatedAt: ts, LastUsedAt: ts}
	}
	known := s.change(d.RequestID, func(e *Earlier) { e.ThreadID, e.ThreadName, e.ChannelID = d.ThreadID, d.ThreadName, d.ChannelID })
	return known || d.ReuseKey != ""
}

func (s *State) sent(d Sent, ts int64) bool {
	kept, used := s.Threads[d.ReuseKey]
	if used = used && d.ReuseKey != "" && kept.ThreadID == d.ThreadID; used {
		kept.LastUsedAt = max(kept.LastUsedAt, ts)
		kept.MessageCount += len(d.MessageIDs)
		s.Threads[d.ReuseKey] = kept
	}
	known := s.change(d.RequestID, func(e *Earlier) {
		e.Status, e.Code, e.ThreadID, e.ThreadName, e.ChannelID, e.MessageIDs = StatusSent, "", d.ThreadID, d.ThreadName, d.ChannelID, d.MessageIDs
	})
	return known || used
}

func (s *State) failed(typ string, d Failed) bool {
	_, kept := s.Threads[d.Forgets]
	delete(s.Threads, d.Forgets)
	known := s.change(d.RequestID, func(e *Earlier) {
		e.Status, e.Code, e.Redecide = StatusFailed, d.Code, d.Redecide
		if typ == coordination.TypeDiscordDeliveryUnknown {
			e.Status = StatusUnknown
		}
	})
	return known || kept
}

// change changes a request, if it is remembered.
func (s *State) change(requestID string, do func(*Earlier)) bool {
	for key, e := range s.Requests {
		if e.RequestID == requestID && requestID != "" {
			do(&e)
			s.Requests[key] = e
			return true
		}
	}
	return false
}

// forget drops what is too old to matter.
func (s *State) forget(ts int64) {
	maps.DeleteFunc(s.Requests, func(_ string, e Earlier) bool { return ts-e.At >= SameRequest.Milliseconds() })
	maps.DeleteFunc(s.Threads, func(_ string, k Kept) bool { return ts-k.LastUsedAt >= keepThreads.Milliseconds() })
	for pair, times := range s.Pairs {
		recent := slices.DeleteFunc(slices.Clone(times), func(at int64) bool { return ts-at >= keepPairs.Milliseconds() })
		if s.Pairs[pair] = recent; len(recent) == 0 {
			delete(s.Pairs, pair)
		}
	}
}
