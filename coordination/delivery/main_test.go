package delivery_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
)

// begin is when all tests begin, ms since 1970.
const begin = int64(1_790_000_000_000)

const (
	channel = "900000000000000001"
	thread  = "900000000000000002"
)

// draft is a delivery of so many messages to a channel.
func draft(messages ...string) *delivery.Delivery {
	return &delivery.Delivery{Purpose: delivery.Reply, AgentID: "ruda", AccountID: "ruda", ChannelID: channel, Messages: messages}
}

// opening is a delivery that opens a thread.
func opening(messages ...string) *delivery.Delivery {
	d := draft(messages...)
	d.Purpose, d.Route = delivery.Request, collaborate.RouteNew
	d.Open = &delivery.Opening{Name: "[협업] 루다 → 이든", Kind: "collab", ReuseKey: "ruda:eden"}
	return d
}

// history is the stream of a delivery.
type history struct {
	t   testing.TB
	now int64
	all []entry
}

type entry struct {
	typ  string
	data []byte
	ts   int64
}

func newHistory(t testing.TB) *history { return &history{t: t, now: begin} }

func (h *history) after(d time.Duration) *history {
	h.now += d.Milliseconds()
	return h
}

func (h *history) say(typ string, data any) *history {
	h.t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		h.t.Fatal(err)
	}
	h.all = append(h.all, entry{typ, text, h.now})
	return h
}

func (h *history) leased() *history {
	return h.say(coordination.TypeWorkLeased, coordination.WorkAttempt{})
}
func (h *history) returned() *history {
	return h.say(coordination.TypeWorkReleased, coordination.WorkAttempt{})
}
func (h *history) broken() *history {
	return h.say(coordination.TypeWorkLeaseExpired, coordination.WorkAttempt{Reason: "restart"})
}
func (h *history) dead() *history {
	return h.say(coordination.TypeWorkDead, coordination.WorkAttempt{})
}
func (h *history) resent() *history {
	return h.say(coordination.TypeWorkResent, coordination.WorkAttempt{})
}

func (h *history) opened(id string) *history {
	return h.say(coordination.TypeThreadCreated, coordination.Thread{ThreadID: id, Name: "name of " + id})
}

func (h *history) sent(id string, i int) *history {
	return h.say(coordination.TypeDiscordSent, coordination.DiscordOutbound{MessageID: id, Index: i, Step: delivery.StepPost})
}

func (h *history) failed(step string, c collaborate.Class) *history {
	return h.say(coordination.TypeDiscordSendFailed, coordination.DiscordOutbound{Step: step, ErrorClass: string(c), Error: "no: " + string(c)})
}

func (h *history) unknown() *history {
	return h.say(coordination.TypeDiscordDeliveryUnknown, coordination.DiscordOutbound{ErrorCode: collaborate.CodeUnknown}).dead()
}

// fold is how far the delivery has come.
func (h *history) fold() *delivery.Progress {
	h.t.Helper()
	p := &delivery.Progress{}
	for _, e := range h.all {
		if _, err := p.Apply(e.typ, e.data, e.ts); err != nil {
			h.t.Fatal(err)
		}
	}
	return p
}
