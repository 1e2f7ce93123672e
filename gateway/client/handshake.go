package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// handshakeTime is Dial's default timeout. The gateway's own is shorter.
const handshakeTime = 15 * time.Second

func (o *Options) fill() {
	o.ID, o.Mode, o.Role = cmp.Or(o.ID, "cli"), cmp.Or(o.Mode, "cli"), cmp.Or(o.Role, "operator")
	o.Version, o.Platform = cmp.Or(o.Version, "dev"), cmp.Or(o.Platform, runtime.GOOS)
	o.MinProtocol, o.MaxProtocol = cmp.Or(o.MinProtocol, protocol.Oldest), cmp.Or(o.MaxProtocol, protocol.Newest)
	o.HandshakeTime = cmp.Or(o.HandshakeTime, handshakeTime)
	if o.Scopes == nil {
		o.Scopes = []string{"operator.admin", "operator.read", "operator.write", "operator.approvals", "operator.pairing"}
	}
	if o.Caps == nil {
		o.Caps = []string{}
	}
}

type connect struct {
	MinProtocol int      `json:"minProtocol"`
	MaxProtocol int      `json:"maxProtocol"`
	Client      program  `json:"client"`
	Caps        []string `json:"caps"`
	Auth        *auth    `json:"auth,omitempty"`
	Role        string   `json:"role"`
	Scopes      []string `json:"scopes"`
	Device      *shown   `json:"device,omitempty"`
}

type program struct {
	ID          string `json:"id"`
	DisplayName string `json:"displayName,omitempty"`
	Version     string `json:"version"`
	Platform    string `json:"platform"`
	Family      string `json:"deviceFamily,omitempty"`
	Mode        string `json:"mode"`
	InstanceID  string `json:"instanceId,omitempty"`
}

type auth struct {
	Token       string `json:"token,omitempty"`
	DeviceToken string `json:"deviceToken,omitempty"`
	Password    string `json:"password,omitempty"`
}

// auth is nil without credentials.
func (o *Options) auth() *auth {
	a := auth{Token: o.Token, DeviceToken: o.DeviceToken, Password: o.Password}
	if a == (auth{}) {
		return nil
	}
	if a.Token == "" {
		a.Token = a.DeviceToken
	}
	return &a
}

// challenge is the gateway's first event.
type challenge struct {
	Nonce string `json:"nonce"`
	TS    int64  `json:"ts"`
}

const connectID = "connect"

// shakeHands waits for the challenge, sends connect, and waits for hello-ok.
func (c *Client) shakeHands(ctx context.Context) error {
	defer context.AfterFunc(ctx, c.socket.abandon)()
	ch, err := c.challenged()
	if err != nil {
		return err
	}
	o := &c.opts
	params := connect{
		MinProtocol: o.MinProtocol, MaxProtocol: o.MaxProtocol, Caps: o.Caps, Auth: o.auth(), Role: o.Role, Scopes: o.Scopes,
		Client: program{ID: o.ID, DisplayName: o.DisplayName, Version: o.Version, Platform: o.Platform, Family: o.Family, Mode: o.Mode,
			InstanceID: o.InstanceID},
	}
	if o.Device != nil {
		params.Device = o.Device.show(&params, ch)
	}
	text, err := request(connectID, "connect", params)
	if err != nil {
		return err
	}
	if err := c.socket.write(text); err != nil {
		return closedBy(err)
	}
	for {
		f, err := c.socket.read()
		switch {
		case err != nil:
			return closedBy(err)
		case f.Type != "res" || f.ID != connectID:
		case f.OK:
			if err := json.Unmarshal(f.Payload, &c.hello); err != nil {
				return fmt.Errorf("hello-ok of the gateway: %w", err)
			}
			c.hello.Raw = f.Payload
			return nil
		default:
			return &RefusedError{Reason: f.reason(), Closed: c.lastWord()}
		}
	}
}

func (c *Client) challenged() (ch challenge, err error) {
	f, err := c.socket.read()
	if err != nil {
		return ch, closedBy(err)
	}
	if f.Type != "event" || f.Event != "connect.challenge" {
		return ch, errors.New("the first frame is no connect.challenge: the server is no gateway")
	}
	if err := json.Unmarshal(f.Payload, &ch); err != nil {
		return ch, fmt.Errorf("connect.challenge of the gateway: %w", err)
	}
	return ch, nil
}

// lastWord returns how a gateway that refused the client closes the connection.
func (c *Client) lastWord() *ClosedError {
	if err := c.socket.hurry(); err != nil {
		return closedBy(err)
	}
	for {
		if _, err := c.socket.read(); err != nil {
			return closedBy(err)
		}
	}
}
