package outbound

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// SendLog is the part of the store that Sends needs.
type SendLog interface {
	eventstore.Decider
	Head(ctx context.Context) (eventstore.Head, error)
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Event, error)
	Wait(ctx context.Context, seq int64) (int64, error)
}

// Sends creates deliveries for posts by gateway clients, and by agents besides their answers.
type Sends struct {
	Channel  string // default: discord
	Log      SendLog
	Accounts func() *channel.Registry
	People   channel.Converser // whom Converse asks
	Config   func() *config.Config
	Now      func() time.Time
	NewID    func() string
}

// Error codes in addition to those of coordination/collaborate.
const (
	codeCancelled = "cancelled"
	codeGivenUp   = "given_up" // other reason; see the text
)

// sendDetail is the Delivery.Detail of a post by a client.
type sendDetail struct {
	SessionKey string `json:"sessionKey"`
	MessageID  string `json:"messageId"` // in the transcript
}

// Check reports whether something can be posted, as far as possible without asking the service. Text and Key are ignored.
// The error is a *delivery.Refusal.
func (s *Sends) Check(m delivery.Post) error {
	d, err := s.draft(&m)
	if err != nil {
		return err
	}
	d.Messages = []string{"-"}
	_, err = d.Work("check", 0)
	return err
}

// Send queues a post, once per key. It is on disk when Send returns; Sent and Await return the outcome. The error is a
// *delivery.Refusal, or the log's.
func (s *Sends) Send(ctx context.Context, m delivery.Post) error {
	d, err := s.draft(&m)
	if err != nil {
		return err
	}
	if m.SessionKey != "" {
		if d.Detail, err = json.Marshal(sendDetail{m.SessionKey, s.NewID()}); err != nil {
			return fmt.Errorf("send %s: %w", m.Key, err)
		}
	}
	r := Replies{Channel: s.Channel, Accounts: s.Accounts, Config: s.Config}
	appends, err := r.schedule(d, effectOfSend(m.Key), m.To, coordination.Mask(m.Text), s.Now())
	switch {
	case err != nil:
		return err
	case len(appends) == 0: // nor files
		return &delivery.Refusal{Field: "message", HintText: "give a text: " + s.title() + " accepts no empty messages"}
	}
	_, err = s.Log.Decide(ctx, func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return appends, nil })
	if asked := (*eventstore.ConflictError)(nil); errors.As(err, &asked) {
		return nil
	}
	return err
}

// Account returns the account that would post. The error is a *delivery.Refusal.
func (s *Sends) Account(m *delivery.Post) (string, error) {
	bot, err := s.speaker(m)
	return bot.AccountID, err
}

// Converse returns where the bot that would post talks to a person, in the form used by runs; the conversation is opened if there is none.
// The error is a *delivery.Refusal or a *channel.Error.
func (s *Sends) Converse(ctx context.Context, m *delivery.Post, user string) (to string, err error) {
	bot, err := s.speaker(m)
	if err != nil {
		return "", err
	}
	place, err := s.People.Converse(ctx, bot.AccountID, user)
	return placePrefix + place, err
}

func effectOfSend(key string) string { return "send/" + key }

func (s *Sends) draft(m *delivery.Post) (*delivery.Delivery, error) {
	d := &delivery.Delivery{Channel: unlessDiscord(s.Channel), Purpose: delivery.Send, ChannelID: placeOf(m.To), ThreadID: m.ThreadID, ReplyTo: m.ReplyTo, Files: m.Files,
		Context: m.Context, RunID: m.RunID}
	bot, err := s.speaker(m)
	d.AgentID, d.AccountID = cmp.Or(strings.ToLower(m.AgentID), bot.AgentID), bot.AccountID
	return d, err
}

func (s *Sends) speaker(m *delivery.Post) (channel.Identity, error) {
	accounts := s.Accounts()
	if m.AccountID != "" {
		bot, known := accounts.Account(m.AccountID)
		if !known {
			return bot, &delivery.Refusal{Field: "accountId", Value: m.AccountID, HintText: "name one from channels." + nameOr(s.Channel) + ".accounts: " + accountsOf(accounts)}
		}
		return bot, nil
	}
	if m.AgentID != "" {
		bot, known := accounts.Bot(m.AgentID)
		if !known {
			return bot, &delivery.Refusal{Field: "agentId", Value: m.AgentID, HintText: "bind an account of channels." + nameOr(s.Channel) + ".accounts to the agent, or name an accountId"}
		}
		return bot, nil
	}
	bot, known := accounts.Account(s.defaultAccount())
	if !known {
		return bot, &delivery.Refusal{Field: "accountId", HintText: "add an account with a token to channels." + nameOr(s.Channel)}
	}
	return bot, nil
}

func accountsOf(r *channel.Registry) string {
	var ids []string
	for _, b := range r.Bots() {
		ids = append(ids, b.AccountID)
	}
	return strings.Join(ids, ", ")
}

// defaultAccount is the account used if none is specified; "" if there is none.
func (s *Sends) defaultAccount() string {
	own := s.Config().Channel(s.Channel)
	if own.DefaultAccount != "" || len(own.Accounts) == 0 {
		return own.DefaultAccount
	}
	return own.Accounts[0].ID
}

func (s *Sends) title() string {
	traits, _ := coordination.ChannelNamed(s.Channel)
	return traits.Title
}

