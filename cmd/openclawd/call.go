package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/internal/output"
)

// callFlags holds the flags of call.
type callFlags struct {
	gatewayFlags
	timeout     time.Duration
	final, list bool
}

// gatewayFlags holds the flags of commands that connect to a running gateway.
type gatewayFlags struct {
	serverFlags
	url, token, password string
	insecure             bool
}

func (d *gatewayFlags) addFlags(cmd *cobra.Command) {
	d.serverFlags.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&d.url, "url", "", "gateway `URL`, ws:// or wss://")
	flags.StringVar(&d.token, "token", "", "gateway `TOKEN`; on this machine OPENCLAW_GATEWAY_TOKEN works as well and is not visible to other users")
	flags.StringVar(&d.password, "password", "", "gateway `PASSWORD`; likewise OPENCLAW_GATEWAY_PASSWORD")
	flags.BoolVar(&d.insecure, "insecure", false, "allow sending a secret to another machine over ws://")
}

const defaultCallTime = 30 * time.Second

func newCall(p *process) *cobra.Command {
	var c callFlags
	cmd := &cobra.Command{
		Use:   "call METHOD [JSON]",
		Short: "Call a method of the running gateway",
		Long: `Connects to the gateway as an operator, calls one method and prints the payload of the response. The parameters are a JSON object;
- reads them from standard input.

Without --url the gateway is the one of the running server, found through its database or --api, else the address where openclawd serve would
open it; it is given the token or password in force there (see openclawd token). With --url these are sent to this machine only: another one
is given --token or --password, over ws:// only with --insecure, because the secret could be read in transit.

Exit codes: 0 done; 1 failed, or no gateway answers; 2 wrong command line; 75 try again: busy, --timeout exceeded, or the connection was lost;
78 the gateway denies access.`,
		Example: `  openclawd call health
  openclawd call sessions.list '{"limit": 5}' --json
  openclawd call sessions.patch '{"key": "main", "label": "본부"}'
  echo '{"sessionKey": "main"}' | openclawd call chat.history -
  openclawd call --list
  openclawd call status --url wss://gateway.example --token "$TOKEN"`,
		Args:              positional(cobra.MaximumNArgs(2)),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.call(cmd.Context(), c, args, cmd.InOrStdin()) },
		ValidArgsFunction: completeFirst(func(ctx context.Context) []cobra.Completion { return p.completeMethods(ctx, c.gatewayFlags) }),
	}
	c.addFlags(cmd)
	flags := cmd.Flags()
	flags.Lookup(jsonFlag).Usage = "print the answer on one line; errors in JSON too"
	flags.DurationVar(&c.timeout, "timeout", defaultCallTime, "time limit `TIME` for the answer, including connecting")
	flags.BoolVar(&c.final, "expect-final", false, "wait for the final response of a method that first responds accepted, such as agent")
	flags.BoolVar(&c.list, "list", false, "list the methods that the gateway offers")
	return cmd
}

func (p *process) call(ctx context.Context, c callFlags, args []string, stdin io.Reader) error {
	if c.list != (len(args) == 0) {
		return &usageError{command: "openclawd call", err: errors.New("name one method, or --list")}
	}
	if c.timeout <= 0 {
		return &config.SettingError{Setting: "--timeout", Value: c.timeout.String(), HintText: "give a duration such as 30s"}
	}
	params, err := callParams(args, stdin)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeoutCause(ctx, c.timeout, &lateError{c.timeout})
	defer stop()
	gateway, err := p.dial(ctx, c.gatewayFlags, nil)
	if err != nil {
		return err
	}
	defer gateway.Close()
	if c.list {
		return p.writeMethods(c, gateway.Hello().Features.Methods)
	}
	ask := gateway.Call
	if c.final {
		ask = func(ctx context.Context, method string, params any) (json.RawMessage, error) {
			return gateway.CallFinal(ctx, method, params, nil)
		}
	}
	payload, err := ask(ctx, args[0], params)
	if why := new(protocol.Error); errors.As(err, &why) {
		known := slices.Contains(gateway.Hello().Features.Methods, args[0])
		return errors.Join(&callError{reason: why, unlisted: !known}, p.writePayload(c, payload))
	}
	if closed := new(client.ClosedError); errors.As(err, &closed) {
		return &lostError{err}
	}
	if err != nil {
		return err
	}
	return p.writePayload(c, payload)
}

