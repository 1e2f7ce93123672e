package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// An invalid tool is found when the program starts, not when an agent calls it.
func TestRegistrationIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "text.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		list  []tools.Tool
		field string
	}{
		"two of one name":    {[]tools.Tool{echo("a", "x", anything), echo("b", "x", anything), echo("a", "y", anything)}, "name"},
		"no name":            {[]tools.Tool{echo("", "x", anything)}, "name"},
		"capitals":           {[]tools.Tool{echo("List", "x", anything)}, "name"},
		"another script":     {[]tools.Tool{echo("목록", "x", anything)}, "name"},
		"too long":           {[]tools.Tool{echo(strings.Repeat("a", 65), "x", anything)}, "name"},
		"no schema":          {[]tools.Tool{echo("a", "x", "")}, "schema"},
		"no JSON":            {[]tools.Tool{echo("a", "x", "{")}, "schema"},
		"no object":          {[]tools.Tool{echo("a", "x", `{"type":"string"}`)}, "schema"},
		"anything":           {[]tools.Tool{echo("a", "x", `true`)}, "schema"},
		"broken keyword":     {[]tools.Tool{echo("a", "x", `{"type":"object","properties":{"a":{"type":"text"}}}`)}, "schema"},
		"reference to files": {[]tools.Tool{echo("a", "x", `{"type":"object","properties":{"a":{"$ref":"file://`+filepath.ToSlash(file)+`"}}}`)}, "schema"},
		"broken expression":  {[]tools.Tool{echo("a", "x", `{"type":"object","properties":{"a":{"pattern":"("}}}`)}, "schema"},
		"nothing to do":      {[]tools.Tool{{Spec: tool.Spec{Name: "a", Schema: json.RawMessage(anything)}}}, "do"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tools.New(tools.Options{Config: config.Default, Logger: slog.New(slog.DiscardHandler), Tools: c.list})
			var e *tools.RegistrationError
			if !errors.As(err, &e) || e.Field != c.field || e.Hint == "" || e.Error() == "" {
				t.Errorf("error is %v, want one of the field %s", err, c.field)
			}
		})
	}
	if _, err := tools.New(tools.Options{Config: config.Default, Logger: slog.New(slog.DiscardHandler),
		Tools: []tools.Tool{echo(strings.Repeat("z", 64), "x", anything), echo("a_1", "x", anything)}}); err != nil {
		t.Errorf("good tools are refused: %v", err)
	}
}

func names(specs []tool.Spec) string {
	var all []string
	for _, s := range specs {
		all = append(all, s.Group+"/"+s.Name)
	}
	return strings.Join(all, " ")
}

func TestOfferHasAFixedOrder(t *testing.T) {
	t.Parallel()
	r, _ := setup(t, nil, echo("c", "x", anything), echo("a", "y", anything), echo("b", "x", anything))
	if got, want := names(r.Offer(eden())), "y/a x/b x/c"; got != want {
		t.Errorf("offered are %s, want %s", got, want)
	}
	if got, want := names(r.Catalogue(eden())), "x/b x/c y/a"; got != want {
		t.Errorf("the catalogue is %s, want %s", got, want)
	}
	r.Offer(eden())[0].Schema[0] = '!' // a caller's copy
	if got := string(r.Offer(eden())[0].Schema); got != anything {
		t.Errorf("the schema has become %s", got)
	}
	if got := tool.GroupLabel(tool.GroupSessions) + tool.GroupLabel("own"); got != "Sessionsown" {
		t.Errorf("labels are %s", got)
	}
}

// The catalogue lists what runs may call, for every caller.
func TestCatalogueIsThatOfRuns(t *testing.T) {
	t.Parallel()
	notByCLI := echo("b", "x", anything)
	notByCLI.Who.NotBy = []tool.Entry{tool.ByCLI}
	r, _ := setup(t, nil, echo("sessions_spawn", "sessions", anything), notByCLI)
	c := eden()
	c.Entry = tool.ByCLI
	if got := names(r.Catalogue(c)); got != "sessions/sessions_spawn x/b" {
		t.Errorf("the catalogue is %s", got)
	}
	if got := names(r.Offer(c)); got != "sessions/sessions_spawn" {
		t.Errorf("offered are %s", got)
	}
}

