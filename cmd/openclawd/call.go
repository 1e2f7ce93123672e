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

	place "github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
)

// calling holds the flags of call.
type calling struct {
	doorway
	timeout     time.Duration
	final, list bool
}

// doorway holds the flags of commands that speak to a running gateway.
type doorway struct {
	asking
	url, token, password string
	insecure             bool
}

func (d *doorway) addFlags(cmd *cobra.Command) {
	d.asking.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&d.url, "url", "", "`URL` of the gateway, ws:// or wss://")
	flags.StringVar(&d.token, "token", "", "`TOKEN` to show; on this machine OPENCLAW_GATEWAY_TOKEN does as well, and no other user sees it")
	flags.StringVar(&d.password, "password", "", "`PASSWORD` to show; likewise OPENCLAW_GATEWAY_PASSWORD")
	flags.BoolVar(&d.insecure, "insecure", false, "show a secret to another machine over ws:// too")
}

const defaultCallTime = 30 * time.Second

func newCall(p *process) *cobra.Command {
	var c calling
	cmd := &cobra.Command{
		Use:   "call METHOD [JSON]",
		Short: "Ask the running gateway for a method",
		Long: `Connects to the gateway as an operator, asks for one method and prints the payload of the answer. The parameters are a JSON object;
- reads them from standard input.

Without --url the gateway is the one of the running server, which its database tells of unless --api does, else where openclawd serve would
open it, and is shown the token or the password in force there (see openclawd token). With --url they are shown to this machine only:
another one gets what --token or --password say, and over ws:// with --insecure only, for anybody on the way could read along.

Exit codes: 0 it was done; 1 it was not, or no gateway answers; 2 wrong command line; 75 not now: busy, it took longer than --timeout, or
the connection was lost; 78 the gateway does not let us in.`,
		Example: `  openclawd call health
  openclawd call sessions.list '{"limit": 5}' --json
  openclawd call sessions.patch '{"key": "main", "label": "본부"}'
  echo '{"sessionKey": "main"}' | openclawd call chat.history -
  openclawd call --list
  openclawd call status --url wss://gateway.example --token "$TOKEN"`,
		Args: positional(cobra.MaximumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error { return p.call(cmd.Context(), c, args, cmd.InOrStdin()) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.completeMethods(cmd.Context(), c.doorway), cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.addFlags(cmd)
	flags := cmd.Flags()
	flags.Lookup(jsonFlag).Usage = "answer on one line, errors in JSON too"
	flags.DurationVar(&c.timeout, "timeout", defaultCallTime, "`TIME` to wait for the answer, connecting included")
	flags.BoolVar(&c.final, "expect-final", false, "wait for the second answer of a method that first says accepted, as agent does")
	flags.BoolVar(&c.list, "list", false, "list the methods that the gateway tells of")
	return cmd
}

func (p *process) call(ctx context.Context, c calling, args []string, stdin io.Reader) error {
	if c.list != (len(args) == 0) {
		return &usageError{command: "openclawd call", err: errors.New("name one method, or --list")}
	}
	if c.timeout <= 0 {
		return &settings.Error{Setting: "--timeout", Value: c.timeout.String(), Mend: "give a time such as 30s"}
	}
	params, err := callParams(args, stdin)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeoutCause(ctx, c.timeout, &lateError{c.timeout})
	defer stop()
	gateway, err := p.dial(ctx, c.doorway, nil)
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

// dial connects to the gateway that the flags name. hear is told of its events; it may be nil.
func (p *process) dial(ctx context.Context, d doorway, hear func(client.Event)) (*client.Client, error) {
	door, err := p.door(ctx, d)
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

// capsOf asks for the events of tools where somebody hears events.
func capsOf(hear func(client.Event)) []string {
	if hear == nil {
		return nil
	}
	return []string{"tool-events"}
}

// completeTime is how long whoever completes a word waits.
const completeTime = time.Second

// completeMethods lists what the gateway tells of, if there is one that soon says so.
func (p *process) completeMethods(ctx context.Context, d doorway) []cobra.Completion {
	ctx, stop := context.WithTimeout(ctx, completeTime)
	defer stop()
	gateway, err := p.dial(ctx, d, nil)
	if err != nil {
		return nil
	}
	defer gateway.Close()
	return gateway.Hello().Features.Methods
}

// callParams reads the parameters. Without any a method gets none.
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
		return nil, &usageError{command: "openclawd call", err: fmt.Errorf("%s is no JSON object: %w", where, cmp.Or(err, errors.New("it is null")))}
	}
	return json.RawMessage(bytes.TrimSpace(text)), nil
}

// door finds the gateway and what to show it.
func (p *process) door(ctx context.Context, d doorway) (place.Door, error) {
	at, err := p.place(d.asking)
	if err != nil {
		return place.Door{}, err
	}
	shown := place.Secrets{Token: config.Secret(d.token), Password: config.Secret(d.password)}
	if d.url == "" {
		return at.GatewayDoor(ctx, shown)
	}
	return p.doorAt(at, d, shown)
}

func (p *process) doorAt(at *place.Place, d doorway, shown place.Secrets) (place.Door, error) {
	u, err := url.Parse(d.url)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Hostname() == "" || u.User != nil {
		value := d.url
		if strings.Contains(value, "@") {
			value = config.Secret(value).String()
		}
		return place.Door{}, &settings.Error{Setting: "--url", Value: value, Err: errors.New("it is no URL of a gateway"),
			Mend: "give one such as ws://127.0.0.1:18789 or wss://gateway.example, without a name or a password in it"}
	}
	if u.Scheme == "ws" && !place.IsLoopback(u.Hostname()) && !d.insecure && shown != (place.Secrets{}) {
		return place.Door{}, &settings.Error{Setting: "--url", Value: u.Redacted(),
			Err:  errors.New("what is shown to another machine over ws:// can be read on the way"),
			Mend: "use wss://, or a tunnel to 127.0.0.1; --insecure does it all the same"}
	}
	return at.DoorAt(u, shown)
}

func (p *process) writePayload(c calling, payload json.RawMessage) error {
	if len(payload) == 0 {
		return nil
	}
	var b bytes.Buffer
	layout := func() error { return json.Indent(&b, payload, "", "  ") }
	if c.asJSON {
		layout = func() error { return json.Compact(&b, payload) }
	}
	if err := layout(); err != nil {
		return fmt.Errorf("answer of the gateway: %w", err)
	}
	b.WriteByte('\n')
	_, err := p.stdout.Write(b.Bytes())
	return err
}

func (p *process) writeMethods(c calling, methods []string) error {
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
