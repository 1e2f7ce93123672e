package remote

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/modelcall"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// Protocol is the version of what workers and this package say to each other. Workers of another version are refused.
const Protocol = 1

// Methods of the gateway for workers.
const (
	MethodRegister = "worker.register"
	MethodLease    = "worker.lease"
	MethodNext     = "worker.next"
	MethodReport   = "worker.report"
	MethodLeave    = "worker.leave"
)

// Limits of what workers send.
const (
	MaxSlots  = 16
	MaxReport = 8 << 20 // bytes of one report
	MaxChunks = 4_096   // of one report
)

// Registration is what a worker says of itself.
type Registration struct {
	Protocol int      `json:"protocol"`
	Name     string   `json:"name"`
	Labels   []string `json:"labels,omitempty"`
	Agents   []string `json:"agents,omitempty"` // whose runs it does; none: any
	Slots    int      `json:"slots"`
	Version  string   `json:"version,omitempty"`
}

// Registered is the answer: the worker is known by its id until it is silent for as long as a lease lasts.
type Registered struct {
	WorkerID string `json:"workerId"`
	LeaseMs  int64  `json:"leaseMs"`
}

// LeaseAsk asks for a run, and waits for one for a while.
type LeaseAsk struct {
	WorkerID string   `json:"workerId"`
	WaitMs   int64    `json:"waitMs,omitempty"`
	Has      []string `json:"has,omitempty"` // leases that it knows of; another one that it was given is told again
}

// Lease is a run that a worker does. LeaseID and Attempt are in all that it says of it.
type Lease struct {
	LeaseID    string `json:"leaseId"`
	Attempt    int    `json:"attempt"` // which start of the run it is, by the queue
	RunID      string `json:"runId"`
	AgentID    string `json:"agentId"`
	SessionKey string `json:"sessionKey"`
}

// LeaseAnswer has a run, if there is one.
type LeaseAnswer struct {
	Lease *Lease `json:"lease,omitempty"`
}

// NextAsk renews a lease, and waits for the step after the one that the worker knows.
type NextAsk struct {
	LeaseID   string `json:"leaseId"`
	Attempt   int    `json:"attempt"`
	After     int    `json:"after,omitempty"`
	Cancelled int    `json:"cancelled,omitempty"` // the last step that the worker has broken off
	WaitMs    int64  `json:"waitMs,omitempty"`
}

// NextAnswer says what to do. Nothing: ask again.
type NextAnswer struct {
	Step      *Step `json:"step,omitempty"`
	Cancelled int   `json:"cancelled,omitempty"` // break off this step
	Over      bool  `json:"over,omitempty"`      // the run is over for this worker
}

// Step is one effect: a model to be asked, or a tool to be called. Its intent is on disk.
type Step struct {
	Number int        `json:"number"` // from 1 in a lease
	Model  *ModelStep `json:"model,omitempty"`
	Tool   *ToolStep  `json:"tool,omitempty"`
}

// ModelStep is a modelcall.Step of which only what is new is sent.
type ModelStep struct {
	Brief      *modelcall.Brief `json:"brief,omitempty"`      // in the first one of a lease
	SessionKey string           `json:"sessionKey,omitempty"` // of the brief
	Kept       int              `json:"kept"`                 // how many messages of the last one's Steps stay
	modelcall.Step
}

// ToolStep is a call of a tool.
type ToolStep struct {
	Caller    tool.Caller     `json:"caller"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	CallID    string          `json:"callId,omitempty"` // the same for all attempts at the call
}

// ReportAsk reports a part or the result of a step. Sent again it changes nothing.
type ReportAsk struct {
	LeaseID string      `json:"leaseId"`
	Attempt int         `json:"attempt"`
	Step    int         `json:"step"`
	From    int         `json:"from,omitempty"` // number of the first of Chunks
	Chunks  []llm.Chunk `json:"chunks,omitempty"`
	Result  *Result     `json:"result,omitempty"`
}

// ReportAnswer says how much is taken over.
type ReportAnswer struct {
	Taken int  `json:"taken"`          // chunks
	Done  bool `json:"done,omitempty"` // the result
	Stale bool `json:"stale,omitempty"`
}

// Result is what a step has led to. One of the fields but Report is set.
type Result struct {
	Answer *llm.Answer    `json:"answer,omitempty"`
	Report *prompt.Report `json:"report,omitempty"`

	LLM       *llm.Error       `json:"llm,omitempty"`
	Catalogue *catalogue.Error `json:"catalogue,omitempty"`
	Prompt    *prompt.Error    `json:"prompt,omitempty"`

	Output  *tool.Output `json:"output,omitempty"`
	Refused *tool.Error  `json:"refused,omitempty"`
	Unknown *Unknown     `json:"unknown,omitempty"`

	Broken string `json:"broken,omitempty"` // another error
}

// Unknown is a call that may or may not have had its effect.
type Unknown struct {
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

// Worker is a worker as operators see it.
type Worker struct {
	Name     string   `json:"name"`
	Labels   []string `json:"labels"`
	Agents   []string `json:"agents"`
	Slots    int      `json:"slots"`
	Version  string   `json:"version,omitempty"`
	Waiting  bool     `json:"waiting"` // for a run
	SinceMs  int64    `json:"sinceMs"`
	SeenMs   int64    `json:"seenMs"`
	Runs     []Lease  `json:"runs"`
	Finished int64    `json:"finished"` // runs
}
