// Package settings computes the effective settings of the server: flags override environment variables, these
// override openclaw.json, and that overrides defaults. Its Error reports an invalid setting, wherever it was set.
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

// Environment variables for settings of the Task-Monitor API. They override openclaw.json; flags override them.
const (
	envHost       = "TASK_MONITOR_HOST"
	envPort       = "TASK_MONITOR_PORT"
	envWriteToken = "TASK_MONITOR_WRITE_TOKEN"
	envReadToken  = "TASK_MONITOR_READ_TOKEN"
	envTaskHub    = "TASK_HUB_URL"
	envCookie     = "TASK_HUB_PROXY_COOKIE"
)

// section of openclaw.json with these settings.
const section = "taskMonitor"

// Sourced is a setting's value with its source: "--api", "TASK_MONITOR_HOST", "openclaw.json taskMonitor.host" or
// "default".
type Sourced[T ~string] struct {
	Value  T
	Source string
}

const sourceDefault = "default"

// Settings are the settings of the Task-Monitor API, from flags, environment, openclaw.json and defaults, in this
// order.
type Settings struct {
	API     Sourced[string]        // host:port to listen at
	Token   Sourced[config.Secret] // for writes
	Reading Sourced[config.Secret] // for reads; "" if they need none
	TaskHub Sourced[string]
	Cookie  Sourced[config.Secret]
	Origins []string
	Hosts   []string
	Viewers []config.Viewer // who may read Task-Hub
	Sealed  bool            // writes are refused: it is unknown whether a token is required
}

// Of computes the settings under a configuration. api and hosts are flags.
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
		Reading: choose(c, getenv, envReadToken, m.ReadToken, section, "readToken"),
		TaskHub: choose(c, getenv, envTaskHub, m.TaskHubURL, section, "taskHubUrl"),
		Cookie:  choose(c, getenv, envCookie, config.Secret("")),
		Origins: m.AllowedOrigins,
		Hosts:   hosts,
		Viewers: c.UI.Viewers,
	}
}

// choose returns a variable's value if set, else the configuration's, if it has such a key. Surrounding space is ignored: a token of only
// spaces counts as unset.
func choose[T ~string](c *config.Config, getenv func(string) string, variable string, configured T, keys ...string) Sourced[T] {
	configured = T(strings.TrimSpace(string(configured)))
	switch v := strings.TrimSpace(getenv(variable)); {
	case v != "":
		return Sourced[T]{T(v), variable}
	case len(keys) > 0 && c.Sets(keys...):
		return Sourced[T]{configured, FileName + " " + strings.Join(keys, ".")}
	}
	return Sourced[T]{configured, sourceDefault}
}

// Check rejects settings with which the API must not be served.
func (s *Settings) Check() error {
	if hub := s.TaskHub.Value; !config.IsServer(hub) {
		if strings.Contains(hub, "@") {
			hub = config.Secret(hub).String()
		}
		return &config.SettingError{Setting: s.TaskHub.Source, Value: config.Shown(hub), Err: errors.New("not a server address"),
			HintText: "give one such as " + monitor.DefaultTaskHub}
	}
	tcp, err := net.ResolveTCPAddr("tcp", s.API.Value)
	if err != nil {
		return &config.SettingError{Setting: s.API.Source, Value: s.API.Value, Err: err, HintText: "give host:port, e.g. 127.0.0.1:3847"}
	}
	return s.CheckReach(tcp)
}

// CheckReach rejects an address that lets other machines write without a token.
func (s *Settings) CheckReach(address net.Addr) error {
	if s.Token.Value != "" || !Reachable(address) {
		return nil
	}
	return &config.SettingError{Setting: s.API.Source, Value: s.API.Value,
		Err:      errors.New("other machines could reach the API, and no write token is configured"),
		HintText: "bind a loopback address such as 127.0.0.1:3847, or set a write token in " + envWriteToken + " or in taskMonitor.writeToken of " + FileName}
}

// Monitor returns the settings that may change while the API runs.
func (s *Settings) Monitor() monitor.Settings {
	return monitor.Settings{
		Hosts: s.Hosts, Origins: s.Origins, Token: s.Token.Value, ReadToken: s.Reading.Value, TaskHub: s.TaskHub.Value, Cookie: s.Cookie.Value, Sealed: s.Sealed,
	}
}

// ChangedFrom names the settings that differ.
func (s *Settings) ChangedFrom(old *Settings) (names []string) {
	for name, same := range map[string]bool{
		"api": s.API.Value == old.API.Value, "writeToken": s.Token.Value == old.Token.Value, "readToken": s.Reading.Value == old.Reading.Value, "taskHubUrl": s.TaskHub.Value == old.TaskHub.Value,
		"allowedOrigins": slices.Equal(s.Origins, old.Origins), "viewers": slices.Equal(s.Viewers, old.Viewers),
	} {
		if !same {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Shown lists the settings that openclaw.json can set. For secrets it shows only whether they are set.
func (s *Settings) Shown(c *config.Config) []config.Setting {
	origins := s.Origins
	if origins == nil {
		origins = []string{}
	}
	from := sourceDefault
	if c.Sets("taskMonitor", "allowedOrigins") {
		from = FileName + " taskMonitor.allowedOrigins"
	}
	viewers, viewersFrom := make([]string, len(s.Viewers)), sourceDefault
	for i := range s.Viewers {
		viewers[i] = s.Viewers[i].Name
	}
	if c.Sets("ui", "viewers") {
		viewersFrom = FileName + " ui.viewers"
	}
	return []config.Setting{
		{Name: "api", Value: s.API.Value, Source: s.API.Source},
		{Name: "writeToken", Value: s.Token.Value, Source: s.Token.Source}, // a Secret shows only whether it is set
		{Name: "readToken", Value: s.Reading.Value, Source: s.Reading.Source},
		{Name: "allowedOrigins", Value: origins, Source: from},
		{Name: "taskHubUrl", Value: s.TaskHub.Value, Source: s.TaskHub.Source},
		{Name: "taskHubCookie", Value: s.Cookie.Value, Source: s.Cookie.Source},
		{Name: "viewers", Value: viewers, Source: viewersFrom}, // their names
	}
}

// Reachable reports whether other machines can reach an address.
func Reachable(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}
