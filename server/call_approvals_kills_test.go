package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// approvalRounds is how often the server is killed while people decide about calls.
var approvalRounds = testscale.Of[uint64](5, 15*testscale.Times)

const (
	approvalScript = `{"rules": [
	{"when": {"after": "tool"}, "answer": {"text": "result: {{result}}"}},
	{"when": {"contains": ["line"]}, "answer": {"text": "I run it.", "toolCalls": [{"name": "exec", "arguments": {"command":"echo '{{message}}' >> effects.txt"}}]}}]}`

	patient = "line that waits" // no one decides about it before the last kill
	late    = "line too late"   // no one decides about it at all
)

// approvalKills is a state directory whose server is killed while calls wait.
type approvalKills struct{ *kills }

// configure sets how long calls wait.
func (k *approvalKills) configure(t *testing.T, seconds int) {
	t.Helper()
	conf := fmt.Sprintf(`{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {defaults: {maxConcurrent: 8}, entries: {main: {default: true, workspace: %q}}},
		models: {scripted: {script: 'approvals.json'}}, tools: {exec: {sandbox: 'off'}, approvals: {timeoutSeconds: %d, rules: [{tools: ['exec'], decision: 'ask'}]}}}`,
		filepath.Join(k.dir, "home"), seconds)
	k.kills.configure(t, conf, "approvals.json", approvalScript)
}

// ask has an agent make a call that waits: one that adds a line, "" being a new one. It returns the run.
func (k *approvalKills) ask(t *testing.T, c *client.Client, session, line string) (runID string) {
	t.Helper()
	return k.kills.ask(t, c, "main", session, cmp.Or(line, fmt.Sprint("line ", k.asked+1)))
}

// waitingCall is a call as the gateway lists it.
type waitingCall struct {
	ID      string
	Request struct{ Command string }
}

// waitingCalls lists calls that wait, once there are any that a filter wants.
func waitingCalls(ctx context.Context, c *client.Client, wants func(*waitingCall) bool) (list []waitingCall, err error) {
	for {
		payload, err := c.Call(ctx, "exec.approval.list", struct{}{})
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(payload, &list); err != nil {
			return nil, err
		}
		if list = slices.DeleteFunc(list, func(one waitingCall) bool { return !wants(&one) }); len(list) > 0 {
			return list, nil
		}
		if _, err = c.Call(ctx, "agent.wait", map[string]any{"runId": "none", "timeoutMs": 5}); err != nil { // a while
			return nil, err
		}
	}
}

func isPatient(one *waitingCall) bool { return strings.Contains(one.Request.Command, patient) }

// patientIn returns the approval of the line that waits.
func patientIn(t *testing.T, c *client.Client) (id string) {
	t.Helper()
	list, err := waitingCalls(t.Context(), c, isPatient)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list[0].ID
}

// decideUntil decides about calls that wait, as they come, until stop is called or the server is gone.
func decideUntil(t *testing.T, c *client.Client, random func(int) int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			list, err := waitingCalls(ctx, c, func(one *waitingCall) bool { return !isPatient(one) })
			if err != nil {
				return
			}
			decision := []string{"allow-once", "allow-once", "deny"}[random(3)]
			_, _ = c.Call(ctx, "exec.approval.resolve", map[string]string{"id": list[random(len(list))].ID, "decision": decision}) // it may be decided, or the server gone
		}
	}()
	return func() { cancel(); <-done }
}

// killPoints are the events of the gateway at which the server is killed: a call waits, is decided about, is made, has ended. "" is any time.
var killPoints = []string{"", eventRequested, eventResolved, toolPhase("start", "exec"), toolPhase("result", "exec")}

const eventRequested, eventResolved = "exec.approval.requested", "exec.approval.resolved"

// round asks for four calls, decides about some that wait, and kills the server at a point or, if that does not come, at a random time.
func (k *approvalKills) round(t *testing.T, random *rand.Rand) {
	t.Helper()
	k.configure(t, []int{1, 3600}[random.IntN(2)])
	v := startVictim(t, k.dir)
	c, reached := connectTelling(t, v.url, killPoints[random.IntN(len(killPoints))], random.IntN(3))
	for range 4 {
		k.ask(t, c, fmt.Sprint("s", random.IntN(4)), "")
	}
	soon := time.NewTimer(upTo(random, 400*time.Millisecond))
	decided := decideUntil(t, c, random.IntN) // from here on the random numbers are its own
	select {
	case <-soon.C:
	case <-reached:
	}
	v.kill()
	decided()
	_ = c.Close()
}

