package continuer_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// Kinds of tasks, as their descriptions say: what becomes of them depends on it.
const (
	finishes = "finishes" // step by step
	blocks   = "blocks"   // until it gets help
	stuck    = "stuck"    // blocked without help
	drops    = "drops"    // never worked at
)

// minds answer for the models of all agents: they do what prompts say with the tools that prompts name, fail and refuse at random, and take
// their time. What they roll follows from the seed, the agent and how often that was asked; who asks again has the same answer.
type minds struct {
	seed  uint64
	names []string
	now   func() time.Time

	mu      sync.Mutex
	calm    bool                // nothing is blocked any more
	steps   map[string]int      // how many steps of runs each agent was asked for
	rolls   map[string]int      // which of them it was, by what makes a repetition one
	full    map[string]bool     // agents whose context is too long
	blocked map[string]int      // how often a task was, by id
	noted   map[string]int      // lines of progress
	slow    map[int64]time.Time // those who take time, and until when
	next    int64
	woken   chan struct{} // closed when the clock was set
	changed chan struct{} // a model takes time, or no longer does
}

func newMinds(seed uint64, names []string) *minds {
	return &minds{seed: seed, names: names, steps: map[string]int{}, rolls: map[string]int{}, full: map[string]bool{},
		blocked: map[string]int{}, noted: map[string]int{}, slow: map[int64]time.Time{},
		woken: make(chan struct{}), changed: make(chan struct{}, 1)}
}

// dice are those of a step of a run. full is whether there is no room in the agent's context.
func (m *minds) dice(agent, key string) (roll *rand.Rand, full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, again := m.rolls[key]
	if !again {
		m.steps[agent]++
		n = m.steps[agent]
		m.rolls[key] = n
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d", agent, n)
	return rand.New(rand.NewPCG(m.seed, h.Sum64())), m.full[agent]
}

// fill has the context of an agent be too long, or not any more.
func (m *minds) fill(agent string, full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full[agent] = full
}

// answer is what a model answers.
func (m *minds) answer(a a2atest.Asked) a2atest.Answer {
	roll, full := m.dice(a.Agent, a.Key)
	if full {
		return a2atest.Fail(http.StatusRequestEntityTooLarge)
	}
	if roll.Float64() < 0.06 && !m.waits(&a, time.Duration(1+roll.IntN(9*60))*time.Second) {
		return a2atest.Say("the caller has left")
	}
	if fail, fails := failing(roll); fails {
		return fail
	}
	if a.AfterTool() {
		return a2atest.Say("done, as far as it goes")
	}
	return m.does(a.Agent, a.Message(), roll)
}

// failing is an answer that is a failure.
func failing(roll *rand.Rand) (a2atest.Answer, bool) {
	switch n := roll.IntN(100); {
	case n < 3: // it is not worth waiting for
		return a2atest.Answer{Status: http.StatusTooManyRequests, RetryAfter: strconv.Itoa(61 + roll.IntN(7200))}, true
	case n < 5:
		return a2atest.Fail(http.StatusInternalServerError), true
	case n < 6:
		return a2atest.Fail(http.StatusGatewayTimeout), true
	case n < 7:
		return a2atest.Fail(http.StatusRequestEntityTooLarge), true
	case n < 8:
		return a2atest.Fail(http.StatusPaymentRequired), true
	case n < 9:
		return a2atest.Fail(http.StatusBadRequest), true
	case n < 11:
		return a2atest.Say(""), true
	}
	return a2atest.Answer{}, false
}

// waits takes time by the clock of the team, and reports whether the caller still waits after that.
func (m *minds) waits(a *a2atest.Asked, d time.Duration) bool {
	m.mu.Lock()
	until := m.now().Add(d)
	id := m.next
	m.next++
	m.slow[id] = until
	m.mu.Unlock()
	m.tell()
	defer func() {
		m.mu.Lock()
		delete(m.slow, id)
		m.mu.Unlock()
		m.tell()
	}()
	for {
		m.mu.Lock()
		woken := m.woken
		m.mu.Unlock()
		if !m.now().Before(until) {
			return true
		}
		select {
		case <-woken:
		case <-a.Context.Done():
			return false
		}
	}
}

func (m *minds) tell() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// wake tells those who take time that the clock was set.
func (m *minds) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.woken)
	m.woken = make(chan struct{})
}

// taking is how many take time, and when the first is done.
func (m *minds) taking(now time.Time) (n int, first time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, until := range m.slow {
		if !until.After(now) {
			continue // it is about to answer
		}
		if n++; first.IsZero() || until.Before(first) {
			first = until
		}
	}
	return n, first
}

func (m *minds) calmDown() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calm = true
}

// count counts something about a task, from 1.
func (m *minds) count(of map[string]int, task string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	of[task]++
	return of[task]
}

var (
	taskOf    = regexp.MustCompile(`task_[0-9a-f]{20}`)
	kindOf    = regexp.MustCompile(`\bkind=(\w+)`)
	stepAt    = regexp.MustCompile(`Current step: \((s\d+)\)|Step to begin with: \((s\d+)\)`)
	blockedOf = regexp.MustCompile(`(?:Agent|of agent) (\w+)`)
)

