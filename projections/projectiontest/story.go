package projectiontest

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Story appends the actions of agents to a log, advancing the clock for each event.
type Story struct {
	t   testing.TB
	log eventstore.Appender
	Now int64 // ms since 1970
}

// Tell begins a story.
func Tell(t testing.TB, log eventstore.Appender, now int64) *Story { return &Story{t, log, now} }

// After advances the time.
func (s *Story) After(ms int64) *Story {
	s.Now += ms
	return s
}

// Say appends an event to a stream; "" is the stream of its subject.
func (s *Story) Say(stream, typ, agent string, data any) (seq int64) {
	s.t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		s.t.Fatal(err)
	}
	if stream == "" {
		r := projections.Record(coordination.RulesV2, &eventstore.Event{Type: typ, Ver: 1, AgentID: agent, TS: s.Now, RecordedAt: s.Now, Data: text})
		stream = coordination.StreamOf(&r)
	}
	result, err := s.log.Append(s.t.Context(), eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorAgent, Data: text}.WithTS(s.Now),
	}})
	if err != nil {
		s.t.Fatalf("%s: %v", typ, err)
	}
	return result.Seq
}

// Queue requests a run.
func (s *Story) Queue(agent string, q coordination.RunQueued) {
	s.t.Helper()
	s.Say(coordination.RunStream(q.RunID), coordination.TypeRunQueued, agent, q)
}

// Start starts a run.
func (s *Story) Start(agent, runID string) {
	s.t.Helper()
	s.Say(coordination.RunStream(runID), coordination.TypeRunStarted, agent, coordination.RunStarted{RunID: runID, StartedAtMs: s.Now, Model: "fake/m"})
}

// End ends a run, by an event of that type.
func (s *Story) End(agent, typ string, over coordination.RunOver) {
	s.t.Helper()
	over.EndedAtMs = s.Now
	s.Say(coordination.RunStream(over.RunID), typ, agent, over)
}

// Job appends an event of a flow to its stream.
func (s *Story) Job(typ string, job coordination.A2AJob) {
	s.t.Helper()
	s.Say(coordination.JobStream(job.JobID), typ, job.FromAgent, job)
}

// Ids used by Team.
const (
	TeamSession      = "ws_team"
	TeamConversation = "c1-main-seum"
	TeamAsk          = "ask-of-the-day"                       // a run of main, requested by a person
	TeamSend         = "11111111-1111-4111-8111-111111111111" // a flow from main to seum, retried once, with one turn
	TeamLate         = "22222222-2222-4222-8222-222222222222" // a flow from seum to dajim that is answered too late
	TeamSpawn        = "33333333-3333-4333-8333-333333333333" // a sub-agent of main's, interrupted by a restart, still open
	TeamRepeat       = "33-again"                             // the run that replaces the interrupted one
)

