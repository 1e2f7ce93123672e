package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// A page shows the tasks of the team, and what waits for a person, who decides it there; the ledger has the decisions.
func TestAPageShowsTasksAndDecides(t *testing.T) {
	t.Parallel()
	team := startTeam(t, []string{"ruda", "eden"}, nil)
	ask := func(what string) string {
		return uses(t, team.client, "ruda", "task_start", map[string]any{"description": what, "requires_approval": true, "steps": []map[string]string{
			{"content": "first"}, {"content": "second"}, {"content": "third"}}}).TaskID
	}
	house, fence := ask("tear the house down"), ask("paint the fence")
	started := uses(t, team.client, "eden", "task_start", map[string]any{"description": "cut the grass", "simple": true}).TaskID
	plan := uses(t, team.client, "eden", "plan_submit", map[string]any{"title": "The garden", "steps": []string{"look", "dig"}, "task_id": started})
	if !plan.Success {
		t.Fatalf("%+v", plan)
	}
	type page struct {
		Tasks []struct{ ID, Title, Status, AgentID, ProgressSummary string }
	}
	titles := func(params map[string]any) (all []string) {
		for _, one := range calls[page](t, team.client, "tasks.list", params).Tasks {
			all = append(all, one.AgentID+" "+one.Title+" "+one.Status)
		}
		slices.Sort(all)
		return all
	}
	if got := titles(map[string]any{"status": []string{"queued", "running"}}); !slices.Equal(got, []string{
		"eden cut the grass running", "ruda paint the fence queued", "ruda tear the house down queued"}) {
		t.Errorf("%q", got)
	}
	if got := titles(map[string]any{"status": "running", "agentId": "ruda"}); got != nil {
		t.Errorf("%q", got)
	}
	type waiting struct {
		ID                       string
		Request                  struct{ Command, Title, Description, ProposalHash, AgentID string }
		CreatedAtMs, ExpiresAtMs int64
	}
	tasks := calls[[]waiting](t, team.client, "exec.approval.list", struct{}{})
	if len(tasks) != 2 || tasks[0].ID != house || tasks[0].Request.Command != "tear the house down" || tasks[0].Request.AgentID != "ruda" ||
		tasks[0].ExpiresAtMs <= tasks[0].CreatedAtMs {
		t.Errorf("%+v", tasks)
	}
	plans := calls[[]waiting](t, team.client, "openclaw.approval.list", struct{}{})
	if len(plans) != 1 || plans[0].Request.Title != "The garden" || plans[0].Request.Description != "1. look\n2. dig" ||
		len(plans[0].Request.ProposalHash) != 64 {
		t.Fatalf("%+v", plans)
	}
	calls[any](t, team.client, "exec.approval.resolve", map[string]string{"id": house, "decision": "allow-once"})
	calls[any](t, team.client, "exec.approval.resolve", map[string]string{"id": fence, "decision": "deny"})
	calls[any](t, team.client, "approval.resolve", map[string]string{"id": plans[0].ID, "kind": "system-agent", "decision": "allow-once"})
	if late := refusalBy(t, team.client, "exec.approval.resolve", map[string]string{"id": house, "decision": "deny"}); late.Code != "INVALID_REQUEST" {
		t.Errorf("%+v", late)
	}
	if forever := refusalBy(t, team.client, "exec.approval.resolve", map[string]string{"id": house, "decision": "allow-always"}); forever.Message !=
		"invalid decision: allow-always" {
		t.Errorf("%+v", forever)
	}
	for _, method := range []string{"exec.approval.list", "openclaw.approval.list"} {
		if left := calls[[]waiting](t, team.client, method, struct{}{}); len(left) != 0 {
			t.Errorf("%s: %+v", method, left)
		}
	}
	type ledger struct {
		Items []struct {
			ID, Status, Decision string
			Presentation         struct{ Kind, CommandText, Title string }
			Resolver             struct{ ID string }
		}
		NextCursor string
	}
	first := calls[ledger](t, team.client, "approval.history", map[string]any{"limit": 2})
	rest := calls[ledger](t, team.client, "approval.history", map[string]any{"limit": 2, "cursor": first.NextCursor})
	var decided []string
	for _, one := range append(first.Items, rest.Items...) {
		decided = append(decided, strings.Join([]string{one.Presentation.Kind, one.Presentation.CommandText + one.Presentation.Title, one.Status}, " "))
		if one.Resolver.ID == "" {
			t.Errorf("%+v is not decided", one)
		}
	}
	if want := []string{"system-agent The garden allowed", "exec paint the fence denied", "exec tear the house down allowed"}; !slices.Equal(decided, want) ||
		rest.NextCursor != "" {
		t.Errorf("%q", decided)
	}
	if got := calls[struct {
		Task struct{ Status, Prompt string }
	}](t, team.client, "tasks.get", map[string]string{"taskId": fence}); got.Task.Status != "cancelled" || got.Task.Prompt != "paint the fence" {
		t.Errorf("%+v", got)
	}
}

