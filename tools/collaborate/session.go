package collaborate

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools/a2a"
)

// tells puts a message of the system's into the transcript of a session, for its agent to find: nobody runs because of it.
func (d *Desk) tells(tx eventstore.Tx, name string, m coordination.SessionMessage, now time.Time) ([]eventstore.StreamAppend, error) {
	m.Provenance = "internal_system"
	return a2a.Tell(tx, name, d.o.NewID, m, now)
}
