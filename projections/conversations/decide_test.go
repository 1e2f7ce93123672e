package conversations_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// What a decision reads within its transaction: who sends next sees what was sent before, also if that is not on disk yet.
func TestDecisionsReadRoutesAndTasks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, _ := projectiontest.New(t, sqlite.Options{}, conversations.Routes(coordination.RulesV2))
	says := func(stream, typ, data string) {
		t.Helper()
		if _, err := db.Append(ctx, eventstore.StreamAppend{Stream: stream,
			Events: []eventstore.NewEvent{{Type: typ, AgentID: "eden", TS: 1_000, Data: json.RawMessage(data)}}}); err != nil {
			t.Fatal(err)
		}
	}
	says("conversation/c1", "a2a.send", `{"fromAgent":"Eden","toAgent":"seum","workSessionId":"ws_1","conversationId":"c1","runId":"r1","eventRole":"conversation.main"}`)
	says("task/t1", "task.started", `{"taskId":"t1","workSessionId":" ws_old "}`)
	says("task/t1", "task.updated", `{"taskId":"t1","workSessionId":"ws_new"}`)
	says("task/t1", "task.updated", `{"taskId":"t1"}`)
	says("task/t1", "task.updated", `{"taskId":"t1","workSessionId":7}`)
	says("task/t2", "task.started", `{"taskId":"t2"}`)
	says("task/long", "task.started", `{"taskId":"long","workSessionId":"ws_long"}`)
	for range 20 {
		says("task/long", "task.updated", `{"taskId":"long"}`)
	}
	says("task/big", "task.started", `{"taskId":"big","workSessionId":"ws_small"}`)
	says("task/big", "task.updated", fmt.Sprintf(`{"taskId":"big","workSessionId":"ws_big","text":%q}`, strings.Repeat("x", 70_000)))

	_, err := db.Decide(context.Background(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		for _, c := range []struct {
			session, a, b string
			want          conversations.Route
			ok            bool
		}{
			{"ws_1", "seum", "EDEN", conversations.Route{Key: "ws_1::eden|seum", ConversationID: "c1", Time: 1_000, Seq: 1, LastEventType: "a2a.send", RunID: "r1"}, true},
			{"ws_2", "seum", "eden", conversations.Route{}, false},
			{"", "seum", "eden", conversations.Route{}, false},
		} {
			got, ok, err := conversations.RouteOf(tx, c.session, c.a, c.b)
			if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok || err != nil {
				t.Errorf("%q, %q, %q: ok %v, %v (-want +got)\n%s", c.session, c.a, c.b, ok, err, diff)
			}
		}
		for task, want := range map[string]string{"t1": "ws_new", "t2": "", "long": "", "big": "ws_small", "none": "", "": "", "no id": ""} {
			if got, err := conversations.WorkSessionOfTask(tx, task); got != want || err != nil {
				t.Errorf("task %q is of %q, %v; want %q", task, got, err, want)
			}
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// When a work session was last active is as the newest of its events says.
func TestLastActivityIsThatOfTheNewestEvent(t *testing.T) {
	t.Parallel()
	db, story := working(t)
	story.Say("task/t1", coordination.TypeTaskStarted, "eden", coordination.TaskStarted{Context: coordination.Context{TaskID: "t1", WorkSessionID: "ws_1"}})
	story.After(5_000)
	story.Say("task/t1", coordination.TypeTaskUpdated, "eden", coordination.TaskUpdated{Context: coordination.Context{TaskID: "t1", WorkSessionID: "ws_1"}})
	var newest int64
	if err := db.View(t.Context(), func(tx *sql.Tx) error { return tx.QueryRow("SELECT max(ts) FROM events").Scan(&newest) }); err != nil {
		t.Fatal(err)
	}
	_, err := db.Decide(context.Background(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		for name, want := range map[string]int64{"ws_1": newest, " ws_1 ": newest, "ws_2": 0, "": 0} {
			if ms, found, err := conversations.LastActivity(tx, name); ms != want || found != (want != 0) || err != nil {
				t.Errorf("%q was active at %d, %v, %v; want %d", name, ms, found, err, want)
			}
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
