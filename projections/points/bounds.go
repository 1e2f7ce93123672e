package points

import (
	"slices"

	"github.com/pronto-lab/openclawd/projections/compare"
)

// Bounds of what the API answers. The commands print everything.
const (
	MaxSteps   = 50      // of one answer
	MaxChanges = 1_000   // rows of one step
	MaxRows    = 1_000   // of one table of a difference
	MaxBytes   = 4 << 20 // of one answer, apart from its first event
)

// BoundedDiff is a Diff that may have lost rows to the bound of bytes.
type BoundedDiff struct {
	Diff
	Cut      bool      `json:"cut"`      // rows are missing that the limit would have let in
	Subjects []Subject `json:"subjects"` // names of rows that people know, in no order
}

// Subject names a row of Diff: what it is about.
type Subject struct {
	Table         string `json:"table"`
	Key           int64  `json:"key"` // its primary key
	ID            string `json:"id"`  // of the task, the run, ...
	AgentID       string `json:"agentId,omitempty"`
	ToAgentID     string `json:"toAgentId,omitempty"`
	Text          string `json:"text,omitempty"`
	WorkSessionID string `json:"workSessionId,omitempty"`
}

// BoundedStep is a Step that may have lost changes to the bounds.
type BoundedStep struct {
	Step
	ChangesTotal int `json:"changesTotal"` // rows that the event changed, of which Changes may be the first
}

// Bound keeps the first changes of a step, in so many bytes, and returns how many these have.
func (s *Step) Bound(bytes int) (BoundedStep, int) {
	b, used := BoundedStep{Step: *s, ChangesTotal: len(s.Changes)}, 0
	for i := range s.Changes {
		size := SizeOf(&s.Changes[i])
		if i == MaxChanges || used+size > bytes {
			b.Changes = slices.Clip(s.Changes[:i])
			break
		}
		used += size
	}
	return b, used
}

// Steps is a part of the log, step by step.
type Steps struct {
	Head          int64         `json:"head"`
	Steps         []BoundedStep `json:"steps"`
	Next          *int64        `json:"next"`          // where the next answer begins; null at the end of the log
	PreviousError *int64        `json:"previousError"` // the last event before the steps that reports a failure
	NextError     *int64        `json:"nextError"`     // the first one after them
}

// overhead is about what names and punctuation take in an encoded column.
const overhead = 64

// SizeOf is about how many bytes a change takes in an answer.
func SizeOf(c *compare.Change) int {
	size := overhead * (2 + len(c.Key) + len(c.Columns))
	for _, columns := range [][]compare.Column{c.Key, c.Columns} {
		for _, column := range columns {
			for _, value := range []any{column.Before, column.After} {
				if text, is := value.(string); is {
					size += len(text)
				}
			}
		}
	}
	return size
}
