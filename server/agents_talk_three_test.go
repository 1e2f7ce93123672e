package server

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// What eden, seum and dajim say to each other.
const (
	edenAsks   = "Let us discuss the plan of the release together"
	edenAsksOn = "Let us discuss the budget of the release together"
	seumSays   = "We release on Monday, as soon as the last test is green"
	edenSays   = "There are holidays on Monday, which is bad for a release, so what about Tuesday?"
	seumAgrees = "Tuesday it is, I shall tell the others about that in the morning"
	noAnswer   = "[outcome] blocked: 응답을 받지 못했습니다 (대기 시간 300초 초과)"
	tooLate    = "대기 시간 초과" // how lists show that
)

// threeAgents has eden ask the two others at once. seum is busy at first, and dajim is as late as late says.
func threeAgents(late gate) func(a2atest.Asked) a2atest.Answer {
	return func(a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent == "eden" && a.AfterTool():
			return a2atest.Say("I have asked both of them")
		case a.Agent == "eden" && a.N == 1:
			return a2atest.Use(a2atest.Send(map[string]any{"agentId": "seum", "message": edenAsks, "timeoutSeconds": 0}),
				a2atest.Send(map[string]any{"agentId": "dajim", "message": edenAsksOn, "timeoutSeconds": 0}))
		case a.Agent == "eden":
			return a2atest.Say(edenSays)
		case a.Agent == "seum" && a.N == 1:
			return a2atest.Answer{Status: 429, RetryAfter: "300"} // longer than a run waits by itself
		case a.Agent == "seum" && a.N == 2:
			return a2atest.Say(seumSays)
		case a.Agent == "seum":
			return a2atest.Say(seumAgrees)
		}
		late.pass(a.Context)
		return a2atest.Say("the money is there, sorry for the delay")
	}
}

// What stands in the log of their two conversations, in order: an arrow goes from who sends to who is sent to.
var (
	withSeum = []string{
		"a2a.job.created eden: eden>seum orchestration.task",
		"a2a.send eden: eden>seum conversation.main",
		"run.queued seum: eden> system.observability",
		"run.started seum: > system.observability",
		"run.failed seum: > system.observability",
		"a2a.retry seum: eden>seum system.observability",
		"a2a.job.running eden: eden>seum orchestration.task",
		"run.queued seum: eden> system.observability",
		"run.started seum: > system.observability",
		"run.ended seum: > system.observability",
		"a2a.response seum: seum>eden conversation.main",
		"a2a.job.running eden: eden>seum turn=1 orchestration.task",
		"run.queued eden: seum> system.observability",
		"run.started eden: > system.observability",
		"run.ended eden: > system.observability",
		"a2a.response eden: eden>seum turn=1 conversation.main",
		"a2a.job.running eden: eden>seum turn=2 orchestration.task",
		"run.queued seum: eden> system.observability",
		"run.started seum: > system.observability",
		"run.ended seum: > system.observability",
		"a2a.response seum: seum>eden turn=2 conversation.main",
		"a2a.complete eden: eden>seum conversation.main",
		"a2a.job.completed eden: eden>seum turn=2 ok orchestration.task",
	}
	withDajim = []string{
		"a2a.job.created eden: eden>dajim orchestration.task",
		"a2a.send eden: eden>dajim conversation.main",
		"run.queued dajim: eden> system.observability",
		"run.started dajim: > system.observability",
		"a2a.response dajim: dajim>eden no_reply conversation.main",
		"a2a.complete eden: eden>dajim no_reply conversation.main",
		"a2a.job.failed eden: eden>dajim no_reply orchestration.task",
		"run.queued eden: dajim> system.observability", // eden is told
		"run.started eden: > system.observability",
		"run.ended eden: > system.observability",
		"run.ended dajim: > system.observability", // so late that nothing follows from it
	}
)

