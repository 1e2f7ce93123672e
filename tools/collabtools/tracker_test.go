package collabtools_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/eventstore"
)

func (m *team) reminder() string {
	return "[리마인더] <@" + m.bot["eden"].ID + "> 위 요청 확인 부탁해요."
}
func (m *team) warning() string {
	return "⚠️ <@" + m.bora.ID + "> 이든이 15분째 무응답입니다. 확인 필요."
}

// reaches waits until a request has come to a step.
func (m *team) reaches(collabID string, status response.Status, step int) {
	m.t.Helper()
	m.until("a step", func() bool {
		row := m.row(collabID)
		return row.Status == status && row.Step == step
	})
}

// S4, 7.3: a reminder after five minutes, one after ten, and after fifteen a person is told; each once, by the requester's bot.
func TestTimeline(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문")
	thread, id := a.text("threadId"), a.text("collabId")
	want := []string{"<@" + m.bot["eden"].ID + ">\n\n질문"}
	for step := 1; step <= 2; step++ {
		m.advance(5 * time.Minute)
		m.reaches(id, response.StatusPending, step)
		want = append(want, m.reminder())
		if diff := cmp.Diff(want, m.posted(thread)); diff != "" {
			t.Errorf("after %d min (-want +got):\n%s", 5*step, diff)
		}
		if d := last[coordination.Collab](m, coordination.TypeCollabReminded); d.Attempt != step || d.Of != 3 || d.Minutes != 5*step || d.MessageID == "" || d.ErrorCode != "" {
			t.Errorf("the event says %+v, want step %d of 3", d, step)
		}
	}
	m.advance(5 * time.Minute)
	m.reaches(id, response.StatusEscalated, 3)
	want = append(want, m.warning())
	if diff := cmp.Diff(want, m.posted(thread)); diff != "" {
		t.Errorf("after 15 min (-want +got):\n%s", diff)
	}
	m.until("the line where people are told", func() bool { return len(m.posted(m.alarm.ID)) == 1 })
	if got, want := m.posted(m.alarm.ID)[0], m.warning()+"\nhttps://discord.com/channels/"+m.guild.ID+"/"+thread; got != want {
		t.Errorf("people are told %q, want %q", got, want)
	}
	for _, one := range m.Messages(thread) {
		if one.Author.ID != m.bot["ruda"].ID {
			t.Errorf("%q is by %s, want ruda's bot", one.Content, one.Author.Username)
		}
	}
	m.advance(time.Hour)
	m.until("nothing to be left", m.idle)
	if got := m.posted(thread); len(got) != 4 || len(m.posted(m.alarm.ID)) != 1 {
		t.Errorf("an hour later %q is posted, want nothing more", got)
	}
}

// idle reports whether no work waits but runs.
func (m *team) idle() bool { return m.openWork() == 0 }

// openWork is the number of items of work that have not ended, runs apart.
func (m *team) openWork() int {
	m.t.Helper()
	var open []string
	for _, e := range m.events("work.") {
		if !strings.HasPrefix(e.Stream, "work/") || strings.HasPrefix(e.Stream, "work/run") {
			continue
		}
		switch e.Type {
		case coordination.TypeWorkScheduled:
			open = append(open, e.Stream)
		case coordination.TypeWorkCompleted, coordination.TypeWorkCancelled, coordination.TypeWorkDead:
			open = slices.DeleteFunc(open, func(s string) bool { return s == e.Stream })
		}
	}
	return len(open)
}

// An answer ends it: no reminder is sent, and the requesting session is told. Its thread session knows the request.
func TestAnswer(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	c := caller("ruda")
	c.TaskID = "task_1"
	a := m.asks(c, "질문")
	thread, id := a.text("threadId"), a.text("collabId")
	m.says("eden", thread, "답입니다")
	if row := m.row(id); row.Status != response.StatusResponded || row.AnswerID == "" {
		t.Errorf("the request is %q by %q, want responded", row.Status, row.AnswerID)
	}
	if diff := cmp.Diff([]string{"[이든 answered in [협업] 루다 → 이든 · 질문]\n답입니다"}, m.said("agent:ruda:main")); diff != "" {
		t.Errorf("the session that has asked is told (-want +got):\n%s", diff)
	}
	m.until("nothing to be left", m.idle)
	m.advance(time.Hour)
	m.until("nothing to be left", m.idle)
	if got := m.posted(thread); len(got) != 2 {
		t.Errorf("posted is %q, want the request and the answer", got)
	}
}

// Bug 40: the requester's own session of the thread holds what was asked, and where that comes from.
func TestRequesterRemembersInTheThread(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	c := caller("ruda")
	c.TaskID = "task_1"
	thread := m.asks(c, "질문").text("threadId")
	want := []string{"[You asked 이든 in this thread]\n질문\n\nThis comes from session agent:ruda:main, task task_1. What is answered here is for that."}
	if diff := cmp.Diff(want, m.said("agent:ruda:discord:channel:"+thread)); diff != "" {
		t.Errorf("the session of the thread (-want +got):\n%s", diff)
	}
	if runs := m.types("run."); len(runs) != 0 && !slices.ContainsFunc(m.events("run.queued"), func(e eventstore.Event) bool { return e.AgentID == "eden" }) {
		t.Errorf("runs are asked for: %v; want none of ruda's", runs)
	}
}

