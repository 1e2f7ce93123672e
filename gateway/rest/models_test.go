package rest_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/rest"
)

// get asks with a method and reads all of the answer.
func (g *gate) get(t testing.TB, method, path, secret string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, g.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	answer, err := client(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestModelsAreTheAgents(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{runs: newFakeRuns(echo)})
	one := func(id string) string {
		return `{"id":"` + id + `","object":"model","created":0,"owned_by":"openclaw","permission":[]}`
	}
	const none = `{"error":{"message":"Model 'openclaw/stranger' not found.","type":"invalid_request_error","param":"model","code":"model_not_found"}}`
	for _, c := range []struct {
		method, path, secret string
		status               int
		answer               string // "" is any
	}{
		{"GET", "/v1/models", token, 200, `{"object":"list","data":[` + one("openclaw") + "," + one("openclaw/default") + "," + one("openclaw/main") + "," + one("openclaw/eden") + `]}`},
		{"GET", "/v1/models/openclaw", token, 200, one("openclaw")},
		{"GET", "/v1/models/openclaw/default", token, 200, one("openclaw/default")},
		{"GET", "/v1/models/openclaw%2Feden", token, 200, one("openclaw/eden")},
		{"GET", "/v1/models/openclaw:eden", token, 200, one("openclaw:eden")},
		{"GET", "/v1/models/agent:eden", token, 200, one("agent:eden")},
		{"GET", "/v1/models/openclaw%2Fstranger", token, 404, none},
		{"GET", "/v1/models/gpt-4o", token, 404, ""},
		{"GET", "/v1/models/", token, 404, ""},
		{"HEAD", "/v1/models", token, 200, ""},
		{"POST", "/v1/models", token, 405, ""},
		{"GET", "/v1/models", "nope", 401, ""},
		{"GET", "/v1/modelsandmore", token, 404, ""},
	} {
		status, answer := g.get(t, c.method, c.path, c.secret)
		if status != c.status || c.answer != "" && answer != c.answer+"\n" {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, answer)
		}
	}
	if status, answer := serve(t, setup{off: true}).get(t, "GET", "/v1/models", token); status != 404 {
		t.Errorf("where the endpoints are off: %d %s", status, answer)
	}
}

// Every name that stands for the default agent asks it, whatever agents there are.
func TestDefaultModelAsksTheDefaultAgent(t *testing.T) {
	t.Parallel()
	o := newFakeRuns(echo)
	g := serve(t, setup{runs: o})
	for _, model := range []string{"openclaw", "openclaw/default", "OpenClaw/Default"} {
		if status, answer := g.post(t, chat, `{"model":"`+model+`","messages":[{"role":"user","content":"hi"}]}`); status != 200 {
			t.Errorf("%s: %d %s", model, status, answer)
		}
	}
	for _, a := range o.asked() {
		if a.Session.Agent != "main" {
			t.Errorf("agent %s was asked", a.Session.Agent)
		}
	}
}

// A client that lists tools and says that none is to be called is answered.
func TestToolsThatAreNotToBeCalled(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{runs: newFakeRuns(echo)})
	for _, body := range []string{`{"tools":[],`, `{"tools":null,`, `{"tools":[{"type":"function"}],"tool_choice":"none",`, `{"functions":[{"name":"f"}],"function_call":"none",`} {
		if status, answer := g.post(t, chat, body+hi[1:]); status != 200 {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
}

// If so configured, a failing model is an HTTP error, with and without streaming, and clients do not retry by
// themselves.
func TestFailuresAsHTTP(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state  run.State
		over   coordination.RunOver
		status int
		code   string
	}{
		{run.Failed, coordination.RunOver{Error: "400 fake model failure"}, 502, "model_failed"},
		{run.Failed, coordination.RunOver{Error: "slow down", ErrorClass: "rate_limited"}, 429, "rate_limited"},
		{run.Failed, coordination.RunOver{Error: "too much", ErrorClass: "overloaded"}, 503, "overloaded"},
		{run.Failed, coordination.RunOver{Error: "no key", ErrorClass: "auth"}, 502, "auth"},
		{run.Failed, coordination.RunOver{Text: "al", Error: "too long", ErrorClass: "context_exceeded"}, 400, "context_exceeded"},
		{run.TimedOut, coordination.RunOver{Error: "late"}, 504, "run_timed_out"},
		{run.Aborted, coordination.RunOver{}, 409, "run_stopped"},
		{run.OK, coordination.RunOver{Text: "all", StopReason: "stop"}, 200, ""},
	} {
		g := serve(t, setup{runs: newFakeRuns(func(j *job) {
			j.say(c.over.Text, false)
			j.end(c.state, c.over)
		}), change: func(o *rest.Options) { o.FailsAsHTTP = func() bool { return true } }})
		type failure struct {
			Error struct{ Message, Type, Code string }
		}
		for path, body := range map[string]string{chat: hi, responses: `{"model":"m","input":"hi"}`} {
			answer := g.begin(t.Context(), t, path, body)
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != c.status {
				t.Errorf("%s %+v: %d %s", path, c.over, answer.StatusCode, text)
			}
			if c.status == 200 {
				continue
			}
			got := decoded[failure](t, string(text)).Error
			if got.Code != c.code || got.Type != "api_error" || got.Message == "" || answer.Header.Get("X-Should-Retry") != "false" {
				t.Errorf("%s %+v: %v %s", path, c.over, answer.Header, text)
			}
		}
		if c.status == 200 {
			continue
		}
		all := read(t, g.begin(t.Context(), t, chat, `{"stream":true,`+hi[1:])).all()
		if got := decoded[failure](t, all[len(all)-1].data).Error; got.Code != c.code {
			t.Errorf("%+v: a stream of completions ends with %s", c.over, all[len(all)-1].data)
		}
		all = read(t, g.begin(t.Context(), t, responses, `{"stream":true,"model":"m","input":"hi"}`)).all()
		last := decoded[struct {
			Response struct {
				Status string
				Error  struct{ Code string }
			}
		}](t, all[len(all)-1].data).Response
		if name := all[len(all)-1].name; name != "response.failed" || last.Status != "failed" || last.Error.Code != c.code {
			t.Errorf("%+v: a stream of responses ends with %s %s", c.over, name, all[len(all)-1].data)
		}
	}
}