// Model usage is reported by day, session, model and agent, also after a restart.
func TestAPageShowsWhatModelsCounted(t *testing.T) {
	t.Parallel()
	team := startTeam(t, []string{"ruda", "eden"}, func(a2atest.Asked) a2atest.Answer { return a2atest.Say("done") })
	team.tell(t, "eden", "u1", "dig")
	team.tell(t, "eden", "u2", "plant")
	team.tell(t, "ruda", "u3", "look")
	team.again(t)
	type totals struct{ Input, Output, TotalTokens, TotalCost, MissingCostEntries int64 }
	type row struct {
		Key, AgentID string
		Usage        totals
	}
	type usage struct {
		Sessions   []row
		Totals     totals
		Aggregates struct {
			ByAgent []struct {
				AgentID string
				Totals  totals
			}
			ByModel []struct {
				Model string
				Count int64
			}
			Daily []struct{ Tokens int64 }
		}
	}
	all := calls[usage](t, team.client, "sessions.usage", map[string]any{"agentScope": "all", "mode": "specific", "timeZone": "Asia/Seoul"})
	cost := calls[struct {
		Days   int
		Daily  []totals
		Totals totals
	}](t, team.client, "usage.cost", map[string]any{"days": 2})
	if all.Totals.TotalTokens == 0 || all.Totals.MissingCostEntries != 3 || all.Totals != cost.Totals || len(cost.Daily) == 0 || cost.Days != 2 {
		t.Errorf("%+v\n%+v", all.Totals, cost)
	}
	if len(all.Sessions) != 2 || len(all.Aggregates.ByAgent) != 2 || len(all.Aggregates.ByModel) != 2 || all.Aggregates.ByModel[0].Model != "eden" ||
		all.Aggregates.ByModel[0].Count != 2 || len(all.Aggregates.Daily) == 0 {
		t.Errorf("%+v", all)
	}
	one := calls[usage](t, team.client, "sessions.usage", map[string]any{"key": "agent:eden:main"})
	if len(one.Sessions) != 1 || one.Sessions[0].Key != "agent:eden:main" || 3*one.Totals.TotalTokens != 2*all.Totals.TotalTokens {
		t.Errorf("%+v", one)
	}
	if none := calls[usage](t, team.client, "sessions.usage", map[string]any{"agentScope": "all", "startDate": "2001-01-01", "endDate": "2001-02-01"}); none.Totals != (totals{}) ||
		len(none.Sessions) != 0 {
		t.Errorf("%+v", none)
	}
	if series := calls[struct {
		Points []struct{ CumulativeTokens int64 }
	}](t, team.client, "sessions.usage.timeseries", map[string]string{
		"key": "agent:eden:main"}); len(series.Points) == 0 || series.Points[len(series.Points)-1].CumulativeTokens != one.Totals.TotalTokens {
		t.Errorf("%+v", series)
	}
	if logs := calls[struct {
		Logs []struct{ Role, Content string }
	}](t, team.client, "sessions.usage.logs", map[string]string{
		"key": "agent:eden:main"}); len(logs.Logs) != 4 || logs.Logs[0].Content != "dig" || logs.Logs[1].Content != "done" {
		t.Errorf("%+v", logs)
	}
	if wrong := refusalBy(t, team.client, "sessions.usage", map[string]string{"startDate": "2026-13-01"}); wrong.Message != "invalid startDate: 2026-13-01 is no day" {
		t.Errorf("%+v", wrong)
	}
}

// People edit an agent's own files, and nothing else: no other name, no path, no link, and nothing that changed meanwhile.
func TestAPageEditsWhatAnAgentIsTold(t *testing.T) {
	t.Parallel()
	team := startTeam(t, []string{"ruda", "eden"}, nil)
	type answer struct {
		OK        bool
		Workspace string
		Files     []struct {
			Name    string
			Missing bool
		}
		File struct {
			Content, Hash, Path string
			Missing             bool
		}
	}
	list := calls[answer](t, team.client, "agents.files.list", map[string]string{"agentId": "eden"})
	if len(list.Files) != 7 || list.Files[0].Name != "AGENTS.md" || !list.Files[0].Missing {
		t.Fatalf("%+v", list)
	}
	set := func(name, content, expected string) map[string]string {
		params := map[string]string{"agentId": "eden", "name": name, "content": content}
		if expected != "" {
			params["expectedHash"] = expected
		}
		return params
	}
	first := calls[answer](t, team.client, "agents.files.set", set("SOUL.md", "Eden is calm.", ""))
	if text, err := os.ReadFile(filepath.Join(list.Workspace, "SOUL.md")); err != nil || string(text) != "Eden is calm." || !first.OK {
		t.Errorf("%q %v", text, err)
	}
	again := calls[answer](t, team.client, "agents.files.set", set("SOUL.md", "Eden is brave.", first.File.Hash))
	if got := calls[answer](t, team.client, "agents.files.get", map[string]string{"agentId": "eden", "name": "SOUL.md"}); got.File.Content !=
		"Eden is brave." || got.File.Hash != again.File.Hash {
		t.Errorf("%+v", got)
	}
	if late := refusalBy(t, team.client, "agents.files.set", set("SOUL.md", "x", first.File.Hash)); late.Message != "SOUL.md has changed meanwhile" {
		t.Errorf("%+v", late)
	}
	for _, name := range []string{"../SOUL.md", "tasks/x.md", "CURRENT_TASK.md", "/etc/passwd", "openclaw.json"} {
		for _, method := range []string{"agents.files.get", "agents.files.set"} {
			params := set(name, "x", "")
			if method == "agents.files.get" {
				delete(params, "content")
			}
			if refused := refusalBy(t, team.client, method, params); refused.Message != "unsupported file "+name {
				t.Errorf("%s %s: %+v", method, name, refused)
			}
		}
	}
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(list.Workspace, "USER.md")); err != nil {
		t.Fatal(err)
	}
	if refused := refusalBy(t, team.client, "agents.files.get", map[string]string{"agentId": "eden", "name": "USER.md"}); refused.Code != "UNAVAILABLE" ||
		strings.Contains(refused.Message, "secret") {
		t.Errorf("%+v", refused)
	}
	if refused := refusalBy(t, team.client, "agents.files.list", map[string]string{"agentId": "ghost"}); refused.Message != "unknown agent id" {
		t.Errorf("%+v", refused)
	}
}