// A late answer is recognised and reported.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문")
	m.advance(15 * time.Minute)
	m.reaches(a.text("collabId"), response.StatusEscalated, 3)
	if got := m.posted(a.text("threadId")); len(got) != 2 || got[1] != m.warning() {
		t.Errorf("posted is %q, want the request and the warning: what was missed is not made up for", got)
	}
	m.says("eden", a.text("threadId"), "늦었습니다")
	if row := m.row(a.text("collabId")); row.Status != response.StatusRespondedLate {
		t.Errorf("the request is %q, want responded_late", row.Status)
	}
	if d := last[coordination.A2ACollaborate](m, coordination.TypeA2ACollaborateResponded); !d.Late || len(m.said("agent:ruda:main")) != 2 { // the missing answer, and then the answer
		t.Errorf("the event says %+v, the session was told %q", d, m.said("agent:ruda:main"))
	}
}

// Bug 35: one message answers one request, the oldest; and so does the next one.
func TestBug35_OneAnswerOneRequest(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	var ids []string
	for _, text := range []string{"하나", "둘", "셋"} {
		ids = append(ids, m.asks(caller("ruda"), text).text("collabId"))
	}
	thread := m.row(ids[0]).ThreadID
	for i, text := range []string{"첫 답", "두 번째 답"} {
		m.says("eden", thread, text)
		var open []string
		for _, id := range ids {
			if m.row(id).Status == response.StatusPending {
				open = append(open, id)
			}
		}
		if diff := cmp.Diff(ids[i+1:], open); diff != "" {
			t.Errorf("after %q these wait (-want +got):\n%s", text, diff)
		}
	}
	if n := len(m.events(coordination.TypeA2ACollaborateResponded)); n != 2 {
		t.Errorf("%d requests were answered, want 2: four bots hear of each message", n)
	}
}

// Bug 36: a target named by its account has answered when the agent answers.
func TestBug36_AnswerToAnAccountsName(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문", "targetAgent", "codebot")
	m.says("eden", a.text("threadId"), "답입니다")
	if row := m.row(a.text("collabId")); row.Status != response.StatusResponded {
		t.Errorf("the request is %q, want responded", row.Status)
	}
}

// Bug 37: the requesting agent reminds, whichever agent is the default; so the default agent is reminded, too.
func TestBug37_RemindedByWhoHasAsked(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{discord: map[string]any{"defaultAccount": "ruda"}})
	a := m.asks(caller("eden"), "질문", "targetAgent", "ruda")
	m.advance(5 * time.Minute)
	m.reaches(a.text("collabId"), response.StatusPending, 1)
	all := m.Messages(a.text("threadId"))
	if one := all[len(all)-1]; one.Author.ID != m.bot["eden"].ID || len(one.Mentions) != 1 || one.Mentions[0].ID != m.bot["ruda"].ID {
		t.Errorf("the reminder is by %s and calls %v, want eden's bot calling ruda's", one.Author.Username, one.Mentions)
	}
}

// Invariant 30: whatever is repeated, one thread and one message.
func TestInvariant30_OneThreadOneMessage(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	const callers = 8
	answers := make(chan answer, callers)
	for range callers {
		go func() {
			a, err := m.call(caller("ruda"), map[string]any{"targetAgent": "eden", "message": "질문"})
			if err != nil {
				t.Error(err)
			}
			answers <- a
		}()
	}
	seen := map[string]bool{}
	for range callers {
		seen[(<-answers).text("messageId")] = true
	}
	if threads := m.threads(m.lobby); len(threads) != 1 || len(m.posted(threads[0])) != 1 || len(seen) != 1 {
		t.Errorf("threads are %v, messages are %v; want one of each", threads, seen)
	}
}

// Invariant 39 on the running service: whichever of two agents asks, also at once, ten requests pass within five minutes.
func TestInvariant39_TenInFiveMinutes(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{asleep: true, wait: time.Millisecond})
	const callers = 20
	answers := make(chan answer, callers)
	for i := range callers {
		go func() {
			from, to := "ruda", "eden"
			if i%2 == 0 {
				from, to = to, from
			}
			a, err := m.call(caller(from), map[string]any{"targetAgent": to, "message": strings.Repeat("질문", i+1)})
			if err != nil {
				t.Error(err)
			}
			answers <- a
		}()
	}
	codes := map[string]int{}
	for range callers {
		codes[(<-answers).text("code")]++
	}
	if diff := cmp.Diff(map[string]int{"": 10, "pair_rate_limited": 10}, codes); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// Invariant 41: reminders and escalations answer nothing, even when the target sends them about another request, and count for no loop.
