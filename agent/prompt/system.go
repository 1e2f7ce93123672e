package prompt

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/skill"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/workspace"
)

// NoReply is the answer of an agent that has nothing to say. It is never shown.
const NoReply = "NO_REPLY"

// Bounds of the other parts of a system prompt.
const (
	maxTeam  = 100
	maxExtra = 20_000 // characters
)

// system builds a system prompt. The parts that change least come first.
type system struct {
	ask    *Ask
	day    time.Time
	files  []workspace.Excerpt
	skills []skill.Status

	told       []File // of the last text
	fileTokens int
}

// within returns a system prompt of at most so many tokens, if shortening files suffices for that.
func (s *system) within(tokens int) string {
	text := s.text(MaxAllFiles)
	for all := MaxAllFiles; llm.EstimateTokens(text) > tokens && all > 0; {
		all /= 2
		text = s.text(all)
	}
	return text
}

// text returns a system prompt in which all files together have at most all characters.
func (s *system) text(all int) string {
	var b strings.Builder
	s.who(&b)
	s.where(&b)
	s.team(&b)
	s.silence(&b)
	s.guides(&b)
	s.asking(&b)
	s.skillIndex(&b, min(maxSkillIndex, all/4))
	s.workspace(&b, all)
	s.today(&b)
	return b.String()
}

func section(b *strings.Builder, title string) { fmt.Fprintf(b, "\n\n# %s\n\n", title) }

func (s *system) who(b *strings.Builder) {
	id := s.ask.Agent
	agent := s.ask.Config.AgentNamed(id)
	if agent == nil {
		agent = &config.Agent{ID: id}
	}
	fmt.Fprintf(b, "You are %s, the agent with the id `%s`.", strings.TrimSpace(line(cmp.Or(agent.Name, agent.ID))+" "+line(agent.Identity.Emoji)), line(agent.ID))
	if theme := line(agent.Identity.Theme); theme != "" {
		fmt.Fprintf(b, " You are like this: %s.", strings.TrimSuffix(theme, "."))
	}
	if agent.IsUtility() {
		b.WriteString(" You work for other agents only.")
	}
}

func (s *system) where(b *strings.Builder) {
	section(b, "This session")
	k := s.ask.Session
	fmt.Fprintf(b, "Its key is `%s`, its kind is %s. %s", k, k.Kind, aboutSession(k))
	if names := toolNames(s.ask); names != "" {
		fmt.Fprintf(b, " In it you may call these tools: %s.", names)
	} else {
		b.WriteString(" In it you have no tools.")
	}
	s.guarded(b)
}

// guarded names the tools that may be called only with a task, or with an approved plan.
func (s *system) guarded(b *strings.Builder) {
	conf := &s.ask.Config.Tools
	agent := s.ask.Config.AgentNamed(s.ask.Agent)
	exempt := s.ask.Session.Kind == coordination.KeySubagent || agent != nil && agent.IsUtility()
	if names := s.toolsAmong(conf.TaskEnforcer.Tools); conf.TaskEnforcer.Enabled && !exempt && names != "" {
		fmt.Fprintf(b, " You may call these only while this session has a task in progress: %s.", names)
	}
	if names := s.toolsAmong(conf.PlanGate.Tools); conf.PlanGate.Enabled && names != "" {
		fmt.Fprintf(b, " You may call these only with an approved plan that asks for them: %s.", names)
	}
}

