package gateway

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// stateMethods say how the gateway is doing.
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

// Snapshot implements wire.Methods. A store that cannot be read is told within it: clients that look for the reason are let in.
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

// notedAnswer answers a note: where it is, and that no agent has been told.
type notedAnswer struct {
	OK        bool `json:"ok"`
	Presence  bool `json:"presence"` // system-presence shows it
	AgentTold bool `json:"agentTold"`
}

// notePresence answers system-event: what a client says of itself, or of what has happened, is shown with who is there. No agent reads it, so one
// that is for a session is refused.
func (s *Server) notePresence(_ context.Context, call *wire.Call) (any, error) {
	const most = 8 << 10
	if len(call.Params) > most {
		return nil, invalidRequest("system-event params are longer than 8 KiB", fault{Field: "text", Mend: "shorten the text"})
	}
	var p wire.Presence
	if json.Unmarshal(call.Params, &p) != nil || coordination.TrimJS(p.Text) == "" {
		return nil, invalidRequest("text required", fault{Field: "text", Value: p.Text, Mend: "say what has happened"})
	}
	var meant struct {
		Wake       bool   `json:"wake"`
		SessionKey string `json:"sessionKey"`
	}
	if json.Unmarshal(call.Params, &meant) == nil && (meant.Wake || coordination.TrimJS(meant.SessionKey) != "") {
		return nil, s.noHeartbeats()
	}
	p.TS = 0 // it is noted now
	s.hub.Note(p)
	return notedAnswer{OK: true, Presence: true}, nil
}

// logsAnswer answers logs.tail.
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
