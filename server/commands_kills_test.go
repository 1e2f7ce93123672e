//go:build linux

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/server/settings"
)

// effectRounds is how often the server is killed around commands, writes, due times and hooks.
var effectRounds = testscale.Of[uint64](5, 20*testscale.Times)

const (
	effectsConfig = `{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {defaults: {maxConcurrent: 8}, entries: {main: {default: true, workspace: %q}}},
		models: {scripted: {script: 'effects.json'}}, cron: {maxConcurrentRuns: 8},
		hooks: {enabled: true, token: '` + hooksToken + `', maxPerMinute: 100000}}`
	effectsScript = `{"rules": [
	{"when": {"after": "tool"}, "answer": {"text": "result: {{result}}"}},
	{"when": {"matches": "(write \\d+)"}, "answer": {"text": "I write it.", "toolCalls": [{"name": "write", "arguments": {"path":"files/{{1}}.txt","content":"begin {{1}} end"}}]}},
	{"when": {"matches": "((?:run|due|hook) \\d+)"},
		"answer": {"text": "I run it.", "toolCalls": [{"name": "exec", "arguments": {"command":"echo '{{1}}' >> effects.txt; sleep 987654 & sleep 0.02; kill $!"}}]}}]}`
)

// Where the server is killed in a round, beside any time.
const (
	killAnyTime = iota
	killAtCommand
	killAtWrite
	killAtDueTime
	killAtHook
	killsAt // their number
)

// effectKills is a state directory whose server is killed around effects of agents' runs.
type effectKills struct {
	*kills
	jobs         []string          // that were added
	hooks        int               // requests
	acknowledged map[string]string // runs by idempotency key of hooks
	at           [killsAt]int      // rounds
}

// addJob adds a job that is due once, after a time, and returns when.
func (k *effectKills) addJob(t *testing.T, c *client.Client, after time.Duration) (due time.Time) {
	t.Helper()
	due = time.Now().Add(after).Truncate(time.Millisecond)
	job := calls[struct{ ID string }](t, c, "cron.add", map[string]any{"name": "job", "schedule": map[string]any{"kind": "at", "at": due.UTC().Format(time.RFC3339Nano)},
		"payload": map[string]any{"kind": "agentTurn", "message": fmt.Sprintf("due %d", len(k.jobs))}})
	k.jobs = append(k.jobs, job.ID)
	return due
}

// callHook sends a request to a hook, or that of the last round again.
func (k *effectKills) callHook(t *testing.T, url string, n int) bool {
	t.Helper()
	k.hooks = max(k.hooks, n+1)
	return postHook(t, url, "/hooks/agent", fmt.Sprintf(`{"message":"hook %d","deliver":false}`, n), fmt.Sprint("hook-", n), k.acknowledged)
}

// round has agents make calls, for clients, jobs and hooks, and kills the server at a point or, if that does not come, at a random time.
func (k *effectKills) round(t *testing.T, r *rand.Rand) {
	t.Helper()
	at := r.IntN(int(killsAt))
	k.at[at]++
	v := startVictim(t, k.dir)
	point := map[int]string{killAtCommand: toolPhase([]string{"start", "result"}[r.IntN(2)], "exec"), killAtWrite: toolPhase([]string{"start", "result"}[r.IntN(2)], "write")}[at]
	c, reached := connectTelling(t, v.url, point, r.IntN(2))
	due := k.addJob(t, c, upTo(r, 250*time.Millisecond))
	for _, what := range []string{"run", "write", []string{"run", "write"}[r.IntN(2)]} {
		k.ask(t, c, "main", fmt.Sprint("s", r.IntN(4)), fmt.Sprint(what, " ", k.asked))
	}
	most := time.NewTimer(upTo(r, 600*time.Millisecond))
	defer most.Stop()
	switch at {
	case killAnyTime:
		most.Reset(upTo(r, 2*time.Second)) // what earlier kills have left gets some time, too
	case killAtDueTime:
		most.Reset(time.Until(due) + upTo(r, 80*time.Millisecond) - 20*time.Millisecond)
	case killAtHook:
		most.Reset(upTo(r, 60*time.Millisecond))
	}
	answered := make(chan bool, 1)
	again := r.IntN(2) == 0
	go func() {
		defer close(answered)
		if k.hooks > 0 && again && !k.callHook(t, v.url, k.hooks-1) {
			return
		}
		answered <- k.callHook(t, v.url, k.hooks)
	}()
	select {
	case <-most.C:
	case <-reached:
		inside := time.NewTimer(upTo(r, 30*time.Millisecond))
		<-inside.C
	}
	v.kill()
	<-answered
	_ = c.Close()
}

