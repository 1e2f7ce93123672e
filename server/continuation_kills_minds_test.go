package server

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// moodyMinds answer for the models of agents, and outlive the server that asks them. They do what prompts say, often: they also fail, do nothing,
// and refuse to help, as the key of the question has it, so who asks again has the same answer. Once they are diligent they do all of it.
type moodyMinds struct {
	seed   uint64
	models *a2atest.Model

	mu       sync.Mutex
	diligent bool
	asked    func()              // is called for each question, before it is answered
	heard    map[string][]string // what agents were told, by key, once for each time
}

func newMoodyMinds(t *testing.T, seed uint64) *moodyMinds {
	t.Helper()
	m := &moodyMinds{seed: seed, asked: func() {}, heard: map[string][]string{}}
	m.models = a2atest.NewModel(t, m.answer)
	return m
}

// whenAsked has something done for each question from now on.
func (m *moodyMinds) whenAsked(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = do
}

func (m *moodyMinds) becomeDiligent() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.diligent = true
}

// calls is what agents were told so far, by key.
func (m *moodyMinds) calls() map[string][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := map[string][]string{}
	for key, texts := range m.heard {
		calls[key] = texts[:len(texts):len(texts)]
	}
	return calls
}

func (m *moodyMinds) hear(a *a2atest.Asked) (diligent bool, do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard[a.Key] = append(m.heard[a.Key], a.Message())
	return m.diligent, m.asked
}

func (m *moodyMinds) answer(a a2atest.Asked) a2atest.Answer {
	diligent, do := m.hear(&a)
	do()
	h := fnv.New64a()
	_, _ = h.Write([]byte(a.Key)) // never fails
	roll := rand.New(rand.NewPCG(m.seed, h.Sum64()))
	if diligent {
		return diligently(&a)
	}
	most := 40 * time.Millisecond
	if roll.IntN(4) == 0 { // long enough for the clock to go on by minutes
		most *= 10
	}
	takeTime(a.Context, roll, most)
	switch n := roll.IntN(20); {
	case n == 0: // so long that the run does not wait for it
		return a2atest.Answer{Status: http.StatusTooManyRequests, RetryAfter: "3600"}
	case n == 1:
		return a2atest.Fail(http.StatusBadRequest)
	case n < 4:
		return a2atest.Say("I shall see to it")
	case a.AfterTool():
		return a2atest.Say("so it is")
	}
	return moodily(&a, roll)
}

// takeTime takes up to most, unless the caller leaves.
func takeTime(ctx context.Context, roll *rand.Rand, most time.Duration) {
	timer := time.NewTimer(time.Duration(roll.Int64N(int64(most))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

var (
	mindsTask = regexp.MustCompile(`task_[0-9a-f]{20}`)
	mindsStep = regexp.MustCompile(`Current step: \((s\d+)\)`)
)

// does is an answer that changes the task of a prompt.
func (p *toldPrompt) does(name string, args map[string]any) a2atest.Answer {
	args["task_id"] = p.task
	return a2atest.Use(a2atest.Call{Name: name, Args: args})
}

// toldPrompt is what an agent was told.
type toldPrompt struct{ text, task, step string }

func newToldPrompt(a *a2atest.Asked) *toldPrompt {
	p := &toldPrompt{text: a.Message()}
	p.task = mindsTask.FindString(p.text)
	if found := mindsStep.FindStringSubmatch(p.text); found != nil {
		p.step = found[1]
	}
	return p
}

func (p *toldPrompt) says(words ...string) bool {
	for _, word := range words {
		if strings.Contains(p.text, word) {
			return true
		}
	}
	return false
}

// ofBlocked reports whether it is about a task that is blocked.
func (p *toldPrompt) ofBlocked() bool {
	return p.says("[Unblock request", "[ESCALATION] Agent", "[Still blocked?]") || p.says("[Restart]") && !p.says("\nTask: ")
}

// ofOthers reports whether it only tells a lead of a task of another agent.
func (p *toldPrompt) ofOthers() bool { return p.task == "" || p.says("[ESCALATION] Task") }

// diligently does all that a prompt is about.
func diligently(a *a2atest.Asked) a2atest.Answer {
	p := newToldPrompt(a)
	switch {
	case a.AfterTool(), p.ofOthers():
		return a2atest.Say("so it is")
	case p.ofBlocked():
		return p.does("task_resume", map[string]any{})
	}
	return p.does("task_complete", map[string]any{"summary": "all of it is done", "force_complete": true})
}

// moodily does a little of what a prompt is about.
func moodily(a *a2atest.Asked, roll *rand.Rand) a2atest.Answer {
	p := newToldPrompt(a)
	switch {
	case p.ofOthers():
		return a2atest.Say("I have read it")
	case p.ofBlocked():
		if roll.IntN(4) > 0 {
			return a2atest.Say("I cannot help")
		}
		return p.does("task_resume", map[string]any{})
	case p.says("[Define steps]"):
		return p.does("task_update", map[string]any{"action": "set_steps", "steps": []map[string]string{{"content": "look"}, {"content": "act"}}})
	case p.says(waitsForHelp) && roll.IntN(3) == 0:
		return p.does("task_block", map[string]any{"reason": "something is missing", "unblock_by": othersThan(a.Agent), "unblock_action": "find it"})
	case p.step != "":
		return p.does("task_update", map[string]any{"action": "complete_step", "step_id": p.step, "progress": "it came on"})
	}
	return p.does("task_complete", map[string]any{"summary": "it is done"})
}

// waitsForHelp is in the description of tasks that are blocked now and then.
const waitsForHelp = "not without help"

// keptGoing are the agents of the team, the lead first.
var keptGoing = [...]string{"main", "eden", "seum", "dajim", "miri"}

func othersThan(agent string) (names []string) {
	for _, name := range keptGoing {
		if name != agent {
			names = append(names, name)
		}
	}
	return names
}

// windowConfig has all agents of keptGoing go on with their tasks after next to no time. Two runs go on at a time, so some wait.
func windowConfig(modelsURL string) string {
	var list, models []string
	for i, id := range keptGoing {
		role := ""
		if i == 0 {
			role = `role: "lead", `
		}
		list = append(list, fmt.Sprintf(`{ id: %q, %smodel: "test/%s" }`, id, role, id))
		models = append(models, fmt.Sprintf(`{ id: %q }`, id))
	}
	return fmt.Sprintf(`{
  gateway: { auth: { mode: "token", token: "secret" } },
  agents: { list: [%s], defaults: { maxConcurrent: 2, taskContinuation: { idleThreshold: "10ms", checkInterval: "1s", zombieTaskTtl: "2h" } } },
  session: { agentToAgent: { maxPingPongTurns: 0 } },
  tools: { agentToAgent: { enabled: true } },
  models: { providers: { test: { baseUrl: %q, apiKey: "none", models: [%s] } } },
}
`, strings.Join(list, ", "), modelsURL, strings.Join(models, ", "))
}
