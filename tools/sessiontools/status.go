package sessiontools

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/tools"
)

// Status is session_status. It can set the model of a session of the caller's own agent.
func Status(o Options) tools.Tool {
	s := &status{o}
	return tools.Tool{
		Spec: tool.Spec{
			Name: "session_status", Group: tool.GroupSessions, Label: "Session status",
			Description: "Show the model, token usage and queue of a session and the current time; optionally set the model for its next runs.",
			Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
				"sessionKey":{"type":"string","maxLength":512,"description":"Key, id or label of the session. Default: your own."},
				"model":{"type":"string","maxLength":256,"description":"Model as provider/id; default resets it to the agent's model."}
			}}`),
		},
		Who: notSubagents(),
		Do:  s.do,
	}
}

type status struct{ Options }

type statusArgs struct {
	SessionKey string `json:"sessionKey"`
	Model      string `json:"model"`
}

// card is a session and its queue.
type card struct {
	OK            bool   `json:"ok"`
	SessionKey    string `json:"sessionKey"`
	SessionID     string `json:"sessionId,omitempty"`
	AgentID       string `json:"agentId"`
	Label         string `json:"label,omitempty"`
	Provider      string `json:"modelProvider,omitempty"`
	Model         string `json:"model"`
	ModelSet      bool   `json:"modelOverride"` // set for the session
	ChangedModel  bool   `json:"changedModel"`  // by this call
	InputTokens   int64  `json:"inputTokens"`   // of the newest answer, as are the next two
	OutputTokens  int64  `json:"outputTokens"`
	TotalTokens   int64  `json:"totalTokens"`
	ContextTokens int    `json:"contextTokens"`
	Messages      int64  `json:"messages"`
	Thinking      string `json:"thinkingLevel,omitempty"`

	Running      bool   `json:"running"`
	RunID        string `json:"runId,omitempty"` // the running one
	StartedAt    int64  `json:"startedAt,omitempty"`
	QueueDepth   int    `json:"queueDepth"` // waiting runs
	OldestWaitMs int64  `json:"oldestWaitMs,omitempty"`
	Lane         string `json:"lane,omitempty"` // of the running run, else of the newest waiting one, else the default

	UpdatedAt  int64  `json:"updatedAt,omitempty"`
	Now        string `json:"now"` // RFC 3339
	StatusText string `json:"statusText"`
}

func (s *status) do(ctx context.Context, call *tools.Call) (tool.Output, error) {
	args, err := tools.Decode[statusArgs](call)
	if err != nil {
		return tool.Output{}, err
	}
	changed := false
	if model := coordination.TrimJS(args.Model); model != "" {
		refused, err := s.setModel(ctx, call, args.SessionKey, model)
		switch {
		case err != nil:
			return tool.Output{}, err
		case refused != nil:
			return tools.Refuse(refused)
		}
		changed = true
	}
	var found *card
	out, err := view(ctx, s.Log, func(tx *sql.Tx) (any, *refusal, error) {
		one, refused, err := target(ctx, tx, call, args.SessionKey)
		if err != nil || refused != nil {
			return nil, refused, err
		}
		found, err = s.read(ctx, tx, call.Config, one)
		if err == nil {
			found.ChangedModel, found.StatusText = changed, found.text(coordination.English)
		}
		return found, nil, err
	})
	if err == nil && !out.IsError {
		out.Text = found.StatusText
	}
	return out, err
}

func (s *status) read(ctx context.Context, tx *sql.Tx, c *config.Config, one *sessions.Session) (*card, error) {
	model, now := modelOf(c, one), s.Now()
	k := &card{
		OK: true, SessionKey: one.Key, SessionID: one.ID, AgentID: ownerOf(c, one), Label: coordination.Mask(one.Label),
		ModelSet: one.Settings.Text("model") != "", InputTokens: one.InputTokens, OutputTokens: one.OutputTokens, TotalTokens: one.TotalTokens,
		ContextTokens: c.ContextTokens(ownerOf(c, one), model), Messages: one.Messages, Thinking: one.Settings.Text("thinkingLevel"),
		UpdatedAt: one.UpdatedAt, Now: now.Format(time.RFC3339),
	}
	k.Provider, k.Model = config.SplitModel(model)
	queues, err := workqueue.Keys(ctx, tx, []string{one.Key})
	if err != nil {
		return nil, err
	}
	queue := queues[one.Key]
	k.QueueDepth, k.Running = queue.Waiting, queue.Leased > 0
	if queue.Waiting > 0 && queue.Since > 0 {
		k.OldestWaitMs = max(0, now.UnixMilli()-queue.Since)
	}
	for _, state := range []run.State{run.Running, run.Queued} {
		runs, err := runs.List(ctx, tx, runs.Query{SessionKey: one.Key, States: []run.State{state}, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(runs) == 0 {
			continue
		}
		k.Lane = cmp.Or(k.Lane, runs[0].Lane)
		if state == run.Running {
			k.Running, k.RunID, k.StartedAt = true, runs[0].RunID, runs[0].StartedAt
		}
	}
	if key, err := coordination.ParseSessionKey(one.Key); err == nil && k.Lane == "" {
		k.Lane = run.LaneOf(key, "")
	}
	return k, nil
}

// Describe renders a session and its queue as lines for people, in their language.
func Describe(ctx context.Context, tx *sql.Tx, c *config.Config, one *sessions.Session, now time.Time) (string, error) {
	k, err := (&status{Options{Now: func() time.Time { return now }}}).read(ctx, tx, c, one)
	if err != nil {
		return "", err
	}
	return k.text(c.Language()), nil
}

// text renders the card for people and models.
func (k *card) text(in coordination.Language) string {
	var b strings.Builder
	line := func(name, format string, args ...any) { fmt.Fprintf(&b, name+": "+format+"\n", args...) }
	line(in.Say("세션", "Session"), "%s", k.SessionKey)
	if k.Label != "" {
		line(in.Say("이름", "Label"), "%s", k.Label)
	}
	model := strings.TrimPrefix(k.Provider+"/"+k.Model, "/")
	if k.ModelSet {
		model += in.Say(" (이 세션에 지정됨)", " (set for this session)")
	}
	line(in.Say("모델", "Model"), "%s", model)
	share := 0
	if k.ContextTokens > 0 {
		share = int(min(k.TotalTokens*100/int64(k.ContextTokens), 999))
	}
	line(in.Say("토큰", "Tokens"), in.Say("입력 %d, 출력 %d, 컨텍스트 %d/%d (%d%%)", "%d in, %d out, %d of %d in view (%d%%)"), k.InputTokens, k.OutputTokens, k.TotalTokens, k.ContextTokens, share)
	line(in.Say("메시지", "Messages"), "%d", k.Messages)
	if k.Thinking != "" {
		line(in.Say("사고 수준", "Thinking"), "%s", k.Thinking)
	}
	running := in.Say("진행 중인 실행 없음", "no run under way")
	if k.Running {
		running = strings.TrimSpace(in.Say("실행 진행 중 ", "a run is under way ") + k.RunID)
	}
	waiting := fmt.Sprintf(in.Say("대기 %d건", "%d waiting"), k.QueueDepth)
	if k.OldestWaitMs > 0 {
		waiting += fmt.Sprintf(in.Say(", 첫 번째는 %s째", ", the first for %s"), (time.Duration(k.OldestWaitMs) * time.Millisecond).Round(time.Second))
	}
	line(in.Say("대기열", "Queue"), "%s", running+"; "+waiting)
	if k.Lane != "" {
		line(in.Say("레인", "Lane"), "%s", k.Lane)
	}
	line(in.Say("시각", "Time"), "%s", k.Now)
	return strings.TrimSuffix(b.String(), "\n")
}
