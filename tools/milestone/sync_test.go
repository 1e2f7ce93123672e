package milestone_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/tools/milestone"
)

// ended waits until there are so many events of a type, and gives the last of them.
func (o *fixture) ended(t testing.TB, typ string, times int) eventstore.Event {
	t.Helper()
	n := 0
	return o.until(t, fmt.Sprint(times, " ", typ), func(e eventstore.Event) bool {
		if e.Type == typ {
			n++
		}
		return n == times
	})
}

// effects returns the events of work by effect, without those of the clock.
func (o *fixture) effects(t testing.TB) map[string][]string {
	t.Helper()
	all, err := o.db.Read(t.Context(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string][]string{}
	for _, e := range all {
		if strings.HasPrefix(e.Type, "work.") {
			of[e.Stream] = append(of[e.Stream], strings.TrimPrefix(e.Type, "work."))
		}
	}
	return of
}

// A task that ends takes its item with it: in the transaction of its end, and reported to Task-Hub afterwards. A task without an item,
// and one that does not end, has no consequences.
func TestItemsFollowTheirTasks(t *testing.T) {
	t.Parallel()
	h := newHub(t).with(3)
	o := setup(t, h)
	done, cancelled, forced := o.linked(t, "eden", "m1", "i1"), o.linked(t, "seum", "m1", "i2"), o.linked(t, "ruda", "m1", "i3")
	plain := o.does(t, "eden", "task_backlog_add", `{"description":"x","milestone_id":"m1"}`).text("taskId")
	o.does(t, "eden", "task_update", `{"task_id":%q,"progress":"half"}`, done)
	o.does(t, "eden", "task_complete", `{"task_id":%q}`, done)
	o.does(t, "eden", "task_cancel", `{"task_id":%q}`, plain)
	o.does(t, "seum", "task_cancel", `{"task_id":%q,"reason":"no"}`, cancelled)
	o.does(t, "ruda", "task_update", `{"task_id":%q,"action":"set_steps","steps":[{"content":"a"}]}`, forced)
	if a, _, err := o.call("ruda", "", "task_complete", fmt.Sprintf(`{"task_id":%q}`, forced)); err != nil || a.text("code") == "" {
		t.Fatalf("the stop guard: %v, %v", a, err)
	}
	if n := len(o.effects(t)); n != 2 {
		t.Errorf("%d items have to follow before the last task has ended, want 2", n)
	}
	o.does(t, "ruda", "task_complete", `{"task_id":%q,"force_complete":true}`, forced)

	all, err := o.db.Read(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range all {
		if e.Type != coordination.TypeWorkScheduled {
			continue
		}
		var what coordination.WorkScheduled
		var payload struct{ MilestoneID, MilestoneItemID, Status, TaskID, WorkSessionID string }
		if err := json.Unmarshal(e.Data, &what); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(what.Payload, &payload); err != nil {
			t.Fatal(err)
		}
		end := all[i-1]
		if end.Stream != coordination.TaskStream(payload.TaskID) || end.RecordedAt != e.RecordedAt || what.EffectID != fmt.Sprintf("milestone/%s/%d", payload.TaskID, end.Version) ||
			what.Key != "milestone/m1/"+payload.MilestoneItemID || what.Kind != milestone.Kind || what.Pool != milestone.Pool || what.TaskID != payload.TaskID ||
			what.Owner != end.AgentID || payload.WorkSessionID == "" || payload.MilestoneID != "m1" {
			t.Errorf("behind %s of %s: %s", end.Type, end.Stream, e.Data)
		}
	}
	o.begin().ended(t, coordination.TypeMilestoneSynced, 3)
	for item, want := range map[string]string{"i1": "done", "i2": "cancelled", "i3": "done"} {
		if got := h.status(item); got != want {
			t.Errorf("item %s is %s, want %s", item, got, want)
		}
	}
	for id, want := range map[string]string{done: "milestone.synced of eden: m1/i1 done", cancelled: "milestone.synced of seum: m1/i2 cancelled",
		forced: "milestone.synced of ruda: m1/i3 done"} {
		if got := o.ofTask(t, id); got[len(got)-1] != want {
			t.Errorf("task %s: %q, want %q last", id, got, want)
		}
	}
	for id, got := range o.effects(t) {
		if !slices.Equal(got, []string{"scheduled", "leased", "completed"}) {
			t.Errorf("%s: %q", id, got)
		}
	}
	want := []string{`PUT /api/milestones/m1/items/i1 {"status":"done"}`, `PUT /api/milestones/m1/items/i2 {"status":"cancelled"}`, `PUT /api/milestones/m1/items/i3 {"status":"done"}`}
	var asked []string
	for _, r := range h.asked() {
		asked = append(asked, r.String())
	}
	slices.Sort(asked)
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked of Task-Hub, -want +got:\n%s", diff)
	}
}

// While Task-Hub is unavailable tasks end as usual. After three attempts the failure is recorded with the end of the work; resent later,
// the item follows after all. Other items are not affected.
func TestAnItemThatCannotFollow(t *testing.T) {
	t.Parallel()
	h := newHub(t).with(1)
	o := setup(t, h).begin()
	h.bad(says(503, "", "", `{"error":"`+cookie+` is down"}`))
	id := o.linked(t, "eden", "m1", "i1")
	if a := o.does(t, "eden", "task_complete", `{"task_id":%q}`, id); a.text("status") != "completed" {
		t.Errorf("completed while Task-Hub is away: %v", a)
	}
	for n := range 2 {
		o.ended(t, coordination.TypeWorkReleased, n+1)
		o.advance(t, time.Minute)
	}
	dead := o.ended(t, coordination.TypeWorkDead, 1)
	failed := o.ended(t, coordination.TypeMilestoneSyncFailed, 1)
	if failed.Seq != dead.Seq+1 || failed.RecordedAt != dead.RecordedAt {
		t.Errorf("%s is %d, %s is %d: want them in one transaction", dead.Type, dead.Seq, failed.Type, failed.Seq)
	}
	hub := strings.TrimPrefix(h.URL, "http://")
	const text = "milestone.sync_failed of eden: m1/i1 done Task-Hub http://%s/api/milestones/m1/items/i1: 503 Service Unavailable: *** is down"
	if got, want := o.ofTask(t, id), fmt.Sprintf(text, hub); got[len(got)-1] != want {
		t.Errorf("%q, want %q last", got, want)
	}
	asked := h.asked()
	if len(asked) != 3 || asked[0] != asked[1] || asked[1] != asked[2] || asked[0].key == "" || asked[0].body != `{"status":"done"}` {
		t.Errorf("asked: %+v, want three times the same", asked)
	}
	h.bad(nil)
	if err := o.worker.Resend(t.Context(), asked[0].key, "cli"); err != nil {
		t.Fatal(err)
	}
	o.ended(t, coordination.TypeMilestoneSynced, 1)
	if got, want := o.ofTask(t, id), "milestone.synced of eden: m1/i1 done"; got[len(got)-1] != want || h.status("i1") != "done" {
		t.Errorf("sent again: %q, want %q last; the item is %s", got, want, h.status("i1"))
	}
	if got := h.asked(); len(got) != 4 || got[3] != asked[0] {
		t.Errorf("sent again: asked %+v", got[3:])
	}
	if err := o.end(); err != nil {
		t.Error(err)
	}
	if strings.Contains(o.logged.String(), cookie) {
		t.Errorf("the cookie is in the log: %s", o.logged)
	}
}

// A permanent failure is final; a temporary one is retried, not before Task-Hub asks for it.
func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		milestoneID string
		bad         func(http.ResponseWriter, *http.Request) bool
		want        []string
		says        string
		notBefore   time.Duration
	}{
		"an item that is not there": {milestoneID: "m1", want: []string{"scheduled", "leased", "dead"}, says: "404 Not Found: no such item"},
		"no such path":              {milestoneID: "../admin", want: []string{"scheduled", "leased", "dead"}, says: "an id is empty"},
		"refused":                   {milestoneID: "m1", bad: says(400, "", "", ""), want: []string{"scheduled", "leased", "dead"}, says: "400 Bad Request"},
		"busy": {milestoneID: "m1", bad: says(429, "Retry-After", "120", ""), want: []string{"scheduled", "leased", "released"}, says: "429 Too Many Requests",
			notBefore: 2 * time.Minute},
		"a page":      {milestoneID: "m1", bad: says(200, "", "", "<html>"), want: []string{"scheduled", "leased", "released"}, says: "not JSON"},
		"a login":     {milestoneID: "m1", bad: says(302, "Location", "/login", ""), want: []string{"scheduled", "leased", "released"}, says: "redirects"},
		"cut off":     {milestoneID: "m1", bad: func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, want: []string{"scheduled", "leased", "released"}, says: "no answer"},
		"no answer":   {milestoneID: "m1", bad: func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }, want: []string{"scheduled", "leased", "released"}, says: "no answer within 2s"},
		"not allowed": {milestoneID: "m1", bad: says(403, "", "", `{"error":"go away"}`), want: []string{"scheduled", "leased", "dead"}, says: "go away"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t).with(0)
			h.bad(c.bad)
			timeout := patience
			if name == "no answer" {
				timeout = 2 * time.Second
			}
			o := setupWithin(t, h, timeout)
			id := o.linked(t, "eden", c.milestoneID, "i1")
			o.does(t, "eden", "task_cancel", `{"task_id":%q}`, id)
			o.begin()
			end := o.ended(t, "work."+c.want[2], 1)
			var data coordination.WorkAttempt
			if err := json.Unmarshal(end.Data, &data); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(data.Error, c.says) || c.notBefore > 0 && data.DueAtMs-end.TS < c.notBefore.Milliseconds() {
				t.Errorf("%s, due after %d ms; want %q", data.Error, data.DueAtMs-end.TS, c.says)
			}
			got := o.ofTask(t, id)
			failed := strings.HasPrefix(got[len(got)-1], "milestone.sync_failed of eden: "+c.milestoneID+"/i1 cancelled ")
			if failed != (c.want[2] == "dead") {
				t.Errorf("task: %q", got)
			}
		})
	}
}

