package outbound

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	decide "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/session"
)

// SendLog is what Sends needs of the store.
type SendLog interface {
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	Head(ctx context.Context) (eventstore.Head, error)
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Event, error)
	Wait(ctx context.Context, seq int64) (int64, error)
}

// Sends makes deliveries of what clients of the gateway have posted.
type Sends struct {
	Log      SendLog
	Accounts func() *discord.Registry
	Config   func() *config.Config
	Now      func() time.Time
	NewID    func() string
}

// Sending is what somebody wants posted.
type Sending struct {
	Key        string // makes it one, however often it is asked for
	AgentID    string // in whose name; "" is whose bot speaks
	AccountID  string // whose bot speaks; "" is the agent's, or without agent the default one
	To         string // channel:<id>, or the id alone
	ThreadID   string
	ReplyTo    string // id of the message that it answers
	Text       string
	SessionKey string // the session whose transcript gets the text once it stands there, if there is such a session; "" is none
}

// Sent is how something stands that was to be posted.
type Sent struct {
	Over       bool
	State      delivery.State // of what is over
	AccountID  string         // whose bot speaks; "" like the places if that was redacted
	ChannelID  string
	ThreadID   string
	MessageIDs []string // that stand there, in order
	Code       string   // of what has failed, or of which nobody knows
	Text       string   // likewise
	Mend       string   // likewise
}

// Codes of what has failed besides those of coordination/collaborate.
const (
	codeCancelled = "cancelled"
	codeGivenUp   = "given_up" // for a reason that only its text tells
)

// sendDetail is Delivery.Detail of what is sent.
type sendDetail struct {
	SessionKey string `json:"sessionKey"`
	MessageID  string `json:"messageId"` // in the transcript
}

// Check says whether something can be posted, as far as that can be said without asking Discord. Text and Key do not count. The error is a
// *delivery.Refusal.
func (s *Sends) Check(m Sending) error {
	d, err := s.draft(&m)
	if err != nil {
		return err
	}
	d.Messages = []string{"-"}
	_, err = d.Work("check", 0)
	return err
}

// Send asks for a post, once for each key. It returns when that is on disk; Sent and Await tell what becomes of it. The error is a *delivery.Refusal,
// or the log's.
func (s *Sends) Send(ctx context.Context, m Sending) error {
	d, err := s.draft(&m)
	if err != nil {
		return err
	}
	if m.SessionKey != "" {
		if d.Detail, err = json.Marshal(sendDetail{m.SessionKey, s.NewID()}); err != nil {
			return fmt.Errorf("send %s: %w", m.Key, err)
		}
	}
	r := Replies{Accounts: s.Accounts, Config: s.Config}
	appends, err := r.schedule(d, effectOfSend(m.Key), m.To, coordination.Mask(m.Text), s.Now())
	switch {
	case err != nil:
		return err
	case len(appends) == 0:
		return &delivery.Refusal{Field: "message", Mend: "give a text: Discord takes nothing that is empty"}
	}
	_, err = s.Log.Decide(ctx, func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return appends, nil })
	if asked := (*eventstore.ConflictError)(nil); errors.As(err, &asked) {
		return nil
	}
	return err
}

func effectOfSend(key string) string { return "send/" + key }

// draft is a delivery without messages.
func (s *Sends) draft(m *Sending) (*delivery.Delivery, error) {
	d := &delivery.Delivery{Purpose: delivery.Send, ChannelID: placeOf(m.To), ThreadID: m.ThreadID, ReplyTo: m.ReplyTo}
	bot, err := s.speaker(m)
	d.AgentID, d.AccountID = cmp.Or(strings.ToLower(m.AgentID), bot.AgentID), bot.AccountID
	return d, err
}

