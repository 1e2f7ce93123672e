package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

type chatCommand struct {
	name, args, about string
	answer            func(*commandCall) (string, error) // nil: it has no reply but an effect before the run
}

func chatCommands() []chatCommand {
	return []chatCommand{
		{"help", "", "list these commands", (*commandCall).help},
		{"status", "", "show the state of the session and the gateway", (*commandCall).status},
		{"queue", "", "show what waits for its turn", (*commandCall).queue},
		{"new", "[message]", "start the session over; the old transcript is kept", (*commandCall).startOver},
		{"reset", "[message]", "the same", (*commandCall).startOver},
		{"model", "[provider/model|default]", "show or choose the model of the session", (*commandCall).model},
		{"think", "[level|default]", "show or set the thinking level", (*commandCall).think},
		{"verbose", "[on|off|full]", "show or set how much is shown of tool calls", (*commandCall).verbose},
		{"stop", "", "stop the session's runs", nil},
	}
}

type commandCall struct {
	server *Server
	ctx    context.Context
	call   *wire.Call
	config *config.Config
	key    coordination.SessionKey
	name   string
	args   string

	// decide is the command's effect on the session, nil for none. Effect and reply are committed together.
	decide func(tx eventstore.Tx, s session.State, by session.Command) ([]session.Event, error)
}

// commandIn splits a message into the slash command it begins with, in lower case, and its arguments; "" if there is
// none.
func commandIn(message string) (word, rest string) {
	text := coordination.TrimJS(message)
	if !strings.HasPrefix(text, "/") {
		return "", ""
	}
	end := strings.IndexFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == ':' })
	if end < 0 {
		end = len(text)
	}
	return strings.ToLower(text[1:end]), coordination.TrimJS(strings.TrimPrefix(text[end:], ":"))
}

// command answers a message that is a command and appends the reply to the transcript. done is false if a model has to
// answer: the message is no command, or an unknown one, or it starts the session over and says more.
func (s *Server) command(ctx context.Context, call *wire.Call, c *config.Config, key coordination.SessionKey,
	p *sendParams) (a any, done bool, err error) {
	word, rest := commandIn(p.Message)
	all := chatCommands()
	i := slices.IndexFunc(all, func(one chatCommand) bool { return one.name == word })
	if i < 0 || all[i].answer == nil || (word == "new" || word == "reset") && rest != "" {
		return nil, false, nil
	}
	one := &commandCall{server: s, ctx: ctx, call: call, config: c, key: key, name: word, args: rest}
	a, err = s.once(ctx, p.RunID, func() (any, error) {
		text, err := all[i].answer(one)
		if err == nil {
			err = one.reply(p, text)
		}
		return nil, err
	})
	return a, true, err
}

// stopTyped stops a session's runs because a stop word was typed. The transcript records it, so that a repeated
// request does not stop later runs.
func (s *Server) stopTyped(ctx context.Context, call *wire.Call, c *config.Config, key coordination.SessionKey, p *sendParams) (any, error) {
	return s.once(ctx, p.RunID, func() (any, error) {
		a, err := s.stopRuns(ctx, run.Stop{SessionKey: key.String(), Reason: "stop", By: clientOf(call.Peer)}, call.Method)
		if err != nil {
			return nil, err
		}
		text := "There was nothing to stop."
		if a.Aborted {
			text = "Stopped."
		}
		one := &commandCall{server: s, ctx: ctx, call: call, config: c, key: key, name: "stop"}
		if _, _, err := one.write(p, text); err != nil {
			return nil, err
		}
		return a, nil
	})
}

// once runs a typed command unless a request with the same key has run it or is running it.
func (s *Server) once(ctx context.Context, key string, do func() (any, error)) (any, error) {
	if _, going := s.commands.LoadOrStore(key, nil); going {
		if a, done, err := s.commandBefore(ctx, key); done || err != nil {
			return a, err // its reply is in the log, and clients may have it
		}
		return sentAnswer{key, "in_flight"}, nil
	}
	defer s.commands.Delete(key)
	if a, done, err := s.commandBefore(ctx, key); done || err != nil {
		return a, err
	}
	return do()
}

// commandBefore answers a repeated request key whose command is on disk. Nothing is done again, not even after a
// restart.
func (s *Server) commandBefore(ctx context.Context, key string) (a any, done bool, err error) {
	switch _, err := s.opts.Log.EventByID(ctx, replyID(key)); {
	case err == nil:
		return sentAnswer{key, "ok"}, true, nil
	case !errors.Is(err, eventstore.ErrNotFound):
		return nil, false, err
	}
	r, found, err := s.opts.Runs.Get(ctx, key)
	if err != nil || !found {
		return nil, false, err
	}
	a, err = sentBefore(&r)
	return a, true, err
}

