package protocol

import "encoding/json"

// HelloOK is what a client is told when it is let in. It is encoded as the client's version has it, so that one who checks it against the
// original's schema finds nothing wrong: what a version does not know is left out, what it needs is there.
type HelloOK struct {
	Protocol int // the version that was agreed on
	Server   ServerInfo
	Features Features
	Snapshot Snapshot
	Auth     HelloAuth
}

// ServerInfo is who answers.
type ServerInfo struct {
	Version string `json:"version"`
	ConnID  string `json:"connId"`
}

// Features are what can be asked and heard.
type Features struct {
	Methods      []string
	Events       []string
	Capabilities []string // of protocol 4
}

// Snapshot is how things are when a client is let in.
type Snapshot struct {
	Presence        any             // a list; nil is an empty one
	Health          json.RawMessage // as the method health answers
	StateVersion    StateVersion
	UptimeMs        int64
	ConfigPath      string // "" is not told: it is nobody's business who does not administer the gateway
	StateDir        string // the same
	SessionDefaults SessionDefaults
	AuthMode        string // none, token or password; "" is not told
}

// SessionDefaults say which session is meant where none is named. The Control UI shows no answers without them.
type SessionDefaults struct {
	DefaultAgentID string `json:"defaultAgentId"`
	MainKey        string `json:"mainKey"`
	MainSessionKey string `json:"mainSessionKey"`
	Scope          string `json:"scope"`
}

// HelloAuth is as whom a client was let in. Protocol 3 tells it only with a device token.
type HelloAuth struct {
	Method      string // of protocol 4: none, token, password or device-token
	DeviceToken string // "" for a client without device
	Role        string
	Scopes      []string
	IssuedAtMs  int64 // of the device token
}

// MarshalJSON implements json.Marshaler.
func (h HelloOK) MarshalJSON() ([]byte, error) {
	type features struct {
		Methods      []string `json:"methods"`
		Events       []string `json:"events"`
		Capabilities []string `json:"capabilities,omitempty"`
	}
	type snapshot struct {
		Presence        any             `json:"presence"`
		Health          json.RawMessage `json:"health"`
		StateVersion    StateVersion    `json:"stateVersion"`
		UptimeMs        int64           `json:"uptimeMs"`
		ConfigPath      string          `json:"configPath,omitempty"`
		StateDir        string          `json:"stateDir,omitempty"`
		SessionDefaults SessionDefaults `json:"sessionDefaults"`
		AuthMode        string          `json:"authMode,omitempty"`
	}
	type auth struct {
		Method      string   `json:"method,omitempty"`
		DeviceToken string   `json:"deviceToken,omitempty"`
		Role        string   `json:"role"`
		Scopes      []string `json:"scopes"`
		IssuedAtMs  int64    `json:"issuedAtMs,omitempty"`
	}
	type policy struct {
		MaxPayload       int   `json:"maxPayload"`
		MaxBufferedBytes int   `json:"maxBufferedBytes"`
		TickIntervalMs   int64 `json:"tickIntervalMs"`
	}
	told := struct {
		Type     string     `json:"type"`
		Protocol int        `json:"protocol"`
		Server   ServerInfo `json:"server"`
		Features features   `json:"features"`
		Snapshot snapshot   `json:"snapshot"`
		Auth     *auth      `json:"auth,omitempty"`
		Policy   policy     `json:"policy"`
	}{
		Type: "hello-ok", Protocol: h.Protocol, Server: h.Server,
		Features: features{orEmpty(h.Features.Methods), orEmpty(h.Features.Events), h.Features.Capabilities},
		Snapshot: snapshot(h.Snapshot),
		Auth:     &auth{h.Auth.Method, h.Auth.DeviceToken, h.Auth.Role, orEmpty(h.Auth.Scopes), h.Auth.IssuedAtMs},
		Policy:   policy{MaxPayload, MaxBuffered, TickInterval.Milliseconds()},
	}
	if told.Snapshot.Presence == nil {
		told.Snapshot.Presence = []struct{}{}
	}
	if len(told.Snapshot.Health) == 0 {
		told.Snapshot.Health = json.RawMessage("{}")
	}
	if h.Auth.DeviceToken == "" {
		told.Auth.IssuedAtMs = 0
	}
	if h.Protocol < SinceHelloAuth {
		told.Features.Capabilities, told.Auth.Method = nil, ""
		if h.Auth.DeviceToken == "" {
			told.Auth = nil
		}
	}
	return json.Marshal(told)
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