// dial connects to the gateway that the flags select. hear receives its events; it may be nil.
func (p *process) dial(ctx context.Context, d gatewayFlags, hear func(client.Event)) (*client.Client, error) {
	door, err := p.findGateway(ctx, d)
	if err != nil {
		return nil, err
	}
	gateway, err := client.Dial(ctx, door.URL, client.Options{
		Token: door.Token.Reveal(), Password: door.Password.Reveal(), Version: buildinfo.Read().Version, Event: hear, Caps: capsOf(hear),
	})
	if err != nil {
		return nil, dialError(door.URL, err)
	}
	return gateway, nil
}

// capsOf requests tool events if there is an event handler.
func capsOf(hear func(client.Event)) []string {
	if hear == nil {
		return nil
	}
	return []string{"tool-events"}
}

// completeTime limits how long shell completion waits.
const completeTime = time.Second

// completeMethods completes the gateway's methods, if it answers soon.
func (p *process) completeMethods(ctx context.Context, d gatewayFlags) []cobra.Completion {
	ctx, stop := context.WithTimeout(ctx, completeTime)
	defer stop()
	gateway, err := p.dial(ctx, d, nil)
	if err != nil {
		return nil
	}
	defer gateway.Close()
	return gateway.Hello().Features.Methods
}

// callParams reads the parameters; nil if none are given.
func callParams(args []string, stdin io.Reader) (any, error) {
	if len(args) < 2 {
		return nil, nil
	}
	text, where := []byte(args[1]), "the second argument"
	if args[1] == "-" {
		var err error
		if text, err = io.ReadAll(io.LimitReader(stdin, protocol.MaxPayload)); err != nil {
			return nil, fmt.Errorf("read parameters: %w", err)
		}
		where = "standard input"
	}
	var object map[string]json.RawMessage
	err := json.Unmarshal(text, &object)
	if other := new(json.UnmarshalTypeError); errors.As(err, &other) {
		err = fmt.Errorf("it is of type %s", other.Value)
	}
	if err != nil || object == nil {
		return nil, &usageError{command: "openclawd call", err: fmt.Errorf("%s is not a JSON object: %w", where, cmp.Or(err, errors.New("it is null")))}
	}
	return json.RawMessage(bytes.TrimSpace(text)), nil
}

// findGateway finds the gateway and the secrets to present.
func (p *process) findGateway(ctx context.Context, d gatewayFlags) (apiclient.Endpoint, error) {
	at, err := p.place(d.serverFlags)
	if err != nil {
		return apiclient.Endpoint{}, err
	}
	shown := apiclient.Secrets{Token: config.Secret(d.token), Password: config.Secret(d.password)}
	if d.url == "" {
		return at.GatewayEndpoint(ctx, shown)
	}
	return p.gatewayAt(at, d, shown)
}

func (p *process) gatewayAt(at *apiclient.Place, d gatewayFlags, shown apiclient.Secrets) (apiclient.Endpoint, error) {
	u, err := url.Parse(d.url)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Hostname() == "" || u.User != nil {
		value := d.url
		if strings.Contains(value, "@") {
			value = config.Secret(value).String()
		}
		return apiclient.Endpoint{}, &config.SettingError{Setting: "--url", Value: value, Err: errors.New("it is not a gateway URL"),
			HintText: "give one such as ws://127.0.0.1:18789 or wss://gateway.example, without user name and password"}
	}
	if u.Scheme == "ws" && !apiclient.IsLoopback(u.Hostname()) && !d.insecure && shown != (apiclient.Secrets{}) {
		return apiclient.Endpoint{}, &config.SettingError{Setting: "--url", Value: u.Redacted(),
			Err:      errors.New("a secret sent to another machine over ws:// can be read in transit"),
			HintText: "use wss://, or a tunnel to 127.0.0.1; --insecure overrides this"}
	}
	return at.EndpointAt(u, shown)
}

func (p *process) writePayload(c callFlags, payload json.RawMessage) error {
	if len(payload) == 0 {
		return nil
	}
	var b bytes.Buffer
	layout := func() error { return json.Indent(&b, payload, "", "  ") }
	if c.asJSON {
		layout = func() error { return json.Compact(&b, payload) }
	}
	if err := layout(); err != nil {
		return fmt.Errorf("decode the gateway's answer: %w", err)
	}
	b.WriteByte('\n')
	_, err := p.stdout.Write(b.Bytes())
	return err
}

func (p *process) writeMethods(c callFlags, methods []string) error {
	if c.asJSON {
		return output.JSONLine(p.stdout, append([]string{}, methods...))
	}
	for _, m := range methods {
		if _, err := fmt.Fprintln(p.stdout, m); err != nil {
			return err
		}
	}
	return nil
}
