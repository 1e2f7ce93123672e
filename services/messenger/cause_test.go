package messenger_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// What an agent sends names the event that asked for the run in which it does; what follows from the end of a run, the one that asked for that.
func TestEventsNameTheirCause(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Answer: func(a a2atest.Asked) a2atest.Answer {
		if a.Agent == "eden" && !a.AfterTool() {
			return a2atest.Use(a2atest.Send(map[string]any{"agentId": "seum", "message": "look", "timeoutSeconds": 0, "replyBack": false}))
		}
		return a2atest.Say("it is done and there is nothing left to do")
	}})
	told := team.Ended(team.SayTo("eden", "go"))
	f := team.Flows()[0]
	team.Over(f.JobID)
	team.CheckSettled()
	asked := map[string]string{} // ids of events by run
	queued := team.Events(coordination.TypeRunQueued)
	for i := range queued {
		asked[a2atest.Decoded[coordination.RunQueued](t, &queued[i]).RunID] = queued[i].ID.String()
	}
	seen := map[string]int{}
	events := team.Events()
	for i := range events {
		e := &events[i]
		cause := asked[told.RunID]
		switch e.Type {
		case coordination.TypeA2AResponse, coordination.TypeA2AComplete, coordination.TypeA2AJobCompleted:
			cause = asked[f.JobID]
		case coordination.TypeRunQueued:
			if a2atest.Decoded[coordination.RunQueued](t, e).RunID != f.JobID {
				continue
			}
		case coordination.TypeA2ASend, coordination.TypeA2AJobCreated:
		default:
			if !strings.HasPrefix(e.Type, "a2a.") || e.Actor == eventstore.ActorImport {
				continue
			}
		}
		if seen[e.Type]++; cause == "" || e.CausationID != cause {
			t.Errorf("%s is caused by %q, want %q", e.Type, e.CausationID, cause)
		}
	}
	if len(seen) != 6 {
		t.Errorf("seen are %v", seen)
	}
}
