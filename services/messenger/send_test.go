package messenger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

func wait(r *messenger.Request) { r.Wait = a2atest.Patience }

func TestAMessageIsAnswered(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Answer: func(a a2atest.Asked) a2atest.Answer { return a2atest.Say("the answer to " + a.Message()) }})
	got := team.MustSend("eden", "seum", "how many are 2 and 2?", wait)
	if got.Status != "ok" || !strings.Contains(got.Reply, "how many are 2 and 2?") || !strings.HasPrefix(got.Reply, "the answer to [eden]: ") {
		t.Fatalf("%+v", got)
	}
	team.CheckSettled()
	if diff := cmp.Diff([]string{"a2a.job.created", "a2a.send", "run.queued", "run.started", "run.ended", "a2a.response", "a2a.complete", "a2a.job.completed"},
		team.Types()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	send := a2atest.Data[coordination.A2ASend](team, coordination.TypeA2ASend, got.JobID)[0]
	if send.WorkSessionID == "" || send.WorkSessionID != got.WorkSessionID || send.ConversationID != got.ConversationID ||
		send.TargetSessionKey != "agent:seum:a2a:"+got.ConversationID || send.EventRole != coordination.RoleConversation {
		t.Errorf("send %+v, result %+v", send, got)
	}
}

func TestTimeoutZeroReturnsAtOnce(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	got := team.MustSend("eden", "seum", "think about it")
	want := messenger.Result{RunID: got.JobID, JobID: got.JobID, Status: "accepted", SessionKey: "agent:seum:main", ConversationID: got.ConversationID,
		WorkSessionID: got.WorkSessionID, Delivery: &messenger.Delivery{Status: "pending"}}
	if diff := cmp.Diff(want, got); diff != "" || got.JobID == "" || got.ConversationID == "" || got.WorkSessionID == "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	team.Wake()
	team.CheckSettled()
}

func TestASyncTimeoutGoesOnInTheBackground(t *testing.T) {
	t.Parallel()
	asked, go_ := make(chan struct{}), make(chan struct{})
	team := setup(t, a2atest.Setting{Answer: func(a2atest.Asked) a2atest.Answer {
		close(asked)
		<-go_
		return a2atest.Say("after all")
	}})
	got := team.MustSend("eden", "seum", "what takes long?", func(r *messenger.Request) { r.Wait = 200 * time.Millisecond })
	if got.Status != "timeout" || got.Delivery == nil || got.Delivery.Status != "delivered" || got.ConversationID == "" || got.RunID == "" {
		t.Fatalf("%+v", got)
	}
	<-asked
	close(go_)
	if row := team.Over(got.JobID); row.Outcome != "ok" || len(row.Said) != 1 || row.Said[0].Text != "after all" {
		t.Errorf("%+v", row)
	}
	team.CheckSettled()
	if got := a2atest.Data[coordination.A2AResponse](team, coordination.TypeA2AResponse, got.JobID); len(got) != 1 || got[0].Message != "after all" {
		t.Errorf("%+v", got)
	}
}