func TestInvariant41_SystemTextsAnswerNothing(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	other := m.asks(caller("eden"), "세움에게", "targetAgent", "seum")
	own := m.asks(caller("ruda"), "이든에게", "threadId", other.text("threadId"))
	m.advance(15 * time.Minute)
	m.reaches(other.text("collabId"), response.StatusEscalated, 3)
	m.reaches(own.text("collabId"), response.StatusEscalated, 3)
	byEden := 0
	for _, one := range m.Messages(other.text("threadId")) {
		if one.Author.ID == m.bot["eden"].ID {
			byEden++
		}
	}
	if n := len(m.events(coordination.TypeA2ACollaborateResponded)); n != 0 || byEden != 2 {
		t.Errorf("%d requests were answered, eden's bot has written %d messages; want none by its request and its warning", n, byEden)
	}
	if n := len(m.events(coordination.TypeThreadSuspended)); n != 0 {
		t.Errorf("the thread was suspended %d times", n)
	}
}

// A restart in between changes nothing: what is due is done, once.
func TestTrackerOverRestarts(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문")
	for step := 1; step <= 2; step++ {
		m.again()
		m.advance(5 * time.Minute)
		m.reaches(a.text("collabId"), response.StatusPending, step)
	}
	m.stop()
	m.ahead.Add(int64(5 * time.Minute))
	m.open()
	m.reaches(a.text("collabId"), response.StatusEscalated, 3)
	want := []string{"<@" + m.bot["eden"].ID + ">\n\n질문", m.reminder(), m.reminder(), m.warning()}
	if diff := cmp.Diff(want, m.posted(a.text("threadId"))); diff != "" {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
}

// A reminder whose thread is gone ends the request: it can no longer be answered.
func TestThreadGoesBeforeTheReminder(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문")
	m.DeleteChannel(a.text("threadId"))
	m.advance(5 * time.Minute)
	m.until("the request to fail", func() bool { return m.row(a.text("collabId")).Status == response.StatusFailed })
	if d := last[coordination.A2ACollaborate](m, coordination.TypeA2ACollaborateFailed); d.ErrorCode != "not_found" {
		t.Errorf("the event says %+v", d)
	}
	m.advance(time.Hour)
	m.until("the tracker to end", func() bool {
		return slices.ContainsFunc(m.events(coordination.TypeWorkCompleted), func(e eventstore.Event) bool { return strings.Contains(string(e.Data), `/tracker"`) })
	})
}

// A reminder that could not be posted is not repeated; the next one follows.
func TestReminderThatFails(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문")
	fault := m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Channel: a.text("threadId")}, Times: -1, Effect: discordtest.Forbidden()})
	m.advance(5 * time.Minute)
	m.reaches(a.text("collabId"), response.StatusPending, 1)
	if d := last[coordination.Collab](m, coordination.TypeCollabReminded); d.ErrorCode != "permission_denied" || d.MessageID != "" {
		t.Errorf("the event says %+v", d)
	}
	fault.Remove()
	m.advance(5 * time.Minute)
	m.reaches(a.text("collabId"), response.StatusPending, 2)
	if got := m.posted(a.text("threadId")); len(got) != 2 || got[1] != m.reminder() {
		t.Errorf("posted is %q, want the request and one reminder", got)
	}
}

// An escalation that could not be posted is retried a minute later.
func TestEscalationThatFails(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "질문")
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: postRoute, Channel: a.text("threadId")}, Effect: discordtest.Forbidden()})
	m.advance(15 * time.Minute)
	m.until("the first try", func() bool { return m.row(a.text("collabId")).Tries == 1 })
	m.advance(time.Minute + time.Second)
	m.until("the second try", func() bool { return m.row(a.text("collabId")).Told })
	if got := m.posted(a.text("threadId")); len(got) != 2 || !strings.HasPrefix(got[1], "⚠️ <@"+m.bora.ID+"> 이든이 1") {
		t.Errorf("posted is %q, want the request and one warning", got)
	}
}

// Without reminders an answer is recognised all the same; without a notice to people the end is still recorded.
func TestTrackingSettings(t *testing.T) {
	t.Parallel()
	off := newTeam(t, setting{discord: map[string]any{"a2aRetry": map[string]any{"enabled": false}}})
	a := off.asks(caller("ruda"), "질문")
	off.advance(time.Hour)
	off.says("eden", a.text("threadId"), "답입니다")
	if row := off.row(a.text("collabId")); row.Status != response.StatusResponded || len(off.posted(a.text("threadId"))) != 2 {
		t.Errorf("switched off: the request is %q, posted is %q", row.Status, off.posted(a.text("threadId")))
	}
	quiet := newTeam(t, setting{discord: map[string]any{"a2aRetry": map[string]any{"notifyOnFailure": false, "maxAttempts": 1, "responseTimeoutMs": 60000}}})
	a = quiet.asks(caller("ruda"), "질문")
	quiet.advance(time.Minute)
	quiet.reaches(a.text("collabId"), response.StatusEscalated, 1)
	if d := last[coordination.Collab](quiet, coordination.TypeCollabEscalated); !d.Quiet || len(quiet.posted(a.text("threadId"))) != 1 {
		t.Errorf("quiet: the event says %+v, posted is %q", d, quiet.posted(a.text("threadId")))
	}
}
