package gateway

import (
	"context"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// absentMethods are methods that clients call for features openclawd does not have: they return an empty answer or a
// refusal.
func (s *Server) absentMethods() map[string]answer {
	return map[string]answer{
		"node.list":          s.answerNodes,
		"node.pair.list":     nothing(pairingAnswer{[]any{}, []any{}}),
		"device.pair.list":   nothing(pairingAnswer{[]any{}, []any{}}),
		"voicewake.get":      nothing(map[string][]string{"triggers": {}}),
		"talk.config":        nothing(map[string]any{"config": struct{}{}}),
		"question.list":      nothing(map[string][]any{"questions": {}}),
		"exec.approvals.get": nothing(execApprovals{File: execApprovalsFile{Version: 1}}),
		"last-heartbeat":     nothing(nil),
		"set-heartbeats":     s.setHeartbeats,
		"wake":               s.wake,
		"send":               s.send,
		"poll":               s.poll,
	}
}

func nothing(payload any) answer {
	return func(context.Context, *wire.Call) (any, error) { return payload, nil }
}

// pairingAnswer lists pending pairing requests and paired devices.
type pairingAnswer struct {
	Pending []any `json:"pending"`
	Paired  []any `json:"paired"`
}

func (s *Server) answerNodes(context.Context, *wire.Call) (any, error) {
	return struct {
		TS    int64 `json:"ts"`
		Nodes []any `json:"nodes"`
	}{s.opts.Now().UnixMilli(), []any{}}, nil
}

// execApprovals is the list of commands that agents may run without asking. It is empty: agents run no commands.
type execApprovals struct {
	Path   string            `json:"path"`
	Exists bool              `json:"exists"`
	Hash   string            `json:"hash"`
	File   execApprovalsFile `json:"file"`
}

type execApprovalsFile struct {
	Version  int      `json:"version"`
	Defaults struct{} `json:"defaults"`
	Agents   struct{} `json:"agents"`
}

// notHere refuses an unsupported operation. Retrying does not help.
func notHere(code, text string) error {
	return &protocol.Error{Code: protocol.CodeUnavailable, Message: text, Details: absence{code}}
}

// absence is the machine-readable reason in an error's details. Clients may rely on it.
type absence struct {
	Code string `json:"code"`
}
