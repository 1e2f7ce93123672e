package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// askingRules has calls of exec wait for people, except those that only look, and refuses those that remove.
const askingRules = `tools: { exec: { sandbox: "off" }, approvals: { timeoutSeconds: 600, rules: [
	{ tools: ["exec"], arguments: { command: "rm *" }, decision: "deny" },
	{ tools: ["exec"], arguments: { command: "echo looks" }, decision: "allow" },
	{ tools: ["group:runtime"], agents: ["ruda"], decision: "ask" } ] } },`

// runsCommand has an agent run the command that a message of a person is, and say what came of it.
func runsCommand(a a2atest.Asked) a2atest.Answer {
	if a.AfterTool() {
		return a2atest.Say("result: " + a.Last().Text)
	}
	return a2atest.Use(a2atest.Call{Name: "exec", Args: map[string]any{"command": a.Message()}})
}

// askingTeam is ruda, whose commands wait for people, and eden.
type askingTeam struct {
	*liveTeam
	file string // to which commands add lines
}

func startAsking(t *testing.T) *askingTeam {
	t.Helper()
	team := startTeamOf(t, strings.NewReplacer("tools: { agentToAgent: { enabled: true } },", askingRules), []string{"ruda", "eden"}, runsCommand)
	return &askingTeam{team, filepath.Join(t.TempDir(), "effects.txt")}
}

// adds is a command that adds a line to the file.
func (team *askingTeam) adds(line string) string {
	return fmt.Sprintf("echo %s >> %s", line, team.file)
}

func (team *askingTeam) lines(t *testing.T) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(team.file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// tells has a person tell an agent something, and returns where the answer will be.
func (team *askingTeam) tells(t *testing.T, agent, key, text string) <-chan string {
	t.Helper()
	said := make(chan string, 1)
	go func() {
		answer, err := team.answer(t.Context(), agent, key, text)
		if err != nil {
			answer = "error: " + err.Error()
		}
		said <- answer
	}()
	return said
}

// waits waits until runs have parked n times in all, and returns what waits now.
func (team *askingTeam) waits(t *testing.T, n int) []approval.Approval {
	t.Helper()
	untilLogged(t, team.reloading, coordination.TypeRunParked, n)
	return team.listed(t, "")
}

// listed is what GET /api/approvals lists of calls.
func (team *askingTeam) listed(t *testing.T, query string) []approval.Approval {
	t.Helper()
	status, body := team.answers(t, http.MethodGet, "/api/approvals?kind=call"+query)
	var list struct{ Approvals []approval.Approval }
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s, %v", status, body, err)
	}
	return list.Approvals
}

