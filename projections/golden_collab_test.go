package projections_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// collabHistory has what was said in a thread in which agents ask each other, by one of them and by a person.
func collabHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	for i, from := range []string{"seum", "병욱"} {
		var said coordination.CollabMessage
		fill(reflect.ValueOf(&said).Elem(), "")
		said.EventRole, said.FromAgent = coordination.RoleConversation, from
		data, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		n := i + 1
		appends = append(appends, eventstore.StreamAppend{Stream: coordination.ThreadStream(said.ThreadID), Events: []eventstore.NewEvent{{
			ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 9}), Type: coordination.TypeCollabMessage, Actor: eventstore.ActorSystem,
			TS: goldenTime.UnixMilli() - 3_600_000 + int64(n)*1_000, CorrelationID: "corr-golden", CausationID: "cause-golden", Data: data,
		}}})
	}
	return appends
}
