package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/server/settings"
)

// answers asks the API and returns status and body.
func (r *reloading) answers(t *testing.T, method, path string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// An agent answers through the gateway with what the configuration gives it, with no key and no network, and the metrics tell of it.
func TestAgentsAnswer(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: `{gateway: {auth: {token: 'secret'}}, agents: {list: [{id: 'main'}, {id: 'eden'}]}}`}, withGateway)
	c := connect(t, gatewayURL(r.gatewayAddress()))
	payload, err := c.CallFinal(t.Context(), "agent", map[string]string{"message": "hello", "idempotencyKey": "k1", "agentId": "eden"}, nil)
	if err != nil || !strings.Contains(string(payload), `"provider":"scripted"`) || !strings.Contains(string(payload), "this is eden") {
		t.Fatalf("the answer: %s, %v", payload, err)
	}
	again, err := c.CallFinal(t.Context(), "agent", map[string]string{"message": "hello", "idempotencyKey": "k1", "agentId": "eden"}, nil)
	if err != nil || string(again) != string(payload) {
		t.Errorf("asked again: %s, %v", again, err)
	}
	_, metrics := r.answers(t, http.MethodGet, "/metrics")
	for _, line := range []string{`openclawd_runs_total{state="ok"} 1`, `openclawd_model_calls_total{outcome="ok",provider="scripted"} 1`,
		`openclawd_run_seconds_count{state="ok"} 1`, `openclawd_work_waiting{pool="main"} 0`,
		"openclawd_work_stuck 0", "openclawd_work_claims_total 1", "openclawd_run_tools_left 0", "openclawd_tools_running 0", "openclawd_tools_left 0"} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("metrics say nothing of %s", line)
		}
	}
	if _, runs := r.answers(t, http.MethodGet, "/api/runs?agent=eden"); !strings.Contains(runs, `"runId":"k1"`) || !strings.Contains(runs, `"state":"ok"`) {
		t.Errorf("runs: %s", runs)
	}
}

// A changed script is in force at once, though the configuration is the same; an invalid one is reported.
func TestScriptIsReloaded(t *testing.T) {
	t.Parallel()
	script := func(text string) string { return `{"rules": [{"answer": {"text": "` + text + `"}}]}` }
	r := startReloading(t, map[string]string{"script.json": script("one"), settings.FileName: `{gateway: {auth: {token: 'secret'}},
		models: {scripted: {script: 'script.json'}}, agents: {list: [{id: 'main'}]}}`}, withGateway)
	c := connect(t, gatewayURL(r.gatewayAddress()))
	says := func(id, want string) {
		t.Helper()
		payload, err := c.CallFinal(t.Context(), "agent", map[string]string{"message": "hello", "idempotencyKey": id, "agentId": "main"}, nil)
		if err != nil || !strings.Contains(string(payload), `"text":"`+want+`"`) {
			t.Errorf("the answer: %s, %v, want %s", payload, err, want)
		}
	}
	says("k1", "one")
	hash := r.configStatus().Hash
	r.write(t, "script.json", script("two"))
	r.rereads(t)
	says("k2", "two")
	if got := r.configStatus(); got.Hash != hash || got.Warnings != 0 {
		t.Errorf("the configuration: %+v", got)
	}
	r.write(t, "script.json", `{"rules": [{"answer": {"txt": "three"}}]}`)
	r.log.until(t, "unknown key at=")
	r.rereads(t)
	if got := r.configStatus(); got.Warnings == 0 || got.Errors != 0 {
		t.Errorf("a mistake in the script: %+v", got)
	}
}

// Dead letters are a warning until they are resent or cancelled.
func TestDeadLettersAreSettled(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: `{}`})
	const id = "mail/42 번"
	scheduled, err := worker.Schedule(coordination.WorkScheduled{EffectID: id, Kind: "mail", Key: "box", Pool: "post", Owner: "eden",
		DueAtMs: time.Now().Add(time.Hour).UnixMilli()})
	if err != nil {
		t.Fatal(err)
	}
	given := func(typ string) {
		t.Helper()
		data, err := json.Marshal(coordination.WorkAttempt{EffectID: id, Attempt: 1, Error: "no such box"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Program.log.Append(t.Context(), eventstore.StreamAppend{Stream: scheduled.Stream,
			Events: []eventstore.NewEvent{{Type: typ, AgentID: "eden", Data: data}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Program.log.Append(t.Context(), scheduled); err != nil {
		t.Fatal(err)
	}
	path := "/api/work/" + url.PathEscape(id)
	if status, body := r.answers(t, http.MethodPost, path+"/resend"); status != http.StatusConflict {
		t.Errorf("resend of what waits: %d %s", status, body)
	}
	given(coordination.TypeWorkLeased)
	given(coordination.TypeWorkDead)
	if status, body := r.answers(t, http.MethodGet, "/readyz"); status != http.StatusOK || !strings.Contains(body, `"code":"work_dead"`) {
		t.Errorf("readiness: %d %s", status, body)
	}
	if status, body := r.answers(t, http.MethodPost, path+"/resend"); status != http.StatusOK {
		t.Errorf("resend: %d %s", status, body)
	}
	if _, body := r.answers(t, http.MethodGet, "/readyz"); strings.Contains(body, "work_dead") {
		t.Errorf("readiness after resend: %s", body)
	}
	if status, body := r.answers(t, http.MethodPost, path+"/cancel"); status != http.StatusOK {
		t.Errorf("cancel: %d %s", status, body)
	}
	if status, body := r.answers(t, http.MethodPost, path+"/cancel"); status != http.StatusNotFound {
		t.Errorf("cancel again: %d %s", status, body)
	}
}

// While another gateway produces, no agent runs and pending work is not touched.
func TestFollowerRunsNoAgents(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: `{}`}, func(o *Options) { o.Follow = true })
	if r.agents != nil || r.gateway != nil {
		t.Errorf("agents %v, gateway %v", r.agents, r.gateway)
	}
	if status, body := r.answers(t, http.MethodPost, "/api/work/run/x/cancel"); status != http.StatusConflict || !strings.Contains(body, "runs_not_available") {
		t.Errorf("cancel: %d %s", status, body)
	}
}

// Concurrent requests for the status do not block each other.
func TestManyAskForTheStatusAtOnce(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: `{}`})
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	errs := make(chan error)
	const askers, times = 16, 4
	for range askers {
		go func() {
			var err error
			for range times {
				answer, failed := client.Get(r.url + "/api/status")
				if failed == nil {
					_, failed = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
				err = errors.Join(err, failed)
			}
			errs <- err
		}()
	}
	for range askers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
