package monitor_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/owed"
)

type owedPage struct {
	Owed                  []owed.Item
	Count, Total, Overdue int
	Cancelable            bool
	AsOfSeq               int64
}

func (p *owedPage) ids() (ids []string) {
	for i := range p.Owed {
		ids = append(ids, string(p.Owed[i].Kind)+" "+p.Owed[i].ID)
	}
	return ids
}

// Flows, handoffs and requests are one list: overdue ones first, then the oldest, filtered by agents and kinds, with the next reminder.
func TestOwedListsWhoOwesAnswers(t *testing.T) {
	t.Parallel()
	reminding := func(o *monitor.Options) {
		o.Reminders = func(string) response.Policy { return response.Policy{Enabled: true, After: 5 * time.Minute, Steps: 3} }
	}
	b := setup(t, reminding, func(o *monitor.Options) { o.Flows = &stopper{} })
	contract := newContract(t, b)
	contract.check(t, http.MethodGet, "/api/owed", http.StatusOK)
	if none := get[owedPage](t, b, "/api/owed", http.StatusOK); none.Owed == nil || none.Total != 0 || !none.Cancelable {
		t.Errorf("nothing is owed, and that is %+v", none)
	}
	b.flows(t)
	b.configured(t)
	b.collaborated(t) // c1: ruda asks eden, sent a minute after noon
	b.requested(t, "c2", "eden", "seum", 2)
	contract.check(t, http.MethodGet, "/api/owed", http.StatusOK)
	got := get[owedPage](t, b, "/api/owed", http.StatusOK)
	if ids := got.ids(); !slices.Contains(ids, "handoff j1") || !slices.Contains(ids, "flow j2") || !slices.Contains(ids, "request c1") || !slices.Contains(ids, "request c2") ||
		slices.Contains(ids, "flow j1") || slices.Contains(ids, "flow j3") || len(ids) != 4 || got.Total != 4 || got.Count != 4 {
		t.Fatalf("owed are %q of %d", ids, got.Total)
	}
	of := func(page *owedPage, id string) *owed.Item {
		i := slices.IndexFunc(page.Owed, func(item owed.Item) bool { return item.ID == id })
		if i < 0 {
			t.Fatalf("%s is not in %q", id, page.ids())
		}
		return &page.Owed[i]
	}
	sent, next, due := int64(at(1)), int64(at(6)), int64(at(16))
	asked := of(&got, "c1")
	if diff := cmp.Diff([]*int64{&sent, &next, &due, nil}, []*int64{asked.DeliveredAt, asked.NextAt, asked.DueAt, asked.AnsweredAt}); diff != "" {
		t.Errorf("times of the request (-want +got)\n%s", diff)
	}
	if asked.From != "ruda" || asked.To != "eden" || asked.Text != "@이든 리뷰 부탁" || asked.Step != 0 || asked.Steps != 3 || asked.State != owed.Waiting || asked.Overdue ||
		asked.Refs.Link == "" || asked.Refs.WorkSession != "ws_1" || asked.Refs.CollabID != "c1" {
		t.Errorf("the request is %+v", asked)
	}
	if c2 := of(&got, "c2"); c2.State != owed.Sending || c2.DeliveredAt != nil || c2.NextAt != nil || c2.Steps != 0 {
		t.Errorf("the request that is not posted is %+v", c2)
	}
	if q := of(&got, "j1"); q.State != owed.Waiting || q.Subject != "q1" || q.DeliveredAt == nil || q.DueAt == nil || q.Refs.JobID != "j1" || q.Refs.Thread == "" || q.From != "eden" {
		t.Errorf("the question is %+v", q)
	}
	if f := of(&got, "j2"); f.State != owed.Sending || f.DeliveredAt != nil || f.Turns != 1 {
		t.Errorf("the flow that waits for a permit is %+v", f)
	}
	for query, want := range map[string][]string{"kind=request&to=EDEN": {"request c1"}, "from=eden&kind=flow": {"flow j2"}, "from=eden&to=seum&kind=flow,request": {"flow j2", "request c2"},
		"to=stranger": nil} {
		page := get[owedPage](t, b, "/api/owed?"+query, http.StatusOK)
		ids := page.ids()
		slices.Sort(ids)
		if !slices.Equal(ids, want) || page.Total != len(want) {
			t.Errorf("%s: %q of %d, want %q", query, ids, page.Total, want)
		}
	}
	if page := get[owedPage](t, b, "/api/owed?limit=1", http.StatusOK); page.Count != 1 || page.Total != 4 {
		t.Errorf("limit=1: %d of %d", page.Count, page.Total)
	}

	b.happens(t, coordination.CollabStream(collabID), coordination.TypeCollabReminded, "ruda", 6, coordination.Collab{CollabID: collabID, FromAgent: "ruda",
		ToAgent: "eden", ThreadID: threadID, Attempt: 1, Of: 3, Minutes: 5})
	later := get[owedPage](t, b, "/api/owed", http.StatusOK)
	if first := &later.Owed[0]; first.ID != "c1" || !first.Overdue || first.State != owed.Reminded || first.Step != 1 || *first.NextAt != int64(at(11)) || later.Overdue < 1 {
		t.Errorf("after a reminder the first is %+v of %d overdue", first, later.Overdue)
	}
	shown := get[monitor.ShownCollaboration](t, b, "/api/collaborations/c1", http.StatusOK)
	if c := &shown.Collaboration; c.Steps != 3 || c.NextStepAt == nil || *c.NextStepAt != int64(at(11)) {
		t.Errorf("the request has %d steps, the next at %v", c.Steps, c.NextStepAt)
	}
	contract.check(t, http.MethodGet, "/api/collaborations", http.StatusOK)

	contract.check(t, http.MethodGet, "/api/owed?open=false", http.StatusOK)
	over := get[owedPage](t, b, "/api/owed?open=false", http.StatusOK)
	if done, silent := of(&over, "j3"), of(&over, "j/4"); done.State != owed.Answered || silent.State != owed.NoReply || silent.Reason != "no_reply" || over.Overdue != 0 {
		t.Errorf("ended are %+v and %+v", done, silent)
	}
}

