package run

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// Limits of an Ask.
const (
	MaxRunID   = 256     // bytes
	MaxText    = 1 << 20 // bytes of the message, and of the addition to the system prompt
	MaxContent = 8 << 20 // bytes of the message blocks
	maxField   = 1 << 10 // bytes of any other text
	maxTime    = 1 << 53 // ms since 1970; JSON numbers are exact up to there
)

// Accept validates an Ask and masks secrets in its message, blocks and addition to the system prompt. Masking long texts takes a while,
// so it is called before the transaction, which checks for duplicates and for room. Errors are *Refusal.
func Accept(a Ask) ([]Event, error) {
	q := a.RunQueued
	if err := check(&a); err != nil {
		return nil, err
	}
	q.Context = contextOf(q.Context)
	q.SessionKey = a.Session.String()
	q.Lane = LaneOf(a.Session, q.Lane)
	q.Earlier, q.Resume, q.Stalled = nil, false, 0 // only what follows interrupted runs has them
	q.Message, q.ExtraSystemPrompt = coordination.Mask(q.Message), coordination.Mask(q.ExtraSystemPrompt)
	content, refusal := maskBlocks(q.Content)
	if refusal != nil {
		return nil, refusal
	}
	q.Content = content
	return []Event{{coordination.TypeRunQueued, q}}, nil
}

// WorkerPool is the pool of the runs of an agent that workers on other machines do.
func WorkerPool(agentID string) string { return WorkerPools + agentID }

// WorkerPools begins the names of such pools.
const WorkerPools = "worker/"

// LaneOf returns the lane of a run: the requested one if it exists, else that of the session's kind.
func LaneOf(key coordination.SessionKey, asked string) string {
	switch {
	case isLane(asked):
		return asked
	case key.Kind == coordination.KeySubagent:
		return LaneSubagent
	case key.Kind == coordination.KeyA2A:
		return LaneNested
	}
	return LaneMain
}

func isLane(name string) bool {
	return name == LaneMain || name == LaneNested || name == LaneSubagent || name == LaneCron
}

// check returns the first invalid part of an Ask, or nil.
func check(a *Ask) error {
	invalid := func(field, value, why, hint string) error {
		return &Refusal{Reason: CodeInvalidAsk, Field: field, Value: clip(value), Text: "invalid " + field + ": " + why, HintText: hint}
	}
	if why := unfitID(a.RunID); why != "" {
		return invalid("runId", a.RunID, why, "give an id of 1 to "+strconv.Itoa(MaxRunID)+" bytes of UTF-8 without NUL")
	}
	if strings.HasPrefix(a.RunID, coordination.CronRunPrefix) && a.Cause != coordination.CauseCron {
		return invalid("runId", a.RunID, "ids that begin with "+coordination.CronRunPrefix+" are those of scheduled jobs", "give an id that begins otherwise, such as a UUID")
	}
	if strings.HasPrefix(a.RunID, coordination.HookRunPrefix) && a.Cause != coordination.CauseHook {
		return invalid("runId", a.RunID, "ids that begin with "+coordination.HookRunPrefix+" are those of requests to hooks", "give an id that begins otherwise, such as a UUID")
	}
	if _, err := coordination.ParseSessionKey(a.Session.String()); err != nil {
		return invalid("sessionKey", a.Session.String(), err.Error(), "name a session, e.g. agent:main:main")
	}
	if a.Lane != "" && !isLane(a.Lane) {
		return &Refusal{Reason: CodeUnknownLane, Field: "lane", Value: clip(a.Lane), Text: "unknown lane " + strconv.Quote(clip(a.Lane)),
			HintText: "use main, nested, subagent or cron, or none"}
	}
	if a.Message == "" && len(a.Content) == 0 {
		return invalid("message", "", "empty", "say something")
	}
	if a.TimeoutMs != nil && *a.TimeoutMs < 0 {
		return invalid("timeoutMs", strconv.FormatInt(*a.TimeoutMs, 10), "negative", "use 0 for none, or a positive number")
	}
	if a.DueAtMs < 0 || a.DueAtMs > maxTime {
		return invalid("dueAtMs", strconv.FormatInt(a.DueAtMs, 10), "no time", "use 0 for at once, or ms since 1970, at most 2^53")
	}
	for _, f := range [...]struct {
		name, value string
		values      []string
	}{
		{"onRestart", a.OnRestart, []string{OnRestartReport, OnRestartRetry}},
		{"reset", a.Reset, []string{"", "new", "reset"}},
		{"provenance", a.Provenance, []string{"", "external_user", "inter_session", "internal_system"}},
	} {
		if !slices.Contains(f.values, f.value) {
			return invalid(f.name, f.value, "unknown", "use "+strings.Join(f.values[1:], " or ")+", or none")
		}
	}
	for _, f := range a.texts() {
		switch {
		case len(f.value) > f.most:
			return invalid(f.name, f.value, "too long", "use at most "+strconv.Itoa(f.most)+" bytes")
		case !utf8.ValidString(f.value):
			return invalid(f.name, f.value, "no UTF-8", "write it in UTF-8")
		}
	}
	return nil
}