// Team is a story of three agents: main is asked, asks seum, which asks dajim in vain, and delegates to a sub-agent.
// Everything but the sub-agent is over in the end.
func (s *Story) Team() {
	s.t.Helper()
	with := func(conversation string) coordination.Context {
		return coordination.Context{WorkSessionID: TeamSession, ConversationID: conversation}
	}
	const late, child = "c2-seum-dajim", "c3-main-sub"
	const atMain, atSeum, atDajim, atChild = "agent:main:main", "agent:seum:a2a:" + TeamConversation, "agent:dajim:a2a:" + late, "agent:seum:subagent:" + TeamSpawn

	s.Queue("main", coordination.RunQueued{RunID: TeamAsk, SessionKey: atMain, Lane: "main", Cause: "chat", By: "cli", Message: "배포 상태를\n확인해 줘"})
	s.After(3).Start("main", TeamAsk)

	s.After(97)
	s.Say(coordination.JobStream(TeamSend), coordination.TypeA2AJobCreated, "main", coordination.A2AJobCreated{Context: with(TeamConversation), JobID: TeamSend,
		Kind: "send", FromAgent: "main", ToAgent: "seum", Phase: "dispatching", DueAtMs: s.Now + 60_000, RequesterSessionKey: atMain, RequesterRunID: TeamAsk,
		TargetSessionKey: atSeum, Message: "배포됐어?", MessageIntent: "question", EffectiveTurns: 1})
	s.Say("", coordination.TypeA2ASend, "main", coordination.A2ASend{Context: with(TeamConversation), FromAgent: "main", ToAgent: "seum",
		TargetSessionKey: atSeum, Message: "배포됐어?", JobID: TeamSend, RunID: TeamSend})

	spawned := with(child)
	spawned.ParentConversationID = TeamConversation
	s.After(50)
	s.Say(coordination.JobStream(TeamSpawn), coordination.TypeA2AJobCreated, "main", coordination.A2AJobCreated{Context: spawned, JobID: TeamSpawn, Kind: "spawn",
		FromAgent: "main", ToAgent: "seum", Phase: "waiting", RequesterSessionKey: atMain, RequesterRunID: TeamAsk, TargetSessionKey: atChild,
		Message: "로그를 읽어 줘", Label: "조사"})
	s.Say("", coordination.TypeA2ASpawn, "main", coordination.A2ASpawn{Context: spawned, FromAgent: "main", ToAgent: "seum", TargetSessionKey: atChild,
		Message: "로그를 읽어 줘", ReplyPreview: "로그를 읽어 줘", Label: "조사"})
	s.Say("", coordination.TypeA2ASend, "main", coordination.A2ASend{Context: spawned, FromAgent: "main", ToAgent: "seum", TargetSessionKey: atChild,
		Message: "로그를 읽어 줘", ReplyPreview: "로그를 읽어 줘", JobID: TeamSpawn, RunID: TeamSpawn})
	s.Queue("seum", coordination.RunQueued{Context: spawned, RunID: TeamSpawn, SessionKey: atChild, Lane: "subagent", Cause: "subagent", JobID: TeamSpawn,
		OnRestart: "retry", Message: "로그를 읽어 줘"})
	s.After(10).Start("seum", TeamSpawn)

	s.After(1_940)
	s.Job(coordination.TypeA2AJobRunning, coordination.A2AJob{Context: with(TeamConversation), JobID: TeamSend, FromAgent: "main", ToAgent: "seum",
		Phase: "waiting", RunID: TeamSend, Speaker: "seum", Attempt: 1})
	first := coordination.RunQueued{Context: with(TeamConversation), RunID: TeamSend, SessionKey: atSeum, Lane: "nested", Cause: "a2a", JobID: TeamSend, Message: "[main]: 배포됐어?"}
	s.Queue("seum", first)
	s.After(40).Start("seum", TeamSend)
	s.After(400).End("seum", coordination.TypeRunFailed, coordination.RunOver{Context: with(TeamConversation), RunID: TeamSend, SessionKey: atSeum, Error: "429",
		ErrorClass: "rate_limit"})
	again := TeamSend + ".r2"
	s.Say("", coordination.TypeA2ARetry, "seum", coordination.A2ARetry{Context: with(TeamConversation), FromAgent: "main", ToAgent: "seum", JobID: TeamSend,
		RunID: TeamSend, Attempt: 1, MaxAttempts: 3, ErrorCategory: "transient", ErrorCode: "rate_limit", Reason: "429", BackoffMs: 1_500})
	s.Job(coordination.TypeA2AJobRunning, coordination.A2AJob{Context: with(TeamConversation), JobID: TeamSend, FromAgent: "main", ToAgent: "seum",
		Phase: "waiting", RunID: again, Speaker: "seum", Attempt: 2})
	first.RunID = again
	s.Queue("seum", first)
	s.After(1_520).Start("seum", again)

	s.After(10)
	s.Say(coordination.JobStream(TeamLate), coordination.TypeA2AJobCreated, "seum", coordination.A2AJobCreated{Context: with(late), JobID: TeamLate, Kind: "send",
		FromAgent: "seum", ToAgent: "dajim", Phase: "waiting", RequesterSessionKey: atSeum, RequesterRunID: again, TargetSessionKey: atDajim, Message: "서버는?"})
	s.Say("", coordination.TypeA2ASend, "seum", coordination.A2ASend{Context: with(late), FromAgent: "seum", ToAgent: "dajim", TargetSessionKey: atDajim,
		Message: "서버는?", JobID: TeamLate, RunID: TeamLate})
	s.Queue("dajim", coordination.RunQueued{Context: with(late), RunID: TeamLate, SessionKey: atDajim, Lane: "nested", Cause: "a2a", JobID: TeamLate, Message: "[seum]: 서버는?"})
	s.After(5).Start("dajim", TeamLate)
	s.After(3_000)
	s.Say("", coordination.TypeA2AResponse, "dajim", coordination.A2AResponse{Context: with(late), FromAgent: "dajim", ToAgent: "seum", JobID: TeamLate,
		Message: "[outcome] blocked: 응답을 받지 못했습니다 (대기 시간 3초 초과)", Outcome: coordination.OutcomeValueNoReply, WaitStatus: "timeout"})
	s.Say("", coordination.TypeA2AComplete, "seum", coordination.A2AComplete{Context: with(late), FromAgent: "seum", ToAgent: "dajim", JobID: TeamLate,
		Outcome: coordination.OutcomeValueNoReply, WaitStatus: "timeout"})
	s.Job(coordination.TypeA2AJobFailed, coordination.A2AJob{Context: with(late), JobID: TeamLate, FromAgent: "seum", ToAgent: "dajim",
		Outcome: coordination.OutcomeValueNoReply, Reason: "timeout"})

	s.After(40).End("seum", coordination.TypeRunEnded, coordination.RunOver{Context: with(TeamConversation), RunID: again, SessionKey: atSeum, Text: "네, 끝났어요",
		Provider: "fake", Model: "m", ModelCalls: 2, ToolCalls: 1, Usage: &coordination.SessionUsage{Input: 1_000, Output: 203, Total: 1_203}})
	s.Say("", coordination.TypeA2AResponse, "seum", coordination.A2AResponse{Context: with(TeamConversation), FromAgent: "seum", ToAgent: "main", JobID: TeamSend,
		RunID: again, Message: "네, 끝났어요", ReplyPreview: "네, 끝났어요"})
	turn := TeamSend + ".t1"
	s.Job(coordination.TypeA2AJobRunning, coordination.A2AJob{Context: with(TeamConversation), JobID: TeamSend, FromAgent: "main", ToAgent: "seum",
		Phase: "turn", Turn: 1, RunID: turn, Speaker: "main", LastText: "네, 끝났어요"})
	s.Queue("main", coordination.RunQueued{Context: with(TeamConversation), RunID: turn, SessionKey: atMain, Lane: "nested", Cause: "a2a", JobID: TeamSend, Message: "네, 끝났어요"})
	s.After(500).End("main", coordination.TypeRunEnded, coordination.RunOver{RunID: TeamAsk, SessionKey: atMain, Text: "배포되었습니다", ModelCalls: 3, ToolCalls: 2})
	s.After(5).Start("main", turn)
	s.After(200).End("main", coordination.TypeRunEnded, coordination.RunOver{Context: with(TeamConversation), RunID: turn, SessionKey: atMain, Text: "고마워"})
	s.Say("", coordination.TypeA2AResponse, "main", coordination.A2AResponse{Context: with(TeamConversation), FromAgent: "main", ToAgent: "seum", JobID: TeamSend,
		RunID: turn, Message: "고마워", ReplyPreview: "고마워", Turn: 1, MaxTurns: 1})
	s.Say("", coordination.TypeA2AComplete, "main", coordination.A2AComplete{Context: with(TeamConversation), FromAgent: "main", ToAgent: "seum", JobID: TeamSend,
		ActualTurns: 1, EffectiveTurns: 1})
	s.Job(coordination.TypeA2AJobCompleted, coordination.A2AJob{Context: with(TeamConversation), JobID: TeamSend, FromAgent: "main", ToAgent: "seum", Turn: 1, Outcome: "ok"})

	s.After(100).End("seum", coordination.TypeRunAborted, coordination.RunOver{Context: spawned, RunID: TeamSpawn, SessionKey: atChild, Reason: "restart"})
	s.Queue("seum", coordination.RunQueued{Context: spawned, RunID: TeamRepeat, RetryOf: TeamSpawn, Earlier: []string{TeamSpawn}, SessionKey: atChild,
		Lane: "subagent", Cause: "subagent", JobID: TeamSpawn, OnRestart: "retry", Message: "로그를 읽어 줘"})
	s.After(20).Start("seum", TeamRepeat)

	s.After(9_000).End("dajim", coordination.TypeRunEnded, coordination.RunOver{Context: with(late), RunID: TeamLate, SessionKey: atDajim, Text: "서버는 괜찮아요"})
	s.After(1_000)
}