// Who may not call a tool is told the same as if there was none.
//
// Promise: tool-policy
func TestDeniedAndUnknownAreTheSame(t *testing.T) {
	t.Parallel()
	deny := func(c *config.Config) { c.Tools.Deny = []string{"there"} }
	r, _ := setup(t, deny, echo("there", "x", anything))
	none, _ := setup(t, deny)
	_, denied := r.Call(t.Context(), eden(), "there", nil)
	_, unknown := none.Call(t.Context(), eden(), "there", nil)
	if diff := cmp.Diff(refused(t, unknown), refused(t, denied)); diff != "" {
		t.Error(diff)
	}
	if e := refused(t, denied); e.Code != tool.CodeUnknown || e.Text != "Tool not available: there" || e.Tool != "there" || e.Hint == "" {
		t.Errorf("error is %+v", e)
	}
	if got := r.Stats(); got != (tools.Stats{Calls: 1, Unknown: 1}) {
		t.Errorf("stats are %+v", got)
	}
	_, err := r.Call(t.Context(), eden(), strings.Repeat("뭐", 1_000), nil)
	if e := refused(t, err); e.Code != tool.CodeUnknown || len(e.Text) > 200 {
		t.Errorf("error is %+v", e)
	}
}

// A tool learns whose session it serves, however the caller spells it.
func TestCallersAreWhoTheySayTheyAre(t *testing.T) {
	t.Parallel()
	who := doing(func(_ context.Context, call *tools.Call) (tool.Output, error) {
		return tool.Output{Text: call.AgentID + " " + call.SessionKey + " " + string(call.Session.Kind) + " " + call.CallID}, nil
	})
	two := func(c *config.Config) { c.Agents = []config.Agent{{ID: "Seum", Default: true}, {ID: "eden"}} }
	global := func(c *config.Config) { two(c); c.Session.Scope = "global" }
	for _, c := range []struct {
		name       string
		agent, key string
		change     func(*config.Config)
		want       string // "" for no caller
	}{
		{"whole key", "eden", "agent:eden:main", two, "eden agent:eden:main main 7"},
		{"capitals", "Eden", "AGENT:Eden:Main", two, "eden agent:eden:main main 7"},
		{"bare name", "eden", "side", two, "eden agent:eden:side main 7"},
		{"no session", "eden", "", two, "eden agent:eden:main main 7"},
		{"no agent", "", "agent:eden:a2a:c1", two, "eden agent:eden:a2a:c1 a2a 7"},
		{"nothing", "", "", two, "seum agent:seum:main main 7"},
		{"alias", "eden", "global", two, "eden global alias 7"},
		{"shared main", "eden", "main", global, "eden global alias 7"},
		{"shared main by its own key", "eden", "agent:eden:main", global, "eden global alias 7"},
		{"another agent's session", "eden", "agent:seum:main", two, ""},
		{"no key", "eden", "agent:eden:", two, ""},
		{"blank", "eden", "a b", two, ""},
		{"no agent's id", "e den", "main", two, ""},
		{"no agent's id with a global session", "e den", "global", two, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, _ := setup(t, c.change, who)
			caller := tool.Caller{Entry: tool.ByRun, AgentID: c.agent, SessionKey: c.key, CallID: "7"}
			out, err := r.Call(t.Context(), caller, "deed", nil)
			if c.want == "" {
				if e := refused(t, err); e.Code != tool.CodeUnknown || r.Offer(caller) != nil {
					t.Errorf("error is %+v, offered are %v", e, r.Offer(caller))
				}
				return
			}
			if err != nil || out.Text != c.want {
				t.Errorf("called by %q, %v, want %q", out.Text, err, c.want)
			}
		})
	}
}
