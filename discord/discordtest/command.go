package discordtest

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

func (s *Server) commandRoutes() []route {
	var all []route
	for _, at := range []string{"/applications/{application}/commands", "/applications/{application}/guilds/{guild}/commands"} {
		all = append(all,
			route{name: "GET " + at, do: func(c *call) (any, *Error) {
				key, refusal := s.commandsIn(c)
				return slices.Concat([]*Command{}, s.commands[key]), refusal
			}},
			route{name: "PUT " + at, do: s.replaceCommands},
			route{name: "POST " + at, do: s.createCommand},
			route{name: "GET " + at + "/{command}", do: func(c *call) (any, *Error) {
				_, command, refusal := s.commandIn(c)
				return command, refusal
			}},
			route{name: "PATCH " + at + "/{command}", do: s.editCommand},
			route{name: "DELETE " + at + "/{command}", do: func(c *call) (any, *Error) {
				key, command, refusal := s.commandIn(c)
				if refusal != nil {
					return nil, refusal
				}
				s.commands[key] = slices.DeleteFunc(s.commands[key], func(other *Command) bool { return other == command })
				return nil, nil
			}},
		)
	}
	return all
}

// Commands registered by a bot: globally, or in one guild.
func (s *Server) Commands(botID, guildID string) []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Command
	for _, c := range s.commands[botID+" "+guildID] {
		all = append(all, *c)
	}
	return all
}

// commandsIn is the key of the list in the path, which has to be the bot's own.
func (s *Server) commandsIn(c *call) (string, *Error) {
	if c.path("application") != c.by.ID {
		return "", forbidden(20012, "You are not authorized to perform this action on this application")
	}
	if c.path("guild") != "" {
		if _, refusal := s.guildOf(c); refusal != nil {
			return "", refusal
		}
	}
	return c.by.ID + " " + c.path("guild"), nil
}

func (s *Server) commandIn(c *call) (string, *Command, *Error) {
	key, refusal := s.commandsIn(c)
	if refusal != nil {
		return "", nil, refusal
	}
	i := slices.IndexFunc(s.commands[key], func(other *Command) bool { return other.ID == c.path("command") })
	if i < 0 {
		return "", nil, notFound(CodeUnknownCommand, "application command")
	}
	return key, s.commands[key][i], nil
}

var commandName = regexp.MustCompile(`^[-_'\p{L}\p{N}]{1,32}$`)

func (c *Command) check() *Error {
	if c.Type == 0 {
		c.Type = 1
	}
	if c.Type != 1 {
		if n := utf8.RuneCountInString(c.Name); n < 1 || n > 32 {
			return badLength("name", 1, 32)
		}
		return nil
	}
	return checkOptions(c.Name, c.Description, c.Options)
}

func checkOptions(name, description string, options []CommandOption) *Error {
	if !commandName.MatchString(name) || strings.ToLower(name) != name {
		return invalidForm("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
	}
	if n := utf8.RuneCountInString(description); n < 1 || n > 100 {
		return badLength("description", 1, 100)
	}
	if len(options) > 25 {
		return tooLong("options", 25)
	}
	optional := false
	for _, o := range options {
		if refusal := checkOptions(o.Name, o.Description, o.Options); refusal != nil {
			return refusal
		}
		if o.Required && optional {
			return invalidForm("options", "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "Required options must be placed before non-required options")
		}
		optional = optional || !o.Required
	}
	return nil
}

func (s *Server) keep(c *call, key string, command Command) (made Command, isNew bool) {
	command.ApplicationID, command.GuildID, command.Version = c.by.ID, c.path("guild"), s.next()
	for _, old := range s.commands[key] {
		if old.Name == command.Name && old.Type == command.Type {
			command.ID = old.ID
			*old = command
			return command, false
		}
	}
	command.ID = s.next()
	s.commands[key] = append(s.commands[key], &command)
	return command, true
}

func (s *Server) createCommand(c *call) (any, *Error) {
	key, refusal := s.commandsIn(c)
	if refusal != nil {
		return nil, refusal
	}
	var command Command
	if refusal := c.decode(&command); refusal != nil {
		return nil, refusal
	}
	if refusal := command.check(); refusal != nil {
		return nil, refusal
	}
	if made, isNew := s.keep(c, key, command); !isNew {
		return made, nil
	} else {
		return created{made}, nil
	}
}

func (s *Server) replaceCommands(c *call) (any, *Error) {
	key, refusal := s.commandsIn(c)
	if refusal != nil {
		return nil, refusal
	}
	var said []Command
	if refusal := c.decode(&said); refusal != nil {
		return nil, refusal
	}
	for i := range said {
		if refusal := said[i].check(); refusal != nil {
			return nil, refusal
		}
		if slices.ContainsFunc(said[:i], func(o Command) bool { return o.Name == said[i].Name && o.Type == said[i].Type }) {
			return nil, invalidForm("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
		}
	}
	s.commands[key] = slices.DeleteFunc(s.commands[key], func(old *Command) bool {
		return !slices.ContainsFunc(said, func(o Command) bool { return o.Name == old.Name && o.Type == old.Type })
	})
	all := []Command{}
	for _, command := range said {
		made, _ := s.keep(c, key, command)
		all = append(all, made)
	}
	return all, nil
}

func (s *Server) editCommand(c *call) (any, *Error) {
	_, command, refusal := s.commandIn(c)
	if refusal != nil {
		return nil, refusal
	}
	edited := *command
	if refusal := c.decode(&edited); refusal != nil {
		return nil, refusal
	}
	edited.ID, edited.ApplicationID, edited.GuildID, edited.Type = command.ID, command.ApplicationID, command.GuildID, command.Type
	if refusal := edited.check(); refusal != nil {
		return nil, refusal
	}
	edited.Version = s.next()
	*command = edited
	return edited, nil
}
