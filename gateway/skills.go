package gateway

import (
	"context"
	"path/filepath"

	"github.com/pronto-lab/openclawd/coordination/skill"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// skillStatus is a skill in the original's shape, with fault beside it. There are no bundled ones, and nothing is installed.
type skillStatus struct {
	Name         string `json:"name"`
	Description  string `json:"description"`
	Source       string `json:"source"` // always openclaw-workspace
	Bundled      bool   `json:"bundled"`
	FilePath     string `json:"filePath"`
	BaseDir      string `json:"baseDir"`
	SkillKey     string `json:"skillKey"`
	PrimaryEnv   string `json:"primaryEnv,omitempty"`
	Emoji        string `json:"emoji,omitempty"`
	Homepage     string `json:"homepage,omitempty"`
	Always       bool   `json:"always"`
	Disabled     bool   `json:"disabled"`
	Blocked      bool   `json:"blockedByAllowlist"`
	Eligible     bool   `json:"eligible"`
	Requirements needs  `json:"requirements"`
	Missing      needs  `json:"missing"`
	ConfigChecks []any  `json:"configChecks"`
	Install      []any  `json:"install"`
	Fault        string `json:"fault,omitempty"` // why the file is no skill
}

// needs are skill.Needs with lists that are never null.
type needs struct{ skill.Needs }

func needsOf(n skill.Needs) needs {
	for _, list := range [...]*[]string{&n.Bins, &n.AnyBins, &n.Env, &n.Config, &n.OS} {
		*list = append([]string{}, *list...)
	}
	return needs{n}
}

func (s *Server) answerSkills(_ context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		AgentID string `json:"agentId"`
	}](call)
	if err != nil {
		return nil, err
	}
	id, err := agentAsked(s.opts.Configuration.InForce(), p.AgentID)
	if err != nil {
		return nil, err
	}
	dir, list := s.workspaceOf(id), []skillStatus{}
	if s.opts.Skills != nil {
		all, err := s.opts.Skills(id)
		if err != nil {
			return nil, notHere("skills_unreadable", "cannot read the skills: "+err.Error())
		}
		for i := range all {
			list = append(list, skillStatusOf(dir, &all[i]))
		}
	}
	return struct {
		WorkspaceDir     string        `json:"workspaceDir"`
		ManagedSkillsDir string        `json:"managedSkillsDir"`
		Skills           []skillStatus `json:"skills"`
	}{WorkspaceDir: dir, Skills: list}, nil
}

func skillStatusOf(dir string, s *skill.Status) skillStatus {
	file := filepath.Join(dir, filepath.FromSlash(s.Path))
	return skillStatus{Name: s.Name, Description: s.Description, Source: "openclaw-workspace", FilePath: file, BaseDir: filepath.Dir(file), SkillKey: s.Key,
		PrimaryEnv: s.PrimaryEnv, Emoji: s.Emoji, Homepage: s.Homepage, Always: s.Always, Disabled: s.Disabled, Blocked: s.Blocked,
		Eligible: s.Fault == "" && !s.Disabled && !s.Blocked && s.Missing.Empty(), Requirements: needsOf(s.Needs), Missing: needsOf(s.Missing),
		ConfigChecks: []any{}, Install: []any{}, Fault: s.Fault}
}
