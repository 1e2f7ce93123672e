package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhereRunsAreDone(t *testing.T) {
	t.Parallel()
	c, findings := load(t, `{"gateway": {"auth": {"token": "a", "workerToken": "b"}, "workers": {"leaseSeconds": 5}}, "agents": {"entries": {
  "main": {}, "far": {"runs": {"on": "worker", "labels": ["GPU", "a/b", "gpu"]}}}}}`, nil)
	if len(findings) > 0 {
		t.Errorf("got %q", findings)
	}
	if p := c.PlacementOf("far"); !p.Remote() || !slices.Equal(p.Labels, []string{"a/b", "gpu"}) {
		t.Errorf("far: %+v", p)
	}
	for _, id := range []string{"main", "unknown"} {
		if p := c.PlacementOf(id); p.Remote() {
			t.Errorf("%s: %+v", id, p)
		}
	}
	if c.Gateway.WorkerLease != 5*time.Second || c.Gateway.Auth.Worker.Reveal() != "b" {
		t.Errorf("got %s", c.Gateway.WorkerLease)
	}
	if c, _ := load(t, `{}`, nil); c.Gateway.WorkerLease != 0 || c.Gateway.Auth.Worker != "" {
		t.Errorf("by default: %s", c.Gateway.WorkerLease)
	}
}

func TestPlacementsThatCannotBe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"agents": {"list": [{"id": "a", "runs": {"on": "wroker"}}]}}`:                          `did you mean "worker"?`,
		`{"agents": {"list": [{"id": "a", "runs": {"on": "worker", "labels": ["two words"]}}]}}`: `"two words" is no label`,
		`{"agents": {"list": [{"id": "a", "runs": {"labels": ["gpu"]}}]}}`:                       `the runs are done by the server, so labels have no effect`,
		`{"gateway": {"auth": {"token": "same", "workerToken": "same"}}}`:                        `the token of workers is also that of the gateway`,
		`{"gateway": {"workers": {"leaseSeconds": 1}}}`:                                          `gateway.workers.leaseSeconds`,
	} {
		c, findings := load(t, text, nil)
		if len(findings) != 1 || !strings.Contains(findings[0], want) {
			t.Errorf("%s: %q, want %s", text, findings, want)
		}
		if c != nil && strings.Contains(text, "same") && c.Gateway.Auth.Worker != "" {
			t.Error("the token is used all the same")
		}
	}
}
