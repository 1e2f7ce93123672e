package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// workedAt is what a client knows of a task: what was acknowledged.
type workedAt struct {
	id, agent, description, status string
	lines                          []string // of progress
}

func (w *workedAt) over() bool {
	return w.status == coordination.StateCompleted || w.status == coordination.StateCancelled
}

// asked is a call that a client makes, and what the task is like if it is done.
type asked struct {
	of     *workedAt
	params map[string]any
	line   string // of progress
	status string
}

// busyClient keeps tasks in the name of an agent.
type busyClient struct {
	agent   string
	tasks   []*workedAt
	pending *asked // has had no answer
	r       *rand.Rand
}

// Clients start tasks, work at them and end them while the server is killed, again and again. What was acknowledged is there afterwards,
// once; so is what had no answer and is repeated; and the files of tasks are as the log says, each finished task once in the history.
//
// Promise: tasks
func TestCrashWhileTasksAreKept(t *testing.T) {
	t.Parallel()
	rounds, base := crashSetting(t, storetest.EnvCrashRounds, talkRounds), crashSetting(t, storetest.EnvCrashSeedBase, rand.Uint64())
	t.Logf("%d rounds; repeat with %s=%d", rounds, storetest.EnvCrashSeedBase, base)
	dir := gatewayHome(t)
	agents := []string{"eden", "main", "seum"}
	var clients []*busyClient
	for i := range 2 * len(agents) { // two for each agent: they must not be in each other's way
		clients = append(clients, &busyClient{agent: agents[i%len(agents)]})
	}
	acknowledged := 0
	for round := range rounds {
		r := rand.New(rand.NewPCG(base+round, 2))
		n := keepUntilKilled(t, startVictim(t, dir), clients, r)
		acknowledged += n
		t.Logf("round %d, seed %d: %d acknowledged", round+1, base+round, n)

		p := startReloading(t, nil, func(o *Options) {
			o.StateDir, o.DB, o.Gateway = dir, filepath.Join(dir, database.Name), "127.0.0.1:0"
		})
		checkTaskFiles(t, "after the kill", p.Program, agents...)
		asks := connect(t, gatewayURL(p.gatewayAddress()))
		for _, c := range clients {
			c.repeats(t, asks)
		}
		checkKept(t, p.Program, clients)
		checkTaskFiles(t, "when all is asked for again", p.Program, agents...)
		checkHistories(t, p.Program, clients, agents)
		if err := errors.Join(asks.Close(), p.stop()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Fatalf("seed %d", base+round)
		}
	}
	if acknowledged == 0 {
		t.Error("nothing was acknowledged")
	}
}

// keepUntilKilled has all clients work, kills the server after a number of answers and a little while, and returns how many there were.
func keepUntilKilled(t *testing.T, v *victim, clients []*busyClient, r *rand.Rand) (acknowledged int) {
	t.Helper()
	answers := make(chan struct{})
	working := sync.WaitGroup{}
	for _, c := range clients {
		conn := connect(t, v.url)
		c.r = rand.New(rand.NewPCG(r.Uint64(), 3))
		working.Go(func() { c.works(t, conn, answers) })
	}
	go func() {
		working.Wait()
		close(answers)
	}()
	enough, soon := 1+r.IntN(1<<r.IntN(9)), time.Duration(r.Int64N(int64(300*time.Millisecond))) // so long as files take, too
	timer := time.AfterFunc(2*time.Second, v.kill)
	defer timer.Stop()
	for range answers {
		if acknowledged++; acknowledged == enough {
			timer.Reset(soon)
		}
	}
	v.kill()
	return acknowledged
}

// works changes tasks until the connection is gone.
func (c *busyClient) works(t *testing.T, conn *client.Client, answers chan<- struct{}) {
	for {
		c.pending = c.next()
		answer, err := c.pending.ask(conn)
		if err != nil {
			var closed *client.ClosedError
			if !errors.As(err, &closed) {
				t.Errorf("%+v: %v", c.pending, err)
			}
			return
		}
		c.acknowledges(t, answer)
		answers <- struct{}{}
	}
}

// next is what the client asks for next.
func (c *busyClient) next() *asked {
	key := fmt.Sprintf("%x", c.r.Uint64())
	open := slices.DeleteFunc(slices.Clone(c.tasks), (*workedAt).over)
	n := c.r.IntN(8)
	if len(open) == 0 || len(open) < 3 && n == 0 {
		w := &workedAt{agent: c.agent, description: c.agent + " is to do\n## " + key}
		return w.asked(key, "task_start", "Task started", coordination.StateInProgress, map[string]any{"description": w.description,
			"steps": []map[string]string{{"content": "one"}, {"content": "two"}}})
	}
	w := open[c.r.IntN(len(open))]
	if w.status == coordination.StateBlocked {
		return w.asked(key, "task_resume", "Task resumed", coordination.StateInProgress, map[string]any{"task_id": w.id})
	}
	switch line := "came on\n- " + key; n {
	case 1:
		return w.asked(key, "task_complete", "Task completed", coordination.StateCompleted,
			map[string]any{"task_id": w.id, "force_complete": true, "summary": "came of it: " + key})
	case 2:
		return w.asked(key, "task_cancel", "Task cancelled: because "+key, coordination.StateCancelled,
			map[string]any{"task_id": w.id, "reason": "because " + key})
	case 3:
		return w.asked(key, "task_block", "[BLOCKED] "+key, coordination.StateBlocked,
			map[string]any{"task_id": w.id, "reason": key, "unblock_by": []string{map[bool]string{true: "seum", false: "eden"}[c.agent == "eden"]}})
	case 4:
		return w.asked(key, "task_update", line, w.status,
			map[string]any{"task_id": w.id, "progress": line, "action": "add_step", "step_content": "and " + key})
	default:
		return w.asked(key, "task_update", line, w.status, map[string]any{"task_id": w.id, "progress": line})
	}
}

