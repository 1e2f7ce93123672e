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
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/server/settings"
)

// approvalRounds is how often the server is killed while people decide about calls.
var approvalRounds = testscale.Of[uint64](5, 50)

const approvalScript = `{"rules": [
	{"when": {"after": "tool"}, "answer": {"text": "result: {{result}}"}},
	{"when": {"contains": ["line"]}, "answer": {"text": "I run it.", "toolCalls": [{"name": "exec", "arguments": {"command":"echo '{{message}}' >> effects.txt"}}]}}]}`

// Calls wait for people while the program is killed, again and again, around their requests, decisions and continuations. What was approved
// is done at most once, what was not is never done, and in the end no run is left: each has been decided, or broken off with its request.
//
// Promise: approvals
func TestKillsAroundApprovals(t *testing.T) {
	t.Parallel()
	rounds, base := crashSetting(t, storetest.EnvCrashRounds, approvalRounds), crashSetting(t, storetest.EnvCrashSeedBase, rand.Uint64())
	t.Logf("%d rounds; repeat with %s=%d", rounds, storetest.EnvCrashSeedBase, base)
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	conf := fmt.Sprintf(`{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {defaults: {maxConcurrent: 8}, entries: {main: {default: true, workspace: %q}}},
		models: {scripted: {script: 'approvals.json'}}, tools: {exec: {sandbox: 'off'}, approvals: {rules: [{tools: ['exec'], decision: 'ask'}]}}}`, home)
	for name, text := range map[string]string{settings.FileName: conf, "approvals.json": approvalScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	ask := func(c *client.Client, session string) {
		asked++
		if _, err := c.Call(t.Context(), "agent", map[string]any{"message": fmt.Sprintf("line %d", asked), "agentId": "main", "sessionKey": "agent:main:" + session,
			"idempotencyKey": fmt.Sprint("run-", asked)}); err != nil {
			t.Fatal(err)
		}
	}
	for round := range rounds {
		r := rand.New(rand.NewPCG(base+round, 11))
		v := startVictim(t, dir)
		c := connect(t, v.url)
		for range 4 {
			ask(c, fmt.Sprint("s", r.IntN(4)))
		}
		deciding, stop := context.WithCancel(t.Context())
		decided := make(chan struct{})
		go func() {
			defer close(decided)
			for decideOne(deciding, c, r.IntN) == nil {
			}
		}()
		kill := time.NewTimer(time.Duration(r.Int64N(int64(400 * time.Millisecond))))
		<-kill.C
		v.kill()
		stop()
		<-decided
		_ = c.Close()
	}

	p := startReloading(t, nil, func(o *Options) {
		o.StateDir, o.DB, o.Gateway = dir, filepath.Join(dir, database.Name), "127.0.0.1:0"
	})
	c := connect(t, gatewayURL(p.gatewayAddress()))
	ask(c, "last")
	settled, stop := context.WithCancel(t.Context())
	decided := make(chan struct{})
	go func() {
		defer close(decided)
		for decideOne(settled, c, func(int) int { return 0 }) == nil {
		}
	}()
	waitForWork(t, p.Program)
	stop()
	<-decided
	judgeApprovals(t, p, filepath.Join(home, "effects.txt"))
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.Fatalf("seed %d", base)
	}
}

// decideOne decides about one call that waits, if there is one, or waits for the next. Approvals are as likely as refusals.
func decideOne(ctx context.Context, c *client.Client, random func(int) int) error {
	payload, err := c.Call(ctx, "exec.approval.list", struct{}{})
	if err != nil {
		return err
	}
	var list []struct{ ID string }
	if err := json.Unmarshal(payload, &list); err != nil {
		return err
	}
	if len(list) == 0 {
		_, err = c.Call(ctx, "agent.wait", map[string]any{"runId": "none", "timeoutMs": 5}) // a while
		return err
	}
	decision := []string{"allow-once", "deny"}[random(2)]
	if _, err = c.Call(ctx, "exec.approval.resolve", map[string]string{"id": list[random(len(list))].ID, "decision": decision}); err != nil && ctx.Err() == nil {
		return nil // it was decided, or the server is gone, which the next call tells
	}
	return err
}

// judgeApprovals compares the effects of calls with what was decided about them.
func judgeApprovals(t *testing.T, p *reloading, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for line := range strings.Lines(string(text)) {
		times[strings.TrimSpace(line)]++
	}
	call, decision := map[string]string{}, map[string]string{} // by approval
	err = eachEvent(t, p, func(typ, stream string, data []byte) error {
		var d struct {
			ApprovalID, Decision string
			Arguments            struct{ Command string }
		}
		if !strings.HasPrefix(typ, "tool.approval_") {
			return nil
		}
		if err := json.Unmarshal(data, &d); err != nil {
			return err
		}
		switch typ {
		case coordination.TypeToolApprovalRequested:
			_, rest, _ := strings.Cut(d.Arguments.Command, "'")
			call[d.ApprovalID], _, _ = strings.Cut(rest, "'")
		case coordination.TypeToolApprovalDecided:
			if decision[d.ApprovalID] != "" {
				t.Errorf("%s is decided twice", d.ApprovalID)
			}
			decision[d.ApprovalID] = d.Decision
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	approved, counts := map[string]bool{}, map[string]int{}
	for id, line := range call {
		counts[decision[id]]++
		if decision[id] == "" {
			t.Errorf("%s waits, but no run does", id)
		}
		approved[line] = approved[line] || decision[id] == "approved"
	}
	for line, n := range times {
		if n > 1 || !approved[line] {
			t.Errorf("%q had its effect %d times, approved: %v", line, n, approved[line])
		}
	}
	t.Logf("decided: %v; %d effects", counts, len(times))
}

func eachEvent(t *testing.T, p *reloading, visit func(typ, stream string, data []byte) error) error {
	for after := int64(0); ; {
		events, err := p.Program.log.Read(t.Context(), after, 1_000)
		if err != nil || len(events) == 0 {
			return err
		}
		for i := range events {
			after = events[i].Seq
			if err := visit(events[i].Type, events[i].Stream, events[i].Data); err != nil {
				return err
			}
		}
	}
}