// eden asks seum and dajim at once. seum is retried once, answers, and they go on for two turns; dajim does not answer in time. The log
// has what the seeds draw and nothing else, and so have the live events, the coordination log and the API.
func TestThreeAgentsTalk(t *testing.T) {
	t.Parallel()
	late := make(gate)
	team := startTeam(t, []string{"eden", "seum", "dajim"}, threeAgents(late), func(o *Options) { o.Mirror = true })
	told := team.follows(t)
	if said := team.tell(t, "eden", "ask", "Ask both of them"); said != "I have asked both of them" {
		t.Fatalf("eden says %q", said)
	}
	team.awaits(t, "the retry", func(f *fact) bool { return f.Type == coordination.TypeA2ARetry })
	checkThreads(t, team.session(t), "ACTIVE", map[string]string{"seum": "waiting", "dajim": "waiting"})
	team.advance(t, 10*time.Second) // more than the pause
	withSeumOver := team.awaits(t, "the end with seum", func(f *fact) bool { return f.Type == coordination.TypeA2AJobCompleted })
	checkThreads(t, team.session(t), "ACTIVE", map[string]string{"seum": "done", "dajim": "waiting"})
	team.awaits(t, "that dajim begins", func(f *fact) bool { return f.Type == coordination.TypeRunStarted && f.Agent == "dajim" })
	team.advance(t, 5*time.Minute)
	withDajimOver := team.awaits(t, "the end with dajim", func(f *fact) bool { return f.Type == coordination.TypeA2AJobFailed })
	team.awaitsRun(t, withDajimOver.JobID+".p")
	if shown := team.session(t); shown.Status != "ACTIVE" || shown.OpenRuns != 1 || shown.OpenFlows != 0 {
		t.Errorf("while dajim is still at it: %+v", shown)
	}
	late.open()
	team.awaitsRun(t, withDajimOver.JobID)

	facts := team.facts(t)
	byConversation := map[string][]string{}
	var public []string
	for _, f := range facts {
		if strings.HasPrefix(f.Type, "a2a.") || strings.HasPrefix(f.Type, "run.") {
			byConversation[f.ConversationID] = append(byConversation[f.ConversationID], f.line())
		}
		if strings.HasPrefix(f.Type, "a2a.") {
			public = append(public, f.line())
		}
	}
	for with, want := range map[string][]string{withSeumOver.ConversationID: withSeum, withDajimOver.ConversationID: withDajim} {
		if got := byConversation[with]; !slices.Equal(got, want) {
			t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if len(byConversation) != 3 { // the third is the run in which a person asked eden
		t.Errorf("%d conversations", len(byConversation))
	}
	checkWords(t, facts, team.models.Asked())

	shown := team.session(t)
	checkThreads(t, shown, "QUIET", map[string]string{"seum": "done", "dajim": "no_reply: " + tooLate})
	if shown.WorkSessionID != withSeumOver.WorkSessionID || shown.WorkSessionID != withDajimOver.WorkSessionID || shown.Outcome != "no_reply" ||
		shown.BlockedReason == nil || *shown.BlockedReason != tooLate || shown.RoleCounts["conversation.main"] != 8 || shown.RoleCounts["delegation.subagent"] != 0 {
		t.Errorf("the work session: %+v", shown)
	}
	if got := told(len(public), shown.WorkSessionID); !slices.Equal(got, public) {
		t.Errorf("who follows is told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(public, "\n"))
	}
	if got := team.mirrored(t); !slices.Equal(got, public) {
		t.Errorf("the coordination log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(public, "\n"))
	}
}

// checkThreads checks a work session with two threads that eden opened: with whom each is, and its state.
func checkThreads(t *testing.T, s shownSession, status string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, thread := range s.Threads {
		if thread.FromAgent != "eden" || thread.Outcome == nil {
			t.Errorf("thread: %+v", thread)
			continue
		}
		got[thread.ToAgent] = *thread.Outcome
		if thread.Reason != nil {
			got[thread.ToAgent] += ": " + *thread.Reason
		}
		if waits := *thread.Outcome == "waiting"; thread.Open != waits {
			t.Errorf("thread with %s: %s, open %t", thread.ToAgent, *thread.Outcome, thread.Open)
		}
	}
	if len(s.Threads) != len(want) || s.Status != status {
		t.Errorf("the work session is %s, with %d threads", s.Status, len(s.Threads))
	}
	for with, how := range want {
		if got[with] != how {
			t.Errorf("the thread with %s: %q, want %q", with, got[with], how)
		}
	}
}

// checkWords checks who has said what in the events, and what the models have read.
func checkWords(t *testing.T, facts []fact, asked []a2atest.Asked) {
	t.Helper()
	var said []string
	for _, f := range facts {
		switch f.Type {
		case coordination.TypeA2ASend, coordination.TypeA2AResponse:
			said = append(said, f.FromAgent+": "+f.Message)
			if f.Type == coordination.TypeA2AResponse && f.ReplyPreview != f.Message {
				t.Errorf("preview %q of %q", f.ReplyPreview, f.Message)
			}
		case coordination.TypeA2ARetry:
			if f.Attempt != 1 || f.ErrorCode != "rate_limit" || f.BackoffMs <= 0 {
				t.Errorf("retry: %+v", f)
			}
		case coordination.TypeA2AComplete:
			if f.Announced || f.TargetSessionKey != "agent:"+f.ToAgent+":a2a:"+f.ConversationID {
				t.Errorf("complete: %+v", f)
			}
		}
	}
	want := []string{"eden: " + edenAsks, "eden: " + edenAsksOn, "seum: " + seumSays, "eden: " + edenSays, "seum: " + seumAgrees, "dajim: " + noAnswer}
	if !slices.Equal(said, want) {
		t.Errorf("said:\n%s", strings.Join(said, "\n"))
	}
	var heard []string
	for _, a := range asked {
		switch {
		case !a.AfterTool():
			heard = append(heard, a.Agent+" "+a.Message())
		case strings.Count(a.Last().Text, `"status":"accepted"`) != 1:
			t.Errorf("eden is told %s", a.Last().Text)
		}
	}
	slices.Sort(heard)
	want = []string{"dajim [eden]: " + edenAsksOn, "eden Ask both of them", "eden [seum]: " + seumSays, "seum [eden]: " + edenAsks, "seum [eden]: " + edenAsks,
		"seum [eden]: " + edenSays, "eden [outcome] blocked: 응답을 받지 못했습니다 (대기 시간 300초 초과)\n\n→ dajim: " + edenAsksOn}
	slices.Sort(want)
	if !slices.Equal(heard, want) {
		t.Errorf("heard:\n%s\nwant\n%s", strings.Join(heard, "\n"), strings.Join(want, "\n"))
	}
}

// follows follows the log over the wire of the Task-Monitor. told waits until it has told so many events of exchanges, and checks that it has
// named the work session with them.
func (team *liveTeam) follows(t *testing.T) (told func(n int, workSession string) []string) {
	t.Helper()
	conn, answer, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(team.url, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	type message struct {
		Type string
		Data struct {
			Events []struct {
				Type, AgentID string
				Data          json.RawMessage
			}
			AffectedWorkSessions []string
		}
	}
	messages := make(chan message, 1_000)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var m message
			if conn.ReadJSON(&m) != nil {
				return // the test is over
			}
			select {
			case messages <- m:
			case <-t.Context().Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
	if first := waitFor(t, "the greeting", messages); first.Type != "connected" {
		t.Fatalf("the greeting is %q", first.Type)
	}
	return func(n int, workSession string) (list []string) {
		t.Helper()
		for len(list) < n {
			m := waitFor(t, "events over the wire", messages)
			before := len(list)
			for _, e := range m.Data.Events {
				if f := factOf(t, &eventstore.Event{Type: e.Type, AgentID: e.AgentID, Data: e.Data}); strings.HasPrefix(f.Type, "a2a.") {
					list = append(list, f.line())
				}
			}
			if len(list) > before && !slices.Contains(m.Data.AffectedWorkSessions, workSession) {
				t.Errorf("%s affect %q", list[before:], m.Data.AffectedWorkSessions)
			}
		}
		return list
	}
}

// mirrored are the events of exchanges in the coordination log, once all is there that is to be.
func (team *liveTeam) mirrored(t *testing.T) (list []string) {
	t.Helper()
	head, err := team.Program.log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for tick := time.NewTicker(time.Millisecond); team.mirrorStatus(t.Context()).Seq < head.Seq; <-tick.C {
		if state := team.mirrorStatus(t.Context()); state.Error != "" {
			t.Fatal(state.Error)
		}
	}
	text, err := os.ReadFile(filepath.Join(team.opts.StateDir, "logs", "coordination-events.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var l struct {
			Type, AgentID, ID string
			TS                int64
			Data              json.RawMessage
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil || l.ID == "" || l.TS == 0 {
			t.Fatalf("%v in %s", err, line)
		}
		if coordination.Internal(l.Type) {
			t.Errorf("%s is our own book-keeping", l.Type)
		}
		if f := factOf(t, &eventstore.Event{Type: l.Type, AgentID: l.AgentID, Data: l.Data}); strings.HasPrefix(f.Type, "a2a.") {
			list = append(list, f.line())
		}
	}
	return list
}
