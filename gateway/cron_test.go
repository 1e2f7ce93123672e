package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// What clients of both generations send becomes a job; null clears, payloads and deliveries are merged, and what would change the meaning of a
// job is refused.
func TestPatchesOfJobs(t *testing.T) {
	t.Parallel()
	var job coordination.CronJob
	for _, params := range []string{
		`{"name":"a","enabled":false,"agentId":"eden","schedule":{"kind":"every","everyMs":60000},"sessionTarget":"isolated","wakeMode":"now",
			"payload":{"kind":"agentTurn","message":"hi","model":"m/x","timeoutSeconds":30,"lightContext":true},
			"delivery":{"mode":"announce","channel":"last","threadId":7},"failureAlert":false,"displayName":"A"}`,
		`{"payload":{"kind":"agentTurn","message":"ho","model":null},"delivery":{"to":"channel:1"},"agentId":null,"enabled":true,"missed":"all"}`,
		`{"schedule":{"kind":"cron","expr":"0 9 * * *","tz":"Asia/Seoul","staggerMs":0}}`,
	} {
		if err := patchJob(&job, json.RawMessage(params)); err != nil {
			t.Fatal(err)
		}
	}
	stagger, timeout := int64(0), int64(30)
	want := coordination.CronJob{Name: "a", Enabled: true, Schedule: coordination.CronSchedule{Kind: "cron", Expr: "0 9 * * *", Tz: "Asia/Seoul", StaggerMs: &stagger},
		SessionTarget: "isolated", WakeMode: "now", Payload: coordination.CronPayload{Kind: "agentTurn", Message: "ho", TimeoutSeconds: &timeout},
		Delivery: &coordination.CronDelivery{Mode: "announce", Channel: "last", To: "channel:1", ThreadID: "7"}, Missed: "all"}
	if diff := cmp.Diff(want, job); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for params, field := range map[string]string{
		`[]`:                           "params",
		`{"trigger":{"script":"1"}}`:   "trigger",
		`{"failureAlert":{"after":1}}`: "failureAlert",
		`{"payload":{"kind":"agentTurn","toolsAllow":["x"]}}`: "toolsAllow",
		`{"payload":{"kind":"heartbeat"}}`:                    "payload.kind",
		`{"schedule":{"kind":"every","x":1}}`:                 "schedule",
		`{"colour":"red"}`:                                    "colour",
		`{"maxRuns":"many"}`:                                  "maxRuns",
		`{"delivery":{"mode":"announce","y":1}}`:              "delivery",
	} {
		err := patchJob(&job, json.RawMessage(params))
		refused, ok := err.(*schedule.Refusal)
		if !ok || refused.Field != field || refused.HintText == "" || refused.Reason == "" {
			t.Errorf("%s: %v", params, err)
		}
	}
}

// Pages have bounds, also in bytes.
func TestPagesOfJobsAreBounded(t *testing.T) {
	t.Parallel()
	for method, all := range map[string][]string{
		"cron.list": {`{"limit":-1}`, `{"limit":0}`, `{"limit":201}`, `{"offset":-1}`, `{"limit":5,"Limit":-1}`},
		"cron.runs": {`{"limit":-1}`, `{"offset":-1}`, `{"statuses":["ok","ok","ok","ok"]}`, `{"deliveryStatuses":["x"]}`},
	} {
		for _, params := range all {
			if protocol.Check(method, json.RawMessage(params)) == nil {
				t.Errorf("%s %s is taken", method, params)
			}
		}
	}
	large := make([]jobInfo, maxJobs)
	for i := range large {
		large[i].Payload.Message = strings.Repeat("x", schedule.MaxMessage)
	}
	if n := len(fitting(large)); n < 10 || n*schedule.MaxMessage > maxPageBytes {
		t.Errorf("a page has %d large jobs", n)
	}
	if n := len(fitting([]string{strings.Repeat("x", maxPageBytes+1), ""})); n != 1 {
		t.Errorf("a page has %d entries, want the first one", n)
	}
}
