package settings

import (
	"errors"
	"net"
	"slices"
	"strconv"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// Environment variables for settings of the gateway.
const (
	envGatewayPort     = "OPENCLAW_GATEWAY_PORT"
	envGatewayToken    = "OPENCLAW_GATEWAY_TOKEN"
	envGatewayPassword = "OPENCLAW_GATEWAY_PASSWORD"

	// EnvWorkerToken is the token of remote workers, on both sides.
	EnvWorkerToken = "OPENCLAW_WORKER_TOKEN"
)

const flagGateway = "--gateway"

// NoGateway is the address value that disables the gateway.
const NoGateway = "off"

// Authentication modes of gateway clients.
const (
	ModeToken    = wire.ModeToken
	ModePassword = wire.ModePassword
	ModeNone     = wire.ModeNone
)

// Gateway are the gateway's settings, from flags, environment, openclaw.json and defaults, in this order.
type Gateway struct {
	Listen   Sourced[string] // host:port to listen at, or NoGateway
	Mode     Sourced[string] // token, password, none, or a value that Check rejects
	Token    Sourced[config.Secret]
	Password Sourced[config.Secret]
	Worker   Sourced[config.Secret]
	Origins  []string
	Hosts    []string

	refused *config.SettingError // why there is no address
}

// GatewayOf computes the settings under a configuration. address and hosts are flags. A token from the state directory's file is not
// included: see Gateway.Keep.
func GatewayOf(c *config.Config, getenv func(string) string, address string, hosts []string) Gateway {
	g := Gateway{
		Token:    choose(c, getenv, envGatewayToken, c.Gateway.Auth.Token, "gateway", "auth", "token"),
		Password: choose(c, getenv, envGatewayPassword, c.Gateway.Auth.Password, "gateway", "auth", "password"),
		Worker:   choose(c, getenv, EnvWorkerToken, c.Gateway.Auth.Worker, "gateway", "auth", "workerToken"),
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

// host is the address that gateway.bind selects. auto is a loopback address.
func (g *Gateway) host(c *config.Config) Sourced[string] {
	const anyFlag = ", or set the address with " + flagGateway
	source, from := sourceDefault, FileName+" gateway.bind"
	if c.Sets("gateway", "bind") {
		source = from
	}
	loopback := Sourced[string]{"127.0.0.1", source}
	refuse := func(setting, value, why, hint string) Sourced[string] {
		g.refused = &config.SettingError{Setting: setting, Value: value, Err: errors.New(why), HintText: hint}
		return loopback
	}
	if c.Gateway.Mode == "remote" {
		return refuse(FileName+" gateway.mode", "remote", "the gateway of this team runs on another machine, so none is opened here",
			"start openclawd serve with "+flagGateway+" 127.0.0.1:18789 to open one anyway, with "+flagGateway+" "+NoGateway+
				" to open none, or with --follow")
	}
	switch bind := c.Gateway.Bind; bind {
	case "lan":
		return Sourced[string]{"0.0.0.0", source}
	case "custom":
		if c.Gateway.CustomHost == "" {
			return refuse(from, bind, "gateway.customBindHost is missing", "set gateway.customBindHost"+anyFlag)
		}
		return Sourced[string]{c.Gateway.CustomHost, FileName + " gateway.customBindHost"}
	case "tailnet":
		return refuse(from, bind, "openclawd does not detect tailnet addresses", "use custom with that address in gateway.customBindHost"+anyFlag)
	}
	return loopback
}

// Off reports whether the gateway is disabled.
func (g *Gateway) Off() bool { return g.Listen.Value == NoGateway }

// Check rejects settings with which the gateway must not be opened.
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
		return &config.SettingError{Setting: g.Listen.Source, Value: g.Listen.Value, Err: err, HintText: "give host:port, e.g. 127.0.0.1:18789, or " + NoGateway}
	}
	if g.Mode.Value != ModeNone {
		return nil // without a secret only after the token file has been read
	}
	return g.CheckReach(tcp)
}

// CheckAuth rejects unsupported authentication modes.
func (g *Gateway) CheckAuth() error {
	refuse := func(why, hint string) error {
		return &config.SettingError{Setting: g.Mode.Source, Value: g.Mode.Value, Err: errors.New(why), HintText: hint}
	}
	switch g.Mode.Value {
	case ModePassword:
		if g.Password.Value == "" {
			return refuse("clients are to authenticate with a password, but none is set", "set "+envGatewayPassword+" or gateway.auth.password of "+FileName)
		}
	case ModeToken:
		if g.Token.Value == "" && g.Token.Source != sourceDefault {
			return &config.SettingError{Setting: g.Token.Source, Err: errors.New("its value is not a text"),
				HintText: "write it as ${NAME} and set the variable NAME, set " + envGatewayToken + ", or remove it: then a token is created"}
		}
	case ModeNone:
	default:
		return refuse("openclawd does not support authentication by a proxy", "use token or password")
	}
	return nil
}

// CheckReach rejects an address that other machines could reach without authentication.
func (g *Gateway) CheckReach(address net.Addr) error {
	if !Reachable(address) || g.Mode.Value == ModePassword || g.Mode.Value == ModeToken && g.Token.Value != "" {
		return nil
	}
	return &config.SettingError{Setting: g.Listen.Source, Value: g.Listen.Value,
		Err: errors.New("other machines could reach the gateway, and no secret is configured"),
		HintText: "bind a loopback address such as 127.0.0.1:18789; or require a token or a password: openclawd token --new creates a token, " +
			envGatewayToken + " and gateway.auth of " + FileName + " set one"}
}

// Access is the authentication of clients.
func (g *Gateway) Access() wire.Access {
	return wire.Access{Mode: g.Mode.Value, Token: g.Token.Value, Password: g.Password.Value, Worker: g.Worker.Value, Origins: g.Origins, Hosts: g.Hosts}
}

// ChangedFrom names the settings that differ.
func (g *Gateway) ChangedFrom(old *Gateway) (names []string) {
	for name, same := range map[string]bool{
		"gateway": g.Listen.Value == old.Listen.Value, "gatewayAuth": g.Mode.Value == old.Mode.Value, "gatewayToken": g.Token.Value == old.Token.Value,
		"gatewayPassword": g.Password.Value == old.Password.Value, "workerToken": g.Worker.Value == old.Worker.Value, "gatewayOrigins": slices.Equal(g.Origins, old.Origins),
	} {
		if !same {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Shown lists the settings that openclaw.json can set. For secrets it shows only whether they are set.
func (g *Gateway) Shown(c *config.Config) []config.Setting {
	listen := config.Setting{Name: "gateway", Value: g.Listen.Value, Source: g.Listen.Source}
	if g.refused != nil {
		listen = config.Setting{Name: "gateway", Value: "", Source: g.refused.Setting}
	}
	origins, from := g.Origins, sourceDefault
	if origins == nil {
		origins = []string{}
	}
	if c.Sets("gateway", "controlUi", "allowedOrigins") {
		from = FileName + " gateway.controlUi.allowedOrigins"
	}
	return []config.Setting{
		listen,
		{Name: "gatewayAuth", Value: g.Mode.Value, Source: g.Mode.Source},
		{Name: "gatewayToken", Value: g.Token.Value, Source: g.Token.Source}, // a Secret shows only whether it is set
		{Name: "gatewayPassword", Value: g.Password.Value, Source: g.Password.Source},
		{Name: "gatewayOrigins", Value: origins, Source: from},
	}
}
