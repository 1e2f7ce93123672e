package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// Files gives access to the agents' workspace files that people write, which describe the agent to itself. No other
// files are reachable.
type Files interface {
	// Names lists the allowed file names.
	Names() []string
	// Read returns an agent's file, or fs.ErrNotExist.
	Read(agentID, name string) (AgentFile, error)
	// Write creates or replaces a file. The file is durable when Write returns.
	Write(agentID, name, content string) error
	// Picture returns a picture from an agent's workspace by its path there. It never leaves the workspace.
	Picture(agentID, path string) ([]byte, error)
}

// AgentFile is a file in an agent's workspace.
type AgentFile struct {
	Content   string
	UpdatedAt int64 // ms since 1970
}

type agentFile struct {
	Name      string  `json:"name"`
	Path      string  `json:"path"`
	Missing   bool    `json:"missing"`
	Absent    bool    `json:"expectedAbsent,omitempty"` // the file is optional
	Size      int     `json:"size,omitempty"`
	UpdatedAt int64   `json:"updatedAtMs,omitempty"`
	Hash      string  `json:"hash,omitempty"`
	Content   *string `json:"content,omitempty"`
}

type agentFilesAnswer struct {
	OK        bool        `json:"ok,omitempty"` // of agents.files.set
	AgentID   string      `json:"agentId"`
	Workspace string      `json:"workspace"`
	Files     []agentFile `json:"files,omitempty"`
	File      *agentFile  `json:"file,omitempty"`
}

func (s *Server) fileAgent(c *config.Config, agentID string) (string, error) {
	id := strings.ToLower(coordination.TrimJS(agentID))
	for _, agent := range agentsOf(c) {
		if agent.ID == id {
			if s.opts.Files == nil {
				return "", notHere("no_workspace", "no agent has files here: another gateway runs the agents")
			}
			return id, nil
		}
	}
	known := []string{}
	for _, agent := range agentsOf(c) {
		known = append(known, agent.ID)
	}
	return "", invalidRequest("unknown agent id", fault{Field: "agentId", Value: echo(agentID), Hint: "name one from agents.list", Known: known})
}

func (s *Server) answerFiles(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Agent string `json:"agentId"`
	}](call)
	if err != nil {
		return nil, err
	}
	id, err := s.fileAgent(s.opts.Configuration.InForce(), p.Agent)
	if err != nil {
		return nil, err
	}
	a := agentFilesAnswer{AgentID: id, Workspace: s.workspaceOf(id)}
	for _, name := range s.opts.Files.Names() {
		one, err := s.file(id, name, false)
		if err != nil {
			return nil, err
		}
		a.Files = append(a.Files, one)
	}
	return encoded(a)
}

func (s *Server) answerFile(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Agent string `json:"agentId"`
		Name  string `json:"name"`
	}](call)
	if err != nil {
		return nil, err
	}
	id, err := s.fileNamed(p.Agent, p.Name)
	if err != nil {
		return nil, err
	}
	one, err := s.file(id, p.Name, true)
	if err != nil {
		return nil, err
	}
	return encoded(agentFilesAnswer{AgentID: id, Workspace: s.workspaceOf(id), File: &one})
}

// fileNamed returns the agent and the file name of a request, if the name is allowed.
func (s *Server) fileNamed(agentID, name string) (string, error) {
	id, err := s.fileAgent(s.opts.Configuration.InForce(), agentID)
	if err != nil {
		return "", err
	}
	for _, known := range s.opts.Files.Names() {
		if known == name {
			return id, nil
		}
	}
	return "", invalidRequest("unsupported file "+echo(name), fault{Field: "name", Value: echo(name), Hint: "name one from agents.files.list", Known: s.opts.Files.Names()})
}

func (s *Server) file(id, name string, whole bool) (agentFile, error) {
	one := agentFile{Name: name, Path: strings.TrimSuffix(s.workspaceOf(id), "/") + "/" + name}
	f, err := s.opts.Files.Read(id, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		one.Missing, one.Absent = true, true
		return one, nil
	case err != nil:
		return one, notHere("file_unreadable", name+" cannot be read: "+err.Error())
	}
	one.Size, one.UpdatedAt, one.Hash = len(f.Content), f.UpdatedAt, hashOf(f.Content)
	if whole {
		one.Content = &f.Content
	}
	return one, nil
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// writeFile answers agents.files.set. If expectedHash is given, a file that has changed meanwhile is not overwritten.
func (s *Server) writeFile(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Agent    string `json:"agentId"`
		Name     string `json:"name"`
		Content  string `json:"content"`
		Expected string `json:"expectedHash"`
	}](call)
	if err != nil {
		return nil, err
	}
	id, err := s.fileNamed(p.Agent, p.Name)
	if err != nil {
		return nil, err
	}
	if strings.Contains(p.Content, "\x00") {
		return nil, invalidRequest("content must not contain null bytes", fault{Field: "content", Hint: "take out U+0000"})
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if p.Expected != "" {
		now, err := s.file(id, p.Name, false)
		if err != nil {
			return nil, err
		}
		if !strings.EqualFold(now.Hash, p.Expected) {
			return nil, invalidRequest(p.Name+" has changed meanwhile", fault{Code: "file_changed", Field: "expectedHash", Value: echo(p.Expected),
				Hint: "read it again with agents.files.get, then write"})
		}
	}
	if err := s.opts.Files.Write(id, p.Name, p.Content); err != nil {
		return nil, notHere("file_unwritable", p.Name+" cannot be written: "+err.Error())
	}
	one, err := s.file(id, p.Name, true)
	if err != nil {
		return nil, err
	}
	return encoded(agentFilesAnswer{OK: true, AgentID: id, Workspace: s.workspaceOf(id), File: &one})
}
