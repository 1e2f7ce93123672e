package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// hookRounds is how often the server is killed while it gets requests to hooks.
var hookRounds = testscale.Of[uint64](5, 15*testscale.Times)

const (
	hooksToken  = "token-of-the-hooks-0123456789"
	hooksConfig = `{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {defaults: {maxConcurrent: 8}, entries: {main: {default: true}, eden: {}}}, cron: {maxConcurrentRuns: 8},
		models: {scripted: {script: 'hooks.json'}}, hooks: {enabled: true, token: '` + hooksToken + `', maxPerMinute: 100000,
		mappings: [{match: {path: 'ci'}, agentId: 'eden', messageTemplate: 'build {{n}}', deliver: false}]}}`
	hooksScript = `{"rules": [{"when": {"contains": ["build"]}, "answer": {"text": "I have seen it."}}]}`
)

// Other programs send requests to hooks, and send those again that got no answer, while the server is killed, again and again. What was
// accepted has one run, each attempt at which ends once; a repeated key gets the same run, and nothing is lost that was acknowledged.
//
// Promise: one-key
func TestKillsAroundHooks(t *testing.T) {
	t.Parallel()
	k := newKills(t, hookRounds)
	k.configure(t, hooksConfig, "hooks.json", hooksScript)
	acknowledged := map[string]string{} // runs by idempotency key
	sent, repeated := 0, 0
	k.each(9, func(r *rand.Rand) {
		v := startVictim(t, k.dir)
		kill := time.AfterFunc(upTo(r, 250*time.Millisecond), v.kill)
		for alive := true; alive; {
			n := sent
			if n > 0 && r.IntN(3) == 0 {
				n, repeated = r.IntN(n), repeated+1
			}
			sent = max(sent, n+1)
			alive = sendHook(t, v.url, n, acknowledged)
		}
		kill.Stop()
		v.kill()
	})
	p := k.last(t)
	for n := range sent {
		if !sendHook(t, gatewayURL(p.gatewayAddress()), n, acknowledged) {
			t.Fatalf("request %d has no answer", n)
		}
	}
	waitForWork(t, p.Program)
	judgeHooks(t, p.Program, acknowledged)
	t.Logf("%d requests, %d repetitions at random", sent, repeated)
	k.end(t, p)
}

// sendHook sends request n, and reports whether it had an answer.
func sendHook(t *testing.T, url string, n int, acknowledged map[string]string) bool {
	t.Helper()
	path, body := "/hooks/agent", fmt.Sprintf(`{"message":"build %d","deliver":false}`, n)
	switch n % 3 {
	case 1:
		path, body = "/hooks/wake", fmt.Sprintf(`{"text":"build %d"}`, n)
	case 2:
		path, body = "/hooks/ci", fmt.Sprintf(`{"n":%d}`, n)
	}
	return postHook(t, url, path, body, fmt.Sprint("key-", n), acknowledged)
}

// postHook sends a request with an idempotency key, and reports whether it had an answer. All answers to a key name the same run.
func postHook(t *testing.T, url, path, body, key string, acknowledged map[string]string) bool {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.Replace(url, "ws://", "http://", 1)+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return false
	}
	r.Header.Set("Authorization", "Bearer "+hooksToken)
	r.Header.Set("Idempotency-Key", key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	var said struct{ RunID, Error string }
	if json.NewDecoder(answer.Body).Decode(&said) != nil {
		return false
	}
	if want := map[bool]int{true: http.StatusOK, false: http.StatusAccepted}[path == "/hooks/wake"]; answer.StatusCode != want {
		if answer.StatusCode == http.StatusServiceUnavailable {
			return false
		}
		t.Errorf("%s: %s %+v", key, answer.Status, said)
		return false
	}
	if was := acknowledged[key]; was != "" && was != said.RunID {
		t.Errorf("%s is run %s, and was run %s", key, said.RunID, was)
	}
	acknowledged[key] = said.RunID
	return true
}

// judgeHooks checks, by the log alone, that each request has one run, which was answered at most once, and that each attempt has one end.
func judgeHooks(t *testing.T, p *Program, acknowledged map[string]string) {
	t.Helper()
	first, root, ends, answers := map[string]int{}, map[string]string{}, map[string]int{}, map[string]int{}
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
			var d struct{ RunID, RetryOf, Cause string }
			if !strings.HasPrefix(e.Type, "run.") {
				continue
			}
			if err := json.Unmarshal(e.Data, &d); err != nil {
				t.Fatal(err)
			}
			switch e.Type {
			case coordination.TypeRunQueued:
				if root[d.RunID] = run.RootOf(d.RunID, d.RetryOf); d.RetryOf == "" && d.Cause == coordination.CauseHook {
					first[d.RunID]++
				}
			case coordination.TypeRunEnded:
				answers[root[d.RunID]]++
				ends[d.RunID]++
			case coordination.TypeRunFailed, coordination.TypeRunAborted, coordination.TypeRunTimedOut:
				ends[d.RunID]++
			}
		}
	}
	for key, id := range acknowledged {
		if first[id] != 1 || answers[id] > 1 { // one that kills have interrupted thrice is only reported
			t.Errorf("%s: run %s was queued %d times and answered %d times", key, id, first[id], answers[id])
		}
	}
	if len(first) != len(acknowledged) {
		t.Errorf("%d runs of %d requests", len(first), len(acknowledged))
	}
	for id := range root {
		if ends[id] != 1 {
			t.Errorf("run %s has %d ends", id, ends[id])
		}
	}
}
