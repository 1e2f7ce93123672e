package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
)

// pairConfig is openclaw.json of two agents who talk with each other for three turns.
const pairConfig = `{models: {scripted: {script: 'script.json'}}, tools: {agentToAgent: {enabled: true}}, session: {agentToAgent: {maxPingPongTurns: 3}},
  agents: {list: [{id: 'eden', default: true}, {id: 'seum'}]}}`

// pairScript is what they say; %s is what becomes of the answer in turn 2.
const pairScript = `{"rules": [
  {"when": {"agent": "seum", "contains": ["discuss"]}, "answer": {"text": "The first half is done, which of the others comes next?"}},
  {"when": {"agent": "eden", "contains": ["first half"]}, "answer": {"text": "Please take the shorter one of them, and tell me how long it needs."}},
  {"when": {"agent": "seum", "contains": ["shorter one"]}, "answer": {"text": "About two hours, unless today's tests find something new"%s}},
  {"when": {"agent": "eden", "contains": ["two hours"]}, "answer": {"text": "Then begin in the morning and write when everything stands."}}]}`

// startPair serves the two.
func startPair(t *testing.T, fault string) *team {
	t.Helper()
	m := &team{dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(m.dir, "openclaw.json"), []byte(pairConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	m.script(t, fault)
	m.start(t)
	t.Cleanup(func() { m.end(os.Kill) })
	return m
}

func (m *team) script(t *testing.T, fault string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, "script.json"), fmt.Appendf(nil, pairScript, fault), 0o600); err != nil {
		t.Fatal(err)
	}
}

// flowEvent is what is looked at of an event.
type flowEvent struct {
	Type string
	Data struct {
		Turn        int
		RunID       string
		RetryOf     string
		ResumeCount int
		Author      string
	}
}

// events are those of some types, in order. It reads the log, which starts no process.
func (m *team) events(t *testing.T, types ...string) (list []flowEvent) {
	t.Helper()
	log, err := database.OpenToRead(t.Context(), filepath.Join(m.dir, database.Name), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	const most = 100_000
	all, err := log.Read(t.Context(), 0, most)
	if err != nil || len(all) == most {
		t.Fatalf("%d events, %v", len(all), err)
	}
	for i := range all {
		if !slices.Contains(types, all[i].Type) {
			continue
		}
		e := flowEvent{Type: all[i].Type}
		if err := json.Unmarshal(all[i].Data, &e.Data); err != nil {
			t.Fatalf("%v in %s", err, all[i].Data)
		}
		list = append(list, e)
	}
	return list
}

// get asks the server.
func (m *team) get(t *testing.T, path string, into any) {
	t.Helper()
	response, err := http.Get(m.api + path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("GET %s: %v in %s", path, err, text)
	}
}

// A server that is killed in the middle of turn 2 of a flow goes on with that turn when it is back, and turn 3 follows: nothing is sent again,
// and no turn is taken again.
func TestKillInTheMiddleOfAFlow(t *testing.T) {
	t.Parallel()
	m := startPair(t, `, "fault": {"hang": true, "after": 2}`)
	var sent struct {
		Output struct {
			Details struct{ JobID, Status string }
		}
	}
	said := m.does(t, "tools", "call", "sessions_send", `{"agentId": "seum", "message": "let's discuss the work together", "timeoutSeconds": 0}`, "--agent", "eden", "--json")
	if err := json.Unmarshal([]byte(said.stdout), &sent); err != nil || sent.Output.Details.Status != "accepted" {
		t.Fatalf("%v: %+v", err, said)
	}
	job := sent.Output.Details.JobID
	m.until(t, "turn 2 is under way", func() bool { return slices.Equal(m.runs(t, "running"), []string{job + ".t2"}) })
	m.end(os.Kill)
	m.script(t, "")
	m.start(t)
	var shown struct {
		Job struct {
			Phase, Outcome string
			Turn           int
		}
	}
	m.until(t, "the flow is over", func() bool {
		m.get(t, "/api/a2a/jobs/"+job, &shown)
		return shown.Job.Phase == "over"
	})
	if shown.Job.Outcome != "ok" || shown.Job.Turn != 3 {
		t.Errorf("%+v", shown)
	}
	var order []string
	for _, e := range m.events(t, coordination.TypeA2ASend, coordination.TypeA2AResponse, coordination.TypeA2AComplete, coordination.TypeA2AJobResumed) {
		order = append(order, fmt.Sprint(e.Type, " ", max(e.Data.Turn, e.Data.ResumeCount)))
	}
	want := []string{"a2a.send 0", "a2a.response 0", "a2a.response 1", "a2a.job.resumed 2", "a2a.response 2", "a2a.response 3", "a2a.complete 0"}
	if !slices.Equal(order, want) {
		t.Errorf("it went\n%s", strings.Join(order, "\n"))
	}
	messages := 0
	for _, e := range m.events(t, coordination.TypeSessionMessage) {
		if e.Data.Author == "user" {
			messages++
		}
	}
	if messages != 4 {
		t.Errorf("%d messages stand in the transcripts, want one for the first answer and one for each turn, however often they were started", messages)
	}
	var asked []string
	for _, e := range m.events(t, coordination.TypeRunQueued) {
		if id := e.Data.RunID; e.Data.RetryOf == "" {
			asked = append(asked, strings.TrimPrefix(id, job))
		} else if e.Data.RetryOf != job+".t2" {
			t.Errorf("run %s is repeated", e.Data.RetryOf)
		}
	}
	if !slices.Equal(asked, []string{"", ".t1", ".t2", ".t3"}) {
		t.Errorf("runs were asked for: %q", asked)
	}
}
