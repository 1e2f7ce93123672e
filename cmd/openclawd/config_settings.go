package main

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

// sourced is the value of a setting and who has set it: "--api", "TASK_MONITOR_HOST", "openclaw.json taskMonitor.host" or "default".
type sourced[T ~string] struct {
	value  T
	source string
}

const sourceDefault = "default"

// settings are those of the Task-Monitor API, from flags, environment, openclaw.json and defaults, in this order.
type settings struct {
	api     sourced[string] // host:port to listen at
	token   sourced[config.Secret]
	taskHub sourced[string]
	cookie  sourced[config.Secret]
	origins []string
	hosts   []string
	sealed  bool // nobody may write: whether a token is asked for is not known
}

// settingsOf finds what is in force with a configuration. api and hosts are flags.
func settingsOf(c *config.Config, getenv func(string) string, api string, hosts []string) settings {
	m := &c.TaskMonitor
	host := choose(c, getenv, envHost, "host", m.Host)
	port := choose(c, getenv, envPort, "port", strconv.Itoa(m.Port))
	listen := sourced[string]{net.JoinHostPort(host.value, port.value), host.source}
	if port.source != host.source {
		listen.source += ", " + port.source
	}
	if api != "" {
		listen = sourced[string]{api, "--api"}
	}
	return settings{
		api:     listen,
		token:   choose(c, getenv, envWriteToken, "writeToken", m.WriteToken),
		taskHub: choose(c, getenv, envTaskHub, "taskHubUrl", m.TaskHubURL),
		cookie:  choose(c, getenv, envCookie, "", config.Secret("")),
		origins: m.AllowedOrigins,
		hosts:   hosts,
	}
}

// choose takes a variable's value where it is set, else that of the configuration. Space around it counts for nothing: a token of nothing
// but space is none.
func choose[T ~string](c *config.Config, getenv func(string) string, variable, key string, configured T) sourced[T] {
	configured = T(strings.TrimSpace(string(configured)))
	switch v := strings.TrimSpace(getenv(variable)); {
	case v != "":
		return sourced[T]{T(v), variable}
	case key != "" && c.Says("taskMonitor", key):
		return sourced[T]{configured, configName + " taskMonitor." + key}
	}
	return sourced[T]{configured, sourceDefault}
}

// check refuses settings with which the API must not be served.
func (s *settings) check() error {
	if hub := s.taskHub.value; !config.IsServer(hub) {
		if strings.Contains(hub, "@") {
			hub = config.Secret(hub).String()
		}
		return &configError{setting: s.taskHub.source, value: hub, err: errors.New("not the address of a server"),
			mend: "give one such as " + monitor.DefaultTaskHub}
	}
	tcp, err := net.ResolveTCPAddr("tcp", s.api.value)
	if err != nil {
		return &configError{setting: s.api.source, value: s.api.value, err: err, mend: "give host:port, e.g. 127.0.0.1:3847"}
	}
	return s.checkReach(tcp)
}

// checkReach refuses an address at which other machines could write as they like.
func (s *settings) checkReach(address net.Addr) error {
	if s.token.value != "" || !reachable(address) {
		return nil
	}
	return &configError{setting: s.api.source, value: s.api.value,
		err:  errors.New("other machines could reach the API, and there is no write token for it to ask for"),
		mend: "bind a loopback address such as 127.0.0.1:3847, or set a write token in " + envWriteToken + " or in taskMonitor.writeToken of " + configName}
}

// monitor gives the API what may change while it answers.
func (s *settings) monitor() monitor.Settings {
	return monitor.Settings{
		Hosts: s.hosts, Origins: s.origins, Token: s.token.value, TaskHub: s.taskHub.value, Cookie: s.cookie.value, Sealed: s.sealed,
	}
}

// settings are those of the program with a configuration.
func (o *Options) settings(c *config.Config) settings {
	return settingsOf(c, o.getenv, o.API, o.Hosts)
}

func (o *Options) getenv(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

// changedFrom names the settings that are not what they were.
func (s *settings) changedFrom(old *settings) (names []string) {
	for name, same := range map[string]bool{
		"api": s.api.value == old.api.value, "writeToken": s.token.value == old.token.value, "taskHubUrl": s.taskHub.value == old.taskHub.value,
		"allowedOrigins": slices.Equal(s.origins, old.origins),
	} {
		if !same {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// shownSetting is a setting as config show prints it.
type shownSetting struct {
	Name   string `json:"name"`
	Value  any    `json:"value"`
	Source string `json:"source"`
}

func (s *settings) shown(c *config.Config) []shownSetting {
	origins := s.origins
	if origins == nil {
		origins = []string{}
	}
	from := sourceDefault
	if c.Says("taskMonitor", "allowedOrigins") {
		from = configName + " taskMonitor.allowedOrigins"
	}
	return []shownSetting{
		{"api", s.api.value, s.api.source},
		{"writeToken", s.token.value, s.token.source}, // a Secret shows whether there is one
		{"allowedOrigins", origins, from},
		{"taskHubUrl", s.taskHub.value, s.taskHub.source},
		{"taskHubCookie", s.cookie.value, s.cookie.source},
	}
}

// reachable reports whether another machine may reach an address.
func reachable(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}