func first(of *regexp.Regexp, text string) string {
	for i, group := range of.FindStringSubmatch(text) {
		if i > 0 && group != "" {
			return group
		}
	}
	return ""
}

func call(name string, args map[string]any) a2atest.Answer {
	return a2atest.Use(a2atest.Call{Name: name, Args: args})
}

// does what a prompt says.
func (m *minds) does(agent, prompt string, roll *rand.Rand) a2atest.Answer {
	task, kind := taskOf.FindString(prompt), first(kindOf, prompt)
	says := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(prompt, w) {
				return true
			}
		}
		return false
	}
	switch {
	case task == "":
		return a2atest.Say("REPLY_SKIP")
	case says("Please resume"):
		return call("task_resume", map[string]any{"task_id": task})
	case says("Please cancel"):
		return call("task_cancel", map[string]any{"task_id": task, "reason": "no agent can do it"})
	case says("[Unblock request", "[ESCALATION] Agent"):
		return helps(task, kind, first(blockedOf, prompt), roll)
	case says("[ESCALATION] Task"):
		return leads(task, first(blockedOf, prompt), roll)
	case says("[Still blocked?]"):
		if kind == blocks && roll.IntN(10) == 0 {
			return call("task_resume", map[string]any{"task_id": task})
		}
		return a2atest.Say("it is still blocked")
	case says("[Rejected]"), kind == "":
		return a2atest.Say("I see")
	case says("[Define steps]"):
		return m.defines(task, kind, roll)
	}
	return m.works(agent, task, kind, prompt, roll)
}

// helps another agent, or does not.
func helps(task, kind, agent string, roll *rand.Rand) a2atest.Answer {
	n := roll.IntN(10)
	switch {
	case kind == blocks && n < 4:
		return call("task_resume", map[string]any{"task_id": task})
	case kind == blocks && n < 6:
		return writes(agent, "Please resume "+task+": it is there now.")
	case n == 9:
		return writes(agent, "I cannot help.")
	}
	return a2atest.Say("I cannot help with that")
}

func writes(agent, text string) a2atest.Answer {
	return call("sessions_send", map[string]any{"agentId": agent, "message": text, "timeoutSeconds": 0})
}

// leads decides what becomes of tasks that no other agent could help with.
func leads(task, agent string, roll *rand.Rand) a2atest.Answer {
	switch roll.IntN(4) {
	case 0, 1:
		return writes(agent, "Please cancel "+task+": we leave it.")
	case 2:
		return writes(agent, "Please resume "+task+": try again.")
	}
	return a2atest.Say("I shall think about it")
}

func (m *minds) defines(task, kind string, roll *rand.Rand) a2atest.Answer {
	switch {
	case kind == drops:
		return a2atest.Say("later")
	case roll.IntN(3) == 0:
		return call("task_complete", map[string]any{"task_id": task, "summary": "it was small"})
	}
	steps := []any{map[string]any{"content": "look"}, map[string]any{"content": "do"}}
	return call("task_update", map[string]any{"task_id": task, "action": "set_steps", "steps": steps})
}

// works at a task.
func (m *minds) works(agent, task, kind, prompt string, roll *rand.Rand) a2atest.Answer {
	step := first(stepAt, prompt)
	switch {
	case kind == drops, roll.IntN(12) == 0:
		return a2atest.Say("I am at it")
	case (kind == blocks || kind == stuck) && m.mayBlock(task, roll):
		return call("task_block", map[string]any{"task_id": task, "reason": "something is missing", "unblock_by": m.helpers(agent, roll),
			"unblock_action": "find it"})
	case step != "" && roll.IntN(4) == 0:
		return a2atest.Use(a2atest.Call{Name: "task_update", Args: map[string]any{"task_id": task, "action": "complete_step", "step_id": step}},
			a2atest.Call{Name: "task_update", Args: map[string]any{"task_id": task, "progress": "a step is done"}})
	case step != "":
		return call("task_update", map[string]any{"task_id": task, "action": "complete_step", "step_id": step})
	case roll.IntN(3) == 0 && m.count(m.noted, task) < 4:
		return call("task_update", map[string]any{"task_id": task, "progress": "it goes on"})
	}
	return call("task_complete", map[string]any{"task_id": task, "summary": "it is done"})
}

// mayBlock reports whether a task waits for others now: once, sometimes twice.
func (m *minds) mayBlock(task string, roll *rand.Rand) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calm || m.blocked[task] > 1 || m.blocked[task] == 1 && roll.IntN(4) > 0 {
		return false
	}
	m.blocked[task]++
	return true
}

// helpers are agents that could help, one to four.
func (m *minds) helpers(agent string, roll *rand.Rand) (list []string) {
	for _, i := range roll.Perm(len(m.names))[:1+roll.IntN(4)] {
		if m.names[i] != agent {
			list = append(list, m.names[i])
		}
	}
	if len(list) == 0 {
		list = []string{m.names[0]}
	}
	if list[0] == agent {
		list = []string{m.names[1]}
	}
	return list
}
