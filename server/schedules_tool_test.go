package server

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/mcp/mcptest"
	"github.com/pronto-lab/openclawd/server/settings"
)

// Jobs ask a tool of an MCP server, a process of its own, whether there is anything to do. What it finds, the agent is told; a server that
// ends in the middle fails its job alone, and is there again for the next one. Each call is recorded with one outcome.
func TestJobsAskMCPServers(t *testing.T) {
	t.Parallel()
	conf := fmt.Sprintf(`{gateway: {auth: {mode: 'token', token: 'secret'}}, cron: {triggers: {enabled: true}}, agents: {entries: {eden: {default: true}}},
		models: {scripted: {script: 'jobs.json'}}, mcp: {servers: {mail: {command: %q, args: ['-test.run=^$'], env: {%s: %q}}}}}`, os.Args[0], mcptest.Env, mcptest.Good)
	p := startReloading(t, map[string]string{settings.FileName: conf, "jobs.json": `{"rules": [{"answer": {"text": "told: {{message}}"}}]}`})
	for _, c := range []struct {
		name, tool, arguments, nothing string
		status, says                   string // of the run: an error, or what the agent answers
	}{
		{"finds", "mail__echo", `{"text":"2 unread of bora"}`, "no mail", schedule.OK, "2 unread of bora"},
		{"finds nothing", "mail__echo", `{"text":""}`, "", schedule.Skipped, "nothing to do"},
		{"finds what is called nothing", "mail__echo", `{"text":"there is no mail today"}`, "no mail", schedule.Skipped, "nothing to do"},
		{"fails", "mail__fail", `{}`, "", schedule.Error, "it does not work"},
		{"ends its server", "mail__die", `{}`, "", schedule.Error, "mail__die"},
		{"finds again", "mail__echo", `{"text":"1 unread of ara"}`, "", schedule.OK, "1 unread of ara"},
		{"asks for no tool of it", "mail__gone", `{}`, "", schedule.Error, "mail__gone"},
		{"takes too long", "mail__hang", `{}`, "", schedule.Error, "mail__hang"},
	} {
		var asked json.RawMessage
		if c.arguments != `{}` {
			asked = json.RawMessage(c.arguments)
		}
		job, err := p.agents.schedules.Add(t.Context(), coordination.CronJob{Name: c.name, Enabled: true, AgentID: "eden",
			Schedule: coordination.CronSchedule{Kind: schedule.KindAt, At: p.opts.Now().Add(50 * time.Millisecond).Format(time.RFC3339Nano)},
			Payload:  coordination.CronPayload{Kind: schedule.PayloadTurn, Message: "see to it"},
			Check:    &coordination.CronCheck{Tool: c.tool, Arguments: asked, Nothing: c.nothing, TimeoutSeconds: map[string]int64{"mail__hang": 1}[c.tool]}}, "test")
		if err != nil {
			t.Fatal(err)
		}
		end := finishedOf(t, p, job.Job.ID)
		if end.Status != c.status || !strings.Contains(end.Error+end.Summary, c.says) {
			t.Errorf("a check that %s: %+v, want %s with %q", c.name, end, c.status, c.says)
		}
	}
	called, outcomes := 0, 0
	err := eachEvent(t, p, func(typ string, _ []byte) error {
		switch typ {
		case coordination.TypeToolCalled:
			called++
		case coordination.TypeToolEnded, coordination.TypeToolOutcomeUnknown:
			outcomes++
		}
		return nil
	})
	if err != nil || called != 7 || outcomes != called {
		t.Errorf("%d calls with %d outcomes, %v, want 7 of each", called, outcomes, err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

// finishedOf waits until the run of a job has ended.
func finishedOf(t *testing.T, p *reloading, jobID string) coordination.CronRunFinished {
	t.Helper()
	for n := 1; ; n++ {
		if all := awaitFinished(t, p, n); all[n-1].JobID == jobID {
			return all[n-1]
		}
	}
}
