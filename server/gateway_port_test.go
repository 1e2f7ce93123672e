package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/server/settings"
)

// letsIn reports whether a token opens the gateway. Any other end than being let in or refused fails the test.
func letsIn(t *testing.T, url, token string) bool {
	t.Helper()
	c, err := client.Dial(t.Context(), url, client.Options{Token: token})
	var refused *client.RefusedError
	switch {
	case err == nil:
		_ = c.Close()
		return true
	case !errors.As(err, &refused):
		t.Fatal(err)
	}
	return false
}

// body is what the API answers.
func (r *reloading) body(t *testing.T, path string) (status int, text string) {
	t.Helper()
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(r.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(all)
}

// DESIGN §1: beside another gateway ours is not opened, whatever is configured.
func TestFollowingMindsNoSettingOfTheGateway(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: `{gateway: {mode: 'remote', auth: {mode: 'trusted-proxy'}}}`},
		func(o *Options) { o.Follow, o.Gateway = true, "" })
	if at := r.gatewayAddress(); at != nil {
		t.Errorf("open at %s", at)
	}
	if _, text := r.body(t, "/api/status"); !strings.Contains(text, `"gateway":null`) {
		t.Errorf("%s", text)
	}
	if _, err := os.Stat(settings.TokenFile(r.opts.StateDir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a token was made: %v", err)
	}
}

// Both addresses are bound before anything is announced: a listener of one announcement can rely on the other.
func TestAnotherGatewayAtTheAddressIsNamed(t *testing.T) {
	t.Parallel()
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	p, ready := testProgram(t)
	p.opts.Gateway = held.Addr().String()
	err = errors.Join(p.Run(t.Context()), p.Close())
	var bad *config.SettingError
	if !errors.As(err, &bad) || bad.Setting != "--gateway" || bad.Value != held.Addr().String() || !strings.Contains(err.Error(), "another gateway") {
		t.Fatalf("%v", err)
	}
	for _, way := range []string{"--follow", "--gateway 127.0.0.1:0", "--gateway off"} {
		if !strings.Contains(bad.HintText, way) {
			t.Errorf("%q does not name %s", bad.HintText, way)
		}
	}
	select {
	case <-ready:
		t.Error("it was announced")
	default:
	}
	if _, err := os.Stat(settings.TokenFile(p.opts.StateDir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a token was made: %v", err)
	}
}

// Without a configured token one is made, which grants access and is the same after a restart. No output shows it.
func TestGatewayHasATokenOfItsOwn(t *testing.T) {
	t.Parallel()
	r := startReloading(t, nil, withGateway)
	kept, err := settings.ReadToken(settings.TokenFile(r.opts.StateDir))
	if err != nil {
		t.Fatal(err)
	}
	token, url := kept.Token.Reveal(), gatewayURL(r.gatewayAddress())
	if !letsIn(t, url, token) || letsIn(t, url, token+"x") || letsIn(t, url, "") {
		t.Error("the token does not decide")
	}
	_, status := r.body(t, "/api/status")
	if want := fmt.Sprintf(`"gateway":{"address":%q,"auth":"token",`, r.gatewayAddress()); !strings.Contains(status, want) {
		t.Errorf("status %s, want %s in it", status, want)
	}
	if !strings.Contains(status, `"refused":2,`) {
		t.Errorf("status %s", status)
	}
	_, metrics := r.body(t, "/metrics")
	for _, want := range []string{"openclawd_gateway_up 1", "openclawd_gateway_connections_total 3", `openclawd_gateway_refused_total{reason="auth"}`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics without %s", want)
		}
	}
	if logged := strings.Join(r.logs.Tail(-1, 10_000, 1<<20).Lines, "\n"); strings.Contains(status+metrics+logged, token) || !strings.Contains(logged, "created a token") {
		t.Errorf("shown: %s", logged)
	}
}

// A token that was learnt is valid after a restart, too.
func TestTheTokenOutlivesARestart(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	withGateway(&p.opts)
	var tokens []string
	for range 2 {
		_, stop := starts(t, p, ready)
		kept, err := settings.ReadToken(settings.TokenFile(p.opts.StateDir))
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, kept.Token.Reveal())
		if !letsIn(t, gatewayURL(p.gatewayAddress()), tokens[0]) {
			t.Error("the token of the first time does not let in")
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		p = New(p.opts)
	}
	if tokens[0] != tokens[1] {
		t.Error("a new one was made")
	}
}

// The access settings of openclaw.json apply to new connections; existing ones stay.
func TestWhoIsLetInFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	r, url := startGateway(t)
	in := connect(t, url)
	r.write(t, settings.FileName, `{gateway: {auth: {mode: 'token', token: 'another'}}}`)
	if lines := r.log.until(t, "settings applied"); !strings.Contains(lines[len(lines)-1], "gatewayToken") {
		t.Errorf("%q", lines)
	}
	r.rereads(t)
	if letsIn(t, url, "secret") || !letsIn(t, url, "another") {
		t.Error("the new token does not decide")
	}
	calls[struct{ OK bool }](t, in, "health", nil)
	r.write(t, settings.FileName, `{gateway: {auth: {mode: 'password', password: 'sesame'}}}`)
	r.rereads(t)
	if letsIn(t, url, "another") {
		t.Error("the token of before still decides")
	}
	connect(t, url, func(o *client.Options) { o.Token, o.Password = "", "sesame" })
}

