package messenger_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// Who is only told something and keeps silent has not failed to answer.
func TestASilentNotificationIsNoFailure(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Answer: func(a2atest.Asked) a2atest.Answer { return a2atest.Say("NO_REPLY") }})
	r := team.MustSend("eden", "seum", "[NO_REPLY_NEEDED] it is out", wait)
	row := team.Over(r.JobID)
	team.CheckSettled()
	responses := a2atest.Data[coordination.A2AResponse](team, coordination.TypeA2AResponse, r.JobID)
	if r.Status != "ok" || row.Outcome != "ok" || len(responses) != 1 || responses[0].Outcome != "" || responses[0].Message != "[completed]" {
		t.Errorf("%+v, %+v, %+v", r, row, responses)
	}
}
