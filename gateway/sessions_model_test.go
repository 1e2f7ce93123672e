package gateway_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// A session takes only models that there are, as /model does; null is the configured one again.
func TestSessionsTakeModelsThatThereAre(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for asked, model := range map[string]string{`"fake/echo-2"`: "echo-2", `"ECHO-2"`: "echo-2", `" Fake/Echo-2 "`: "echo-2", `"fake/echo-1"`: "echo-1"} {
		if got := b.patch(t, `{"key":"main","model":`+asked+`}`).Resolved; got.Model != model || got.ModelProvider != "fake" {
			t.Errorf("%s: %+v", asked, got)
		}
	}
	b.patch(t, `{"key":"main","model":"echo-2"}`)
	before := len(b.events(t, coordination.SessionStream(coordination.MainKey("main"))))
	for _, name := range []string{"nope", "fake/nope", "other/echo-2"} {
		got := b.refused(t, "sessions.patch", `{"key":"main","label":"new","model":"`+name+`"}`)
		why, err := json.Marshal(got.Details)
		wanted := `{"code":"unknown_model","field":"model","value":"` + name + `","hint":"name one from models.list, or null for the configured model",` +
			`"known":["fake/echo-1","fake/echo-2"]}`
		if err != nil || got.Code != protocol.CodeInvalidRequest || got.Message != "model not allowed: "+name || string(why) != wanted {
			t.Errorf("%s: %+v %s", name, got, why)
		}
	}
	if n := len(b.events(t, coordination.SessionStream(coordination.MainKey("main")))); n != before {
		t.Errorf("%d events after %d", n, before)
	}
	if got := b.patch(t, `{"key":"main","model":null}`).Resolved; got.Model != "echo-1" {
		t.Errorf("%+v", got)
	}
	b.configure(t, strings.Replace(fixtureConfig, "primary: 'fake/echo-1'", "primary: 'fake/hidden'", 1))
	if got := b.patch(t, `{"key":"main","model":"fake/hidden"}`).Resolved; got.Model != "hidden" {
		t.Errorf("an agent's own model: %+v", got)
	}
	b.configure(t, strings.Replace(fixtureConfig, "providers: {fake:", "providers: {second: {baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'fixture-key', "+
		"api: 'openai-completions', models: [{id: 'echo-2', name: 'Another'}]}, fake:", 1))
	if got := b.refused(t, "sessions.patch", `{"key":"main","model":"echo-2"}`); got.Message != "invalid model: echo-2" {
		t.Errorf("%+v", got)
	}
}

// Refusals of agents name the parameter and the reason.
func TestRefusalsOfRunsAreTold(t *testing.T) {
	t.Parallel()
	_, agents, url := staged(t)
	c := dial(t, url, client.Options{})
	agents.refuse = &run.Refusal{Reason: run.CodeUnknownModel, Field: "model", Value: "fake/nope", Text: "there is no such model", HintText: "name another"}
	for _, method := range []string{"agent", "chat.send"} {
		params := map[string]string{"message": "x", "idempotencyKey": "k", "sessionKey": "main"}
		if method == "agent" {
			params["model"] = "fake/nope"
		}
		_, err := c.Call(t.Context(), method, params)
		refused, ok := errors.AsType[*protocol.Error](err)
		if !ok || refused.Code != protocol.CodeInvalidRequest || refused.Message != "invalid "+method+" params: there is no such model" {
			t.Fatalf("%s: %v", method, err)
		}
		why, err := json.Marshal(refused.Details)
		if err != nil || string(why) != `{"code":"unknown_model","field":"model","hint":"name another","value":"fake/nope"}` {
			t.Errorf("%s: %s %v", method, why, err)
		}
	}
}