func (s *Sends) speaker(m *Sending) (discord.Identity, error) {
	accounts := s.Accounts()
	if m.AccountID != "" {
		bot, known := accounts.Account(m.AccountID)
		if !known {
			return bot, &delivery.Refusal{Field: "accountId", Value: m.AccountID, Mend: "name one of channels.discord.accounts: " + accountsOf(accounts)}
		}
		return bot, nil
	}
	if m.AgentID != "" {
		bot, known := accounts.Bot(m.AgentID)
		if !known {
			return bot, &delivery.Refusal{Field: "agentId", Value: m.AgentID, Mend: "bind an account of channels.discord.accounts to the agent, or name an accountId"}
		}
		return bot, nil
	}
	bot, known := accounts.Account(DefaultAccount(s.Config()))
	if !known {
		return bot, &delivery.Refusal{Field: "accountId", Mend: "give channels.discord an account with a token"}
	}
	return bot, nil
}

// accountsOf are the ids of accounts, for people.
func accountsOf(r *discord.Registry) string {
	var ids []string
	for _, b := range r.Bots() {
		ids = append(ids, b.AccountID)
	}
	return strings.Join(ids, ", ")
}

// DefaultAccount is the account whose bot speaks where nothing says which; "" if there is none.
func DefaultAccount(c *config.Config) string {
	if c.Discord.DefaultAccount != "" || len(c.Discord.Accounts) == 0 {
		return c.Discord.DefaultAccount
	}
	return c.Discord.Accounts[0].ID
}

// Sent is how what was asked for with a key stands; found is false for a key that nobody has asked with.
func (s *Sends) Sent(ctx context.Context, key string) (sent Sent, found bool, err error) {
	var f sendFold
	err = s.read(ctx, key, &f)
	return f.Sent, f.after > 0, err
}

// Await is how it stands once it is over, or with ctx's error as it stands then.
func (s *Sends) Await(ctx context.Context, key string) (Sent, error) {
	var f sendFold
	for {
		head, err := s.Log.Head(ctx)
		if err == nil {
			err = s.read(ctx, key, &f)
		}
		if err != nil || f.Over {
			return f.Sent, err
		}
		if _, err = s.Log.Wait(ctx, head.Seq+1); err != nil {
			return f.Sent, err
		}
	}
}

// read goes on with the events of a key.
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

// sendFold is a Sent as far as it was read.
type sendFold struct {
	Sent
	after int64 // version of the last event
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
		f.Over, f.State, f.Code, f.Text, f.Mend = true, delivery.Done, "", "", ""
	case coordination.TypeWorkDead:
		return f.failed(codeGivenUp, data)
	case coordination.TypeWorkCancelled:
		return f.failed(codeCancelled, data)
	case coordination.TypeWorkResent:
		f.Over, f.State, f.Code, f.Text, f.Mend = false, "", "", "", ""
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
	f.AccountID, f.ChannelID, f.ThreadID = d.AccountID, d.ChannelID, d.ThreadID
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
	f.Text, f.Mend = "it was given up", delivery.Mend(f.Code)
	if data == nil {
		return nil
	}
	var a coordination.WorkAttempt
	err := json.Unmarshal(data, &a)
	f.Text = cmp.Or(a.Error, a.Reason, f.Text)
	return err
}

// What transcripts say of a message that was posted in an agent's name.
const (
	sentAPI      = "openai-responses"
	sentProvider = "openclaw"
	sentModel    = "delivery-mirror"
)

// Delivered is the Then of delivery.Send: what stands there is said in the session that was named, if that is there.
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
		return nil, fmt.Errorf("say in a session what was sent: %w", err)
	}
	state, found, err := session.Load(tx, key)
	if err != nil || !found {
		return nil, err
	}
	said, err := decide.Say(state, decide.SayCommand{Existing: true, Message: coordination.SessionMessage{MessageID: detail.MessageID, Author: "assistant",
		Text: strings.Join(d.Messages, "\n"), API: sentAPI, Provider: sentProvider, Model: sentModel, StopReason: "stop"}})
	if err != nil {
		return nil, err
	}
	return session.Append(state, eventstore.ActorAgent, now.UnixMilli(), said)
}
