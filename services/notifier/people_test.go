package notifier_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/eventstore"
)

func of(taskID string) coordination.Context {
	return coordination.Context{TaskID: taskID, WorkSessionID: "ws_1", EventRole: coordination.RoleOrchestration}
}

// What waits for approval is shown to people with buttons: what it is, its owner, its steps, and the requested tools.
func TestPeopleAreAskedToAgree(t *testing.T) {
	t.Parallel()
	d := setup(t, people)
	d.follow(2)
	started := coordination.TaskStarted{Context: of("task_1"), Description: "배포 <@" + ediBot + ">\n전부", RequiresApproval: true,
		Steps: []coordination.TaskStep{{ID: "s1", Content: "백업"}, {ID: "s2", Content: "전환"}}}
	d.append("task/task_1", coordination.TypeTaskStarted, "eden", started)
	submitted := coordination.Plan{Context: of("task_1"), PlanID: "plan_1", AgentID: "eden", Title: "배포 계획", ToolsRequested: []string{"exec", "write"}}
	for i := range 20 {
		submitted.Steps = append(submitted.Steps, fmt.Sprintf("단계 %d", i+1))
	}
	submitted.StepsCount = len(submitted.Steps)
	d.append("plan/plan_1", coordination.TypePlanSubmitted, "eden", submitted)
	list := d.asked("approval/", 2)
	for i, want := range []struct{ id, text string }{
		{"task_1", "**Approval of a task** `task_1`\nBy 이든\n배포 @이든 전부\n1. 백업\n2. 전환"},
		{"plan_1", "**Approval of a plan** `plan_1`\nBy 이든 · task `task_1`\n배포 계획\n1. 단계 1\n"},
	} {
		got := list[i].delivery
		if !strings.HasPrefix(got.Messages[0], "<@"+jimin+">\n"+want.text) {
			t.Errorf("text is\n%s\nwant\n%s", got.Messages[0], want.text)
		}
		if i == 1 && !strings.HasSuffix(got.Messages[0], "15. 단계 15\n… 5 more\nRequested tools: exec, write") {
			t.Errorf("text ends\n%s", got.Messages[0])
		}
		got.Messages = nil
		wanted := delivery.Delivery{Context: coordination.Context{TaskID: "task_1", EventRole: coordination.RoleObservability}, Purpose: delivery.Approval,
			AccountID: "eden", ChannelID: peopleChannel, Notify: []string{jimin}, System: true, ApprovalID: want.id,
			Components: json.RawMessage(`[{"type":1,"components":[{"custom_id":"approve:` + want.id + `"}]}]`)}
		if diff := cmp.Diff(wanted, got); diff != "" || list[i].EffectID != "approval/"+want.id {
			t.Errorf("%s (-want +got)\n%s", list[i].EffectID, diff)
		}
	}
}

// A call of a tool is shown with its arguments, and when it counts as refused; one that was decided meanwhile is not.
func TestPeopleAreAskedAboutCalls(t *testing.T) {
	t.Parallel()
	d := setup(t, people)
	d.follow(2)
	d.stop()
	d.stop = func() {}
	expires := d.now().Add(time.Hour).UnixMilli()
	ask := func(id string) {
		e := permission.Request(&permission.Ask{ID: id, Agent: "eden", Tool: "exec", Args: json.RawMessage(`{"command":"git push"}`), Expire: expires})
		d.append(coordination.CallApprovalStream(id), e.Type, "eden", e.Data)
	}
	ask("call_1")
	d.append(coordination.CallApprovalStream("call_1"), coordination.TypeToolApprovalDecided, "eden", coordination.CallApprovalDecided{ApprovalID: "call_1", Decision: permission.Approved})
	ask("call_2")
	d.follow(0)
	got := d.asked("approval/", 1)[0].delivery
	want := fmt.Sprintf("**Approval of a call** `call_2`\nBy 이든\n`exec`\n```json\n{\"command\":\"git push\"}\n```\nRefused if no one decides until <t:%d:t>", expires/1000)
	if got.ApprovalID != "call_2" || !strings.HasSuffix(got.Messages[0], want) {
		t.Errorf("%s is shown as\n%s\nwant\n%s", got.ApprovalID, got.Messages[0], want)
	}
}

