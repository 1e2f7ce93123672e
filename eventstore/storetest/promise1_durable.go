package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

func acknowledgedSurvivesReopening(t *testing.T, s *subject) {
	full := eventstore.NewEvent{
		ID: fixedID(1), Type: "a2a.send", Ver: 3, AgentID: "세움", CorrelationID: "conversation", CausationID: "cause",
		Actor: eventstore.ActorAgent, Data: json.RawMessage(`{"n":1}`), Original: json.RawMessage(`{"type":"a2a.send"}`),
	}.WithTS(-1)
	s.append(t, to("task/a", full, event(`{"n":2}`)), to("task/b", event(`{"n":3}`)))
	s.append(t, to("task/b", event(`{"n":4}`)))
	s.redact(t, 3)
	before, head := s.all(t), s.head(t)

	s.clock.Move(-time.Hour)
	s.reopen(t)

	wantEqual(t, "log after reopening", s.all(t), before)
	wantEqual(t, "head after reopening", s.head(t), head)

	retry := s.append(t, to("task/a", full))
	wantEqual(t, "retry after reopening", retry.Events, []eventstore.Stored{{Seq: 1, Version: 1, ID: fixedID(1), Duplicate: true}})

	next := s.append(t, expecting(eventstore.Exactly(2), to("task/b", event(`{"n":5}`))))
	if got := next.Events[0]; got.Seq != 5 || got.Version != 3 {
		t.Errorf("first append after reopening went to seq %d, version %d; want 5, 3", got.Seq, got.Version)
	}
	if got, last := s.event(t, 5).RecordedAt, before[3].RecordedAt; got < last {
		t.Errorf("recorded_at went from %d back to %d over reopening", last, got)
	}
}
