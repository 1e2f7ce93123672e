package coordination

import "encoding/json"

// WorkScheduled is the data of work.scheduled: a side effect outside of the log, to be carried out once, not before DueAtMs. Work with
// the same key is done one by one, in the order of scheduling.
type WorkScheduled struct {
	Context
	EffectID    string          `json:"effectId"` // unique forever; lets receivers detect repeated attempts
	Kind        string          `json:"kind"`     // handler name
	Key         string          `json:"key"`
	Pool        string          `json:"pool"`            // bounds concurrency
	Owner       string          `json:"owner,omitempty"` // an agent, for fair scheduling
	DueAtMs     int64           `json:"dueAtMs,omitempty"`
	MaxAttempts int             `json:"maxAttempts,omitempty"` // 0 is the handler's default
	Payload     json.RawMessage `json:"payload,omitempty"`     // JSON object for the handler
}

// WorkAttempt is the data of work.leased, work.released, work.lease_expired, work.completed, work.cancelled, work.dead and work.resent.
type WorkAttempt struct {
	Context
	EffectID     string          `json:"effectId"`
	Attempt      int             `json:"attempt,omitempty"`      // from 1
	LeaseUntilMs int64           `json:"leaseUntilMs,omitempty"` // of work.leased
	DueAtMs      int64           `json:"dueAtMs,omitempty"`      // of work.released, work.lease_expired: earliest retry
	Reason       string          `json:"reason,omitempty"`       // of work.lease_expired: restart, lease; of work.cancelled
	Error        string          `json:"error,omitempty"`
	By           string          `json:"by,omitempty"`     // of work.resent, work.cancelled
	Result       json.RawMessage `json:"result,omitempty"` // of work.completed: an object
}