// openclawd token --new replaces the file; a running server notices.
func TestANewTokenInTheFileHoldsAtOnce(t *testing.T) {
	t.Parallel()
	r := startReloading(t, nil, withGateway)
	file, url := settings.TokenFile(r.opts.StateDir), gatewayURL(r.gatewayAddress())
	old, err := settings.ReadToken(file)
	if err != nil {
		t.Fatal(err)
	}
	token, err := settings.MakeToken(file, strings.NewReader(strings.Repeat("x", 32)))
	if err != nil {
		t.Fatal(err)
	}
	r.log.until(t, "the gateway has a new token")
	if letsIn(t, url, old.Token.Reveal()) || !letsIn(t, url, token.Reveal()) {
		t.Error("the new token does not decide")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	r.log.until(t, "cannot read the gateway's token again: the last one stays in force")
	if !letsIn(t, url, token.Reveal()) {
		t.Error("without its file the last token does not let in")
	}
	r.rereads(t)
	if _, err := os.Stat(file); !letsIn(t, url, token.Reveal()) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the token in force changed because the configuration was read: %v", err)
	}
	r.gateway.rereadToken(file)
	third, err := settings.MakeToken(file, strings.NewReader(strings.Repeat("y", 32)))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range r.log.until(t, "the gateway has a new token") {
		if strings.HasPrefix(line, "the gateway's token cannot be read again") {
			t.Errorf("told again, as it would be every second: %s", line)
		}
	}
	if letsIn(t, url, token.Reveal()) || !letsIn(t, url, third.Reveal()) {
		t.Error("the file is there again, but its token does not decide")
	}
}

func TestAMovedGatewayWaitsForARestart(t *testing.T) {
	t.Parallel()
	r, _ := startGateway(t, func(o *Options) {
		o.Gateway, o.Getenv = "", func(name string) string { return map[string]string{"OPENCLAW_GATEWAY_PORT": "0"}[name] }
	})
	at := r.gatewayAddress().String()
	r.write(t, settings.FileName, `{gateway: {auth: {mode: 'token', token: 'secret'}, bind: 'custom', customBindHost: '::1'}}`)
	r.log.until(t, "gateway address changed: takes effect when openclawd is restarted")
	r.rereads(t)
	if s := r.configStatus(); len(s.Restart) != 1 || !strings.Contains(s.Restart[0], "gateway.bind") {
		t.Errorf("%+v", s)
	}
	if now := r.gatewayAddress().String(); now != at || !letsIn(t, "ws://"+at, "secret") {
		t.Errorf("it was at %s and is at %s", at, now)
	}
}

// A gateway that other machines reach is never opened without a secret, nor left without one.
func TestAnOpenGatewayKeepsItsSecret(t *testing.T) {
	t.Parallel()
	p, _ := testProgram(t)
	p.opts.Gateway = "0.0.0.0:0"
	var bad *config.SettingError
	if err := errors.Join(p.Run(t.Context()), p.Close()); !errors.As(err, &bad) || !strings.Contains(bad.HintText, "openclawd token --new") {
		t.Errorf("without a token: %v", err)
	}
	r, _ := startGateway(t, func(o *Options) { o.Gateway = "0.0.0.0:0" })
	_, port, err := net.SplitHostPort(r.gatewayAddress().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`{gateway: {auth: {mode: 'none'}}}`, `{}`, `{gateway: {auth: {mode: 'trusted-proxy'}}}`} {
		r.write(t, settings.FileName, text)
		r.log.until(t, "configuration not applied: the last good one stays in force")
		if letsIn(t, "ws://127.0.0.1:"+port, "") {
			t.Errorf("%s: let in without a secret", text)
		}
	}
}

// The API works without the gateway, and says what is missing.
func TestAGatewayThatEndsIsAReason(t *testing.T) {
	t.Parallel()
	r, _ := startGateway(t)
	if err := r.gateway.listener.Close(); err != nil {
		t.Fatal(err)
	}
	r.log.until(t, "the gateway has stopped; the API continues")
	if status, text := r.body(t, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(text, `"gateway_ended"`) {
		t.Errorf("readyz: %d %s", status, text)
	}
	if status, text := r.body(t, "/api/status"); status != http.StatusOK || !strings.Contains(text, `"error":"accept `) {
		t.Errorf("status: %d %s", status, text)
	}
}

// A token that cannot be stored keeps the gateway from being opened: it would be lost by a restart.
func TestATokenThatCannotBeKept(t *testing.T) {
	t.Parallel()
	p, _ := testProgram(t)
	withGateway(&p.opts)
	if err := os.Mkdir(filepath.Join(p.opts.StateDir, settings.TokenName), 0o700); err != nil {
		t.Fatal(err)
	}
	var bad *config.SettingError
	if err := errors.Join(p.Run(t.Context()), p.Close()); !errors.As(err, &bad) || !strings.Contains(bad.Value, settings.TokenName) {
		t.Errorf("%v", err)
	}
}
