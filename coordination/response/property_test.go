package response_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination/response"
)

// No message answers two requests, no request is answered twice, and of one target in one thread they are answered in the order in which they
// were asked.
func TestOneMessageAnswersAtMostOneRequest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := begins(t)
		var messages []response.Message
		answers, asked := map[string]string{}, map[string][]string{}
		for i := range rapid.IntRange(1, 40).Draw(t, "length") {
			w.after(time.Duration(rapid.IntRange(0, 400).Draw(t, "seconds")) * time.Second)
			agent := rapid.SampledFrom([]string{"eden", "seum"}).Draw(t, "agent")
			switch rapid.SampledFrom([]string{"ask", "ask", "say", "say", "repeat", "look"}).Draw(t, "what") {
			case "ask":
				id := fmt.Sprint("r", i)
				w.asks(id, "ruda", agent)
				asked[agent] = append(asked[agent], id)
			case "say":
				messages = append(messages, w.from(agent))
				hear(t, w, messages[len(messages)-1], answers, asked)
			case "repeat":
				if len(messages) > 0 {
					hear(t, w, rapid.SampledFrom(messages).Draw(t, "message"), answers, asked)
				}
			case "look":
				w.does(w.posted)
			}
		}
	})
}

func hear(t *rapid.T, w *world, m response.Message, answers map[string]string, asked map[string][]string) {
	id := w.hears(m)
	if id == "" {
		return
	}
	if before, twice := answers[m.ID]; twice {
		t.Fatalf("%s answers %s and %s", m.ID, before, id)
	}
	answers[m.ID] = id
	if waiting := asked[m.AgentID]; waiting[0] != id {
		t.Fatalf("%s answers %s, but %v wait", m.ID, id, waiting)
	}
	asked[m.AgentID] = slices.Delete(asked[m.AgentID], 0, 1)
}

// What has been said by a time, if that is looked at, does not depend on when else it was looked at; and nothing is said twice or too early.
func TestTimelineIsIndependentOfPolling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		looks := rapid.SliceOfN(rapid.Int64Range(0, (20*time.Minute).Milliseconds()), 0, 60).Draw(t, "looks")
		end := rapid.Int64Range(0, (20*time.Minute).Milliseconds()).Draw(t, "end")
		slices.Sort(looks)
		often, once := begins(t), begins(t)
		often.asks("r1", "ruda", "eden")
		once.asks("r1", "ruda", "eden")
		said := map[int]bool{}
		for _, at := range append(slices.DeleteFunc(looks, func(at int64) bool { return at > end }), end) {
			often.now = begin + at
			for _, a := range often.does(often.posted) {
				if said[a.Step] || at < int64(a.Step)*(5*time.Minute).Milliseconds() {
					t.Fatalf("step %d at %d ms: twice, or too early", a.Step, at)
				}
				said[a.Step] = true
			}
		}
		once.now = begin + end
		once.does(once.posted)
		a, b := often.state.Find("r1"), once.state.Find("r1")
		if a.Step != b.Step || a.Status != b.Status || a.Step != int(min(end/(5*time.Minute).Milliseconds(), 3)) {
			t.Fatalf("looked at %v: step %d, %s; once at %d: step %d, %s", looks, a.Step, a.Status, end, b.Step, b.Status)
		}
		if list, at := often.state.Next(often.policy, often.now); len(list) != 0 || at != 0 && at <= often.now {
			t.Fatalf("%+v, %d: it does not come to rest", list, at)
		}
	})
}
