package sessions_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// A decision finds where a session was spoken to last, in the transaction that it decides in.
func TestDecisionsReadTheLastRoute(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t,
		eventstore.NewEvent{Type: coordination.TypeSessionCreated, Data: []byte(`{"sessionKey":"agent:eden:main","sessionId":"s1"}`)},
		eventstore.NewEvent{Type: coordination.TypeSessionMessage, Data: []byte(`{"sessionKey":"agent:eden:main","sessionId":"s1","author":"user",
			"channel":"discord","to":"channel:77","accountId":"ruda","threadId":"9"}`)},
		eventstore.NewEvent{Type: coordination.TypeSessionMessage, Data: []byte(`{"sessionKey":"agent:eden:main","sessionId":"s1","author":"assistant"}`)},
		eventstore.NewEvent{Type: coordination.TypeSessionCreated, Data: []byte(`{"sessionKey":"agent:seum:main","sessionId":"s2"}`)})
	_, err := l.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		for agent, want := range map[string]sessions.LastRoute{
			"eden": {Channel: "discord", To: "channel:77", AccountID: "ruda", ThreadID: "9"}, "seum": {}, "stranger": {},
		} {
			if got, err := sessions.LoadRoute(tx, coordination.MainKey(agent)); got != want || err != nil {
				t.Errorf("%s: %+v, %v; want %+v", agent, got, err, want)
			}
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
