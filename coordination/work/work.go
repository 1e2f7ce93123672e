// Package work says what an event means for the queue of what has still to be done outside, and how long to wait before another attempt.
// It is pure.
//
// What is asked for has a stream of its own, and is asked for by the first event of that stream. So which item an event is about is told
// by its stream alone, also when its data has been redacted, and no item is ever asked for twice.
package work

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// KindRun is the kind of runs of agents.
const KindRun = "run"

// KindJob is the kind of flows between agents: their own events ask for them, put them off, and end them.
const KindJob = "job"

// jobPrefix begins the effect ids of flows.
const jobPrefix = KindJob + "/"

// PoolJobs is the pool of flows.
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

// Step is what happens to an item.
type Step int

const (
	Add    Step = iota + 1 // it waits, at the end of its key
	Lease                  // it is begun
	Return                 // it waits again, where it was; what waits already is put off
	Remove                 // nothing more is to be done
	Park                   // it is given up, until somebody asks for another attempt
	Resend                 // somebody does: it waits at the end of its key, as if it had never been begun
)

// Change is what an event means for the item of its stream.
type Change struct {
	Step  Step
	New   New    // of Add
	Until int64  // of Lease: when it ends, ms since 1970; 0 is never
	DueAt int64  // of Return: not before, ms since 1970; 0 is at once
	Error string // of Return and Park
}

// New is an item that is asked for.
type New struct {
	EffectID string
	Kind     string
	Key      string
	Pool     string
	Owner    string
	DueAt    int64 // ms since 1970; 0 is at once
	Most     int   // attempts; 0 is as the handler has it
	First    bool  // it comes before what waits already in its key
}

// step is what a type means, 0 for nothing.
func step(typ string) Step {
	switch typ {
	case coordination.TypeWorkScheduled, coordination.TypeRunQueued, coordination.TypeA2AJobCreated:
		return Add
	case coordination.TypeWorkLeased, coordination.TypeRunStarted:
		return Lease
	case coordination.TypeWorkReleased, coordination.TypeWorkLeaseExpired, coordination.TypeA2AJobRunning:
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

// Of is what an event of a type, with that data, means. agentID is the event's own. It is false for an event that means nothing, and for
// one that asks for something without saying what. Data that is nil was redacted: what such an event has asked for is not known any more,
// but what it ended stays ended.
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
		_ = coordination.EachField(data, func(name string, raw []byte) bool { // without any it has none
			switch name {
			case "leaseUntilMs":
				c.Until = number(raw)
			case "dueAtMs":
				c.DueAt = number(raw)
			case "error":
				c.Error = clip(text(raw))
			}
			return true
		})
	}
	return c, true
}

func newRun(agentID string, data json.RawMessage) New {
	n := New{Kind: KindRun, Owner: agentID}
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
	n.Pool = cmp.Or(n.Pool, "main")
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

// text is a JSON string as it is, "" for anything else.
func text(raw []byte) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// maxNumber is the largest number that is believed; JSON numbers are exact up to there.
const maxNumber = 1 << 53

func number(raw []byte) int64 {
	n, _ := coordination.NumberValue(raw)
	return int64(min(max(n, 0), maxNumber))
}

// maxError is how many bytes of an error the queue keeps.
const maxError = 1 << 10

func clip(s string) string {
	if len(s) <= maxError {
		return s
	}
	return strings.ToValidUTF8(s[:maxError], "")
}