// The changes of one item are sent in order, also when the first of them fails for a while; another item does not wait for it.
func TestAnItemFollowsInOrder(t *testing.T) {
	t.Parallel()
	h := newHub(t).with(2)
	o := setup(t, h)
	first, second, other := o.linked(t, "eden", "m1", "i1"), o.linked(t, "seum", "m1", "i1"), o.linked(t, "ruda", "m1", "i2")
	o.does(t, "eden", "task_cancel", `{"task_id":%q}`, first)
	o.does(t, "seum", "task_complete", `{"task_id":%q}`, second)
	o.does(t, "ruda", "task_complete", `{"task_id":%q}`, other)
	h.bad(func(w http.ResponseWriter, r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/i1") && says(500, "", "", "")(w, r)
	})
	o.begin().ended(t, coordination.TypeWorkReleased, 1)
	o.ended(t, coordination.TypeMilestoneSynced, 1)
	if h.status("i2") != "done" || h.status("i1") != "todo" {
		t.Errorf("i2 is %s, i1 is %s", h.status("i2"), h.status("i1"))
	}
	h.bad(nil)
	o.advance(t, time.Minute)
	o.ended(t, coordination.TypeMilestoneSynced, 3)
	if h.status("i1") != "done" {
		t.Errorf("i1 is %s, want it as the last task has left it", h.status("i1"))
	}
	var bodies []string
	for _, r := range h.asked() {
		if strings.HasSuffix(r.what, "/i1") {
			bodies = append(bodies, r.body)
		}
	}
	if want := []string{`{"status":"cancelled"}`, `{"status":"cancelled"}`, `{"status":"done"}`}; !slices.Equal(bodies, want) {
		t.Errorf("told of i1: %q, want %q", bodies, want)
	}
}