// What openclawd asks in the name of an agent comes as a code, with the title of the task; what agents ask does not.
func TestOwedTellsPromptsFromWordsOfAgents(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	b.ownTasks(t)
	for id, text := range map[string]string{"asked": "[Unblock request 1 of 3] Agent eden cannot go on with a task, and you can help.", "own": "로그 좀 봐줄래요?"} {
		b.flowed(t, id, "eden", coordination.TypeA2AJobCreated, coordination.A2AJobCreated{
			Context: coordination.Context{ConversationID: "c_" + id, WorkSessionID: "ws_1", TaskID: "task_a", EventRole: coordination.RoleOrchestration},
			JobID:   id, Kind: "send", FromAgent: "eden", ToAgent: "seum", Phase: "waiting", RequesterSessionKey: "agent:eden:main",
			TargetSessionKey: "agent:seum:a2a:c_" + id, Message: text, EffectiveTurns: 1})
	}
	newContract(t, b).check(t, http.MethodGet, "/api/owed", http.StatusOK)
	got := map[string][2]string{}
	for _, item := range get[owedPage](t, b, "/api/owed", http.StatusOK).Owed {
		got[item.ID] = [2]string{string(item.Prompt), item.TaskTitle}
	}
	if diff := cmp.Diff(map[string][2]string{"asked": {"unblock", "로그인 구현"}, "own": {"", "로그인 구현"}}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What has ended is listed, and cut, by when it ended: what began first and ended last comes first.
func TestOwedListsWhatEndedLastFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configured(t)
	for _, id := range []string{"early", "late"} {
		b.flowed(t, id, "eden", coordination.TypeA2AJobCreated, coordination.A2AJobCreated{
			Context: coordination.Context{ConversationID: "c_" + id, WorkSessionID: "ws_1", EventRole: coordination.RoleOrchestration},
			JobID:   id, Kind: "send", FromAgent: "eden", ToAgent: "seum", Phase: "waiting", RequesterSessionKey: "agent:eden:main",
			TargetSessionKey: "agent:seum:a2a:c_" + id, Message: "m", EffectiveTurns: 1, PayloadType: "question", PayloadSubject: "q_" + id, PayloadHash: id})
		b.tell(t, "conversation/c_"+id, "eden", [2]string{coordination.TypeA2ASend, fmt.Sprintf(`{"jobId":%q,"runId":%[1]q,"fromAgent":"eden","toAgent":"seum",`+
			`"conversationId":"c_%[1]s","workSessionId":"ws_1","eventRole":"conversation.main","message":"m","payloadType":"question"}`, id)})
		b.requested(t, "asked "+id, "eden", "seum", 1)
	}
	for _, id := range []string{"late", "early"} {
		b.flowed(t, id, "eden", coordination.TypeA2AJobFailed, coordination.A2AJob{JobID: id, FromAgent: "eden", ToAgent: "seum", Outcome: "no_reply", Reason: "wait_timeout"})
		b.happens(t, coordination.CollabStream("asked "+id), coordination.TypeA2ACollaborateFailed, "eden", 2, coordination.A2ACollaborate{
			Context: coordination.Context{EventRole: coordination.RoleOrchestration}, CollabID: "asked " + id, FromAgent: "eden", ToAgent: "seum", Key: "kasked " + id, ErrorCode: "gone"})
	}
	for query, want := range map[string][]string{
		"limit=1&kind=flow":    {"flow early"},
		"limit=1&kind=handoff": {"handoff early"},
		"limit=1&kind=request": {"request asked early"},
		"limit=4":              {"request asked early", "flow early", "handoff early", "request asked late"},
		"limit=100":            {"request asked early", "flow early", "handoff early", "request asked late", "flow late", "handoff late"},
		"limit=1&from=seum":    nil,
	} {
		if page := get[owedPage](t, b, "/api/owed?open=false&"+query, http.StatusOK); !slices.Equal(page.ids(), want) {
			t.Errorf("%s: %q, want %q", query, page.ids(), want)
		}
	}
}
