package protocol

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// Roles of clients.
const (
	RoleOperator = "operator"
	RoleNode     = "node"
	RoleWorker   = "worker" // of openclawd: does runs on another machine
)

// Client is what a client says about itself.
type Client struct {
	ID              string `json:"id"`
	DisplayName     string `json:"displayName,omitempty"`
	Version         string `json:"version"`
	BuildID         string `json:"buildId,omitempty"`
	Platform        string `json:"platform"`
	DeviceFamily    string `json:"deviceFamily,omitempty"`
	ModelIdentifier string `json:"modelIdentifier,omitempty"`
	TimeZone        string `json:"timeZone,omitempty"`
	Mode            string `json:"mode"`
	InstanceID      string `json:"instanceId,omitempty"`
}

// IsCommandLine reports whether the client is the command line, in any mode.
func (c *Client) IsCommandLine() bool { return c.Mode == "cli" }

// IsControlUI reports whether the client is the Control UI, which has to present a device.
func (c *Client) IsControlUI() bool { return c.ID == "openclaw-control-ui" }

// IsWebchat reports whether the client is a chat page, the Control UI included.
func (c *Client) IsWebchat() bool { return c.ID == "webchat-ui" || c.Mode == "webchat" }

// Credentials are what a client presents. They are secret: never logged or echoed.
type Credentials struct {
	Token          string `json:"token"`
	DeviceToken    string `json:"deviceToken"`
	Password       string `json:"password"`
	BootstrapToken string `json:"bootstrapToken"`
}

// Connect holds the parameters of a connect request.
type Connect struct {
	MinProtocol int
	MaxProtocol int
	Client      Client
	Role        string // RoleOperator, RoleNode or RoleWorker
	Scopes      []string
	Caps        []string
	Commands    []string
	Auth        Credentials
	Device      *Device // nil if absent
	Locale      string
	UserAgent   string
}

// ParseConnect parses the parameters of connect, of a client of protocol 3 or 4. Members that only one version has are
// accepted from both.
func ParseConnect(params json.RawMessage) (*Connect, *Error) {
	if e := Check("connect", params); e != nil {
		return nil, e
	}
	var said struct {
		MinProtocol whole       `json:"minProtocol"`
		MaxProtocol whole       `json:"maxProtocol"`
		Client      Client      `json:"client"`
		Role        *string     `json:"role"`
		Scopes      []string    `json:"scopes"`
		Caps        []string    `json:"caps"`
		Commands    []string    `json:"commands"`
		Auth        Credentials `json:"auth"`
		Device      *struct {
			ID        string `json:"id"`
			PublicKey string `json:"publicKey"`
			Signature string `json:"signature"`
			SignedAt  whole  `json:"signedAt"`
			Nonce     string `json:"nonce"`
		} `json:"device"`
		Locale    string `json:"locale"`
		UserAgent string `json:"userAgent"`
	}
	if err := json.Unmarshal(params, &said); err != nil {
		return nil, &Error{Code: CodeInvalidRequest, Message: "invalid connect params: must be object"}
	}
	c := &Connect{
		MinProtocol: int(said.MinProtocol), MaxProtocol: int(said.MaxProtocol), Client: said.Client, Role: RoleOperator,
		Scopes: said.Scopes, Caps: said.Caps, Commands: said.Commands, Auth: said.Auth, Locale: said.Locale, UserAgent: said.UserAgent,
	}
	if d := said.Device; d != nil {
		c.Device = &Device{ID: d.ID, PublicKey: d.PublicKey, Signature: d.Signature, SignedAt: int64(d.SignedAt), Nonce: d.Nonce}
	}
	if said.Role != nil {
		c.Role = *said.Role
	}
	if !slices.Contains([]string{RoleOperator, RoleNode, RoleWorker}, c.Role) {
		return nil, &Error{Code: CodeInvalidRequest, Message: "invalid role",
			Details: Fault{Field: "role", Value: shortened(c.Role), Hint: `give "operator" or "node"`}}
	}
	return c, nil
}

// Protocol is the version spoken with this client, 0 if there is none in common.
func (c *Connect) Protocol() int {
	version, _ := Negotiate(c.MinProtocol, c.MaxProtocol)
	return version
}

// Negotiate finds the highest common version. If there is none, the connection ends with CloseMismatch; the details
// name our version nearest to the client's, so that newer clients know what to try.
func Negotiate(least, most int) (version int, e *Error) {
	for v := Newest; v >= Oldest; v-- {
		if least <= v && v <= most {
			return v, nil
		}
	}
	expected := Newest
	if most < Oldest {
		expected = Oldest
	}
	return 0, &Error{Code: CodeInvalidRequest, Message: "protocol mismatch", Details: mismatch{
		Code: "PROTOCOL_MISMATCH", Expected: expected, Least: Oldest, Most: Newest, ClientLeast: least, ClientMost: most,
	}}
}

type mismatch struct {
	Code        string `json:"code"`
	Expected    int    `json:"expectedProtocol"`
	Least       int    `json:"minProtocol"`
	Most        int    `json:"maxProtocol"`
	ClientLeast int    `json:"clientMinProtocol"`
	ClientMost  int    `json:"clientMaxProtocol"`
}

// whole parses an integer in any JSON notation, 3.0 and 3e0 included; too large values saturate.
type whole int64

func (w *whole) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*w = whole(n)
		return nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return err
	}
	if f >= math.MaxInt32 || f <= math.MinInt32 {
		f = math.Copysign(math.MaxInt32, f)
	}
	*w = whole(f)
	return nil
}