// replyID is the event id of a command's reply: the log accepts it only once.
func replyID(key string) eventstore.ID {
	return idOf("command", key)
}

// idOf derives an id from words.
func idOf(words ...string) (id eventstore.ID) {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	copy(id[:], sum[:])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID, version 8
	return id
}

// reply applies the command, appends its reply to the transcript, answers the request, and then broadcasts the reply:
// clients that receive the broadcast first keep waiting. key is the request key as stored.
func (c *commandCall) reply(p *sendParams, text string) error {
	message, at, err := c.write(p, text)
	if err != nil {
		return err
	}
	c.call.Interim(sentAnswer{p.RunID, "started"})
	c.call.Later() // nothing more to do
	tell := func() {
		c.server.notifyInjected(chatEvent{RunID: p.RunID, SessionKey: p.SessionKey, Seq: 1}, message, at)
	}
	if waitsAfterAnswer(c.call.Peer) {
		c.call.Read(tell)
	} else {
		tell()
	}
	return nil
}

// write applies the command and appends its reply to the transcript, where commandBefore finds it.
func (c *commandCall) write(p *sendParams, text string) (message *coordination.SessionMessage, at int64, err error) {
	s := c.server
	message = &coordination.SessionMessage{MessageID: s.opts.NewID(), RunID: p.RunID, Author: authorAssistant, By: clientOf(c.call.Peer),
		API: injectedAPI, Provider: injectedProvider, Model: injectedModel, StopReason: "stop"}
	done, err := s.change(c.ctx, c.call, c.config, sessionChange{key: c.key, makes: true, id: replyID(p.RunID),
		decide: func(tx eventstore.Tx, state session.State, by session.Command) ([]session.Event, error) {
			events, refused, err := c.does(tx, state, by)
			if err != nil {
				return nil, err
			}
			message.Text = coordination.Mask(cmp.Or(refused, text))
			after := changeResult{before: state, events: events}
			said, err := session.Say(after.after(), session.SayCommand{Command: by, Message: *message})
			return append(events, said...), err
		}})
	return message, done.at, err
}

// does returns the command's effect on the session. An impossible one is no error: the reply says so.
func (c *commandCall) does(tx eventstore.Tx, state session.State, by session.Command) (events []session.Event, refused string, err error) {
	if c.decide == nil {
		return nil, "", nil
	}
	events, err = c.decide(tx, state, by)
	if no, ok := errors.AsType[*protocol.Error](refusalOf(err)); ok && no.Code == protocol.CodeInvalidRequest {
		return nil, no.Message, nil
	}
	return events, "", err
}

func (c *commandCall) help() (string, error) {
	var b strings.Builder
	b.WriteString("Commands:")
	for _, one := range chatCommands() {
		fmt.Fprintf(&b, "\n/%s: %s", strings.TrimSpace(one.name+" "+one.args), one.about)
	}
	return b.String(), nil
}

func (c *commandCall) session() (*sessions.Session, error) {
	one, err := c.server.sessionByKey(c.ctx, c.key)
	if one == nil {
		one = &sessions.Session{Key: c.key.String(), Agent: c.key.Agent}
	}
	return one, err
}

func (c *commandCall) status() (string, error) {
	one, err := c.session()
	if err != nil {
		return "", err
	}
	lanes, err := c.server.lanes(c.ctx)
	if err != nil {
		return "", err
	}
	model := modelOf(c.config, one)
	lines := []string{
		"openclawd " + c.server.opts.Version,
		"Session: " + one.Key + ", agent " + ownerOf(c.config, one),
		"Model: " + model.String() + ", thinking " + thinkingOf(c.config, one) + ", verbose " + cmp.Or(textSetting(one, "verboseLevel"), "off"),
	}
	if one.TokensFresh {
		lines = append(lines, fmt.Sprintf("Context: %d of %d tokens", contextUsed(one), c.config.ContextTokens(ownerOf(c.config, one), model.String())))
	}
	waiting, running := 0, 0
	for _, lane := range lanes {
		waiting, running = waiting+lane.Waiting, running+lane.Running
	}
	return strings.Join(append(lines, fmt.Sprintf("Runs: %d running, %d waiting", running, waiting)), "\n"), nil
}

const maxQueueShown = 10

