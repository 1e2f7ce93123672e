package config

import (
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// MCP holds the MCP servers whose tools agents may use.
type MCP struct {
	Servers []MCPServer // by name
}

// MCPServer is an MCP server: a program that openclawd starts, or an address.
type MCPServer struct {
	Name    string
	Enabled bool

	Command string // a program; "" for an address
	Args    []string
	Env     []MCPVariable // sorted
	Dir     string        // may begin with ~; "" is the home directory

	URL     Secret // of Streamable HTTP; may hold credentials
	Headers []Header
	OAuth   *MCPOAuth // nil: requests need no authorization beside the headers

	ConnectTimeout time.Duration
	CallTimeout    time.Duration

	// Include and Exclude are names of the server's tools, with * for any part; no Include is all. Exclude takes precedence.
	Include, Exclude []string
	// Sessions are the kinds of sessions that may use it; none is all.
	Sessions []coordination.KeyKind
	// Repeatable are names of tools, with * for any part, that may be repeated after an unknown outcome although they do not say so.
	Repeatable []string
}

// MCPOAuth says how a person grants access to a server with OAuth.
type MCPOAuth struct {
	Scope             string // to ask for, separated by spaces; "" for what the server asks for
	RedirectURL       string // where the browser ends; "" for openclawd's own
	ClientMetadataURL string // of a document that describes this client; "" for none
	ClientID          string // of a client that is registered already; "" for none
	ClientSecret      Secret
}

// MCPVariable is an environment variable of a server.
type MCPVariable struct {
	Name  string
	Value Secret
}

// MCPServerNamed returns an enabled server, nil if there is none.
func (c *Config) MCPServerNamed(name string) *MCPServer {
	for i := range c.MCP.Servers {
		if s := &c.MCP.Servers[i]; s.Name == name && s.Enabled {
			return s
		}
	}
	return nil
}

// Launch names how the server is reached, without secrets.
func (s *MCPServer) Launch() string {
	if s.Command == "" {
		return Shown(s.URL.Reveal())
	}
	return Shown(strings.Join(append([]string{s.Command}, s.Args...), " "))
}

// Transport is stdio or streamable-http.
func (s *MCPServer) Transport() string {
	if s.Command != "" {
		return mcpStdio
	}
	return mcpHTTP
}

const (
	mcpStdio = "stdio"
	mcpHTTP  = "streamable-http"
)
