package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/server/settings"
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
	rounds, base := crashSetting(t, storetest.EnvCrashRounds, hookRounds), crashSetting(t, storetest.EnvCrashSeedBase, rand.Uint64())
	t.Logf("%d rounds; repeat with %s=%d", rounds, storetest.EnvCrashSeedBase, base)
	dir := t.TempDir()
	for name, text := range map[string]string{settings.FileName: hooksConfig, "hooks.json": hooksScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	acknowledged := map[string]string{} // runs by idempotency key
	sent, repeated := 0, 0
	for round := range rounds {
		r := rand.New(rand.NewPCG(base+round, 9))
		v := startVictim(t, dir)
		kill := time.AfterFunc(time.Duration(r.Int64N(int64(250*time.Millisecond))), v.kill)
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
	}
	p := startReloading(t, nil, func(o *Options) {
		o.StateDir, o.DB, o.Gateway = dir, filepath.Join(dir, database.Name), "127.0.0.1:0"
	})
	for n := range sent {
		if !sendHook(t, gatewayURL(p.gatewayAddress()), n, acknowledged) {
			t.Fatalf("request %d has no answer", n)
		}
	}
	waitForWork(t, p.Program)
	judgeHooks(t, p.Program, acknowledged)
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	t.Logf("%d requests, %d repetitions at random", sent, repeated)
	if t.Failed() {
		t.Fatalf("seed %d", base)
	}
}

// sendHook sends request n, and reports whether it had an answer. All answers to it name the same run.
func sendHook(t *testing.T, url string, n int, acknowledged map[string]string) bool {
	t.Helper()
	key := fmt.Sprint("key-", n)
	path, body := "/hooks/agent", fmt.Sprintf(`{"message":"build %d","deliver":false}`, n)
	switch n % 3 {
	case 1:
		path, body = "/hooks/wake", fmt.Sprintf(`{"text":"build %d"}`, n)
	case 2:
		path, body = "/hooks/ci", fmt.Sprintf(`{"n":%d}`, n)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.Replace(url, "ws://", "http://", 1)+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
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
		t.Fatalf("request %d: %s %+v", n, answer.Status, said)
	}
	if was := acknowledged[key]; was != "" && was != said.RunID {
		t.Errorf("request %d is run %s, and was run %s", n, said.RunID, was)
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
