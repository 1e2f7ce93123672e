package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/index"
)

func newEvents(p *process) *cobra.Command {
	return newGroup("events", "Inspect the events of the log", newEventsShow(p), newEventsQuery(p))
}

// eventAnswer is an event in JSON: its columns in the log and its index entry.
type eventAnswer struct {
	Seq           int64                 `json:"seq"`
	ID            eventstore.ID         `json:"id"`
	Stream        string                `json:"stream"`
	Version       int64                 `json:"version"`
	Type          string                `json:"type"`
	Ver           int                   `json:"ver"`
	AgentID       string                `json:"agentId"`
	TS            int64                 `json:"ts"`
	RecordedAt    int64                 `json:"recordedAt"`
	CorrelationID string                `json:"correlationId"`
	CausationID   string                `json:"causationId"`
	Actor         eventstore.Actor      `json:"actor"`
	Role          coordination.Role     `json:"role"`     // "" if the index has not reached it
	Category      coordination.Category `json:"category"` // likewise
	Data          json.RawMessage       `json:"data"`     // null if redacted
	Original      json.RawMessage       `json:"original"` // null unless the imported line had more fields than the columns
	DataHash      eventstore.Hash       `json:"dataHash"`
	Hash          eventstore.Hash       `json:"hash"`
}

// answer combines an event with its index entry, which may be nil.
func answer(e *eventstore.Event, entry *index.Entry) eventAnswer {
	a := eventAnswer{
		Seq: e.Seq, ID: e.ID, Stream: e.Stream, Version: e.Version, Type: e.Type, Ver: e.Ver, AgentID: e.AgentID, TS: e.TS,
		RecordedAt: e.RecordedAt, CorrelationID: e.CorrelationID, CausationID: e.CausationID, Actor: e.Actor, Data: e.Data,
		Original: e.Original, DataHash: e.DataHash, Hash: e.Hash,
	}
	if entry != nil {
		a.Role, a.Category = entry.Role, entry.Category
	}
	return a
}
