package server

import (
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/gateway"
	"github.com/pronto-lab/openclawd/workspace"
)

// gatewayFiles gives gateway clients access to the agents' own files, except that of the task in focus, which is
// generated from the log.
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
