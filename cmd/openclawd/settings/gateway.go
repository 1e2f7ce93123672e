package settings

import (
	"errors"
	"net"
	"slices"
	"strconv"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// The environment variables that stand for settings of the gateway.
const (
	envGatewayPort     = "OPENCLAW_GATEWAY_PORT"
	envGatewayToken    = "OPENCLAW_GATEWAY_TOKEN"
	envGatewayPassword = "OPENCLAW_GATEWAY_PASSWORD"
)

const flagGateway = "--gateway"

// NoGateway is what stands for an address where no gateway is to be opened.
const NoGateway = "off"

// The ways in which clients of the gateway show who they are.
const (
	ModeToken    = wire.ModeToken
	ModePassword = wire.ModePassword
	ModeNone     = wire.ModeNone
)

// Gateway are the settings of the gateway, from flags, environment, openclaw.json and defaults, in this order.
type Gateway struct {
	Listen   Sourced[string] // host:port to listen at, or NoGateway
	Mode     Sourced[string] // token, password, none, or one that Check refuses
	Token    Sourced[config.Secret]
	Password Sourced[config.Secret]
	Origins  []string
	Hosts    []string

	refused *Error // why there is no address
}

// GatewayOf finds what is in force with a configuration. address and hosts are flags. A token that only the file of the state directory
// gives is not among it: see Gateway.Keep.
func GatewayOf(c *config.Config, getenv func(string) string, address string, hosts []string) Gateway {
	g := Gateway{
		Token:    choose(c, getenv, envGatewayToken, c.Gateway.Auth.Token, "gateway", "auth", "token"),
		Password: choose(c, getenv, envGatewayPassword, c.Gateway.Auth.Password, "gateway", "auth", "password"),
		Mode:     choose(c, func(string) string { return "" }, "", c.Gateway.Auth.Mode, "gateway", "auth", "mode"),
		Origins:  c.Gateway.Origins,
		Hosts:    hosts,
	}
	if g.Mode.Value == "" {
		g.Mode = Sourced[string]{ModeToken, sourceDefault}
		if g.Password.Value != "" {
			g.Mode = Sourced[string]{ModePassword, g.Password.Source}
		}
	}
	if address != "" {
		g.Listen = Sourced[string]{address, flagGateway}
		return g
	}
	host := g.host(c)
	port := choose(c, getenv, envGatewayPort, strconv.Itoa(c.Gateway.Port), "gateway", "port")
	g.Listen = Sourced[string]{net.JoinHostPort(host.Value, port.Value), port.Source}
	if host.Source != port.Source {
		g.Listen.Source = host.Source + ", " + port.Source
	}
	return g
}

// host is the address that gateway.bind stands for. auto is one that only this machine reaches.
func (g *Gateway) host(c *config.Config) Sourced[string] {
	const anyFlag = ", or name the address with " + flagGateway
	source, from := sourceDefault, FileName+" gateway.bind"
	if c.Says("gateway", "bind") {
		source = from
	}
	loopback := Sourced[string]{"127.0.0.1", source}
	refuse := func(setting, value, why, mend string) Sourced[string] {
		g.refused = &Error{Setting: setting, Value: value, Err: errors.New(why), Mend: mend}
		return loopback
	}
	if c.Gateway.Mode == "remote" {
		return refuse(FileName+" gateway.mode", "remote", "the gateway of this team runs on another machine, so none is opened here",
			"start openclawd serve with "+flagGateway+" 127.0.0.1:18789 to open one all the same, with "+flagGateway+" "+NoGateway+
				" to open none, or with --follow")
	}
	switch bind := c.Gateway.Bind; bind {
	case "lan":
		return Sourced[string]{"0.0.0.0", source}
	case "custom":
		if c.Gateway.CustomHost == "" {
			return refuse(from, bind, "there is no gateway.customBindHost", "set gateway.customBindHost"+anyFlag)
		}
		return Sourced[string]{c.Gateway.CustomHost, FileName + " gateway.customBindHost"}
	case "tailnet":
		return refuse(from, bind, "openclawd does not look for the address of a tailnet", "use custom with that address in gateway.customBindHost"+anyFlag)
	}
	return loopback
}

// Off reports whether no gateway is to be opened.
func (g *Gateway) Off() bool { return g.Listen.Value == NoGateway }

// Check refuses settings with which the gateway must not be opened.
func (g *Gateway) Check() error {
	if g.Off() {
		return nil
	}
	if g.refused != nil {
		return g.refused
	}
	if err := g.CheckAuth(); err != nil {
		return err
	}
	tcp, err := net.ResolveTCPAddr("tcp", g.Listen.Value)
	if err != nil {
		return &Error{Setting: g.Listen.Source, Value: g.Listen.Value, Err: err, Mend: "give host:port, e.g. 127.0.0.1:18789, or " + NoGateway}
	}
	if g.Mode.Value != ModeNone {
		return nil // whether there is a secret is known when the file of the token has been read
	}
	return g.CheckReach(tcp)
}

// CheckAuth refuses ways of showing who a client is that are not there.
func (g *Gateway) CheckAuth() error {
	refuse := func(why, mend string) error {
		return &Error{Setting: g.Mode.Source, Value: g.Mode.Value, Err: errors.New(why), Mend: mend}
	}
	switch g.Mode.Value {
	case ModePassword:
		if g.Password.Value == "" {
			return refuse("clients are to show a password, and there is none", "set "+envGatewayPassword+" or gateway.auth.password of "+FileName)
		}
	case ModeToken:
		if g.Token.Value == "" && g.Token.Source != sourceDefault {
			return &Error{Setting: g.Token.Source, Err: errors.New("it is set, but to no text that openclawd could compare"),
				Mend: "write it as ${NAME} and set the variable NAME, set " + envGatewayToken + ", or remove it: a token is made then"}
		}
	case ModeNone:
	default:
		return refuse("openclawd leaves it to no proxy to say who a client is", "use token or password")
	}
	return nil
}

// CheckReach refuses an address at which other machines could do as they like.
func (g *Gateway) CheckReach(address net.Addr) error {
	if !Reachable(address) || g.Mode.Value == ModePassword || g.Mode.Value == ModeToken && g.Token.Value != "" {
		return nil
	}
	return &Error{Setting: g.Listen.Source, Value: g.Listen.Value,
		Err: errors.New("other machines could reach the gateway, and there is no secret for it to ask for"),
		Mend: "bind a loopback address such as 127.0.0.1:18789; or have clients show a token or a password: openclawd token --new makes a token, " +
			envGatewayToken + " and gateway.auth of " + FileName + " set one"}
}

// Access is who is let in.
func (g *Gateway) Access() wire.Access {
	return wire.Access{Mode: g.Mode.Value, Token: g.Token.Value, Password: g.Password.Value, Origins: g.Origins, Hosts: g.Hosts}
}

// ChangedFrom names the settings that are not what they were.
func (g *Gateway) ChangedFrom(old *Gateway) (names []string) {
	for name, same := range map[string]bool{
		"gateway": g.Listen.Value == old.Listen.Value, "gatewayAuth": g.Mode.Value == old.Mode.Value, "gatewayToken": g.Token.Value == old.Token.Value,
		"gatewayPassword": g.Password.Value == old.Password.Value, "gatewayOrigins": slices.Equal(g.Origins, old.Origins),
	} {
		if !same {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Shown lists the settings that a configuration has a say in. Secrets show only whether there is one.
func (g *Gateway) Shown(c *config.Config) []Shown {
	listen := Shown{"gateway", g.Listen.Value, g.Listen.Source}
	if g.refused != nil {
		listen = Shown{"gateway", "", g.refused.Setting}
	}
	origins, from := g.Origins, sourceDefault
	if origins == nil {
		origins = []string{}
	}
	if c.Says("gateway", "controlUi", "allowedOrigins") {
		from = FileName + " gateway.controlUi.allowedOrigins"
	}
	return []Shown{
		listen,
		{"gatewayAuth", g.Mode.Value, g.Mode.Source},
		{"gatewayToken", g.Token.Value, g.Token.Source}, // a Secret shows whether there is one
		{"gatewayPassword", g.Password.Value, g.Password.Source},
		{"gatewayOrigins", origins, from},
	}
}
