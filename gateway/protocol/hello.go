package protocol

import "encoding/json"

// HelloOK is the answer to connect. It is encoded for the client's version so that it validates against the original's
// schema.
type HelloOK struct {
	Protocol int // the negotiated version
	Server   ServerInfo
	Features Features
	Snapshot Snapshot
	Auth     HelloAuth
}

// ServerInfo describes the gateway.
type ServerInfo struct {
	Version string `json:"version"`
	ConnID  string `json:"connId"`
}

// Features are the available methods and events.
type Features struct {
	Methods      []string
	Events       []string
	Capabilities []string // protocol 4
}

// Snapshot is the state at the time of connecting.
type Snapshot struct {
	Presence        any             // a list; nil is encoded as an empty one
	Health          json.RawMessage // like the answer to health
	StateVersion    StateVersion
	UptimeMs        int64
	ConfigPath      string // "" leaves it out: for administrators only
	StateDir        string // likewise
	SessionDefaults SessionDefaults
	AuthMode        string // none, token or password; "" leaves it out
}

// SessionDefaults say which session is used if none is named. The Control UI shows no answers without them.
type SessionDefaults struct {
	DefaultAgentID string `json:"defaultAgentId"`
	MainKey        string `json:"mainKey"`
	MainSessionKey string `json:"mainSessionKey"`
	Scope          string `json:"scope"`
}

// HelloAuth says how a client was authorized. Protocol 3 includes it only with a device token.
type HelloAuth struct {
	Method      string // protocol 4: none, token, password or device-token
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
