package debugger

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Trouble reports whether an event says that something went wrong, and what, as coordination.Failure does. Secrets are masked.
func Trouble(e *eventstore.Event) (why string, is bool) {
	record := projections.Record(coordination.RulesV2, e)
	if why, is = coordination.Failure(&record); !is {
		return "", false
	}
	return coordination.Mask(why), true
}