// A process that dies between the report to Task-Hub and its record reports again, with the same key. Rebuilding the tables reports
// nothing.
func TestARestartBetweenTheDeedAndItsEnd(t *testing.T) {
	t.Parallel()
	h := newHub(t).with(1)
	o := setup(t, h)
	id := o.linked(t, "eden", "m1", "i1")
	o.does(t, "eden", "task_complete", `{"task_id":%q}`, id)
	told := make(chan struct{}, 1)
	h.bad(func(http.ResponseWriter, *http.Request) bool {
		o.db.Close() // nothing of this process gets on disk any more
		told <- struct{}{}
		return false
	})
	o.begin()
	<-told
	if err := <-o.stopped; err == nil {
		t.Error("the worker of a log that is closed has ended as if nothing were")
	}
	o.stop = nil
	h.bad(nil)
	o = reopen(t, o.path, h.URL, 0).begin()
	o.ended(t, coordination.TypeMilestoneSynced, 1)
	asked := h.asked()
	if len(asked) != 2 || asked[0] != asked[1] || asked[0].key == "" || h.status("i1") != "done" {
		t.Errorf("asked: %+v, the item is %s", asked, h.status("i1"))
	}
	want := []string{"scheduled", "leased", "lease_expired", "leased", "completed"}
	for _, got := range o.effects(t) {
		if !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
	}
	before := projectiontest.Dump(t, o.db, definitions()...)
	if err := o.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, projectiontest.Dump(t, o.db, definitions()...)); diff != "" {
		t.Errorf("tables differ from rebuilt ones (-live +rebuilt):\n%.2000s", diff)
	}
	o = o.restarted(t).begin()
	o.advance(t, 24*time.Hour)
	again := o.linked(t, "eden", "m1", "i1") // which is behind whatever a replay would have done
	o.does(t, "eden", "task_cancel", `{"task_id":%q}`, again)
	o.ended(t, coordination.TypeMilestoneSynced, 2)
	if got := h.asked(); len(got) != 3 || got[2].body != `{"status":"cancelled"}` {
		t.Errorf("asked after a rebuild and a restart: %+v", got[2:])
	}
}

