package gateway

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

func (s *Server) stateMethods() map[string]answer {
	return map[string]answer{
		"health":          s.answerHealth,
		"status":          s.answerStatus,
		"system-presence": s.answerPresence,
		"system-event":    s.notePresence,
		"logs.tail":       s.answerLogs,
		"channels.status": s.answerChannels,
	}
}

// Snapshot implements wire.Methods. An unreadable store is reported within it, so that clients looking for the reason
// can connect.
func (s *Server) Snapshot(ctx context.Context) (wire.Snapshot, error) {
	h, err := s.currentHealth(ctx, false)
	if err != nil {
		return wire.Snapshot{}, err
	}
	c := s.opts.Configuration.InForce()
	return wire.Snapshot{Health: h.encoded, ConfigPath: c.File, StateDir: s.opts.StateDir, SessionDefaults: greetingDefaults(c)}, nil
}

func (s *Server) answerPresence(context.Context, *wire.Call) (any, error) {
	return s.hub.Presence(), nil
}

// notedAnswer is the answer to system-event: where the note is shown, and that no agent received it.
type notedAnswer struct {
	OK        bool `json:"ok"`
	Presence  bool `json:"presence"` // shown by system-presence
	AgentTold bool `json:"agentTold"`
}

// notePresence answers system-event: the note is shown in presence. Agents do not read it, so a note for a session is
// refused.
func (s *Server) notePresence(_ context.Context, call *wire.Call) (any, error) {
	const most = 8 << 10
	if len(call.Params) > most {
		return nil, invalidRequest("system-event params are longer than 8 KiB", fault{Field: "text", Hint: "shorten the text"})
	}
	var p wire.Presence
	if json.Unmarshal(call.Params, &p) != nil || coordination.TrimJS(p.Text) == "" {
		return nil, invalidRequest("text required", fault{Field: "text", Value: p.Text, Hint: "describe the event in text"})
	}
	var meant struct {
		Wake       bool   `json:"wake"`
		SessionKey string `json:"sessionKey"`
	}
	if json.Unmarshal(call.Params, &meant) == nil && (meant.Wake || coordination.TrimJS(meant.SessionKey) != "") {
		return nil, s.noHeartbeats()
	}
	p.TS = 0 // it is stored now
	s.hub.Note(p)
	return notedAnswer{OK: true, Presence: true}, nil
}

type logsAnswer struct {
	File      string   `json:"file"`
	Cursor    int64    `json:"cursor"`
	Size      int64    `json:"size"`
	Lines     []string `json:"lines"`
	Truncated bool     `json:"truncated"`
	Reset     bool     `json:"reset"`
}

func (s *Server) answerLogs(_ context.Context, call *wire.Call) (any, error) {
	const usualLines, usualBytes, fromBeginning = 500, 250_000, -1
	p, err := paramsOf[struct {
		Cursor   *int64 `json:"cursor"`
		Limit    int    `json:"limit"`
		MaxBytes int    `json:"maxBytes"`
	}](call)
	if err != nil {
		return nil, err
	}
	cursor := int64(fromBeginning)
	if p.Cursor != nil {
		cursor = *p.Cursor
	}
	tail := s.opts.Logs.Tail(cursor, cmp.Or(p.Limit, usualLines), cmp.Or(p.MaxBytes, usualBytes))
	a := &logsAnswer{File: tail.Source, Cursor: tail.Cursor, Size: tail.Size, Lines: tail.Lines, Truncated: tail.Truncated, Reset: tail.Reset}
	if a.Lines == nil {
		a.Lines = []string{}
	}
	return a, nil
}