// People in a channel are shown the input that a server wants; where values are needed they are told how to give them, and cannot approve there.
func TestPeopleAreAskedForInput(t *testing.T) {
	t.Parallel()
	d := setup(t, people)
	d.follow(2)
	for i, c := range []struct {
		in          *coordination.CallInput
		text, again string
		button      string
	}{
		{&coordination.CallInput{Mode: coordination.InputURL, Message: "Sign in.", URL: "https://sign.in.example/`now`", Repeatable: true},
			"The server asks: Sign in.\nAddress: `https://sign.in.example/%60now%60`\n", "The server chose the address: open it only if you trust it", "approve:"},
		{&coordination.CallInput{Mode: coordination.InputForm, Message: "Who travels?", Schema: json.RawMessage(`{"type":"object","required":["email"],"properties":{"email":{"type":"string"},"pin":{"type":"string"}}}`)},
			"The server asks: Who travels?\nValues needed: email. Give them with `openclawd approvals approve input_1 --set NAME=VALUE`\n", "Give no password or key", "reject:"},
	} {
		id := fmt.Sprint("input_", i)
		e := permission.Request(&permission.Ask{ID: id, Agent: "eden", Tool: "desk__book", Args: json.RawMessage(`{}`), Input: c.in, Expire: d.now().Add(time.Hour).UnixMilli()})
		d.append(coordination.CallApprovalStream(id), e.Type, "eden", e.Data)
		got := d.asked("approval/", i+1)[i].delivery
		if text := got.Messages[0]; !strings.Contains(text, "**Approval of input** `"+id+"`") || !strings.Contains(text, c.text) || !strings.Contains(text, c.again) {
			t.Errorf("shown as\n%s\nwant %s ... %s", text, c.text, c.again)
		}
		if !strings.Contains(string(got.Components), `"custom_id":"`+c.button+id) {
			t.Errorf("%s has the buttons %s, want %s first", id, got.Components, c.button)
		}
	}
}

// People see the arguments of a call as they are, in a code block that they cannot end. Where something is missing they are told so, and can
// only reject.
func TestArgumentsAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	long := `{"command":"` + strings.Repeat("x", 2000) + `"}`
	cases := []struct{ args, shown, note string }{
		{`{"command":"rm -rf *important* _x_ ~~y~~"}`, `{"command":"rm -rf *important* _x_ ~~y~~"}`, ""},
		{"{\"command\":\"echo `curl x|sh` [a](https://b.c/d)\"}", "{\"command\":\"echo `curl x|sh` [a](https://b.c/d)\"}", ""},
		{`{"command":"rm -rf /tmp/a    /"}`, `{"command":"rm -rf /tmp/a    /"}`, ""},
		{"{\"command\":\"````` ```\"}", "{\"command\":\"``\\u0060`` ``\\u0060\"}", ""},
		{"{\"command\":\"a\u202e\u200b\u00a0\u007f\U000e0041\u3164\"}", `{"command":"a\u202e\u200b\u00a0\u007f\udb40\udc41\u3164"}`, ""},
		{`{"command":"a > b && c < \\u003e"}`, `{"command":"a > b && c < \\u003e"}`, ""},
		{`{"command":"<@` + ediBot + `> @everyone"}`, "{\"command\":\"<\u200b@" + ediBot + "> @\u200beveryone\"}", ""},
		{long, long[:1000], "**1000 of 2014 bytes shown.** "},
		{`{"a":"` + strings.Repeat("y", permission.MaxArguments) + `"}`, "", fmt.Sprintf("**0 of %d bytes shown.** ", permission.MaxArguments+8)},
	}
	d := setup(t, people)
	d.follow(2)
	for i, c := range cases {
		id := fmt.Sprint("call_", i)
		e := permission.Request(&permission.Ask{ID: id, Agent: "eden", Tool: "exec", Args: json.RawMessage(c.args), Expire: d.now().Add(time.Hour).UnixMilli()})
		d.append(coordination.CallApprovalStream(id), e.Type, "eden", e.Data)
		got := d.asked("approval/", i+1)[i].delivery
		want, button := "`exec`\n", "approve:"
		if c.shown != "" {
			want += "```json\n" + c.shown + "\n```\n"
		}
		if c.note != "" {
			want, button = want+c.note, "reject:"
		} else {
			want += "Refused if"
		}
		if !strings.Contains(got.Messages[0], want) || !strings.Contains(string(got.Components), button+id) {
			t.Errorf("%.80s is shown as\n%s\nwith %s; want\n%s", c.args, got.Messages[0], got.Components, want)
		}
	}
}

