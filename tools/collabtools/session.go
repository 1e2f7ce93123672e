package collabtools

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/services/messenger"
)

// appendMessage appends a system message to the transcript of a session, for its agent's next run; it starts no run.
func (s *Service) appendMessage(tx eventstore.Tx, name string, m coordination.SessionMessage, now time.Time) ([]eventstore.StreamAppend, error) {
	m.Provenance = "internal_system"
	return messenger.AppendMessage(tx, name, s.o.NewID, m, now)
}
