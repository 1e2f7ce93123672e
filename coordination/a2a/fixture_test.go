package a2a_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// What flows of these tests are about.
const (
	start   = 1_000_000 // ms since 1970
	jobID   = "j1"
	message = "배포 결과를 검토해 주세요"
	reply   = "검토했습니다. 롤백 절차 문서에 두 단계가 빠져 있습니다."
	second  = "어느 단계가 빠졌는지 알려 주시면 제가 채우겠습니다. 순서도 바뀌었나요?"
	third   = "백업 확인과 알림 전송입니다. 순서는 그대로 두면 됩니다, 내일 다시 보겠습니다."
)

func exchange(change func(*coordination.A2AJobCreated)) coordination.A2AJobCreated {
	hop := 1
	c := coordination.A2AJobCreated{
		Context: coordination.Context{WorkSessionID: "ws_1", TaskID: "task_1", ConversationID: "c1", TopicID: "topic", Hop: &hop},
		JobID:   jobID, FromAgent: "eden", ToAgent: "seum", RequesterSessionKey: "agent:eden:main", RequesterRunID: "r0",
		TargetSessionKey: "agent:seum:a2a:c1", Message: message, MessageIntent: "collaboration", ConfiguredMaxTurns: 5, EffectiveTurns: 2, MaxFlows: 3,
		SourceChannel: "discord", FromName: "Eden\n(boss)", ToName: "Seum", Origin: "tool",
	}
	if change != nil {
		change(&c)
	}
	return c
}

func delegation(change func(*coordination.A2AJobCreated)) coordination.A2AJobCreated {
	depth, ms := 1, int64(60_000)
	return exchange(func(c *coordination.A2AJobCreated) {
		c.Depth, c.TargetSessionKey, c.Label, c.Model, c.Thinking, c.RunMs = &depth, "agent:seum:subagent:j1", "review", "openai/gpt", "low", &ms
		c.MessageIntent, c.ConfiguredMaxTurns, c.EffectiveTurns, c.MaxFlows = "", 0, 0, 0
		if change != nil {
			change(c)
		}
	})
}

// world is a log, as far as one flow goes, and the runs that it asked for. What breaks a promise is a fault.
type world struct {
	flow   *a2a.Flow
	events []a2a.Event
	asked  map[string]run.Ask
	order  []string // of asked
	now    int64
	faults []string
}

func newWorld() *world { return &world{flow: &a2a.Flow{}, asked: map[string]run.Ask{}, now: start} }

func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// take appends a step, as the log would: what was asked for is not asked for again.
func (w *world) take(s a2a.Step) *world {
	wasOver := w.flow.Phase == a2a.Over
	if wasOver && !s.Nothing() {
		w.fault("a flow that is over goes on: %+v", s)
	}
	for _, e := range s.Events {
		w.append(e)
	}
	for _, ask := range s.Asks {
		w.ask(ask)
	}
	if s.Over != (w.flow.Phase == a2a.Over && !wasOver) {
		w.fault("over: %v, in phase %s", s.Over, w.flow.Phase)
	}
	return w
}

func (w *world) append(e a2a.Event) {
	data, err := json.Marshal(e.Data)
	if err != nil {
		w.fault("%s: %v", e.Type, err)
		return
	}
	w.events = append(w.events, e)
	w.checkEvent(e, data)
	if !strings.HasPrefix(e.Type, "a2a.job.") {
		return
	}
	if changed, err := w.flow.Apply(e.Type, data, int64(len(w.events)), w.now); err != nil || !changed {
		w.fault("%s changes nothing: %v", e.Type, err)
	}
}

func (w *world) ask(ask run.Ask) {
	if _, before := w.asked[ask.RunID]; before {
		w.fault("run %s is asked for twice", ask.RunID)
	}
	if _, err := run.Accept(ask); err != nil {
		w.fault("run %s cannot be: %v", ask.RunID, err)
	}
	if ask.OnRestart != run.OnRestartRetry || ask.JobID != w.flow.JobID || ask.Provenance != "inter_session" || ask.ConversationID != w.flow.ConversationID ||
		ask.WorkSessionID != w.flow.WorkSessionID || ask.TaskID != w.flow.TaskID || ask.Hop == nil || ask.ParentRunID != w.flow.RequesterRunID {
		w.fault("run %s is lost: %+v", ask.RunID, ask.RunQueued)
	}
	if len(ask.Message) > a2a.MaxMessage+1024 || len(ask.ExtraSystemPrompt) > 32<<10 {
		w.fault("run %s: %d and %d bytes", ask.RunID, len(ask.Message), len(ask.ExtraSystemPrompt))
	}
	w.asked[ask.RunID] = ask
	w.order = append(w.order, ask.RunID)
}

