// Package redaction defines the types of redactions of payloads in the log: orders, their effects, progress, and
// refusals.
package redaction

import (
	"github.com/pronto-lab/openclawd/coordination"
)

// Order selects the payloads to redact: of the events in Seqs and IDs or, if both are empty, of those that
// contain Text.
type Order struct {
	Seqs   []int64  `json:"seqs,omitempty"`
	IDs    []string `json:"ids,omitempty"`
	Text   string   `json:"text,omitempty"`
	Only   bool     `json:"only,omitempty"` // only the named events, not others that repeat their texts
	Reason string   `json:"reason,omitempty"`
	By     string   `json:"by,omitempty"` // name of the person, unverified
}

// Match is an event whose payload is redacted.
type Match struct {
	Seq     int64  `json:"seq"`
	Type    string `json:"type"`
	AgentID string `json:"agentId"`
	Field   string `json:"field"` // path of the text in the payload; "" for a named event
	Named   bool   `json:"named"` // selected by the order itself; otherwise it repeats a text
}

// Refused is an event that contains a text but cannot be redacted.
type Refused struct {
	Seq  int64  `json:"seq"`
	Type string `json:"type"`
	Why  string `json:"why"`
}

// Plan is the effect of an order. It contains no text.
type Plan struct {
	Matches []Match                       `json:"matches"` // by seq
	Refused []Refused                     `json:"refused"`
	Kept    []coordination.RedactionTrace `json:"kept"` // other places that contain the texts, or may, and cannot be changed by openclawd
	Seq     int64                         `json:"seq"`  // events up to this one were searched
}

// Progress is the progress of a redaction.
type Progress struct {
	Step  string `json:"step"` // archives, projections, search, lines, files, space, end
	Done  int64  `json:"done"`
	Total int64  `json:"total"`           // 0 if unknown
	Error string `json:"error,omitempty"` // why it is stuck; it is retried
}

// Refusal says why nothing was redacted.
type Refusal struct {
	Reason, Field, Text, HintText string
	Unknown                       bool // event not found
	NoRoom                        bool // not enough disk space for rewriting
}

func (r *Refusal) Error() string { return r.Text }
func (r *Refusal) Code() string  { return r.Reason }
func (r *Refusal) Hint() string  { return r.HintText }
