// Package work defines what events mean for the work queue, the list of side effects still to be carried out, and the pause between
// attempts. It is pure.
//
// An item has its own stream, which begins with the event that schedules it. The stream therefore identifies the item even after its
// data was redacted, and no item is scheduled twice.
package work

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// KindRun is the work kind of agents' runs.
const KindRun = "run"

// KindJob is the work kind of flows between agents: their own events schedule, postpone and end them.
const KindJob = "job"

// jobPrefix begins the effect ids of flows.
const jobPrefix = KindJob + "/"

const PoolJobs = "a2a"

// runPrefix begins the effect ids of runs.
const runPrefix = KindRun + "/"

// Stream is the stream of the events of an effect.
func Stream(effectID string) string {
	if runID, ok := strings.CutPrefix(effectID, runPrefix); ok {
		return coordination.RunStream(runID)
	}
	if jobID, ok := strings.CutPrefix(effectID, jobPrefix); ok {
		return coordination.JobStream(jobID)
	}
	return coordination.WorkStream(effectID)
}

// RunEffect is the effect id of a run.
func RunEffect(runID string) string { return runPrefix + runID }

// JobEffect is the effect id of a flow.
func JobEffect(jobID string) string { return jobPrefix + jobID }

// Step is the effect of an event on an item.
type Step int

const (
	Add    Step = iota + 1 // queue it at the end of its key
	Lease                  // an attempt starts
	Return                 // back into the queue, at its place; postpones an item that already waits
	Remove                 // done
	Park                   // dead letter, until it is resent
	Resend                 // resend: queue it at the end of its key, with no attempts counted
)

// Change is the effect of an event on the item of its stream.
type Change struct {
	Step  Step
	New   New    // of Add
	Until int64  // of Lease: end of the lease, ms since 1970; 0 for none
	DueAt int64  // of Return: earliest retry, ms since 1970; 0 is at once
	Error string // of Return and Park
}

// New is a scheduled item.
type New struct {
	EffectID string
	Kind     string
	Key      string
	Pool     string
	Owner    string
	DueAt    int64 // ms since 1970; 0 is at once
	Most     int   // attempts; 0 is the handler's default
	First    bool  // it precedes waiting items of its key
}

// step returns the effect of a type, 0 for none.
func step(typ string) Step {
	switch typ {
	case coordination.TypeWorkScheduled, coordination.TypeRunQueued, coordination.TypeA2AJobCreated:
		return Add
	case coordination.TypeWorkLeased, coordination.TypeRunStarted:
		return Lease
	case coordination.TypeWorkReleased, coordination.TypeWorkLeaseExpired, coordination.TypeA2AJobRunning,
		coordination.TypeRunParked, coordination.TypeRunWoken:
		return Return
	case coordination.TypeWorkCompleted, coordination.TypeWorkCancelled,
		coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunAborted, coordination.TypeRunTimedOut,
		coordination.TypeA2AJobCompleted, coordination.TypeA2AJobFailed, coordination.TypeA2AJobAbandoned, coordination.TypeA2AJobCancelled:
		return Remove
	case coordination.TypeWorkDead:
		return Park
	case coordination.TypeWorkResent:
		return Resend
	}
	return 0
}

// Of returns the effect of an event; agentID is the event's own. It is false for an event without effect, and for one that schedules an
// item without data. Redacted data is nil: a scheduled item is unknown then, but an end remains an end.
func Of(typ, agentID string, data json.RawMessage) (Change, bool) {
	c := Change{Step: step(typ)}
	switch c.Step {
	case 0:
		return c, false
	case Add:
		switch typ {
		case coordination.TypeRunQueued:
			c.New = newRun(agentID, data)
		case coordination.TypeA2AJobCreated:
			c.New = newJob(data)
		default:
			c.New = newEffect(data)
		}
		return c, c.New.check() == nil
	case Lease, Return, Park:
		_ = coordination.EachField(data, func(name string, raw []byte) bool { // without attempts
			switch name {
			case "leaseUntilMs":
				c.Until = number(raw)
			case "dueAtMs":
				c.DueAt = number(raw)
			case "error":
				c.Error = coordination.Clip(text(raw), maxError)
			}
			return true
		})
	}
	return c, true
}

func newRun(agentID string, data json.RawMessage) New {
	n, pool := New{Kind: KindRun, Owner: agentID}, ""
	_ = coordination.EachField(data, func(name string, raw []byte) bool {
		switch name {
		case "runId":
			if id := text(raw); id != "" {
				n.EffectID = RunEffect(id)
			}
		case "sessionKey":
			n.Key = text(raw)
		case "lane":
			n.Pool = text(raw)
		case "pool":
			pool = text(raw)
		case "retryOf":
			n.First = text(raw) != ""
		case "dueAtMs":
			n.DueAt = number(raw)
		}
		return true
	})
	if n.Owner == "" {
		if key, err := coordination.ParseSessionKey(n.Key); err == nil {
			n.Owner = key.Agent
		}
	}
	n.Pool = cmp.Or(pool, n.Pool, "main")
	return n
}

func newJob(data json.RawMessage) New {
	n := New{Kind: KindJob, Pool: PoolJobs}
	_ = coordination.EachField(data, func(name string, raw []byte) bool {
		switch name {
		case "jobId":
			if id := text(raw); id != "" {
				n.EffectID = JobEffect(id)
				n.Key = n.EffectID
			}
		case "toAgent":
			n.Owner = text(raw)
		case "dueAtMs":
			n.DueAt = number(raw)
		}
		return true
	})
	return n
}

func newEffect(data json.RawMessage) New {
	var n New
	_ = coordination.EachField(data, func(name string, raw []byte) bool {
		switch name {
		case "effectId":
			n.EffectID = text(raw)
		case "kind":
			n.Kind = text(raw)
		case "key":
			n.Key = text(raw)
		case "pool":
			n.Pool = text(raw)
		case "owner":
			n.Owner = text(raw)
		case "dueAtMs":
			n.DueAt = number(raw)
		case "maxAttempts":
			n.Most = int(min(number(raw), maxAttempts))
		}
		return true
	})
	return n
}

// text decodes a JSON string; anything else is "".
func text(raw []byte) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// maxNumber is the largest number accepted; JSON numbers are exact up to there.
const maxNumber = 1 << 53

func number(raw []byte) int64 {
	n, _ := coordination.NumberValue(raw)
	return int64(min(max(n, 0), maxNumber))
}

// maxError limits an error kept in the queue, in bytes.
const maxError = 1 << 10
