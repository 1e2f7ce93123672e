package main

import (
	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/points"
)

func newEvents(p *process) *cobra.Command {
	return newGroup("events", "Inspect the events of the log", newEventsShow(p), newEventsQuery(p))
}

// answer combines an event with its index entry, which may be nil.
func answer(e *eventstore.Event, entry *index.Entry) points.Event {
	if entry == nil {
		return points.EventOf(e, "", "")
	}
	return points.EventOf(e, entry.Role, entry.Category)
}
