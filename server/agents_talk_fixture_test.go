package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// teamConfig has agents that may write to each other and start each other as sub-agents. Each has a model of its own name. Continuation
// is off: they do only what the test has them do.
const teamConfig = `{
  gateway: { auth: { mode: "token", token: "secret" }, tools: { allow: ["sessions_send"] } },
  agents: { list: [%s], defaults: { a2aConcurrency: { queueTimeoutMs: 250000 }, taskContinuation: { enabled: false } } },
  session: { agentToAgent: { maxPingPongTurns: 2 } },
  tools: { agentToAgent: { enabled: true } },
  models: { providers: { test: { baseUrl: %q, apiKey: "none", models: [%s] } } },
}
`

// liveTeam is a whole program whose agents ask a server of models, for which the test answers. The test also says how late it is.
type liveTeam struct {
	*reloading
	models *a2atest.Model
	clock  *a2atest.Clock
	client *client.Client
}

// startTeam serves agents, the first of whom is the default, and a client of the gateway.
func startTeam(t *testing.T, agents []string, answer func(a2atest.Asked) a2atest.Answer, change ...func(*Options)) *liveTeam {
	t.Helper()
	return startTeamOf(t, strings.NewReplacer(), agents, answer, change...)
}

// startTeamOf is the same with what edits makes of the configuration.
func startTeamOf(t *testing.T, edits *strings.Replacer, agents []string, answer func(a2atest.Asked) a2atest.Answer, change ...func(*Options)) *liveTeam {
	t.Helper()
	team := &liveTeam{models: a2atest.NewModel(t, answer), clock: &a2atest.Clock{}}
	var list, models []string
	for _, id := range agents {
		list = append(list, fmt.Sprintf(`{ id: %q, model: "test/%s", subagents: { allowAgents: ["*"] } }`, id, id))
		models = append(models, fmt.Sprintf(`{ id: %q }`, id))
	}
	text := fmt.Sprintf(teamConfig, strings.Join(list, ", "), team.models.URL, strings.Join(models, ", "))
	team.reloading = startReloading(t, map[string]string{settings.FileName: edits.Replace(text)}, append([]func(*Options){withGateway,
		func(o *Options) { o.Now = team.clock.Now }}, change...)...)
	team.client = connect(t, gatewayURL(team.gatewayAddress()))
	return team
}

// again ends the program, and runs another one on what it has left.
func (team *liveTeam) again(t *testing.T) {
	t.Helper()
	_ = team.client.Close()
	team.restart(t, nil)
	team.client = connect(t, gatewayURL(team.gatewayAddress()))
}

// answer has a person say something to an agent over the wire, and returns what the agent answers. The run has the key as its id.
func (team *liveTeam) answer(ctx context.Context, agent, key, text string) (said string, err error) {
	payload, err := team.client.CallFinal(ctx, "agent", map[string]string{"message": text, "idempotencyKey": key, "agentId": agent}, nil)
	if err != nil {
		return "", err
	}
	var answer struct {
		Result struct{ Payloads []struct{ Text string } }
	}
	if err := json.Unmarshal(payload, &answer); err != nil || len(answer.Result.Payloads) != 1 {
		return "", fmt.Errorf("%s answers %s: %w", agent, payload, err)
	}
	return answer.Result.Payloads[0].Text, nil
}

// tell is the same, and fails the test if that fails.
func (team *liveTeam) tell(t testing.TB, agent, key, text string) (said string) {
	t.Helper()
	said, err := team.answer(t.Context(), agent, key, text)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// advance sets the clock forward and wakes all that wait for a time.
func (team *liveTeam) advance(t testing.TB, d time.Duration) {
	t.Helper()
	team.clock.Forward(d)
	_, err := team.Program.log.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.LogStream,
		Events: []eventstore.NewEvent{{Type: "test.clock", Data: json.RawMessage(`{"eventRole":"system.observability"}`)}}})
	if err != nil {
		t.Fatal(err)
	}
}

