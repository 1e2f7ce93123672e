package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// atATime is the default number of concurrent flows of an agent.
const atATime = 3

// Many agents ask one at the same time, each in a run that waits for the answer: each gets its own answer, in the order of the requests,
// and at most a few are answered at a time.
func TestManyAskOne(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5, 10, 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			ready := make(gate)
			var askers []string
			for i := range n {
				askers = append(askers, fmt.Sprintf("asker%02d", i))
			}
			team := startTeam(t, append(askers, "seum"), func(a a2atest.Asked) a2atest.Answer {
				switch {
				case a.Agent == "seum":
					ready.pass(a.Context)
					return a2atest.Say("It is the answer to: " + a.Message())
				case a.AfterTool():
					var told sent
					if err := json.Unmarshal([]byte(a.Last().Text), &told); err != nil {
						return a2atest.Say(err.Error())
					}
					return a2atest.Say(told.Status + ": " + told.Reply)
				}
				return a2atest.Use(a2atest.Send(map[string]any{"agentId": "seum", "message": "who is " + a.Agent + "?", "timeoutSeconds": 600, "replyBack": false}))
			})
			answers := make(chan error, n)
			for _, asker := range askers {
				go func() {
					said, err := team.answer(t.Context(), asker, "ask-"+asker, "begin")
					if want := fmt.Sprintf("ok: It is the answer to: [%s]: who is %s?", asker, asker); err == nil && said != want {
						err = fmt.Errorf("%s is told %q", asker, said)
					}
					answers <- err
				}()
			}
			asked := map[string]bool{}
			team.awaits(t, "that all have asked", func(f *fact) bool {
				if f.Type == coordination.TypeA2AJobCreated {
					asked[f.JobID] = true
				}
				return len(asked) == n
			})
			ready.open()
			for range askers {
				if err := waitFor(t, "an answer", answers); err != nil {
					t.Error(err)
				}
			}
			checkPermits(t, team.facts(t, "a2a."), n)
		})
	}
}

// checkPermits follows the permits of one agent through the events: n flows get one each, in the order of the requests, within the
// limit.
func checkPermits(t *testing.T, facts []fact, n int) {
	t.Helper()
	var created, started []string
	holding, most := map[string]bool{}, 0
	counts := map[string]int{}
	for _, f := range facts {
		counts[f.Type]++
		switch f.Type {
		case coordination.TypeA2AJobCreated:
			created = append(created, f.JobID)
			if f.Phase == "dispatching" {
				continue
			}
			holding[f.JobID], started = true, append(started, f.JobID)
		case coordination.TypeA2AJobRunning:
			if !holding[f.JobID] {
				holding[f.JobID], started = true, append(started, f.JobID)
			}
		case coordination.TypeA2AJobCompleted:
			if !holding[f.JobID] {
				t.Errorf("flow %s ends without a permit", f.JobID)
			}
			delete(holding, f.JobID)
		}
		if most = max(most, len(holding)); len(holding) > atATime {
			t.Fatalf("after event %d %d flows have a permit", f.Seq, len(holding))
		}
	}
	if most != atATime || len(holding) != 0 {
		t.Errorf("at most %d flows at a time, %d at the end", most, len(holding))
	}
	if !slices.Equal(started, created) {
		t.Errorf("they begin in the order %v, and were asked for as %v", started, created)
	}
	for typ, want := range map[string]int{coordination.TypeA2AJobCreated: n, coordination.TypeA2AJobCompleted: n, coordination.TypeA2ASend: n,
		coordination.TypeA2AResponse: n, coordination.TypeA2AComplete: n, coordination.TypeA2AConcurrencyThrottle: n - atATime} {
		if counts[typ] != want {
			t.Errorf("%s: %d, want %d", typ, counts[typ], want)
		}
	}
}

// A message whose target is too busy for too long is not delivered: it is blocked, and the log and the API say so.
func TestTooBusyForTooLong(t *testing.T) {
	t.Parallel()
	ready := make(gate)
	team := startTeam(t, []string{"a", "b", "c", "eden", "seum"}, func(a a2atest.Asked) a2atest.Answer {
		ready.pass(a.Context)
		return a2atest.Say("that is how it is")
	})
	var jobs []sent
	for _, from := range []string{"a", "b", "c", "eden"} {
		jobs = append(jobs, invokes[sent](t, team.client, map[string]any{"name": "sessions_send", "agentId": from,
			"args": map[string]any{"agentId": "seum", "message": "who is " + from + "?", "timeoutSeconds": 0, "replyBack": false}}))
	}
	team.advance(t, 251*time.Second) // which is not too long for those who are waited for
	last := jobs[3]
	want := []string{"job.created", "send", "concurrency.throttle", "concurrency.timeout", "response", "complete", "job.failed"}
	if types := team.ended(t, last.JobID); !slices.Equal(types, want) {
		t.Errorf("it went so: %v", types)
	}
	for _, s := range team.sessions(t) {
		want := "waiting"
		if s.WorkSessionID == last.WorkSessionID {
			want = "blocked"
		}
		if len(s.Threads) != 1 || s.Threads[0].Outcome == nil || *s.Threads[0].Outcome != want || s.Status != map[string]string{"waiting": "ACTIVE", "blocked": "QUIET"}[want] {
			t.Errorf("work session: %+v", s)
		}
	}
	ready.open()
	for _, job := range jobs[:3] {
		team.ended(t, job.JobID)
	}
	for _, f := range team.facts(t, coordination.TypeA2AResponse, coordination.TypeRunQueued) {
		if blocked := f.JobID == last.JobID; blocked != (f.Outcome == "blocked") || blocked && !strings.HasPrefix(f.Message, "[outcome] blocked: 응답을 받지 못했습니다") {
			t.Errorf("%s: %q", f.line(), f.Message)
		}
	}
}
