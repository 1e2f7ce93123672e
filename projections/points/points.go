// Package points defines what is said about points of the log: an event with its causes, its effects and the rows that
// it changed, and how the tables differ between two events. openclawd replay prints it as JSON, and the API answers it.
package points

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/causality"
	"github.com/pronto-lab/openclawd/projections/compare"
)

// Event is an event with everything that is stored about it.
type Event struct {
	eventstore.Envelope
	Role     coordination.Role     `json:"role"`     // "" if the index has not reached it
	Category coordination.Category `json:"category"` // likewise
	Data     json.RawMessage       `json:"data"`     // null if redacted
	Original json.RawMessage       `json:"original"` // null unless the imported line had more fields than the columns
	DataHash eventstore.Hash       `json:"dataHash"`
	Hash     eventstore.Hash       `json:"hash"`
}

// EventOf combines an event with its role and category in the index, which may be "".
func EventOf(e *eventstore.Event, role coordination.Role, category coordination.Category) Event {
	return Event{Envelope: e.Envelope(), Role: role, Category: category, Data: e.Data, Original: e.Original, DataHash: e.DataHash, Hash: e.Hash}
}

// Step is an event and what it did.
type Step struct {
	Event   Event            `json:"event"`
	IsError bool             `json:"isError"`
	Error   string           `json:"error,omitempty"` // the failure that the event reports, if any
	Causes  []causality.Link `json:"causes"`          // the direct cause first, the root cause last
	Effects []causality.Link `json:"effects"`
	Changes []compare.Change `json:"changes"`
}

// Point is an event as a point of the log. Seq 0 is the empty log.
type Point struct {
	Seq        int64 `json:"seq"`
	RecordedAt int64 `json:"recordedAt"` // ms since 1970; 0: the empty log
}

// Diff is how the tables differ between two points.
type Diff struct {
	From   Point            `json:"from"`
	To     Point            `json:"to"`
	Tables []compare.Count  `json:"tables"`
	Rows   []compare.Change `json:"rows"` // the first of each table
}