// fact is what most events say, as far as tests look at it.
type fact struct {
	Seq, TS     int64  `json:"-"`
	Type, Agent string `json:"-"`

	JobID, RunID, Phase, SessionKey, TargetSessionKey    string
	FromAgent, ToAgent, ConversationID, WorkSessionID    string
	EventRole, Outcome, ErrorCode, Message, ReplyPreview string
	PayloadType, InResponseToPayloadType, WaitStatus     string
	PayloadWarnings                                      []string
	Code, RootRunID, ParentRunID                         string
	Hop                                                  int
	Turn, Attempt                                        int
	BackoffMs                                            int64
	Announced                                            bool
}

func factOf(t testing.TB, e *eventstore.Event) fact {
	t.Helper()
	var f fact
	if err := json.Unmarshal(e.Data, &f); err != nil {
		t.Fatalf("%s: %v in %s", e.Type, err, e.Data)
	}
	f.Seq, f.TS, f.Type, f.Agent = e.Seq, e.TS, e.Type, e.AgentID
	return f
}

// line is what agents and people see of an event: its type, who tells it, from whom to whom, the turn, the outcome, and for whom it is.
func (f *fact) line() string {
	line := fmt.Sprintf("%s %s: %s>%s", f.Type, f.Agent, f.FromAgent, f.ToAgent)
	if f.Turn > 0 {
		line += fmt.Sprintf(" turn=%d", f.Turn)
	}
	if f.Outcome != "" {
		line += " " + f.Outcome
	}
	return line + " " + f.EventRole
}

// facts are the events of the log whose types begin with one of some texts, in order; all without any.
func (team *liveTeam) facts(t testing.TB, types ...string) (list []fact) {
	t.Helper()
	const most = 100_000
	events, err := team.Program.log.Read(t.Context(), 0, most)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if len(types) == 0 || slices.ContainsFunc(types, func(typ string) bool { return strings.HasPrefix(events[i].Type, typ) }) {
			list = append(list, factOf(t, &events[i]))
		}
	}
	return list
}

// awaits waits for an event, and returns it.
func (team *liveTeam) awaits(t testing.TB, what string, is func(*fact) bool) (found fact) {
	t.Helper()
	team.until(t, what, func(e *eventstore.Event) bool {
		found = factOf(t, e)
		return is(&found)
	})
	return found
}

// awaitsRun waits for the end of a run.
func (team *liveTeam) awaitsRun(t testing.TB, runID string) fact {
	t.Helper()
	return team.awaits(t, "the end of run "+runID, func(f *fact) bool {
		return f.RunID == runID && slices.Contains([]string{coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunAborted,
			coordination.TypeRunTimedOut}, f.Type)
	})
}

// gate holds answers back until it is opened.
type gate chan struct{}

// pass waits until the gate is open, or the caller has left.
func (g gate) pass(ctx context.Context) {
	select {
	case <-g:
	case <-ctx.Done():
	}
}

func (g gate) open() { close(g) }

// shownSession is a work session as the Task-Monitor API shows it.
type shownSession struct {
	WorkSessionID, Status, Outcome string
	Title, Summary                 string
	LastMessage                    *struct{ Text string }
	BlockedReason                  *string
	EventCount                     int
	RoleCounts                     map[string]int
	OutcomeCounts                  map[string]int
	OpenFlows, OpenRuns            int
	Threads                        []struct {
		ConversationID, FromAgent, ToAgent string
		Outcome, Reason                    *string
		Open                               bool
	}
}

// sessions are all work sessions.
func (team *liveTeam) sessions(t testing.TB) []shownSession {
	t.Helper()
	return read[struct{ Sessions []shownSession }](t, team.reloading, "/api/work-sessions").Sessions
}

// session is the only work session.
func (team *liveTeam) session(t testing.TB) shownSession {
	t.Helper()
	list := team.sessions(t)
	if len(list) != 1 {
		t.Fatalf("work sessions: %+v", list)
	}
	return list[0]
}
