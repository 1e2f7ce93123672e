package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// goingConfig is openclaw.json of agents who are kept going as soon as they are idle, one run at a time; %q is where their models are.
const goingConfig = `{models: {providers: {test: {baseUrl: %q, apiKey: 'none', models: [{id: 'main'}, {id: 'eden'}]}}},
  agents: {list: [{id: 'main', default: true, model: 'test/main'}, {id: 'eden', model: 'test/eden'}],
    defaults: {maxConcurrent: 1, taskContinuation: {idleThreshold: '50ms', checkInterval: '1s'}}}}`

// goingTeam is a team with models of the test's, which outlive the program.
type goingTeam struct {
	*team
	models *a2atest.Model
	held   chan struct{} // someone is told something that is held back

	mu   sync.Mutex
	hold string // what is in a message that is held back until no one waits for the answer
}

var goingStep = regexp.MustCompile(`Task: (task_[0-9a-f]{20})\n(?s:.*)Current step: \((s\d)\)`)

func startGoing(t *testing.T, hold string) *goingTeam {
	t.Helper()
	m := &goingTeam{team: &team{dir: t.TempDir()}, held: make(chan struct{}, 100), hold: hold}
	m.models = a2atest.NewModel(t, m.answer)
	if err := os.WriteFile(filepath.Join(m.dir, "openclaw.json"), fmt.Appendf(nil, goingConfig, m.models.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	m.start(t)
	t.Cleanup(func() { m.end(os.Kill) })
	return m
}

// answer does the step that a task is at, and ends the task with the last one.
func (m *goingTeam) answer(a a2atest.Asked) a2atest.Answer {
	m.mu.Lock()
	hold := m.hold
	m.mu.Unlock()
	if hold != "" && strings.Contains(a.Message(), hold) {
		m.held <- struct{}{}
		<-a.Context.Done()
		return a2atest.Say("no one waits for it")
	}
	at := goingStep.FindStringSubmatch(a.Message())
	if a.AfterTool() || at == nil {
		return a2atest.Say("so it is")
	}
	step := a2atest.Call{Name: "task_update", Args: map[string]any{"task_id": at[1], "action": "complete_step", "step_id": at[2]}}
	if at[2] != "s2" {
		return a2atest.Use(step)
	}
	return a2atest.Use(step, a2atest.Call{Name: "task_complete", Args: map[string]any{"task_id": at[1], "summary": "both are done"}})
}

// dies kills the program, which the test no longer holds up, and starts it again.
func (m *goingTeam) dies(t *testing.T) {
	t.Helper()
	m.end(os.Kill)
	m.mu.Lock()
	m.hold = ""
	m.mu.Unlock()
	m.start(t)
}

// begins has eden begin a task of two steps, by a tool and not in a run.
func (m *goingTeam) begins(t *testing.T) {
	t.Helper()
	args := `{"description": "two things", "steps": [{"content": "one"}, {"content": "other"}]}`
	said := m.does(t, "tools", "call", "task_start", args, "--agent", "eden")
	if said.code != exitOK {
		t.Fatalf("task_start: %+v", said)
	}
}

// checkEnd waits until the task is completed, and checks which prompts there were, how each has ended, and that the model was asked once about
// each step of them.
func (m *goingTeam) checkEnd(t *testing.T, want ...string) {
	t.Helper()
	types := []string{coordination.TypeRunQueued, coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunAborted,
		coordination.TypeRunTimedOut, coordination.TypeContinuationSent, coordination.TypeTaskCompleted}
	asked, over := map[string]int{}, map[string][]string{}
	var sent []string
	m.until(t, "the task is completed, and no run is left", func() bool {
		clear(asked)
		clear(over)
		sent = nil
		open, completed := 0, false
		for _, e := range m.events(t, types...) {
			switch id := e.Data.RunID; e.Type {
			case coordination.TypeRunQueued:
				asked[id]++
				open++
			case coordination.TypeContinuationSent:
				sent = append(sent, id)
			case coordination.TypeTaskCompleted:
				completed = true
			default:
				over[id] = append(over[id], e.Type)
				open--
			}
		}
		return completed && open == 0
	})
	var got []string
	for _, id := range sent {
		if asked[id] != 1 || len(over[id]) != 1 {
			t.Errorf("run %s was asked for %d times and ended by %q", id, asked[id], over[id])
		} else {
			got = append(got, id+" "+over[id][0])
		}
		delete(asked, id)
	}
	if !slices.Equal(got, want) {
		t.Errorf("prompts: %q\nwant %q", got, want)
	}
	for id := range asked {
		if strings.HasPrefix(id, "continuation:") {
			t.Errorf("nothing tells why run %s was asked for", id)
		}
	}
	keys := map[string]bool{}
	for _, a := range m.models.Asked() {
		if strings.HasPrefix(a.Key, "continuation:") && keys[a.Key] {
			t.Errorf("%s was asked about %s again: %q", a.Agent, a.Key, a.Message())
		}
		keys[a.Key] = true
	}
	m.checkExplained(t)
	m.end(os.Interrupt)
	m.checkExplained(t)
	if out, err := program(t, "verify", "--db", filepath.Join(m.dir, "openclawd.db")).CombinedOutput(); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
}

// checkExplained checks that eden is done, as the command has it.
func (m *goingTeam) checkExplained(t *testing.T) {
	t.Helper()
	said := m.does(t, "continuation", "explain", "eden", "--json")
	var answer struct {
		AgentID  string
		Decision struct{ Kind, Reason string }
		State    struct{ ConsecutiveFailures int }
	}
	if err := json.Unmarshal([]byte(said.stdout), &answer); err != nil || answer.AgentID != "eden" || answer.Decision.Kind != "nothing" ||
		answer.Decision.Reason != "done" || answer.State.ConsecutiveFailures != 0 {
		t.Errorf("explained: %v in %+v", err, said)
	}
}

// A server that is killed in the middle of the run of a prompt does not repeat it when it is back: the agent is told once of the restart.
func TestKillInTheMiddleOfAPrompt(t *testing.T) {
	t.Parallel()
	m := startGoing(t, "[Continue]")
	m.begins(t)
	<-m.held
	m.dies(t)
	m.checkEnd(t, "continuation:eden:0:continue run.aborted", "continuation:eden:1:restart run.ended", "continuation:eden:2:continue run.ended")
}

// A server that is killed after it has decided to tell an agent to go on, and before it could, does so when it is back: that same prompt, and
// none of the restart.
func TestKillBeforeAPromptBegins(t *testing.T) {
	t.Parallel()
	m := startGoing(t, "please hang")
	m.does(t, "agent", "please hang", "--agent", "main", "--detach")
	<-m.held
	m.begins(t)
	m.until(t, "a prompt waits", func() bool { return slices.Equal(m.runs(t, "queued"), []string{"continuation:eden:0:continue"}) })
	m.dies(t)
	m.checkEnd(t, "continuation:eden:0:continue run.ended", "continuation:eden:1:continue run.ended")
}