// Agents run commands in their sandbox and write files, for clients, at due times of jobs and for hooks, while the program is killed around each of these,
// again and again. No command runs twice, none outlives the program, every file is whole, every intent has one outcome, every due time and
// every request to a hook one run, and every run one end.
//
// Promise: outside-effects
func TestKillsAroundEffects(t *testing.T) {
	t.Parallel()
	k := &effectKills{kills: newKills(t, effectRounds), acknowledged: map[string]string{}}
	k.dir = outsideTmp(t) // commands have a /tmp of their own
	home := filepath.Join(k.dir, "home")
	k.configure(t, fmt.Sprintf(effectsConfig, home), "effects.json", effectsScript)
	began := time.Now()
	k.each(7, func(r *rand.Rand) { k.round(t, r) })
	killed := time.Since(began)

	p := k.last(t)
	c := connect(t, gatewayURL(p.gatewayAddress()))
	k.ask(t, c, "main", "last", fmt.Sprint("run ", k.asked)) // every earlier one may have been killed before its call
	k.ask(t, c, "main", "last", fmt.Sprint("write ", k.asked))
	for n := range k.hooks {
		if !k.callHook(t, gatewayURL(p.gatewayAddress()), n) {
			t.Fatalf("hook %d has no answer", n)
		}
	}
	k.awaitJobs(t, p)
	waitForWork(t, p.Program)
	j := judgeEffects(t, p.Program)
	times := judgeCommands(t, home, j)
	judgeHooks(t, p.Program, k.acknowledged)
	unfinished := k.judgeJobs(t, p)
	t.Logf("sandbox: %s", k.sandbox(t, p))
	t.Logf("%d rounds in %s, killed at any time, a command, a write, a due time, a hook: %v", k.rounds, killed.Round(time.Second), k.at)
	t.Logf("%d messages, %d jobs, %d hooks: %d calls recorded, %d outcomes are unknown, %d runs were continued, %d commands had their effect, none twice; %d runs of jobs failed",
		k.asked, len(k.jobs), k.hooks, len(j.outcome), j.unknown, j.resumed, len(times), unfinished)
	k.end(t, p)
}

// sandbox is the kind of sandbox in which the commands ran: one that its probe has found to hold.
func (k *effectKills) sandbox(t *testing.T, p *reloading) (kind string) {
	t.Helper()
	err := eachEvent(t, p, func(typ string, data []byte) error {
		if typ != coordination.TypeSandboxProbed {
			return nil
		}
		var d coordination.SandboxProbed
		if err := json.Unmarshal(data, &d); err != nil {
			return err
		}
		if d.Sandboxed {
			kind = d.Kind
		}
		return nil
	})
	if err != nil || kind == "" {
		t.Fatalf("no sandbox holds here, %v", err)
	}
	return kind
}

