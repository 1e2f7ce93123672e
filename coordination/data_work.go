package coordination

import "encoding/json"

// WorkScheduled is the data of work.scheduled: something has to be done outside of the log, once, after DueAtMs. What has the same key is
// done one after the other, in the order in which it was scheduled.
type WorkScheduled struct {
	Context
	EffectID    string          `json:"effectId"` // unique for ever; also what tells the outside that an attempt is a repetition
	Kind        string          `json:"kind"`     // who does it: a name that a handler is registered under
	Key         string          `json:"key"`
	Pool        string          `json:"pool"`            // bounds how much is done at a time
	Owner       string          `json:"owner,omitempty"` // an agent, so that none waits for another one's long list
	DueAtMs     int64           `json:"dueAtMs,omitempty"`
	MaxAttempts int             `json:"maxAttempts,omitempty"` // 0 is as the handler has it
	Payload     json.RawMessage `json:"payload,omitempty"`     // an object; for the handler
}

// WorkAttempt is the data of work.leased, work.released, work.lease_expired, work.completed, work.cancelled, work.dead and work.resent.
type WorkAttempt struct {
	Context
	EffectID     string          `json:"effectId"`
	Attempt      int             `json:"attempt,omitempty"`      // from 1
	LeaseUntilMs int64           `json:"leaseUntilMs,omitempty"` // of work.leased
	DueAtMs      int64           `json:"dueAtMs,omitempty"`      // of work.released, work.lease_expired: not before
	Reason       string          `json:"reason,omitempty"`       // of work.lease_expired: restart, lease; of work.cancelled
	Error        string          `json:"error,omitempty"`
	By           string          `json:"by,omitempty"`     // of work.resent, work.cancelled
	Result       json.RawMessage `json:"result,omitempty"` // of work.completed: an object
}
