package monitor_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/monitor"
)

// known are the names that only the bots know.
func known(o *monitor.Options) {
	o.Names = strings.NewReplacer("<@"+minsu+">", "@민수", "<#"+channelID+">", "#일반", "<@&77>", `@"팀"`).Replace
}

const mentioning = "<@" + edenBot + "> <@!" + minsu + "> <@" + minsu + "> <#" + channelID + "> <@&77> <@1234567>"

// Whatever the API tells has names where Discord has mentions: what the bots know by now, then what is configured, and of the rest the last digits.
// The data of events stays as it is stored.
func TestMentionsAreNames(t *testing.T) {
	t.Parallel()
	const want = `@이든 @…0001 @민수 #일반 @\"팀\" @…4567`
	b, _ := withOwnTasks(t, known)
	b.configured(t)
	b.heard(t, said("1404000000000000001", mentioning, 0))
	b.tasked(t, "eden", "task_a", coordination.TypeTaskStarted, 1, coordination.TaskStarted{Context: ofTask("task_a", "ws_1"), Priority: "low", Description: mentioning,
		Progress: "Task started", RequiresApproval: true})
	b.tell(t, "conversation/c9", "eden", [2]string{coordination.TypeA2ASend, fmt.Sprintf(
		`{"fromAgent":"eden","toAgent":"seum","conversationId":"c9","workSessionId":"ws_9","eventRole":"conversation.main","message":%q}`, mentioning)})
	b.flowed(t, "j9", "eden", coordination.TypeA2AJobCreated, coordination.A2AJobCreated{JobID: "j9", Kind: "send", FromAgent: "eden", ToAgent: "seum",
		Phase: "dispatching", RequesterSessionKey: "agent:eden:main", TargetSessionKey: "agent:seum:main", Message: mentioning})
	for _, path := range []string{"/api/routing", "/api/routing/1404000000000000001", "/api/tasks", "/api/tasks/task_a", "/api/agents/eden/tasks", "/api/approvals",
		"/api/approvals/task_a"} {
		_, text := b.ask(t, http.MethodGet, path)
		if got := string(text); !strings.Contains(got, want) || strings.Contains(got, "<@") || strings.Contains(got, "<#") {
			t.Errorf("%s says %.2000s, want %s and no mention", path, got, want)
		}
	}
	_, flow := b.ask(t, http.MethodGet, "/api/a2a/jobs/j9")
	if want := `"preview":"@이든 @…0001 @…0001 #…0002 @…77 @…4567"`; !strings.Contains(string(flow), want) {
		t.Errorf("a flow says %s, want %s, by the names of the configuration when it was asked for", flow, want)
	}
	for _, path := range []string{"/api/events?type=a2a.send", "/api/work-sessions/ws_9", "/api/work-sessions"} {
		_, text := b.ask(t, http.MethodGet, path)
		if got := string(text); !strings.Contains(got, `"displayText":"`+want) || !strings.Contains(got, `"message":"`+mentioning) {
			t.Errorf("%s says %.2000s, want %s beside the message as it is stored", path, got, want)
		}
	}
	b.running(t)
	l := b.listen(t, "/ws?since=0")
	for {
		_, text, err := l.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(text); strings.Contains(got, coordination.TypeA2ASend) {
			if !strings.Contains(got, `"displayText":"`+want) || !strings.Contains(got, `"message":"`+mentioning) {
				t.Errorf("/ws says %.2000s, want %s beside the message as it is stored", got, want)
			}
			return
		}
	}
}

// Without bots there are the names of the configuration.
func TestMentionsWithoutBots(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	b.configured(t)
	b.tasked(t, "eden", "task_a", coordination.TypeTaskStarted, 1, coordination.TaskStarted{Context: ofTask("task_a", "ws_1"), Priority: "low", Description: mentioning,
		Progress: "Task started"})
	_, text := b.ask(t, http.MethodGet, "/api/tasks/task_a")
	if want := `@이든 @…0001 @…0001 #…0002 @…77 @…4567`; !strings.Contains(string(text), want) {
		t.Errorf("it says %.1000s, want %s", text, want)
	}
}

// A name may hold what has a meaning in JSON, and what only looks like a mention stays.
func TestMentionsInJSON(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t, func(o *monitor.Options) { o.Names = strings.NewReplacer("<@1>", "@a\"b\\c\n").Replace })
	const text = "<@1> <@> <@x> < @1> <@12345678901234567890123456> a<b>c"
	b.tasked(t, "eden", "task_a", coordination.TypeTaskStarted, 1, coordination.TaskStarted{Context: ofTask("task_a", "ws_1"), Priority: "low", Description: text,
		Progress: "Task started"})
	got := get[struct {
		Task struct{ Description string }
	}](t, b, "/api/tasks/task_a", http.StatusOK)
	if want := "@a\"b\\c <@> <@x> < @1> <@12345678901234567890123456> a<b>c"; got.Task.Description != want {
		t.Errorf("%q, want %q", got.Task.Description, want)
	}
}