// jobEvents counts what the log says of each job: due times, those missed, and ends of runs, of which some have failed.
func (k *effectKills) jobEvents(t *testing.T, p *reloading) (due, missed, finished map[string]int, failed int) {
	t.Helper()
	due, missed, finished = map[string]int{}, map[string]int{}, map[string]int{}
	err := eachEvent(t, p, func(typ string, data []byte) error {
		var d struct{ JobID, Status string }
		if !strings.HasPrefix(typ, "cron.run.") {
			return nil
		}
		if err := json.Unmarshal(data, &d); err != nil {
			return err
		}
		switch typ {
		case coordination.TypeCronRunDue:
			due[d.JobID]++
		case coordination.TypeCronRunMissed:
			missed[d.JobID]++
		case coordination.TypeCronRunFinished:
			if finished[d.JobID]++; d.Status != schedule.OK {
				failed++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return due, missed, finished, failed
}

// awaitJobs waits until the run of every job has ended.
func (k *effectKills) awaitJobs(t *testing.T, p *reloading) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), testscale.Patience)
	defer stop()
	for {
		head, err := p.Program.log.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, _, finished, _ := k.jobEvents(t, p)
		if len(finished) >= len(k.jobs) {
			return
		}
		if _, err := p.Program.log.Wait(ctx, head.Seq+1); err != nil {
			t.Fatalf("%d of %d jobs have ended: %v", len(finished), len(k.jobs), err)
		}
	}
}

// judgeJobs checks that each job had one run, with one end. One that kills have interrupted thrice has failed; it returns how many.
func (k *effectKills) judgeJobs(t *testing.T, p *reloading) (failed int) {
	t.Helper()
	due, _, finished, failed := k.jobEvents(t, p)
	for _, id := range k.jobs {
		if due[id] != 1 || finished[id] != 1 {
			t.Errorf("job %s was due %d times, and has %d ends", id, due[id], finished[id])
		}
	}
	if len(due) != len(k.jobs) {
		t.Errorf("%d jobs of %d were due", len(due), len(k.jobs))
	}
	return failed
}

// judgeCommands checks what commands and writes have left in a workspace, and that no command is left. It returns the effects.
func judgeCommands(t *testing.T, home string, j effectsJudged) map[string]int {
	t.Helper()
	times := effectsIn(t, filepath.Join(home, "effects.txt"))
	if len(times) == 0 {
		t.Error("no command had an effect")
	}
	once(t, times, func(string) bool { return true })
	for command, well := range j.outcome {
		if line := lineOf(command); line != "" && well && times[line] != 1 {
			t.Errorf("%q ended well, and had its effect %d times", line, times[line])
		}
	}
	files, err := filepath.Glob(filepath.Join(home, "files", "write*.txt"))
	if err != nil || len(files) == 0 {
		t.Errorf("no file was written: %v", err)
	}
	for _, name := range files {
		want := "begin " + strings.TrimSuffix(filepath.Base(name), ".txt") + " end"
		if text, err := os.ReadFile(name); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	left, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range left {
		if text, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(text), "sleep\x00987654") {
			t.Errorf("%s outlives the program", name)
		}
	}
	return times
}

// A command in the background that a kill ends has an end in the log after the next start, and its agent is told so.
func TestABackgroundCommandEndsWithAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := `{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {entries: {main: {default: true}}}, tools: {exec: {sandbox: 'off'}}}`
	if err := os.WriteFile(filepath.Join(dir, settings.FileName), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	invoke := func(v *victim, name string, args map[string]any) string {
		t.Helper()
		c := connect(t, v.url)
		defer c.Close()
		answer, err := c.Call(t.Context(), "tools.invoke", map[string]any{"name": name, "args": args, "sessionKey": "agent:main:main"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return string(answer)
	}
	v := startVictim(t, dir)
	_, after, found := strings.Cut(invoke(v, "exec", map[string]any{"command": "exec sleep 987655", "background": true}), "as session ")
	id, _, _ := strings.Cut(after, ";")
	if !found {
		t.Fatal("it is not in the background")
	}
	v.kill()
	v = startVictim(t, dir)
	if answer := invoke(v, "process", map[string]any{"action": "poll", "sessionId": id}); !strings.Contains(answer, "openclawd was restarted while the command was running") {
		t.Errorf("the agent is told %s", answer)
	}
	v.kill()
	p := startReloading(t, nil, func(o *Options) { o.StateDir, o.DB = dir, filepath.Join(dir, database.Name) })
	ends := 0
	err := eachEvent(t, p, func(typ string, data []byte) error {
		var d coordination.ToolOutput
		if typ != coordination.TypeToolOutput {
			return nil
		}
		err := json.Unmarshal(data, &d)
		if d.Ended && d.ProcessID == id && d.Reason == "restart" {
			ends++
		}
		return err
	})
	if err != nil || ends != 1 {
		t.Errorf("the log has %d ends of the command, %v", ends, err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

// Clients of the gateway are told why a tool refused a call, not that it failed inside.
func TestClientsSeeWhyAToolRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := `{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {entries: {main: {default: true}}}}`
	if err := os.WriteFile(filepath.Join(dir, settings.FileName), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	v := startVictim(t, dir)
	c := connect(t, v.url)
	answer, err := c.Call(t.Context(), "tools.invoke", map[string]any{"name": "read", "args": map[string]any{"path": "../openclaw.json"}, "sessionKey": "agent:main:main"})
	if err != nil || !strings.Contains(string(answer), tool.CodeOutside) && !strings.Contains(string(answer), tool.CodeNoFile) {
		t.Errorf("%s, %v", answer, err)
	}
	_ = c.Close()
	v.kill()
}