// People are not asked about what needs no approval, or was decided before they could be asked.
func TestNoOneIsAskedWhatIsDecided(t *testing.T) {
	t.Parallel()
	d := setup(t, people)
	d.follow(2)
	d.stop()
	d.stop = func() {}
	waits := func(id string) coordination.TaskStarted {
		return coordination.TaskStarted{Context: of(id), Description: "x", RequiresApproval: true}
	}
	d.append("task/t1", coordination.TypeTaskStarted, "eden", coordination.TaskStarted{Context: of("t1"), Description: "x"})
	d.append("task/t2", coordination.TypeTaskStarted, "eden", waits("t2"))
	d.append("task/t2", coordination.TypeTaskApproved, "eden", coordination.TaskState{Context: of("t2"), Status: coordination.StateInProgress})
	d.append("plan/p1", coordination.TypePlanSubmitted, "eden", coordination.Plan{Context: of("t2"), PlanID: "p1", Title: "x", StepsCount: 1})
	d.append("plan/p1", coordination.TypePlanRejected, "eden", coordination.Plan{Context: of("t2"), PlanID: "p1"})
	d.append("task/t3", coordination.TypeTaskStarted, "eden", waits("t3"))
	d.follow(0)
	if got := d.asked("approval/", 1)[0].delivery.ApprovalID; got != "t3" {
		t.Errorf("asked about %s, want t3", got)
	}
}

// Where no channel is configured, people are told nothing.
func TestNoNotificationWithoutAChannel(t *testing.T) {
	t.Parallel()
	d := setup(t, sink+", "+bots)
	d.follow(1)
	d.append("task/t1", coordination.TypeTaskStarted, "eden", coordination.TaskStarted{Context: of("t1"), Description: "x", RequiresApproval: true})
	d.append("task/t1", coordination.TypeZombieAbandoned, "eden", coordination.ZombieAbandoned{Context: of("t1"), Action: coordination.ZombieEscalated})
	d.say("c-1", "the end")
	if got := d.asked("", 1)[0].delivery.Purpose; got != delivery.Report {
		t.Errorf("asked for %s, want a report only", got)
	}
}

