package outbound_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
)

// The acknowledgement of a message is removed however its run ends, also if a person stops it.
func TestAcknowledgementsAreRemoved(t *testing.T) {
	t.Parallel()
	o, r := open(t), team(t)
	r.Config().Messages.RemoveAck = true
	q := asked()
	q.MessageID = "1300000000000000001"
	ack := delivery.Ack{AgentID: "ruda", AccountID: "ruda", ChannelID: general, MessageID: q.MessageID, Emoji: "👀"}
	what, err := ack.Work(delivery.AckEffect(q.MessageID, "ruda"))
	if err != nil {
		t.Fatal(err)
	}
	scheduled, err := worker.Schedule(what)
	if err != nil {
		t.Fatal(err)
	}
	o.append(scheduled)
	for state, reason := range map[run.State]string{run.OK: "", run.Failed: "", run.TimedOut: "", run.Aborted: "stop"} {
		removed := false
		_, err := o.db.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
			appends, err := r.Then(tx, q, over(state, coordination.RunOver{Reason: reason}), o.clock())
			for _, a := range appends {
				removed = removed || a.Stream == coordination.WorkStream("unack/"+q.RunID)
			}
			return nil, err
		})
		if err != nil || !removed {
			t.Errorf("%s: removed is %t, %v", state, removed, err)
		}
	}
}
