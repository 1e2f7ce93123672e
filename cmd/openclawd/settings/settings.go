// Package settings finds what the server goes by: flags win over environment variables, these over openclaw.json, that over defaults.
// Its Error is the one for a setting that cannot be, wherever it was set.
package settings

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/monitor"
)

// The environment variables that stand for settings of the Task-Monitor API. They win over openclaw.json; flags win over them.
const (
	envHost       = "TASK_MONITOR_HOST"
	envPort       = "TASK_MONITOR_PORT"
	envWriteToken = "TASK_MONITOR_WRITE_TOKEN"
	envTaskHub    = "TASK_HUB_URL"
	envCookie     = "TASK_HUB_PROXY_COOKIE"
)

// section of openclaw.json in which they are.
const section = "taskMonitor"

// Sourced is the value of a setting and who has set it: "--api", "TASK_MONITOR_HOST", "openclaw.json taskMonitor.host" or "default".
type Sourced[T ~string] struct {
	Value  T
	Source string
}

const sourceDefault = "default"

// Settings are those of the Task-Monitor API, from flags, environment, openclaw.json and defaults, in this order.
type Settings struct {
	API     Sourced[string] // host:port to listen at
	Token   Sourced[config.Secret]
	TaskHub Sourced[string]
	Cookie  Sourced[config.Secret]
	Origins []string
	Hosts   []string
	Sealed  bool // nobody may write: whether a token is asked for is not known
}

// Of finds what is in force with a configuration. api and hosts are flags.
func Of(c *config.Config, getenv func(string) string, api string, hosts []string) Settings {
	m := &c.TaskMonitor
	host := choose(c, getenv, envHost, m.Host, section, "host")
	port := choose(c, getenv, envPort, strconv.Itoa(m.Port), section, "port")
	listen := Sourced[string]{net.JoinHostPort(host.Value, port.Value), host.Source}
	if port.Source != host.Source {
		listen.Source += ", " + port.Source
	}
	if api != "" {
		listen = Sourced[string]{api, "--api"}
	}
	return Settings{
		API:     listen,
		Token:   choose(c, getenv, envWriteToken, m.WriteToken, section, "writeToken"),
		TaskHub: choose(c, getenv, envTaskHub, m.TaskHubURL, section, "taskHubUrl"),
		Cookie:  choose(c, getenv, envCookie, config.Secret("")),
		Origins: m.AllowedOrigins,
		Hosts:   hosts,
	}
}

// choose takes a variable's value where it is set, else that of the configuration, where it has keys for it. Space around it counts for
// nothing: a token of nothing but space is none.
func choose[T ~string](c *config.Config, getenv func(string) string, variable string, configured T, keys ...string) Sourced[T] {
	configured = T(strings.TrimSpace(string(configured)))
	switch v := strings.TrimSpace(getenv(variable)); {
	case v != "":
		return Sourced[T]{T(v), variable}
	case len(keys) > 0 && c.Says(keys...):
		return Sourced[T]{configured, FileName + " " + strings.Join(keys, ".")}
	}
	return Sourced[T]{configured, sourceDefault}
}

// Check refuses settings with which the API must not be served.
func (s *Settings) Check() error {
	if hub := s.TaskHub.Value; !config.IsServer(hub) {
		if strings.Contains(hub, "@") {
			hub = config.Secret(hub).String()
		}
		return &Error{Setting: s.TaskHub.Source, Value: config.Shown(hub), Err: errors.New("not the address of a server"),
			Mend: "give one such as " + monitor.DefaultTaskHub}
	}
	tcp, err := net.ResolveTCPAddr("tcp", s.API.Value)
	if err != nil {
		return &Error{Setting: s.API.Source, Value: s.API.Value, Err: err, Mend: "give host:port, e.g. 127.0.0.1:3847"}
	}
	return s.CheckReach(tcp)
}

// CheckReach refuses an address at which other machines could write as they like.
func (s *Settings) CheckReach(address net.Addr) error {
	if s.Token.Value != "" || !Reachable(address) {
		return nil
	}
	return &Error{Setting: s.API.Source, Value: s.API.Value,
		Err:  errors.New("other machines could reach the API, and there is no write token for it to ask for"),
		Mend: "bind a loopback address such as 127.0.0.1:3847, or set a write token in " + envWriteToken + " or in taskMonitor.writeToken of " + FileName}
}

// Monitor gives the API what may change while it answers.
func (s *Settings) Monitor() monitor.Settings {
	return monitor.Settings{
		Hosts: s.Hosts, Origins: s.Origins, Token: s.Token.Value, TaskHub: s.TaskHub.Value, Cookie: s.Cookie.Value, Sealed: s.Sealed,
	}
}

// ChangedFrom names the settings that are not what they were.
func (s *Settings) ChangedFrom(old *Settings) (names []string) {
	for name, same := range map[string]bool{
		"api": s.API.Value == old.API.Value, "writeToken": s.Token.Value == old.Token.Value, "taskHubUrl": s.TaskHub.Value == old.TaskHub.Value,
		"allowedOrigins": slices.Equal(s.Origins, old.Origins),
	} {
		if !same {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Shown is a setting as config show prints it.
type Shown struct {
	Name   string `json:"name"`
	Value  any    `json:"value"`
	Source string `json:"source"`
}

// Shown lists the settings that a configuration has a say in. Secrets show only whether there is one.
func (s *Settings) Shown(c *config.Config) []Shown {
	origins := s.Origins
	if origins == nil {
		origins = []string{}
	}
	from := sourceDefault
	if c.Says("taskMonitor", "allowedOrigins") {
		from = FileName + " taskMonitor.allowedOrigins"
	}
	return []Shown{
		{"api", s.API.Value, s.API.Source},
		{"writeToken", s.Token.Value, s.Token.Source}, // a Secret shows whether there is one
		{"allowedOrigins", origins, from},
		{"taskHubUrl", s.TaskHub.Value, s.TaskHub.Source},
		{"taskHubCookie", s.Cookie.Value, s.Cookie.Source},
	}
}

// Reachable reports whether another machine may reach an address.
func Reachable(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}