// IsID reports whether a text can be a run id.
func IsID(text string) bool { return unfitID(text) == "" }

// unfitID returns why a text cannot be a run id, "" if it can.
func unfitID(id string) string {
	switch {
	case id == "":
		return "empty"
	case len(id) > MaxRunID:
		return "too long"
	case !utf8.ValidString(id):
		return "no UTF-8"
	case strings.Contains(id, "\x00"):
		return "NUL"
	}
	return ""
}

// text is a text of an Ask with its limit in bytes.
type text struct {
	name, value string
	most        int
}

func (a *Ask) texts() []text {
	return []text{
		{"message", a.Message, MaxText}, {"extraSystemPrompt", a.ExtraSystemPrompt, MaxText}, {"content", string(a.Content), MaxContent},
		{"sessionId", a.SessionID, maxField}, {"cause", a.Cause, maxField}, {"by", a.By, maxField}, {"retryOf", a.RetryOf, maxField}, {"jobId", a.JobID, maxField},
		{"fromAgent", a.FromAgent, maxField}, {"sourceSessionKey", a.SourceSessionKey, maxField}, {"sourceChannel", a.SourceChannel, maxField},
		{"sourceTool", a.SourceTool, maxField}, {"model", a.Model, maxField}, {"thinking", a.Thinking, maxField}, {"channel", a.Channel, maxField},
		{"to", a.To, maxField}, {"accountId", a.AccountID, maxField}, {"threadId", a.ThreadID, maxField}, {"label", a.Label, maxField},
		{"spawnedBy", a.SpawnedBy, maxField}, {"workSessionId", a.WorkSessionID, maxField},
		{"previousWorkSessionId", a.PreviousWorkSessionID, maxField}, {"taskId", a.TaskID, maxField}, {"rootTaskId", a.RootTaskID, maxField},
		{"conversationId", a.ConversationID, maxField}, {"parentConversationId", a.ParentConversationID, maxField},
		{"parentRunId", a.ParentRunID, maxField}, {"topicId", a.TopicID, maxField}, {"rootRunId", a.RootRunID, maxField}, {"passedBy", a.PassedBy, maxField}, {"files", a.Files, maxField},
	}
}

// clip shortens a text, enough to find it by.
func clip(text string) string { return strings.ToValidUTF8(text[:min(len(text), 64)], "\uFFFD") }

// maskBlocks masks the texts of message blocks and keeps everything else.
func maskBlocks(content json.RawMessage) (json.RawMessage, *Refusal) {
	if len(content) == 0 {
		return nil, nil
	}
	invalid := &Refusal{Reason: CodeInvalidAsk, Field: "content", Value: clip(string(content)), Text: "invalid content: not a list of blocks",
		HintText: `give a list of objects, e.g. [{"type":"text","text":"hello"}]`}
	var blocks []json.RawMessage
	if json.Unmarshal(content, &blocks) != nil || len(blocks) == 0 {
		return nil, invalid
	}
	for i, block := range blocks {
		masked, ok := maskBlock(block)
		if !ok {
			return nil, invalid
		}
		blocks[i] = masked
	}
	text, err := json.Marshal(blocks)
	if err != nil {
		return nil, invalid
	}
	return text, nil
}

func maskBlock(block json.RawMessage) (masked json.RawMessage, ok bool) {
	b := bytes.NewBuffer(make([]byte, 0, len(block)+2))
	b.WriteByte('{')
	err := coordination.EachField(block, func(name string, raw []byte) bool {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		var said string
		if name == "text" && json.Unmarshal(raw, &said) == nil {
			if masked := coordination.Mask(said); masked != said {
				raw = quote(masked)
			}
		}
		b.Write(quote(name))
		b.WriteByte(':')
		b.Write(raw)
		return true
	})
	b.WriteByte('}')
	return b.Bytes(), err == nil
}

func quote(text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		return []byte(`""`) // marshalling a string cannot fail
	}
	return quoted
}
