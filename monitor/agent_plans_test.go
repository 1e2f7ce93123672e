package monitor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
)

func jsonText(t testing.TB, data any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The plans of the log come first, the newest first, as the log has them; after them those of files that it does not know.
func TestPlansComeFromTheLogAndFromFiles(t *testing.T) {
	t.Parallel()
	b, dir := withOwnTasks(t)
	b.planned(t, coordination.TypePlanSubmitted, 1, planOf("1", "eden", "task_a", "첫 계획"))
	b.planned(t, coordination.TypePlanSubmitted, 2, planOf("2", "eden", "task_a", "둘째"))
	b.planned(t, coordination.TypePlanSubmitted, 3, planOf("3", "ghost", "task_g", "of an agent that has nothing else"))
	seq := b.planned(t, coordination.TypePlanRejected, 4,
		coordination.Plan{Context: ofTask("task_a", "ws_eden"), PlanID: planID("1"), AgentID: "eden", DecidedBy: "민수", Reason: "너무 크다"})
	b.importing(t, event("plan.submitted", "eden", 5, `"planId":"plan_other","title":"of another gateway"`))
	put(t, dir, "workspace-eden/plans/old.json", `{"id":"old","submittedAt":"2026-01-01T00:00:00.000Z"}`)
	put(t, dir, "workspace-eden/plans/new.json", `{"id":"new","submittedAt":"2026-03-01T00:00:00.000Z"}`)
	put(t, dir, "workspace-eden/plans/same.json", fmt.Sprintf(`{"id":%q,"status":"approved","title":"forged"}`, planID("1")))
	contract := newContract(t, b)
	first := fmt.Sprintf(`{"id":%q,"agentId":"eden","taskId":"task_a","title":"첫 계획","steps":["읽기","쓰기"],"toolsRequested":["exec"],"status":"rejected",
		"submittedAt":%q,"decidedAt":%q,"decidedBy":"민수","rejectReason":"너무 크다"}`, planID("1"), stamp(1), stamp(4))
	second := fmt.Sprintf(`{"id":%q,"agentId":"eden","taskId":"task_a","title":"둘째","steps":["읽기","쓰기"],"toolsRequested":["exec"],"status":"pending","submittedAt":%q}`,
		planID("2"), stamp(2))
	third := fmt.Sprintf(`{"id":%q,"agentId":"ghost","taskId":"task_g","title":"of an agent that has nothing else","steps":["읽기","쓰기"],"toolsRequested":["exec"],
		"status":"pending","submittedAt":%q}`, planID("3"), stamp(3))
	const files = `{"id":"new","submittedAt":"2026-03-01T00:00:00.000Z"},{"id":"old","submittedAt":"2026-01-01T00:00:00.000Z"}`
	for path, want := range map[string]string{
		"eden/plans":         fmt.Sprintf(`{"agentId":"eden","plans":[%s,%s,%s],"count":4,"derivedFromSeq":%d}`, second, first, files, seq),
		"eden/plans?limit=3": fmt.Sprintf(`{"agentId":"eden","plans":[%s,%s,%s],"count":3,"derivedFromSeq":%d}`, second, first, `{"id":"new","submittedAt":"2026-03-01T00:00:00.000Z"}`, seq),
		"eden/plans?limit=1": fmt.Sprintf(`{"agentId":"eden","plans":[%s],"count":1,"derivedFromSeq":2}`, second),
		"ghost/plans":        fmt.Sprintf(`{"agentId":"ghost","plans":[%s],"count":1,"derivedFromSeq":3}`, third),
		"seum/plans":         `{"agentId":"seum","plans":[],"count":0}`,
	} {
		contract.check(t, http.MethodGet, "/api/agents/"+path, http.StatusOK)
		_, body := b.ask(t, http.MethodGet, "/api/agents/"+path)
		if diff := cmp.Diff(jsonOf(t, want), jsonOf(t, string(body))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	contract.check(t, http.MethodGet, "/api/agents/stranger/plans", http.StatusNotFound)
}

// Clients are notified of each change of a plan; of another gateway's plans through its files.
func TestPlansAreToldAsTheyHappen(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	b.running(t)
	l := b.listen(t, "/ws")
	b.importing(t, event("plan.submitted", "eden", 5, `"planId":"plan_other","title":"of another gateway"`))
	seq := b.planned(t, coordination.TypePlanSubmitted, 1, planOf("1", "eden", "task_a", "계획"))
	want := []string{fmt.Sprintf(`plan_update eden  {"event":"add","file":"%[1]s.json","planId":"%[1]s","status":"pending"}`, planID("1"))}
	if diff := cmp.Diff(want, l.told(t, seq, 1)); diff != "" {
		t.Errorf("submitted (-want +got):\n%s", diff)
	}
	seq = b.planned(t, coordination.TypePlanApproved, 2,
		coordination.Plan{Context: ofTask("task_a", "ws_eden"), PlanID: planID("1"), AgentID: "eden", DecidedBy: "ruda"})
	want = []string{fmt.Sprintf(`plan_update eden  {"event":"change","file":"%[1]s.json","planId":"%[1]s","status":"approved"}`, planID("1"))}
	if diff := cmp.Diff(want, l.told(t, seq, 1)); diff != "" {
		t.Errorf("approved (-want +got):\n%s", diff)
	}
	other := setup(t)
	other.running(t)
	l = other.listen(t, "/ws")
	other.planned(t, coordination.TypePlanSubmitted, 1, planOf("1", "eden", "task_a", "계획"))
	other.appending(t, "work_session.category_set", `{"workSessionId":"ws_1","category":"infra_ops"}`)
	for {
		f := l.next(t)
		if f.Type == "plan_update" {
			t.Errorf("told of the log of another gateway: %+v", f)
		}
		if f.Type == "work_session_update" {
			break
		}
	}
}