// What only people can resolve is reported to them in one line, with what to do; pending work and notices themselves are not.
func TestPeopleAreNotifiedOfUnresolvedProblems(t *testing.T) {
	t.Parallel()
	d := setup(t, people)
	d.follow(2)
	unblock := func(task, reason, told string) coordination.Unblock {
		return coordination.Unblock{Context: of(task), Reason: reason, ToldAgentID: told, Dependency: "t0"}
	}
	unknown := func(purpose string) coordination.DiscordOutbound {
		return coordination.DiscordOutbound{EffectID: "reply/1", ChannelID: reportChannel, Purpose: purpose, Escalate: true}
	}
	ofRequest := unknown(delivery.Request)
	ofRequest.CollabID = "c"
	for _, e := range []struct {
		stream, typ string
		data        any
		want        string // "" is for nothing
	}{
		{"task/t1", coordination.TypeZombieAbandoned, coordination.ZombieAbandoned{Context: of("t1"), Action: coordination.ZombieMovedToBacklog}, ""},
		{"task/t1", coordination.TypeZombieAbandoned, coordination.ZombieAbandoned{Context: of("t1"), Action: coordination.ZombieEscalated, AgeHours: 24.4,
			ReassignCount: 3, ToldAgentID: "seum"}, "task `t1` of 이든 was given up: no progress for 24 hours (time 3); 세움 was told, too → have 이든 call `task_resume` or `task_cancel`"},
		{"task/t2", coordination.TypeUnblockFailed, coordination.Unblock{Context: of("t2"), TargetAgentID: "seum"}, ""},
		{"task/t2", coordination.TypeUnblockFailed, unblock("t2", "no_answer", ""), "task `t2` of 이든 is blocked: none of the agents that were asked has helped → "},
		{"task/t3", coordination.TypeUnblockFailed, unblock("t3", "not_delivered", ""), "no agent could be asked for help → "},
		{"task/t4", coordination.TypeUnblockFailed, unblock("t4", "nobody_to_ask", ""), "there is no agent to ask for help → "},
		{"task/t5", coordination.TypeUnblockFailed, unblock("t5", "dependency_gone", ""), "task `t0`, which it depends on, was not completed → "},
		{"work/reply/1", coordination.TypeDiscordDeliveryUnknown, unknown(delivery.Reply), "it is unknown whether a message was posted in <#" + reportChannel + "> (`reply/1`) → "},
		{"work/reply/2", coordination.TypeDiscordSendFailed, coordination.DiscordOutbound{EffectID: "reply/2", ChannelID: "8", ThreadID: "9",
			Purpose: delivery.Reply, Escalate: true, ErrorCode: "permission_denied", Error: "Missing Access"},
			"a message was not posted in <#9> (permission_denied: Missing Access) → fix the cause, then `openclawd work resend reply/2`"},
		{"work/reply/3", coordination.TypeDiscordSendFailed, coordination.DiscordOutbound{EffectID: "reply/3", ChannelID: "7", Purpose: delivery.Reply}, ""},
		{"work/escalation/1", coordination.TypeDiscordDeliveryUnknown, unknown(delivery.Escalate), ""},
		{"work/escalation/1", coordination.TypeDiscordSendFailed, unknown(delivery.Escalate), ""},
		{"work/approval/1", coordination.TypeDiscordDeliveryUnknown, unknown(delivery.Approval), ""},
		{"work/collab/c", coordination.TypeDiscordDeliveryUnknown, ofRequest, ""},
		{"thread/9", coordination.TypeThreadSuspended, coordination.Thread{ThreadID: "9", Reason: "bot_turns", UntilMs: 1_700_000_000_000},
			"bots talk too much in <#9> and are suspended (bot_turns), until <t:1700000000:t> → "},
		{"conv/c", coordination.TypeA2AForbidden, coordination.A2ARefusal{Context: coordination.Context{RootRunID: "r1"}, FromAgent: "eden", ToAgent: "seum",
			Code: "too_many_flows", Reason: "200 times within 10m0s"},
			"a loop of agents was cut: 이든 was kept from having 세움 act (too_many_flows: 200 times within 10m0s) → check what they do (`openclawd trace r1`)"},
		{"conv/c", coordination.TypeA2AForbidden, coordination.A2ARefusal{Context: coordination.Context{RootRunID: "r1"}, FromAgent: "seum", ToAgent: "eden",
			Code: "too_many_hops"}, ""}, // of one chain they are told once in a while
		{"conv/c", coordination.TypeA2AForbidden, coordination.A2ARefusal{FromAgent: "seum", ToAgent: "eden", Code: "policy_denied"}, ""},
	} {
		before := len(d.work("escalation/"))
		seq := d.append(e.stream, e.typ, "eden", e.data)
		if e.want == "" {
			continue
		}
		got := d.asked("escalation/", before+1)[before]
		text := got.delivery.Messages[0]
		if !strings.HasPrefix(text, "<@"+jimin+">\n**Escalation** · ") || !strings.Contains(text, e.want) || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %s\nwant %s", e.typ, text, e.want)
		}
		got.delivery.Messages, got.delivery.Context = nil, coordination.Context{}
		want := delivery.Delivery{Purpose: delivery.Escalate, AccountID: "eden", ChannelID: peopleChannel, Notify: []string{jimin}, System: true}
		if diff := cmp.Diff(want, got.delivery); diff != "" || got.EffectID != fmt.Sprint("escalation/", seq) {
			t.Errorf("%s (-want +got)\n%s", got.EffectID, diff)
		}
	}
}