// A link to an invalid item fails at once with an event; the task ends all the same.
func TestATaskIsNeverHeldUp(t *testing.T) {
	t.Parallel()
	h := newHub(t).with(1)
	o := setup(t, h)
	id := "task_" + strings.Repeat("0", 20)
	added := coordination.TaskBacklogAdded{Context: coordination.Context{TaskID: id, WorkSessionID: "ws_1"}, Assignee: "eden", Priority: "high", Description: "x",
		MilestoneID: strings.Repeat("m", 5000), MilestoneItemID: "i1"} // no tool adds it, but a file may say it
	data, err := json.Marshal(added)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.db.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.TaskStream(id), Expect: eventstore.NoStream(),
		Events: []eventstore.NewEvent{{Type: coordination.TypeTaskBacklogAdded, AgentID: "eden", Data: data}}}); err != nil {
		t.Fatal(err)
	}
	if a := o.does(t, "eden", "task_cancel", `{"task_id":%q}`, id); a.text("status") != "cancelled" {
		t.Errorf("cancelled: %v", a)
	}
	if got := o.ofTask(t, id); len(got) != 3 || !strings.HasPrefix(got[2], "milestone.sync_failed of eden: mmm") || !strings.Contains(got[2], "key: bad value") {
		t.Errorf("task: %.300q", got)
	}
}

// Work that was not scheduled by this package is given up without harm.
func TestAPayloadThatIsNone(t *testing.T) {
	t.Parallel()
	o := setup(t, newHub(t).with(1))
	asked, err := worker.Schedule(coordination.WorkScheduled{EffectID: "milestone/odd", Kind: milestone.Kind, Key: "k", Pool: milestone.Pool, Payload: json.RawMessage(`{"status":7}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.db.Append(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	o.begin().ended(t, coordination.TypeWorkDead, 1)
	if got := o.effects(t)[work.Stream("milestone/odd")]; !slices.Equal(got, []string{"scheduled", "leased", "dead"}) {
		t.Errorf("events: %q", got)
	}
}