// toolsAmong names those tools of the session that a list has.
func (s *system) toolsAmong(list []string) string {
	var names []string
	for i := range s.ask.Tools {
		one := &s.ask.Tools[i]
		if !tool.Restricts(list, one, nil) {
			continue
		}
		name := one.Name
		if tool.GivesInput(one, nil) && !tool.Names(list, one) {
			name += " (to give input)"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// aboutSession describes who takes part in a session.
func aboutSession(k coordination.SessionKey) string {
	by := ""
	if k.Channel != "" {
		by = " by " + k.Channel
	}
	switch k.Kind {
	case coordination.KeyMain, coordination.KeyAlias:
		return "Here you talk with the people for whom you work."
	case coordination.KeyDirect:
		return "Here you talk with one person" + by + "."
	case coordination.KeyGroup, coordination.KeyChannel:
		return "Here several people and agents may write and read along" + by + "."
	case coordination.KeyA2A:
		return "Here another agent talks with you. Your answer is sent to that agent, not to a person."
	case coordination.KeySubagent:
		return "You were started here for one task. Your final answer is the result; it is sent to the agent that started you."
	case coordination.KeyCron:
		return "A schedule started this session. There may be no one to answer questions."
	case coordination.KeyOther:
		if k.IsHook() {
			return "Another program has started this session through a hook. There may be no one to answer questions."
		}
	}
	return "Your answer here is sent to the sender."
}

func toolNames(a *Ask) string {
	names := make([]string, len(a.Tools))
	for i := range a.Tools {
		names[i] = a.Tools[i].Name
	}
	return strings.Join(names, ", ")
}

func (s *system) team(b *strings.Builder) {
	agents, own := s.ask.Config.Agents, s.ask.Config.AgentNamed(s.ask.Agent)
	told, more := 0, 0
	for i := range agents {
		a := &agents[i]
		if a == own {
			continue
		}
		if told == maxTeam {
			more++
			continue
		}
		if told == 0 {
			section(b, "Your team")
			b.WriteString("The other agents, by their ids:\n")
		}
		told++
		fmt.Fprintf(b, "\n- `%s`", line(a.ID))
		if name := strings.TrimSpace(line(a.Name) + " " + line(a.Identity.Emoji)); name != "" {
			b.WriteString(": " + name)
		}
		if a.IsUtility() {
			b.WriteString(" (works for other agents only)")
		}
	}
	if more > 0 {
		fmt.Fprintf(b, "\n- and %d more", more)
	}
}

func (s *system) silence(b *strings.Builder) {
	section(b, "Silence")
	b.WriteString("If a message needs no answer, answer " + NoReply + " and nothing else: it is shown to no one. Never put it into an answer.")
}

// guides writes the guides of the tools, word for word.
func (s *system) guides(b *strings.Builder) {
	started := false
	for i := range s.ask.Tools {
		guide := s.ask.Tools[i].Guide
		switch {
		case blank(guide):
			continue
		case !started:
			started = true
			section(b, "Your tools")
		default:
			b.WriteString("\n\n")
		}
		b.WriteString(strings.TrimSpace(guide))
	}
}

// asking names the tools whose calls may wait for people.
func (s *system) asking(b *strings.Builder) {
	var names []string
	for i := range s.ask.Tools {
		if s.ask.Tools[i].Asks {
			names = append(names, s.ask.Tools[i].Name)
		}
	}
	if len(names) == 0 {
		return
	}
	section(b, "Calls that people approve")
	b.WriteString("Some or all of your calls of these tools are made only after a person has approved them: " + strings.Join(names, ", ") +
		". Such a call waits; you need not ask for it in words, nor make it again. Its result says if it was refused, or if no one decided in time: then it was not made.")
}

func (s *system) workspace(b *strings.Builder, all int) {
	s.told, s.fileTokens = []File{}, 0
	started := false
	for i := range s.files {
		text, f := tellFile(&s.files[i], min(MaxFile, all))
		s.told = append(s.told, f)
		if text == "" {
			continue
		}
		if !started {
			started = true
			section(b, "Your workspace")
			b.WriteString("These are files of your workspace as they are now. They are what you have been given, and what you have noted.")
		}
		all -= f.Chars
		s.fileTokens += f.Tokens
		fmt.Fprintf(b, "\n\n## %s\n\n%s", f.Name, text)
	}
}

func (s *system) today(b *strings.Builder) {
	if !blank(s.ask.Extra) {
		section(b, "For this message")
		b.WriteString(strings.TrimSpace(firstOf(strings.ToValidUTF8(s.ask.Extra, "\uFFFD"), maxExtra)))
	}
	section(b, "Today")
	fmt.Fprintf(b, "It is %s.", s.day.Format("Monday, 2006-01-02"))
}
