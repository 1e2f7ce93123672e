package monitor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Of concurrent category changes each is stored as an event, and the last is in force.
func TestConcurrentOverridesLoseNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.has(t, "ws_0", "ws_1")
	const operators = 50
	categories := []string{"infra_ops", "biz_strategy", "docs_knowledge"}
	answers := make([]categorySet, operators)
	var all sync.WaitGroup
	for i := range operators {
		all.Go(func() {
			body := fmt.Sprintf(`{"collabCategory":%q,"updatedBy":"op%d"}`, categories[i%3], i)
			response, answer := b.send(t, "PATCH", fmt.Sprintf("/api/work-sessions/ws_%d/category", i%2), body)
			if err := json.Unmarshal(answer, &answers[i]); err != nil || response.StatusCode != 200 {
				t.Errorf("operator %d: status %d, %v: %s", i, response.StatusCode, err, answer)
			}
		})
	}
	all.Wait()
	for session := range 2 {
		h := get[categoryHistory](t, b, fmt.Sprintf("/api/work-sessions/ws_%d/category?limit=1000", session), 200)
		var want []categorySet
		for _, a := range answers {
			if a.WorkSessionID == fmt.Sprintf("ws_%d", session) {
				want = append(want, a)
			}
		}
		slices.SortFunc(want, func(a, b categorySet) int { return int(b.Seq - a.Seq) })
		if len(h.History) != len(want) || len(want) != operators/2 {
			t.Fatalf("session %d has a history of %d, want %d", session, len(h.History), len(want))
		}
		for i, change := range h.History {
			if change.Seq != want[i].Seq || change.UpdatedBy != want[i].Override.UpdatedBy || *change.CollabCategory != want[i].Override.CollabCategory {
				t.Errorf("change %d of session %d is %+v, want %+v", i, session, change, want[i])
			}
		}
		if *h.Override != *want[0].Override {
			t.Errorf("in force in session %d is %+v, want the last word %+v", session, h.Override, want[0].Override)
		}
	}
}

func TestOverrideHistoryIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.has(t, "ws")
	for i := range 4 {
		b.say(t, "PATCH", "ws", fmt.Sprintf(`{"collabCategory":"infra_ops","updatedBy":"op%d"}`, i))
	}
	b.say(t, "DELETE", "ws", "")
	if diff := cmp.Diff([]string{"-", "infra_ops op3", "infra_ops op2"}, get[categoryHistory](t, b, "/api/work-sessions/ws/category?limit=3", 200).lines()); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	none := get[categoryHistory](t, b, "/api/work-sessions/stranger/category", 200)
	if none.Override != nil || none.History == nil || len(none.History) != 0 {
		t.Errorf("of an unknown session: %+v", none)
	}
}

// While the tables stand still, taking back is stored all the same: they may not know what is to be taken back.
func TestOverrideWhileTablesAreBehind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	contract := newContract(t, b)
	response, answer := b.send(t, "PATCH", "/api/work-sessions/ws/category", `{"collabCategory":"infra_ops"}`)
	contract.hold(t, "PATCH", "/api/work-sessions/ws/category", 404, response, answer)
	b.has(t, "ws")
	response, answer = b.send(t, "PATCH", "/api/work-sessions/ws/category", `{"collabCategory":"infra_ops"}`)
	contract.hold(t, "PATCH", "/api/work-sessions/ws/category", 200, response, answer)
	response, answer = b.send(t, "PATCH", "/api/work-sessions/ws/category", `{}`)
	contract.hold(t, "PATCH", "/api/work-sessions/ws/category", 400, response, answer)
	contract.check(t, "GET", "/api/work-sessions/ws/category", 200)
	contract.check(t, "DELETE", "/api/work-sessions/ws/category", 200)
	contract.check(t, "GET", "/api/work-sessions/ws/category", 200)

	stop := func(tx eventstore.Tx) error {
		_, err := tx.Exec("UPDATE projections SET seq = 1 WHERE name = 'conversation'")
		return err
	}
	if err := b.db.Exclusive(context.Background(), stop, nil); err != nil {
		t.Fatal(err)
	}
	before, err := b.db.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	response, answer = b.send(t, "PATCH", "/api/work-sessions/ws_late/category", `{"collabCategory":"infra_ops"}`)
	contract.hold(t, "PATCH", "/api/work-sessions/ws_late/category", 503, response, answer)
	if got := b.say(t, "DELETE", "ws", ""); got.Seq != before.Seq+1 {
		t.Errorf("DELETE while the tables are behind answers seq %d, want an event at %d", got.Seq, before.Seq+1)
	}
}