// decides posts a decision of lee, and wants a status.
func (team *askingTeam) decides(t *testing.T, id, decision, more string, want int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, team.url+"/api/approvals/"+id+"/"+decision, strings.NewReader(`{"by":"lee"`+more+`}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != want {
		t.Fatalf("%s %s: %d %s, %v; want %d", decision, id, response.StatusCode, body, err, want)
	}
}

func hears(t *testing.T, answer <-chan string, want string) {
	t.Helper()
	select {
	case text := <-answer:
		if !strings.Contains(text, want) {
			t.Errorf("the agent says %q, want %q in it", text, want)
		}
	case <-time.After(testscale.Patience):
		t.Fatalf("no answer; want %q", want)
	}
}

// A call that asks waits until a person decides; then the same run goes on and makes it once. The model is not asked meanwhile, and what is
// refused was not done. Other calls are made or refused at once.
func TestCallsWaitForPeople(t *testing.T) {
	t.Parallel()
	team := startAsking(t)
	if got := team.tell(t, "eden", "free", team.adds("free")); !strings.Contains(got, "result: ") { // the rule is for ruda
		t.Errorf("eden: %q", got)
	}
	if got := team.tell(t, "ruda", "looks", "echo looks"); !strings.Contains(got, "looks") {
		t.Errorf("allowed: %q", got)
	}
	if got := team.tell(t, "ruda", "denied", "rm "+team.file); !strings.Contains(got, "forbids this call of exec") {
		t.Errorf("denied: %q", got)
	}
	answer := team.tells(t, "ruda", "first", team.adds("first"))
	list := team.waits(t, 1)
	if len(list) != 1 || list[0].Call == nil || list[0].Call.Tool != "exec" || list[0].Call.RunID != "first" || list[0].AgentID != "ruda" ||
		!strings.Contains(string(list[0].Call.Arguments), "echo first") {
		t.Fatalf("what waits: %+v", list)
	}
	if asked := len(team.models.Asked()); asked != 7 { // three runs of two answers, and one
		t.Errorf("models were asked %d times", asked)
	}
	if s := team.agents.runner.Stats(); s.Running != 0 {
		t.Errorf("%d runs are active while they wait", s.Running)
	}
	team.decides(t, list[0].ID, "approve", "", http.StatusOK)
	hears(t, answer, "result: ")
	team.decides(t, list[0].ID, "approve", "", http.StatusConflict)

	answer = team.tells(t, "ruda", "second", team.adds("second"))
	list = team.waits(t, 2)
	team.decides(t, list[0].ID, "reject", `,"reason":"not today"`, http.StatusOK)
	hears(t, answer, "lee has refused it: not today")

	answer = team.tells(t, "ruda", "third", team.adds("third"))
	team.waits(t, 3)
	team.advance(t, 601*time.Second)
	hears(t, answer, "no one has approved it in time")
	if diff := cmp.Diff([]string{"free", "first"}, team.lines(t)); diff != "" {
		t.Errorf("effects (-want +got)\n%s", diff)
	}
	decided := team.listed(t, "&state=decided")
	var statuses []string
	for _, a := range decided {
		statuses = append(statuses, a.Decision.Status+" by "+a.Decision.By)
	}
	if diff := cmp.Diff([]string{"rejected by openclawd", "rejected by lee", "approved by lee"}, statuses); diff != "" {
		t.Errorf("decided (-want +got)\n%s", diff)
	}
	if n := team.count(t, coordination.TypeRunStarted); n != 9 {
		t.Errorf("runs have started %d times, want 6, and 3 again", n)
	}
}

// A permission for always is for the agent, the tool and the arguments, and is taken back.
func TestPermissionsLast(t *testing.T) {
	t.Parallel()
	team := startAsking(t)
	answer := team.tells(t, "ruda", "1", team.adds("one"))
	id := team.waits(t, 1)[0].ID
	team.decides(t, id, "always", `,"scope":"everything"`, http.StatusBadRequest)
	team.decides(t, id, "always", "", http.StatusOK)
	hears(t, answer, "result: ")
	if got := team.tell(t, "ruda", "2", team.adds("one")); !strings.Contains(got, "result: ") {
		t.Errorf("again: %q", got)
	}
	if list := team.listed(t, "&state=lasting"); len(list) != 1 || list[0].ID != id || list[0].Decision.Scope != permission.ThisCall {
		t.Errorf("lasting: %+v", list)
	}
	answer = team.tells(t, "ruda", "3", team.adds("two")) // other arguments
	other := team.waits(t, 2)[0].ID
	team.decides(t, other, "reject", `,"reason":"no"`, http.StatusOK)
	hears(t, answer, "lee has refused it: no")
	team.decides(t, id, "forget", "", http.StatusOK)
	team.decides(t, id, "forget", "", http.StatusConflict)
	team.decides(t, other, "forget", "", http.StatusConflict)
	answer = team.tells(t, "ruda", "4", team.adds("one"))
	team.decides(t, team.waits(t, 3)[0].ID, "always", `,"scope":"tool"`, http.StatusOK)
	hears(t, answer, "result: ")
	team.tell(t, "ruda", "5", team.adds("three"))
	if diff := cmp.Diff([]string{"one", "one", "one", "three"}, team.lines(t)); diff != "" {
		t.Errorf("effects (-want +got)\n%s", diff)
	}
	if got := team.tell(t, "ruda", "6", "rm "+team.file); !strings.Contains(got, "forbids this call of exec") {
		t.Errorf("a rule that denies counts nevertheless: %q", got)
	}
}

// Clients of the gateway are told what waits and what was decided, list and read it, and decide, for good too.
func TestGatewayClientsDecideCalls(t *testing.T) {
	t.Parallel()
	team := startAsking(t)
	told := make(chan string, 20)
	deciding := connect(t, gatewayURL(team.gatewayAddress()), func(o *client.Options) {
		o.Event = func(e client.Event) {
			if strings.HasPrefix(e.Name, "exec.approval.") {
				told <- e.Name + " " + string(e.Payload)
			}
		}
	})
	hears := func(name string, parts ...string) {
		t.Helper()
		select {
		case text := <-told:
			for _, part := range append(parts, name+" ") {
				if !strings.Contains(text, part) {
					t.Errorf("told %s, want %s in it", text, part)
				}
			}
		case <-time.After(testscale.Patience):
			t.Fatalf("not told %s", name)
		}
	}
	type waiting struct {
		ID          string
		Request     struct{ Command, AgentID, SessionKey, RunID string }
		ExpiresAtMs int64
	}
	team.tells(t, "ruda", "first", team.adds("first"))
	hears("exec.approval.requested", `"command":"echo first`, `"allow-always"`, `"runId":"first"`)
	list := calls[[]waiting](t, deciding, "exec.approval.list", struct{}{})
	if len(list) != 1 || list[0].Request.AgentID != "ruda" || list[0].Request.SessionKey != "agent:ruda:main" || list[0].ExpiresAtMs == 0 {
		t.Fatalf("%+v", list)
	}
	if one := calls[waiting](t, deciding, "exec.approval.get", map[string]string{"id": list[0].ID}); one != list[0] {
		t.Errorf("alone: %+v", one)
	}
	calls[any](t, deciding, "exec.approval.resolve", map[string]string{"id": list[0].ID, "decision": "allow-always"})
	hears("exec.approval.resolved", `"decision":"allow-always"`, list[0].ID)
	untilLogged(t, team.reloading, coordination.TypeRunEnded, 1)
	team.tell(t, "ruda", "again", team.adds("first"))
	team.tells(t, "ruda", "second", team.adds("second"))
	hears("exec.approval.requested", `"command":"echo second`)
	second := calls[[]waiting](t, deciding, "exec.approval.list", struct{}{})[0].ID
	calls[any](t, deciding, "exec.approval.resolve", map[string]string{"id": second, "decision": "deny"})
	hears("exec.approval.resolved", `"decision":"deny"`, second)
	if late := refusalBy(t, deciding, "exec.approval.get", map[string]string{"id": second}); late.Code != "INVALID_REQUEST" {
		t.Errorf("%+v", late)
	}
	type ledger struct {
		Items []struct{ ID, Decision, Status string }
	}
	if past := calls[ledger](t, deciding, "approval.history", map[string]any{"kind": "exec"}).Items; len(past) != 2 || past[0].ID != second || past[0].Status != "denied" ||
		past[1].Decision != "allow-always" {
		t.Errorf("history: %+v", past)
	}
	untilLogged(t, team.reloading, coordination.TypeRunEnded, 3)
	if diff := cmp.Diff([]string{"first", "first"}, team.lines(t)); diff != "" {
		t.Errorf("effects (-want +got)\n%s", diff)
	}
}

// A run that waits survives a restart, and goes on after the decision. One that is stopped withdraws its request.
func TestWaitingCallsSurviveRestarts(t *testing.T) {
	t.Parallel()
	team := startAsking(t)
	_ = team.tells(t, "ruda", "first", team.adds("first"))
	id := team.waits(t, 1)[0].ID
	team.again(t)
	if list := team.listed(t, ""); len(list) != 1 || list[0].ID != id {
		t.Fatalf("after a restart: %+v", list)
	}
	team.decides(t, id, "approve", "", http.StatusOK)
	untilLogged(t, team.reloading, coordination.TypeRunEnded, 1)

	_ = team.tells(t, "ruda", "second", team.adds("second"))
	id = team.waits(t, 2)[0].ID
	if _, err := team.client.Call(t.Context(), "chat.abort", map[string]any{"sessionKey": "agent:ruda:main"}); err != nil {
		t.Fatal(err)
	}
	untilLogged(t, team.reloading, coordination.TypeRunAborted, 1)
	team.decides(t, id, "approve", "", http.StatusConflict)
	if list := team.listed(t, ""); len(list) != 0 {
		t.Errorf("a stopped run waits: %+v", list)
	}
	if diff := cmp.Diff([]string{"first"}, team.lines(t)); diff != "" {
		t.Errorf("effects (-want +got)\n%s", diff)
	}
}