// facts are the members of an event's data that are looked at.
type facts struct {
	coordination.Context
	JobID, FromAgent, ToAgent string
	TargetSessionKey          string
	Message, ReplyPreview     string
	LastText                  string
	Turn                      int
}

func (w *world) checkEvent(e a2a.Event, data []byte) {
	var is facts
	if err := json.Unmarshal(data, &is); err != nil {
		w.fault("%s: %v", e.Type, err)
	}
	if !is.EventRole.Valid() || !is.FromSessionType.Valid() || !is.ToSessionType.Valid() || is.WorkSessionID != "ws_1" || is.ConversationID != "c1" ||
		is.TaskID != "task_1" || is.TopicID != "topic" || is.JobID != jobID && is.JobID != "" || e.AgentID == "" || is.FromAgent == "" || is.ToAgent == "" {
		w.fault("%s of %q does not say where it belongs: %s", e.Type, e.AgentID, data)
	}
	if _, known := coordination.Lookup(e.Type); !known {
		w.fault("%s is in no catalogue", e.Type)
	}
	subagent := is.FromSessionType == coordination.SessionSubagent || is.ToSessionType == coordination.SessionSubagent
	want := coordination.RoleConversation
	switch {
	case strings.HasPrefix(e.Type, "a2a.job."):
		want = coordination.RoleOrchestration
	case e.Type == coordination.TypeA2ARetry, e.Type == coordination.TypeA2ADispatchFailed, strings.HasPrefix(e.Type, "a2a.concurrency."):
		want = coordination.RoleObservability
	case subagent:
		want = coordination.RoleDelegation
	}
	if is.EventRole != want || subagent != (w.flow.Kind == string(a2a.Spawn) || w.flow.Kind == "" && len(w.events) == 1 && subagent) {
		w.fault("%s has role %s, and %s -> %s", e.Type, is.EventRole, is.FromSessionType, is.ToSessionType)
	}
	session := w.flow.TargetSessionKey
	if e.Type == coordination.TypeA2AResponse && is.ToAgent == w.flow.FromAgent ||
		e.Type == coordination.TypeA2ADispatchFailed && !strings.HasPrefix(is.TargetSessionKey, "agent:"+w.flow.ToAgent) {
		session = w.flow.RequesterSessionKey
	}
	if is.TargetSessionKey != session && is.TargetSessionKey != "" && session != "" || is.TargetSessionKey == "" && e.Type == coordination.TypeA2AResponse {
		w.fault("%s: targetSessionKey %q, want %q", e.Type, is.TargetSessionKey, session)
	}
	text := is.Message
	if e.Type == coordination.TypeA2AJobCreated {
		text = ""
	}
	if n := utf8.RuneCountInString(text); n > a2a.MessageLength {
		w.fault("%s: a message of %d characters", e.Type, n)
	}
	if n := max(utf8.RuneCountInString(is.ReplyPreview), utf8.RuneCountInString(is.LastText)); n > a2a.PreviewLength {
		w.fault("%s: a preview of %d characters", e.Type, n)
	}
}

// result is a run that the flow has asked for, as it ended.
func (w *world) result(state run.State, over coordination.RunOver) *run.Result {
	r := &run.Result{RunID: w.flow.RunID, State: state, QueuedAt: w.now, Over: &over}
	if state != run.Aborted {
		r.StartedAt, r.EndedAt = w.now-1500, w.now
	}
	return r
}

func (w *world) ends(state run.State, over coordination.RunOver, before string) *world {
	return w.take(a2a.Ended(w.flow, w.result(state, over), before, 0, w.now))
}

// says ends the run that the flow waits for with an answer.
func (w *world) says(text, before string) *world {
	return w.ends(run.OK, coordination.RunOver{Text: text}, before)
}

func (w *world) fails(class, text string) *world {
	return w.ends(run.Failed, coordination.RunOver{Error: text, ErrorClass: class}, "")
}

// due checks the flow so many ms later, when its run is in that state, started at that time.
func (w *world) due(after int64, state run.State, started int64) *world {
	w.now += after
	return w.take(a2a.Due(w.flow, &run.Result{RunID: w.flow.RunID, State: state, StartedAt: started}, reply, 0, w.now))
}

func send(change func(*coordination.A2AJobCreated)) *world {
	w := newWorld()
	return w.take(a2a.Begin(exchange(change), 0, 0, nil, w.now))
}