// Sent returns the state of the post queued with a key; found is false for an unknown key.
func (s *Sends) Sent(ctx context.Context, key string) (sent delivery.Sent, found bool, err error) {
	f := sendFold{channel: s.Channel}
	err = s.read(ctx, key, &f)
	return f.Sent, f.after > 0, err
}

// Await returns the post's state once it is final, or its current state with ctx's error: ctx ends the waiting, not the reading.
func (s *Sends) Await(ctx context.Context, key string) (delivery.Sent, error) {
	f := sendFold{channel: s.Channel}
	reading := context.WithoutCancel(ctx)
	for {
		head, err := s.Log.Head(reading)
		if err == nil {
			err = s.read(reading, key, &f)
		}
		if err != nil || f.Over {
			return f.Sent, err
		}
		if _, err = s.Log.Wait(ctx, head.Seq+1); err != nil {
			return f.Sent, err
		}
	}
}

// read continues reading the events of a key.
func (s *Sends) read(ctx context.Context, key string, f *sendFold) error {
	for {
		page, err := s.Log.ReadStream(ctx, coordination.WorkStream(effectOfSend(key)), f.after, maxPage)
		if err != nil {
			return fmt.Errorf("read what became of a post: %w", err)
		}
		for i := range page {
			if err := f.fold(&page[i]); err != nil {
				return fmt.Errorf("read what became of a post: %w", err)
			}
		}
		if len(page) < maxPage {
			return nil
		}
	}
}

type sendFold struct {
	delivery.Sent
	channel string
	after   int64 // version of the last event
}

func (f *sendFold) fold(e *eventstore.Event) error {
	f.after = e.Version
	if e.Actor == eventstore.ActorImport {
		return nil
	}
	data := projections.Current(e).Data
	switch e.Type {
	case coordination.TypeWorkScheduled:
		return f.scheduled(data)
	case coordination.TypeDiscordSent, coordination.TypeDiscordSendFailed, coordination.TypeDiscordDeliveryUnknown:
		return f.step(e.Type, data)
	case coordination.TypeWorkCompleted:
		f.Over, f.State, f.Code, f.Text, f.Hint = true, delivery.Done, "", "", ""
	case coordination.TypeWorkDead:
		return f.failed(codeGivenUp, data)
	case coordination.TypeWorkCancelled:
		return f.failed(codeCancelled, data)
	case coordination.TypeWorkResent:
		f.Over, f.State, f.Code, f.Text, f.Hint = false, "", "", "", ""
	}
	return nil
}

func (f *sendFold) scheduled(data []byte) error {
	if data == nil {
		return nil
	}
	var what coordination.WorkScheduled
	var d delivery.Delivery
	if err := json.Unmarshal(data, &what); err != nil {
		return err
	}
	if err := json.Unmarshal(what.Payload, &d); err != nil {
		return err
	}
	f.Channel, f.AccountID, f.ChannelID, f.ThreadID = nameOr(d.Channel), d.AccountID, d.ChannelID, d.ThreadID
	return nil
}

func (f *sendFold) step(typ string, data []byte) error {
	var o coordination.DiscordOutbound
	if data != nil {
		if err := json.Unmarshal(data, &o); err != nil {
			return err
		}
	}
	switch {
	case typ == coordination.TypeDiscordSent:
		f.MessageIDs = append(f.MessageIDs, o.MessageID)
	case o.ErrorCode != "":
		f.Code = o.ErrorCode
	}
	return nil
}

func (f *sendFold) failed(code string, data []byte) error {
	f.Over, f.State, f.Code = true, delivery.Failed, cmp.Or(f.Code, code)
	if f.Code == collaborate.CodeUnknown {
		f.State = delivery.Unknown
	}
	f.Text, f.Hint = "it was given up", delivery.Hint(cmp.Or(f.Channel, f.channel), f.Code)
	if data == nil {
		return nil
	}
	var a coordination.WorkAttempt
	err := json.Unmarshal(data, &a)
	f.Text = cmp.Or(a.Error, a.Reason, f.Text)
	return err
}

// Model and provider names of transcript messages posted in an agent's name.
const (
	sentAPI      = "openai-responses"
	sentProvider = "openclaw"
	sentModel    = "delivery-mirror"
)

// Delivered is the Then of delivery.Send: the posted text is added to the named session, if it exists.
func (s *Sends) Delivered(tx eventstore.Tx, _ string, d *delivery.Delivery, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	if o.State != delivery.Done || len(d.Detail) == 0 {
		return nil, nil
	}
	var detail sendDetail
	if err := json.Unmarshal(d.Detail, &detail); err != nil {
		return nil, fmt.Errorf("read what was sent: %w", err)
	}
	key, err := coordination.ParseSessionKey(detail.SessionKey)
	if err != nil {
		return nil, fmt.Errorf("add what was sent to a session: %w", err)
	}
	state, found, err := sessions.Load(tx, key)
	if err != nil || !found {
		return nil, err
	}
	said, err := session.Say(state, session.SayCommand{Existing: true, Message: coordination.SessionMessage{MessageID: detail.MessageID, Author: "assistant",
		Text: d.Said(), API: sentAPI, Provider: sentProvider, Model: sentModel, StopReason: "stop"}})
	if err != nil {
		return nil, err
	}
	return sessions.Append(state, eventstore.ActorAgent, now.UnixMilli(), said)
}