// Calls wait for people while the program is killed, again and again, around their requests, decisions and continuations. What was approved
// is done at most once, and what was not is never done; a call that no one decides waits through all kills, and another one is refused when
// its time is over. In the end no run is left: each has been decided, or broken off with its request.
//
// Promise: approvals
func TestKillsAroundApprovals(t *testing.T) {
	t.Parallel()
	k := &approvalKills{newKills(t, approvalRounds)}
	k.configure(t, 3600)
	v := startVictim(t, k.dir)
	c := connect(t, v.url)
	k.ask(t, c, "patient", patient)
	waits := patientIn(t, c)
	v.kill()
	_ = c.Close()
	k.each(11, func(r *rand.Rand) { k.round(t, r) })

	k.configure(t, 1)
	p := k.last(t)
	c = connect(t, gatewayURL(p.gatewayAddress()))
	if now := patientIn(t, c); now != waits {
		t.Errorf("after all kills %s waits instead of %s", now, waits)
	}
	calls[any](t, c, "agent.wait", map[string]any{"runId": k.ask(t, c, "late", late), "timeoutMs": testscale.Patience.Milliseconds()})
	calls[any](t, c, "exec.approval.resolve", map[string]string{"id": waits, "decision": "allow-once"})
	k.ask(t, c, "last", "")
	decided := decideUntil(t, c, func(int) int { return 0 })
	waitForWork(t, p.Program)
	decided()
	judgeApprovals(t, p, filepath.Join(k.dir, "home", "effects.txt"))
	k.end(t, p)
}

// judgeApprovals compares the effects of calls with what was decided about them, and with their ends in the log.
func judgeApprovals(t *testing.T, p *reloading, file string) {
	t.Helper()
	times := effectsIn(t, file)
	decisions := decisionsOf(t, p)
	counts := map[string]int{}
	for line, decided := range decisions {
		counts[decided]++
		if decided == "" {
			t.Errorf("%q waits, but no run does", line)
		}
	}
	for line, n := range times {
		if n > 1 || decisions[line] != "approved" {
			t.Errorf("%q had its effect %d times, and is %s", line, n, decisions[line])
		}
	}
	if decisions[patient] != "approved" || times[patient] != 1 || decisions[late] != "expired" {
		t.Errorf("%q is %s and had its effect %d times; %q is %s", patient, decisions[patient], times[patient], late, decisions[late])
	}
	j := judgeEffects(t, p.Program)
	for command, well := range j.outcome {
		if line := lineOf(command); well && times[line] != 1 {
			t.Errorf("%q ended well, and had its effect %d times", line, times[line])
		}
	}
	t.Logf("decided: %v; %d effects, %d outcomes are unknown; %d runs were continued", counts, len(times), j.unknown, j.resumed)
}

// lineOf is the line that a command adds.
func lineOf(command string) string {
	_, rest, _ := strings.Cut(command, "'")
	line, _, _ := strings.Cut(rest, "'")
	return line
}

// decisionsOf returns what was decided about each line, "" being nothing. Each is asked for and decided about once.
func decisionsOf(t *testing.T, p *reloading) map[string]string {
	t.Helper()
	decisions, lines := map[string]string{}, map[string]string{} // the latter by approval
	err := eachEvent(t, p, func(typ string, data []byte) error {
		var d struct {
			ApprovalID, Decision string
			Arguments            struct{ Command string }
		}
		if typ != coordination.TypeToolApprovalRequested && typ != coordination.TypeToolApprovalDecided {
			return nil
		}
		if err := json.Unmarshal(data, &d); err != nil {
			return err
		}
		if typ == coordination.TypeToolApprovalRequested {
			line := lineOf(d.Arguments.Command)
			if _, is := decisions[line]; is {
				t.Errorf("%q is asked for twice", line)
			}
			lines[d.ApprovalID], decisions[line] = line, ""
			return nil
		}
		line := lines[d.ApprovalID]
		if decisions[line] != "" {
			t.Errorf("%q is decided twice", line)
		}
		decisions[line] = d.Decision
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return decisions
}

func eachEvent(t *testing.T, p *reloading, visit func(typ string, data []byte) error) error {
	for after := int64(0); ; {
		events, err := p.Program.log.Read(t.Context(), after, 1_000)
		if err != nil || len(events) == 0 {
			return err
		}
		for i := range events {
			after = events[i].Seq
			if err := visit(events[i].Type, events[i].Data); err != nil {
				return err
			}
		}
	}
}