// People are told in the language that is set, else in that of the agents' names.
func TestPeopleAreToldInTheirLanguage(t *testing.T) {
	t.Parallel()
	for set, want := range map[string][2]string{
		"": {"**작업 승인 요청** `t1`\n요청: 이든\n배포\n1. 백업",
			"**에스컬레이션** · 이든의 작업 `t2`: 24시간 동안 진행되지 않아 중단되었습니다 (3번째); 세움에게도 알렸습니다 → 이든에게 `task_resume` 또는 `task_cancel`을 호출하게 하세요"},
		"language: 'ko', ": {"**작업 승인 요청** `t1`\n요청: 이든\n배포\n1. 백업", "**에스컬레이션** · 이든의 작업 `t2`: 24시간 동안"},
		"language: 'en', ": {"**Approval of a task** `t1`\nBy 이든\n배포\n1. 백업", "**Escalation** · task `t2` of 이든 was given up: "},
	} {
		d := setup(t, strings.Replace(people, "language: 'en', ", set, 1))
		d.follow(2)
		d.append("task/t1", coordination.TypeTaskStarted, "eden", coordination.TaskStarted{Context: of("t1"), Description: "배포", RequiresApproval: true,
			Steps: []coordination.TaskStep{{ID: "s1", Content: "백업"}}})
		d.append("task/t2", coordination.TypeZombieAbandoned, "eden", coordination.ZombieAbandoned{Context: of("t2"), Action: coordination.ZombieEscalated,
			AgeHours: 24, ReassignCount: 3, ToldAgentID: "seum"})
		for i, prefix := range []string{"approval/", "escalation/"} {
			if got := strings.TrimPrefix(d.asked(prefix, 1)[0].delivery.Messages[0], "<@"+jimin+">\n"); !strings.HasPrefix(got, want[i]) {
				t.Errorf("with %q people are told\n%s\nwant\n%s", set, got, want[i])
			}
		}
	}
}

// Of one thing people are told once in five minutes, also over a restart.
func TestPeopleAreToldOfOneThingOnceInAWhile(t *testing.T) {
	t.Parallel()
	d := setup(t, people)
	d.follow(2)
	suspend := func(thread string) {
		d.append("thread/"+thread, coordination.TypeThreadSuspended, "", coordination.Thread{ThreadID: thread, Reason: "bot_rate"})
	}
	suspend("1")
	suspend("1")
	suspend("2")
	d.asked("escalation/", 2)
	d.restart()
	d.follow(0)
	suspend("1")
	suspend("3")
	d.asked("escalation/", 3)
	d.ahead.Store(int64(6 * time.Minute))
	suspend("1")
	last := d.asked("escalation/", 4)[3]
	if !strings.Contains(last.delivery.Messages[0], "<#1>") {
		t.Errorf("told %s times, want 1", last.delivery.Messages[0])
	}
}

// Events of an imported log are not reported.
func TestImportedEventsAreToldToNoOne(t *testing.T) {
	t.Parallel()
	d := setup(t, sink+", "+people)
	d.follow(3)
	d.appendAs(eventstore.ActorImport, "task/t1", coordination.TypeTaskStarted, "eden",
		coordination.TaskStarted{Context: of("t1"), Description: "x", RequiresApproval: true})
	d.appendAs(eventstore.ActorImport, "task/t1", coordination.TypeZombieAbandoned, "eden",
		coordination.ZombieAbandoned{Context: of("t1"), Action: coordination.ZombieEscalated})
	d.append("thread/1", coordination.TypeThreadSuspended, "", coordination.Thread{ThreadID: "1", Reason: "bot_rate"})
	d.asked("", 1)
}
