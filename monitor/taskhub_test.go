package monitor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/testdata/sample"
	"github.com/pronto-lab/openclawd/workspace"
)

// A call that Task-Hub makes through its proxy, and the fields that it reads of the answer.
//
// A field is a path and what it may be, as in "sessions[].threads[].id string". It is looked up in every element of every list on the way;
// at least one there must be. Names joined by "|" stand for one another: the first that is there counts. A name that ends in "?" may be
// absent, as may be what is below it.
type hubCall struct {
	method, path, body string
	status             int
	reads              []string
}

// hubEvent is what Task-Hub reads of an event, wherever it is.
func hubEvent(at string) []string {
	return below(at, "type string", "agentId string", "ts|timestampMs|timestamp number|string", "eventRole role", "collabCategory category",
		"collabSubTags[] string", "categorySource string", "data object", "data.eventRole role", "data.collabCategory category",
		"data.fromAgent|senderAgentId? string", "data.toAgent|targetAgentId? string", "data.conversationId? string",
		"data.workSessionId? string", "data.label? string", "data.message? string", "data.replyPreview? string", "data.outcome? string",
		"data.waitStatus? string", "data.waitError? string", "data.status? string", "data.error? string", "data.turn? number",
		"data.maxTurns? number", "data.announced? bool")
}

// hubSession is what Task-Hub reads of a work session, and hubSummary without the events.
func hubSession(at string) []string {
	return slices.Concat(hubSummary(at), below(at, "threads[].events array"), hubEvent(at+".threads[].events[]"))
}

func hubSummary(at string) []string {
	return below(at, "id string", "workSessionId string", "status status", "startTime number", "lastTime number", "durationMs number",
		"threadCount number", "eventCount number", "collabCategory category", "collabSubTags[] string", "categorySource string",
		"roleCounts object", "threads array", "threads[].id string", "threads[].conversationId? string", "threads[].fromAgent string",
		"threads[].toAgent string", "threads[].startTime number", "threads[].lastTime number", "threads[].eventCount number",
		"threads[].collabCategory category")
}

// hubTask is what the Tasks page reads.
func hubTask(at string) []string {
	return below(at, "id string", "status string", "priority string", "description string", "created string", "lastActivity string",
		"progress array", "progress[]? string", "context? string", "source? string", "workSessionId? string", "previousWorkSessionId? string",
		"blockedReason? string", "unblockedBy?[] string", "unblockedAction? string", "dependsOn?[] string", "assignee? string",
		"startDate? string", "dueDate? string", "outcome? object", "outcome?.kind string", "steps? array", "steps?[].id string",
		"steps?[].content string", "steps?[].status string", "steps?[].order number", "stepsProgress? object",
		"stepsProgress?.total number", "stepsProgress?.done number", "stepsProgress?.inProgress number", "stepsProgress?.pending number",
		"stepsProgress?.skipped number")
}

func below(at string, fields ...string) []string {
	for i := range fields {
		fields[i] = at + "." + fields[i]
	}
	return fields
}

// hubSessions is a list of work sessions with what the page shows around it.
var hubSessions = slices.Concat([]string{"count number", "totalMatched number", "totalSessions number", "role array", "type array",
	"status array", "viewCategory string|null", "subTag string|null", "categoryCounts object"}, hubSession("sessions[]"))

var hubEvents = slices.Concat([]string{"count number", "total number", "totalMatched number", "role string|null", "type array",
	"viewCategory string|null", "categoryCounts object"}, hubEvent("events[]"))

