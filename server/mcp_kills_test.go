package server

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/mcp/mcptest"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// mcpRounds is how often the server is killed while its agents call an MCP server.
var mcpRounds = testscale.Of[uint64](6, 20*testscale.Times)

// mcpScript has agents add a line with the tool that a message names, and answer with the result.
const mcpScript = `{"rules": [
	{"when": {"after": "tool"}, "answer": {"text": "result: {{result}}"}},
	{"when": {"contains": ["idempotent"]}, "answer": {"text": "I add it.", "toolCalls": [{"name": "files__append_idempotent", "arguments": {"line":"{{message}}"}}]}},
	{"when": {"contains": ["append"]}, "answer": {"text": "I add it.", "toolCalls": [{"name": "files__append", "arguments": {"line":"{{message}}"}}]}}]}`

// Agents call a tool with an effect while the program is killed, again and again, and their runs go on where they were. No effect is there
// twice unless its tool may be repeated, every intent has one outcome, and a run that had the result in time says so.
//
// Promise: outside-effects
func TestKillsAroundOutsideEffects(t *testing.T) {
	t.Parallel()
	k := newKills(t, mcpRounds)
	file := filepath.Join(k.dir, "effects.txt")
	k.configure(t, fmt.Sprintf(`{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {defaults: {maxConcurrent: 8}, entries: {main: {default: true}, eden: {}, seum: {}}},
		models: {scripted: {script: 'mcp.json'}}, mcp: {servers: {files: {command: %q, args: ['-test.run=^$'], env: {%s: %q, %s: %q, %s: '20ms'}}}}}`,
		os.Args[0], mcptest.Env, mcptest.Good, mcptest.EnvEffects, file, mcptest.EnvSlow), "mcp.json", mcpScript)
	k.each(4, func(r *rand.Rand) {
		v := startVictim(t, k.dir)
		c := connect(t, v.url)
		for range 6 {
			message := fmt.Sprintf("append %d", k.asked)
			if r.IntN(3) == 0 {
				message = fmt.Sprintf("idempotent %d", k.asked)
			}
			agent := []string{"main", "eden", "seum"}[r.IntN(3)]
			k.ask(t, c, agent, fmt.Sprint("s", r.IntN(4)), message)
		}
		killAfter(v, upTo(r, 400*time.Millisecond))
		_ = c.Close()
	})

	p := k.last(t)
	// The machine may be so slow that every earlier run was killed before its call.
	k.ask(t, connect(t, gatewayURL(p.gatewayAddress())), "main", "last", fmt.Sprintf("append %d", k.asked))
	waitForWork(t, p.Program)
	j := judgeEffects(t, p.Program)
	times := effectsIn(t, file)
	once(t, times, func(line string) bool { return strings.HasPrefix(line, "append") })
	twice := 0
	for line, n := range times {
		if n > 1 && !strings.HasPrefix(line, "append") {
			twice++
		}
	}
	for line, well := range j.outcome {
		if well && times[line] == 0 {
			t.Errorf("%q ended without an effect", line)
		}
	}
	if len(j.outcome) > k.asked || len(j.outcome) == 0 { // runs that were killed before their first step are broken off
		t.Errorf("%d of %d calls were made", len(j.outcome), k.asked)
	}
	t.Logf("%d calls: %d outcomes are unknown; %d runs were continued; %d idempotent effects happened twice", len(j.outcome), j.unknown, j.resumed, twice)
	k.end(t, p)
}

// waitForWork waits until nothing is queued or running.
func waitForWork(t *testing.T, p *Program) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 4*testscale.Patience)
	defer stop()
	for {
		head, err := p.log.Head(ctx)
		left := 0
		if err == nil {
			err = p.log.View(ctx, func(tx *sql.Tx) error {
				items, err := workqueue.List(ctx, tx, workqueue.Query{Limit: 100})
				for _, item := range items {
					if item.Kind == workqueue.KindRun && item.State != workqueue.Dead {
						left++
					}
				}
				return err
			})
		}
		if err == nil && left == 0 {
			return
		}
		if err == nil {
			_, err = p.log.Wait(ctx, head.Seq+1)
		}
		if err != nil {
			t.Fatalf("%d runs are left: %v", left, err)
		}
	}
}

// effectsJudged is what the log says of the calls.
type effectsJudged struct {
	outcome          map[string]bool // whether the last outcome is an end without an error, by the line that was to be added, or the command
	unknown, resumed int
}

// judgeEffects checks that every intent has exactly one outcome.
func judgeEffects(t *testing.T, p *Program) effectsJudged {
	t.Helper()
	j := effectsJudged{outcome: map[string]bool{}}
	line, open := map[string]string{}, map[string]bool{} // by stream
	for after := int64(0); ; {
		events, err := p.log.Read(t.Context(), after, 1_000)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			break
		}
		for i := range events {
			e := &events[i]
			after = e.Seq
			var d struct {
				Arguments       struct{ Line, Command string }
				Resume, IsError bool
			}
			switch e.Type {
			case coordination.TypeRunQueued:
				if err := json.Unmarshal(e.Data, &d); err == nil && d.Resume {
					j.resumed++
				}
			case coordination.TypeToolCalled:
				if err := json.Unmarshal(e.Data, &d); err != nil {
					t.Fatal(err)
				}
				line[e.Stream], open[e.Stream] = cmp.Or(d.Arguments.Line, d.Arguments.Command), true
			case coordination.TypeToolEnded, coordination.TypeToolOutcomeUnknown:
				if !open[e.Stream] {
					t.Errorf("%s: another outcome, or one without an intent", e.Stream)
				}
				open[e.Stream] = false
				if err := json.Unmarshal(e.Data, &d); err != nil {
					t.Fatal(err)
				}
				j.outcome[line[e.Stream]] = e.Type == coordination.TypeToolEnded && !d.IsError
				if e.Type == coordination.TypeToolOutcomeUnknown {
					j.unknown++
				}
			}
		}
	}
	for stream, is := range open {
		if is {
			t.Errorf("%s has no outcome", stream)
		}
	}
	return j
}