// asked is a call of a tool for a task, which adds a line of progress to it and brings it to a state.
func (w *workedAt) asked(key, name, line, status string, args map[string]any) *asked {
	return &asked{of: w, line: line, status: status, params: map[string]any{"name": name, "agentId": w.agent, "args": args, "idempotencyKey": key}}
}

// ask makes the call.
func (a *asked) ask(conn *client.Client) (answer taskAnswer, err error) {
	payload, err := conn.Call(context.Background(), "tools.invoke", a.params)
	if err != nil {
		return answer, err
	}
	var out struct {
		Output struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(payload, &out); err != nil || len(out.Output.Content) != 1 {
		return answer, fmt.Errorf("answered %s: %w", payload, err)
	}
	return answer, json.Unmarshal([]byte(out.Output.Content[0].Text), &answer)
}

// forced begins the line of progress that tells of the end of a task of which steps were left.
const forced = "[FORCE COMPLETE]"

// acknowledges notes that what was asked for is done.
func (c *busyClient) acknowledges(t *testing.T, answer taskAnswer) {
	a := c.pending
	c.pending = nil
	w := a.of
	if !answer.Success || w.id != "" && w.id != answer.TaskID {
		t.Errorf("%+v is answered with %+v", a.params, answer)
		return
	}
	if w.id == "" {
		w.id = answer.TaskID
		c.tasks = append(c.tasks, w)
	}
	if a.status == coordination.StateCompleted {
		w.lines = append(w.lines, forced)
	}
	w.lines, w.status = append(w.lines, a.line), a.status
}

// repeats asks again for what had no answer.
func (c *busyClient) repeats(t *testing.T, conn *client.Client) {
	t.Helper()
	if c.pending == nil {
		return
	}
	answer, err := c.pending.ask(conn)
	if err != nil {
		t.Fatal(err)
	}
	c.acknowledges(t, answer)
}

// checkKept compares tasks with what the clients know of them.
func checkKept(t *testing.T, p *Program, clients []*busyClient) {
	t.Helper()
	type state struct {
		Agent, Description, Status string
		Lines                      []string
	}
	want, got := map[string]state{}, map[string]state{}
	for _, c := range clients {
		for _, w := range c.tasks {
			want[w.id] = state{w.agent, w.description, w.status, w.lines}
		}
	}
	for _, row := range taskRows(t, p) {
		s := state{Agent: row.AgentID, Description: row.Description, Status: row.Status}
		for _, line := range row.Progress {
			if strings.HasPrefix(line, forced) {
				line = forced
			}
			s.Lines = append(s.Lines, line)
		}
		got[row.ID] = s
		checkStream(t, p, &row)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tasks (-acknowledged +kept):\n%s", diff)
	}
}

// checkStream checks that a task's stream begins with its start, has one end at most, and has led to the version that the task has.
func checkStream(t *testing.T, p *Program, row *tasks.Row) {
	t.Helper()
	events := streamOf(t, p, row.ID)
	ends := 0
	for i, e := range events {
		if (i == 0) != (e.Type == coordination.TypeTaskStarted) {
			t.Errorf("event %d of %s is %s", i, row.ID, e.Type)
		}
		if e.Type == coordination.TypeTaskCompleted || e.Type == coordination.TypeTaskCancelled {
			ends++
		}
	}
	if over := row.EndedMs > 0; ends > 1 || over != (ends == 1) || row.Version != int64(len(events)) {
		t.Errorf("%s has version %d, %d events and %d ends", row.ID, row.Version, len(events), ends)
	}
}

// checkHistories checks that each task that is over is in the history of its agent once, and no other one is.
func checkHistories(t *testing.T, p *Program, clients []*busyClient, agents []string) {
	t.Helper()
	want, got := map[string]int{}, map[string]int{}
	for _, c := range clients {
		for _, w := range c.tasks {
			if w.over() {
				want[w.agent+" "+w.id]++
			}
		}
	}
	for _, agent := range agents {
		for name, text := range taskFilesOf(t, p, agent) {
			if strings.HasPrefix(name, "task-history/") {
				for _, e := range taskfile.ParseMonth(text).Entries() {
					got[agent+" "+e.TaskID]++
				}
			}
		}
	}
	if !maps.Equal(want, got) {
		t.Errorf("history (-want +got):\n%s", cmp.Diff(want, got))
	}
}