// taskHubSession is a walk through all pages of Task-Hub, in order (specs of the original, section 12).
var taskHubSession = []hubCall{
	// Conversations, and its debug switch and categories.
	{"GET", "/api/work-sessions?role=conversation.main&type=a2a.response", "", 200, hubSessions},
	{"GET", "/api/work-sessions?role=conversation.main&type=a2a.response&viewCategory=infra_ops&limit=20", "", 200, hubSessions},
	{"GET", "/api/work-sessions?role=conversation.main&type=a2a.send,a2a.response,a2a.complete&limit=200", "", 200, hubSessions},
	{"GET", "/api/work-sessions?status=ACTIVE,QUIET,ARCHIVED", "", 200, hubSessions},
	// Where that fails it groups events itself.
	{"GET", "/api/events?limit=500&role=conversation.main", "", 200, hubEvents},
	{"GET", "/api/events?limit=700&role=conversation.main&viewCategory=planning_decision", "", 200, hubEvents},
	// A conversation is opened, and its category put right.
	{"GET", "/api/work-sessions/{session}", "", 200, slices.Concat([]string{"session object", "role null", "type array"}, hubSession("session"))},
	{"PATCH", "/api/work-sessions/{session}/category", `{"collabCategory":"biz_strategy","updatedBy":"운영자"}`, 200,
		[]string{"ok bool", "workSessionId string", "override object", "override.collabCategory category", "override.updatedAt instant",
			"override.updatedBy string"}},
	{"GET", "/api/work-sessions?viewCategory=biz_strategy", "", 200, hubSessions},
	// Events, polled, and what a reconnecting live page has missed.
	{"GET", "/api/events", "", 200, hubEvents},
	{"GET", "/api/events?type=continuation.sent,continuation.backoff", "", 200, slices.Concat(hubEvents, []string{"events[].data.taskId string"})},
	{"GET", "/api/events?since=2026-02-19T00:00:00.000Z", "", 200, hubEvents},
	// Search.
	{"GET", "/api/events/search?min_seq={head}&q=%EB%B0%B0%ED%8F%AC", "", 200,
		slices.Concat([]string{"count number", "total number", "offset number", "limit number", "query string"}, hubEvent("events[]"))},
	{"GET", "/api/work-sessions/search?min_seq={head}&q=%EB%B0%B0%ED%8F%AC", "", 200,
		slices.Concat([]string{"count number", "query string"}, hubSession("sessions[]"))},
	// Tasks and team.
	{"GET", "/api/agents", "", 200, []string{"count number", "agents[].id string", "agents[].workspaceDir string",
		"agents[].hasCurrentTask bool", "agents[].taskCount number"}},
	{"GET", "/api/agents/eden/info", "", 200, []string{"id string", "workspaceDir string", "hasCurrentTask bool", "taskCount number"}},
	{"GET", "/api/agents/eden/tasks", "", 200, slices.Concat([]string{"agentId string", "count number"}, hubTask("tasks[]"))},
	{"GET", "/api/agents/eden/tasks?status=in_progress", "", 200, slices.Concat([]string{"agentId string", "count number"}, hubTask("tasks[]"))},
	{"GET", "/api/agents/eden/tasks/task_aa11", "", 200, slices.Concat([]string{"agentId string", "task object", "source string"}, hubTask("task"))},
	{"GET", "/api/agents/eden/tasks/task_nowhere", "", 200, []string{"agentId string", "task null", "source string"}},
	{"GET", "/api/agents/eden/current", "", 200, []string{"agentId string", "hasTask bool", "content string|null", "taskSummary string|null"}},
	{"GET", "/api/agents/ruda/current", "", 200, []string{"agentId string", "hasTask bool", "content string|null", "taskSummary string|null"}},
	{"GET", "/api/agents/eden/history?limit=50", "", 200, []string{"agentId string", "history string", "months[] string",
		"currentMonth string|null", "hasHistory bool"}},
	{"GET", "/api/agents/eden/blocked", "", 200, []string{"agentId string", "count number", "blockedTasks[].id string",
		"blockedTasks[].description string", "blockedTasks[].blockedReason? string", "blockedTasks[].unblockedBy?[] string",
		"blockedTasks[].unblockedAction? string", "blockedTasks[].unblockRequestCount? number", "blockedTasks[].lastActivity string"}},
	{"GET", "/api/agents/eden/plans", "", 200, []string{"agentId string", "count number", "plans[] object"}},
	{"GET", "/api/team-state", "", 200, []string{"version number", "lastUpdatedMs number", "agents object", "agents.eden.agentId string",
		"agents.eden.role string", "agents.eden.currentTaskId string|null", "agents.eden.lastHeartbeatMs number",
		"agents.eden.status string", "agents.eden.consecutiveFailures number"}},
	// Workspace.
	{"POST", "/api/workspace-file", `{"path":"workspace-eden/notes/a.md","content":"# 메모\n"}`, 200,
		[]string{"ok bool", "path string", "bytes number"}},
	// What is wrong is said in words.
	{"GET", "/api/work-sessions/ws_nowhere", "", 404, []string{"error string"}},
	{"GET", "/api/agents/stranger/tasks", "", 404, []string{"error string"}},
	{"PATCH", "/api/work-sessions/{session}/category", `{"collabCategory":"nonsense"}`, 400, []string{"error string"}},
	{"GET", "/api/health", "", 200, []string{"status string", "timestamp instant"}},
}

