package conversations_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

func TestLookupRoute(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, _ := projectiontest.New(t, sqlite.Options{}, conversations.Routes(coordination.RulesV2))
	says := func(ms int64, typ, from, to, session, conversation, more string) {
		t.Helper()
		data := fmt.Sprintf(`{"fromAgent":%q,"toAgent":%q,"workSessionId":%q,"conversationId":%q,"eventRole":"conversation.main"%s}`, from, to, session, conversation, more)
		if _, err := db.Append(ctx, eventstore.StreamAppend{Stream: "conversation/" + conversation,
			Events: []eventstore.NewEvent{{Type: typ, AgentID: from, TS: ms, Data: json.RawMessage(data)}}}); err != nil {
			t.Fatal(err)
		}
	}
	says(1_000, "a2a.send", "Eden", "seum", "ws_1", "c1", `,"runId":"r1"`)
	says(2_000, "a2a.response", "seum", "Eden", "ws_1", "c1", "")
	says(3_000, "a2a.send", "eden", "seum", "ws_2", "c2", "")
	says(4_000, "a2a.send", "eden", "seum", "ws_1", "c3", `,"parentConversationId":"c1"`) // a child is no route
	says(1_500, "a2a.send", "eden", "seum", "ws_1", "c0", "")                             // older than what is known

	for _, c := range []struct {
		session, a, b string
		want          conversations.Route
		ok            bool
	}{
		{"ws_1", "eden", "seum", conversations.Route{Key: "ws_1::eden|seum", ConversationID: "c1", Time: 2_000, Seq: 2, LastEventType: "a2a.response", RunID: "r1"}, true},
		{" ws_1 ", "SEUM", "Eden", conversations.Route{Key: "ws_1::eden|seum", ConversationID: "c1", Time: 2_000, Seq: 2, LastEventType: "a2a.response", RunID: "r1"}, true},
		{"ws_2", "eden", "seum", conversations.Route{Key: "ws_2::eden|seum", ConversationID: "c2", Time: 3_000, Seq: 3, LastEventType: "a2a.send"}, true},
		{"ws_1", "eden", "miri", conversations.Route{}, false},
		{"ws_3", "eden", "seum", conversations.Route{}, false},
		{"", "eden", "seum", conversations.Route{}, false},
		{"ws_1", "", "seum", conversations.Route{}, false},
	} {
		err := db.View(ctx, func(tx *sql.Tx) error {
			got, ok, err := conversations.LookupRoute(ctx, tx, c.session, c.a, c.b)
			if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok {
				t.Errorf("%q, %q, %q: ok %v (-want +got)\n%s", c.session, c.a, c.b, ok, diff)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