func spawn(change func(*coordination.A2AJobCreated)) *world {
	w := newWorld()
	return w.take(a2a.BeginSpawn(delegation(change), w.now))
}

// announced is an exchange of no turns that may be announced.
func announced() *world {
	return send(func(c *coordination.A2AJobCreated) {
		c.EffectiveTurns, c.AnnounceChannel, c.AnnounceTo = 0, "discord", "123"
	}).says(reply, "")
}

// checkWhole sees whether what has happened until now can be the beginning of a flow, and where it is over, all of one.
func (w *world) checkWhole(t interface{ Errorf(string, ...any) }) {
	counts := map[string]int{}
	jobsEnded, turn := 0, 0
	for i, e := range w.events {
		counts[e.Type]++
		switch e.Type {
		case coordination.TypeA2AResponse:
			response := e.Data.(coordination.A2AResponse)
			if counts[coordination.TypeA2ASend] != 1 || counts[coordination.TypeA2AComplete] != 0 {
				t.Errorf("event %d: a response before it was sent, or after it is complete", i)
			}
			if response.Turn > 0 && response.Turn <= turn || response.Turn == 0 && counts[e.Type] != 1 || response.Turn > response.MaxTurns {
				t.Errorf("event %d: turn %d of %d after %d", i, response.Turn, response.MaxTurns, turn)
			}
			turn = response.Turn
		case coordination.TypeA2AComplete:
			complete := e.Data.(coordination.A2AComplete)
			if counts[coordination.TypeA2AResponse] == 0 {
				t.Errorf("event %d: complete without a response", i)
			}
			if complete.TotalTurns == 0 && complete.ActualTurns != turn {
				t.Errorf("event %d: %d turns, of which the last is %d", i, complete.ActualTurns, turn)
			}
		case coordination.TypeA2AJobCompleted, coordination.TypeA2AJobFailed, coordination.TypeA2AJobAbandoned, coordination.TypeA2AJobCancelled:
			jobsEnded++
			if counts[coordination.TypeA2AComplete] != 1 {
				t.Errorf("event %d: the job ends without the flow", i)
			}
		}
	}
	over := 0
	if w.flow.Phase == a2a.Over {
		over = 1
	}
	if counts[coordination.TypeA2AJobCreated] != 1 || counts[coordination.TypeA2ASend] != 1 || counts[coordination.TypeA2AComplete] != over || jobsEnded != over {
		t.Errorf("in phase %s: %v", w.flow.Phase, counts)
	}
	for _, fault := range w.faults {
		t.Errorf("%s", fault)
	}
}

// lines tell what has happened: each event without what all of them say, each run after it.
func (w *world) lines() []string {
	lines := make([]string, 0, len(w.events)+len(w.faults))
	for _, e := range w.events {
		lines = append(lines, lineOf(e))
	}
	if len(w.order) > 0 {
		lines = append(lines, "runs "+strings.Join(w.order, " "))
	}
	return append(lines, w.faults...)
}

// constant are members that all events of one kind have; checkEvent sees to them.
var constant = []string{"workSessionId", "taskId", "conversationId", "parentRunId", "topicId", "hop", "depth", "eventRole", "fromSessionType", "toSessionType", "jobId", "kind",
	"fromAgent", "toAgent", "targetSessionKey", "messageIntent", "configuredMaxTurns", "replyPreview", "origin"}

var named = strings.NewReplacer(message, "REQUEST", reply, "REPLY", second, "SECOND", third, "THIRD", "[outcome] blocked: 응답을 받지 못했습니다", "OUTCOME")

func lineOf(e a2a.Event) string {
	var b strings.Builder
	data := members(e.Data)
	fmt.Fprintf(&b, "%s %s %v>%v", strings.TrimPrefix(e.Type, "a2a."), e.AgentID, data["fromAgent"], data["toAgent"])
	for _, name := range slices.Sorted(maps.Keys(data)) {
		switch {
		case slices.Contains(constant, name):
		case e.Type == coordination.TypeA2AJobCreated && name != "phase" && name != "dueAtMs":
		case name == "dueAtMs":
			fmt.Fprintf(&b, " due=+%d", int64(data[name].(float64))-start)
		default:
			fmt.Fprintf(&b, " %s=%v", name, data[name])
		}
	}
	return named.Replace(b.String())
}

func members(data any) map[string]any {
	text, err := json.Marshal(data)
	if err != nil {
		return nil
	}
	var m map[string]any
	if json.Unmarshal(text, &m) != nil {
		return nil
	}
	return m
}