// TestTaskHubFindsEveryFieldItReads makes the calls of Task-Hub against real data and looks at every element of every answer.
//
// Promise: task-hub
func TestTaskHubFindsEveryFieldItReads(t *testing.T) {
	t.Parallel()
	const token = "the token of the proxy"
	b := sampleTeam(t, withSearch(t), func(o *monitor.Options) { o.Token = token })
	head, err := b.db.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	session := get[sessionPage](t, b, "/api/work-sessions?role=conversation.main&type=a2a.response&limit=1", http.StatusOK).Sessions[0].WorkSessionID
	for _, c := range taskHubSession {
		c.path = strings.NewReplacer("{session}", session, "{head}", strconv.FormatInt(head.Seq, 10)).Replace(c.path)
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			request, err := http.NewRequestWithContext(context.Background(), c.method, b.url+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if c.method != http.MethodGet { // as its proxy does
				request.Header.Set("X-Task-Monitor-Token", token)
				request.Header.Set("Content-Type", "application/json")
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != c.status || response.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("%s, %s: %.300s", response.Status, response.Header.Get("Content-Type"), body)
			}
			var answer any
			if err := json.Unmarshal(body, &answer); err != nil {
				t.Fatal(err)
			}
			for _, field := range c.reads {
				path, kind, _ := strings.Cut(field, " ")
				r := reading{kind: kind}
				r.look(answer, strings.Split(path, "."), "")
				for _, fault := range r.faults[:min(len(r.faults), 5)] {
					t.Errorf("%s: %s", field, fault)
				}
				if r.found == 0 && !strings.Contains(path, "?") && len(r.faults) == 0 && !strings.HasSuffix(path, "collabSubTags[]") {
					t.Errorf("%s: nothing to read it from", field)
				}
			}
		})
	}
}

// sampleTeam serves the sample data as it was when it was taken.
func sampleTeam(t testing.TB, change ...func(*monitor.Options)) *testBundle {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, sample.Files); err != nil {
		t.Fatal(err)
	}
	b := setup(t, append(change, func(o *monitor.Options) { o.Workspace = workspace.New(dir, workspace.Options{}) })...)
	b.now.Store(sample.Taken.UnixMilli())
	logs, err := ndjson.Logs(dir)
	if err != nil || len(logs) != 2 {
		t.Fatalf("logs %q, %v", logs, err)
	}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b.importing(t, string(bytes.TrimSuffix(text, []byte("\n"))))
	}
	return b
}

// reading looks for one field in an answer.
type reading struct {
	kind   string
	found  int
	faults []string
}

func (r *reading) look(value any, path []string, at string) {
	if len(path) == 0 {
		r.found++
		if !isKind(value, r.kind) {
			r.faults = append(r.faults, fmt.Sprintf("%s is %.80s", at, mustJSON(value)))
		}
		return
	}
	name, isList := strings.CutSuffix(path[0], "[]")
	name, optional := strings.CutSuffix(name, "?")
	object, ok := value.(map[string]any)
	if !ok {
		r.faults = append(r.faults, at+" is no object")
		return
	}
	for _, name := range strings.Split(name, "|") {
		member, there := object[name]
		if !there {
			continue
		}
		at := at + "." + name
		if !isList {
			r.look(member, path[1:], at)
			return
		}
		list, ok := member.([]any)
		if !ok {
			r.faults = append(r.faults, at+" is no list")
			return
		}
		for i, element := range list {
			r.look(element, path[1:], fmt.Sprintf("%s[%d]", at, i))
		}
		return
	}
	if !optional {
		r.faults = append(r.faults, at+"."+name+" is missing")
	}
}

func isKind(value any, kinds string) bool {
	return slices.ContainsFunc(strings.Split(kinds, "|"), func(kind string) bool {
		text, isText := value.(string)
		switch kind {
		case "string":
			return isText
		case "null":
			return value == nil
		case "status":
			return slices.Contains([]string{"ACTIVE", "QUIET", "ARCHIVED"}, text)
		case "role":
			return coordination.Role(text).Valid()
		case "category":
			return coordination.Category(text).Valid()
		case "instant":
			_, err := time.Parse("2006-01-02T15:04:05.000Z", text)
			return err == nil
		}
		ok := false
		switch kind {
		case "number":
			_, ok = value.(float64)
		case "bool":
			_, ok = value.(bool)
		case "object":
			_, ok = value.(map[string]any)
		case "array":
			_, ok = value.([]any)
		}
		return ok
	})
}

func mustJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
