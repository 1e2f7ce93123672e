package server

import (
	"context"
	"errors"

	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/gateway"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/tools/approval"
	"github.com/pronto-lab/openclawd/workspace"
)

// gatewayApprovals let clients of the gateway decide what waits.
type gatewayApprovals struct{ office *approval.Office }

// Approve implements gateway.Approvals.
func (g gatewayApprovals) Approve(ctx context.Context, id, person string) error {
	_, err := g.office.Approve(ctx, id, person)
	return gatewayRefusal(err)
}

// Reject implements gateway.Approvals.
func (g gatewayApprovals) Reject(ctx context.Context, id, person, reason string) error {
	_, err := g.office.Reject(ctx, id, person, reason)
	return gatewayRefusal(err)
}

// gatewayRefusal is what an office refuses, as clients read it: pages take what is over off their list by the reason in the details.
func gatewayRefusal(err error) error {
	r, is := errors.AsType[*approval.Refusal](err)
	if !is {
		return err
	}
	reason := "APPROVAL_ALREADY_RESOLVED"
	if r.Unknown {
		reason = "APPROVAL_NOT_FOUND"
	}
	return &protocol.Error{Code: protocol.CodeInvalidRequest, Message: r.Text,
		Details: map[string]string{"code": r.Reason, "reason": reason, "field": r.Field, "mend": r.Mend}}
}

// gatewayFiles are the files that agents are told of themselves, for clients of the gateway. That of the task in focus is not among them: it
// follows the log.
type gatewayFiles struct{ workspaceOf func(agentID string) string }

// Names implements gateway.Files.
func (gatewayFiles) Names() []string {
	return []string{prompt.AgentsFile, prompt.SoulFile, prompt.ToolsFile, prompt.IdentityFile, prompt.UserFile, prompt.HeartbeatFile, prompt.MemoryFile}
}

func (g gatewayFiles) notes(agentID string) *workspace.Notes {
	return workspace.NewNotes(g.workspaceOf(agentID), g.Names()...)
}

// Read implements gateway.Files.
func (g gatewayFiles) Read(agentID, name string) (gateway.AgentFile, error) {
	text, info, err := g.notes(agentID).Read(name)
	if err != nil {
		return gateway.AgentFile{}, err
	}
	return gateway.AgentFile{Content: string(text), UpdatedAt: info.ModTime().UnixMilli()}, nil
}

// Picture implements gateway.Files.
func (g gatewayFiles) Picture(agentID, path string) ([]byte, error) {
	return g.notes(agentID).Picture(path)
}

// Write implements gateway.Files.
func (g gatewayFiles) Write(agentID, name, content string) error {
	return g.notes(agentID).Replace(name, []byte(content))
}
