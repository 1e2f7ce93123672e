package server

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/cluster"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/jetstream/natstest"
	"github.com/pronto-lab/openclawd/eventstore/shared/sharedtest"
)

// Two processes share a log. One writes; the other answers reads and passes writes on, and takes over when the first is
// killed. What was acknowledged is in both logs.
func TestNodeTakesOver(t *testing.T) {
	t.Parallel()
	log := "nats://" + natstest.One(t).Address() + "/team"
	a := newNodes(t, 5, log, log)
	for _, n := range a.list {
		n.start(t)
	}
	writer := a.writer(t)
	follower := a.others(writer)[0]
	all := a.speak(t, 4, rand.New(rand.NewPCG(1, 1)))
	all.until(t, time.Now())
	a.acquaint(t)
	if status, body := post(t, follower.api+"/api/tasks/task_unknown/cancel"); status != http.StatusNotFound {
		t.Errorf("a write that the follower passes on: %d %s", status, body)
	}
	if status, body := post(t, follower.api+"/api/cluster/step-down"); status != http.StatusConflict || !strings.Contains(body, "not_writer") {
		t.Errorf("a follower that is to step down: %d %s", status, body)
	}
	for token, want := range map[string]int{"this is known to all nodes": http.StatusOK, "": http.StatusNotFound, "wrong": http.StatusNotFound} {
		if status := pulse(t, writer.api, token); status != want {
			t.Errorf("the pulse of the writer for %q: %d, want %d", token, status, want)
		}
	}
	at := time.Now()
	writer.v.kill()
	t.Logf("%v from the kill to the first acknowledged message", all.until(t, at))
	if w := a.writer(t, follower); w != follower {
		t.Errorf("node %s writes", w.name)
	}
	writer.start(t)
	eventually(t, "the first node follows", func() bool {
		s, err := writer.status(t.Context())
		return err == nil && s.Role == cluster.Follower && s.Writer == follower.name && len(s.Nodes) == 2
	})
	a.acquaint(t)
	if status, body := post(t, writer.api+"/api/cluster/promote"); status != http.StatusOK {
		t.Errorf("promote: %d %s", status, body)
	}
	a.writer(t, writer)
	all.until(t, time.Now())
	all.stop()
	a.settle(t)
	a.judge(t, all.acknowledged())
}

// pulse asks for the pulse of a node with a token.
func pulse(t *testing.T, api, token string) (status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api+cluster.PulsePath, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Openclawd-Node-Token", token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// post sends a request without a body.
func post(t *testing.T, url string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return exchange(t, r)
}

// exchange sends a request; its status is 0 if the connection ended.
func exchange(t *testing.T, r *http.Request) (status int, body string) {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

// A judge that only believes what the logs say refuses logs that were forged.
func TestJudgeRejectsForgedLogs(t *testing.T) {
	t.Parallel()
	whole := sharedtest.Events(shared.Head{}, 5, 20, "x")
	forged := map[string]func() error{
		"one is missing": func() error { return judgeLogs(whole, append(whole[:1:1], whole[2:]...), nil) },
		"the order": func() error {
			return judgeLogs(whole, append(append(whole[:1:1], whole[2], whole[1]), whole[3:]...), nil)
		},
		"an acknowledged message is missing": func() error { return judgeLogs(whole, whole, map[string]bool{"said": true}) },
		"another event": func() error {
			other := append(whole[:4:4], sharedtest.Events(shared.Head{}, 5, 20, "y")[4])
			return judgeLogs(whole, other, nil)
		},
		"one more than all have": func() error { return judgeLogs(whole[:4], whole, nil) },
	}
	for name, judge := range forged {
		if judge() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := judgeLogs(whole, whole[:3], nil); err != nil {
		t.Errorf("a beginning: %v", err)
	}
}