func (c *commandCall) queue() (string, error) {
	var open []run.Result
	ahead := map[string]int{}
	err := c.server.opts.Log.View(c.ctx, func(tx *sql.Tx) (err error) {
		open, err = runs.List(c.ctx, tx, runs.Query{SessionKey: c.key.String(), States: []run.State{run.Queued, run.Running}})
		for i := 0; i < len(open) && err == nil; i++ {
			ahead[open[i].RunID], _, err = runs.Position(c.ctx, tx, open[i].RunID)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if len(open) == 0 {
		return "No runs are active or queued in this session.", nil
	}
	slices.SortFunc(open, func(a, b run.Result) int { return ahead[a.RunID] - ahead[b.RunID] })
	now := c.server.opts.Now().UnixMilli()
	lines := []string{fmt.Sprintf("%d in this session:", len(open))}
	for _, r := range open[:min(len(open), maxQueueShown)] {
		lines = append(lines, fmt.Sprintf("%s %s, asked for %d s ago", r.State, r.RunID, max(0, now-r.QueuedAt)/1_000))
	}
	if more := len(open) - maxQueueShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n"), nil
}

func (c *commandCall) startOver() (string, error) {
	if _, err := c.server.clear(c.ctx, c.call, c.key, "reset"); err != nil {
		return "", err
	}
	c.decide = func(_ eventstore.Tx, state session.State, by session.Command) ([]session.Event, error) {
		return session.Reset(state, session.ResetCommand{Command: by, Reason: c.name})
	}
	return "The session starts over. The earlier conversation is kept but no longer shown to the model.", nil
}

func (c *commandCall) model() (string, error) {
	fits, known := modelsMeant(c.config, c.args)
	switch strings.ToLower(c.args) {
	case "":
		one, err := c.session()
		return "Model: " + modelOf(c.config, one).String() + "\nConfigured: " + strings.Join(known, ", "), err
	case "default":
		return c.set("model", "", "Model: as configured.")
	}
	switch len(fits) {
	case 0:
		return fmt.Sprintf("There is no model %q. Configured: %s", echo(c.args), strings.Join(known, ", ")), nil
	case 1:
		return c.set("model", fits[0], "Model: "+fits[0])
	}
	return fmt.Sprintf("%q may be any of %s: name the provider too.", echo(c.args), strings.Join(fits, ", ")), nil
}

func (c *commandCall) think() (string, error) {
	switch strings.ToLower(c.args) {
	case "":
		one, err := c.session()
		return "Thinking: " + thinkingOf(c.config, one), err
	case "default":
		return c.set("thinkingLevel", "", "Thinking: as configured.")
	}
	return c.set("thinkingLevel", c.args, "Thinking: "+c.args)
}

func (c *commandCall) verbose() (string, error) {
	if c.args == "" {
		one, err := c.session()
		return "Verbose: " + cmp.Or(textSetting(one, "verboseLevel"), "off"), err
	}
	return c.set("verboseLevel", c.args, "Verbose: "+c.args)
}

// set changes a setting of the session, or clears it if value is "".
func (c *commandCall) set(name, value, done string) (string, error) {
	raw := json.RawMessage("null")
	if value != "" {
		var err error
		if raw, err = encoded(value); err != nil {
			return "", err
		}
	}
	c.decide = func(tx eventstore.Tx, state session.State, by session.Command) ([]session.Event, error) {
		return session.Patch(state, session.PatchCommand{Command: by, Values: map[string]json.RawMessage{name: raw},
			Model: c.config.ModelFor(agentOf(c.config, c.key)).Primary}, func(label string) (string, error) { return sessions.LabelHolder(tx, label) })
	}
	return done, nil
}

type laneAnswer struct {
	Lane     string `json:"lane"`
	AgentID  string `json:"agentId,omitempty"`
	Waiting  int    `json:"waiting"`
	Running  int    `json:"running"`
	OldestMs int64  `json:"oldestWaitMs"` // waiting time of the first in the queue
}

// lanes returns the lanes with running or waiting work.
func (s *Server) lanes(ctx context.Context) (all []laneAnswer, err error) {
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		all, err = s.readLanes(ctx, tx)
		return err
	})
	return all, err
}

func (s *Server) readLanes(ctx context.Context, tx *sql.Tx) ([]laneAnswer, error) {
	lanes, err := workqueue.Lanes(ctx, tx)
	if err != nil {
		return nil, err
	}
	now, all := s.opts.Now().UnixMilli(), []laneAnswer{}
	for _, l := range lanes {
		if l.Waiting == 0 && l.Leased == 0 {
			continue
		}
		one := laneAnswer{Lane: l.Pool, AgentID: l.Owner, Waiting: l.Waiting, Running: l.Leased}
		if l.Waiting > 0 {
			one.OldestMs = max(0, now-l.Since)
		}
		all = append(all, one)
	}
	return all, nil
}
