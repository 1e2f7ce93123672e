package gateway

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/pairing"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// Pairings decides which people may write direct messages to agents. Errors are *pairing.Refusal, or the log's.
type Pairings interface {
	Approve(ctx context.Context, channel, code, by string, notify bool) (pairing.Person, error)
	Revoke(ctx context.Context, channel, userID, by string) (pairing.Person, error)
}

// pairingMethods list and decide about people who ask to write to agents.
func (s *Server) pairingMethods() map[string]answer {
	return map[string]answer{"channels.pairing.list": s.answerPairings, "channels.pairing.approve": s.approvePairing, "channels.pairing.dismiss": s.dismissPairing}
}

// pairingAccount is an account whose direct messages need an approval.
type pairingAccount struct {
	Channel   string `json:"channel"`
	Label     string `json:"channelLabel"`
	AccountID string `json:"accountId"`
	Notify    bool   `json:"notifySupported"`
}

// pairingRequest is a person who waits. The id is the code: it names the request while that is pending, and opens nothing by itself.
type pairingRequest struct {
	ID string `json:"requestId"`
	pairingAccount
	SenderID    string            `json:"senderId"`
	SenderLabel string            `json:"senderLabel"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	CreatedAt   string            `json:"createdAt"`
	LastSeenAt  string            `json:"lastSeenAt"`
	ExpiresAt   string            `json:"expiresAt"`
}

type pairingLimits struct {
	PerAccount int   `json:"pendingPerAccount"`
	TTL        int64 `json:"ttlMs"`
}

type pairingsAnswer struct {
	Accounts []pairingAccount `json:"accounts"`
	Requests []pairingRequest `json:"requests"`
	HasOwner bool             `json:"commandOwnerConfigured"`
	Limits   pairingLimits    `json:"limits"`
}

type pairingParams struct {
	Channel   string `json:"channel"`
	AccountID string `json:"accountId"`
	RequestID string `json:"requestId"`
	Notify    bool   `json:"notify"`
	Owner     bool   `json:"bootstrapCommandOwner"`
}

func (s *Server) answerPairings(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[pairingParams](call)
	if err != nil {
		return nil, err
	}
	channel := strings.ToLower(p.Channel)
	if _, known := coordination.ChannelNamed(channel); channel != "" && !known {
		return nil, invalidRequest("unknown pairing channel: "+echo(p.Channel), fault{Code: pairing.CodeInvalid, Field: "channel", Value: echo(p.Channel),
			Hint: "give discord, telegram or slack"})
	}
	c := s.opts.Configuration.InForce()
	a := pairingsAnswer{Accounts: []pairingAccount{}, Requests: []pairingRequest{}, Limits: pairingLimits{pairing.MaxPending, pairing.TTL.Milliseconds()}}
	for _, traits := range coordination.Channels() {
		if channel != "" && channel != traits.Name {
			continue
		}
		a.Accounts = append(a.Accounts, pairingAccounts(c, &traits, p.AccountID)...)
	}
	waiting, err := s.waiting(ctx, channel)
	for i := range waiting {
		if p.AccountID == "" || strings.EqualFold(p.AccountID, waiting[i].AccountID) {
			a.Requests = append(a.Requests, requestOf(&waiting[i]))
		}
	}
	if err != nil {
		return nil, err
	}
	return encoded(a)
}

// pairingAccounts are the accounts of a channel whose direct messages need an approval; only is the id of one, or "".
func pairingAccounts(c *config.Config, traits *coordination.Channel, only string) (all []pairingAccount) {
	own := c.Channel(traits.Name)
	for i := range own.Accounts {
		if id := own.Accounts[i].ID; own.AccessOf(id).DMPolicy == "pairing" && (only == "" || strings.EqualFold(only, id)) {
			all = append(all, pairingAccount{traits.Name, traits.Title, id, true})
		}
	}
	return all
}

func requestOf(p *pairing.Person) pairingRequest {
	traits, _ := coordination.ChannelNamed(p.Channel)
	r := pairingRequest{ID: p.Code, pairingAccount: pairingAccount{p.Channel, traits.Title, p.AccountID, p.ChannelID != ""}, SenderID: p.UserID,
		SenderLabel: traits.Name + "UserId", CreatedAt: isoTime(p.SinceMs), LastSeenAt: isoTime(p.SinceMs), ExpiresAt: isoTime(p.UntilMs)}
	if p.UserName != "" {
		r.Metadata = map[string]string{"name": p.UserName}
	}
	return r
}

func isoTime(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// waiting are the people whose requests are pending, of one channel or of all.
func (s *Server) waiting(ctx context.Context, channel string) (all []pairing.Person, err error) {
	err = s.jobs(ctx, func(tx eventstore.Tx) error {
		for _, traits := range coordination.Channels() {
			if channel != "" && channel != traits.Name {
				continue
			}
			some, err := routing.People(tx, traits.Name, pairing.Pending, s.opts.Now().UnixMilli(), pairing.MaxPending)
			if all = append(all, some...); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// asked finds the pending request that a client decides about.
func (s *Server) asked(ctx context.Context, call *wire.Call) (p pairingParams, person pairing.Person, err error) {
	if p, err = paramsOf[pairingParams](call); err != nil {
		return p, person, err
	}
	if s.opts.Pairings == nil {
		return p, person, notHere("no_agents", "no agents run here: another gateway decides who may write to them")
	}
	waiting, err := s.waiting(ctx, strings.ToLower(p.Channel))
	if err != nil {
		return p, person, err
	}
	for i := range waiting {
		if waiting[i].Code == p.RequestID && strings.EqualFold(waiting[i].AccountID, p.AccountID) {
			return p, waiting[i], nil
		}
	}
	return p, person, gone(p.RequestID)
}

func gone(id string) error {
	return invalidRequest("pending DM access request no longer exists", fault{Code: pairing.CodeUnknown, Field: "requestId", Value: echo(id),
		Hint: "channels.pairing.list shows who waits"})
}

type pairedAnswer struct {
	ID           string `json:"requestId"`
	SenderID     string `json:"senderId"`
	Notification string `json:"notification,omitempty"`
	Owner        string `json:"commandOwnerBootstrap,omitempty"`
}

// approvePairing answers channels.pairing.approve. It makes no one an owner: owners are in the configuration.
func (s *Server) approvePairing(ctx context.Context, call *wire.Call) (any, error) {
	p, person, err := s.asked(ctx, call)
	if err != nil {
		return nil, err
	}
	if _, err := s.opts.Pairings.Approve(ctx, person.Channel, person.Code, call.Peer.Client.ID, p.Notify); err != nil {
		return nil, pairingRefusalOf(p.RequestID, err)
	}
	a := pairedAnswer{ID: p.RequestID, SenderID: person.UserID, Notification: "not-requested", Owner: "not-requested"}
	switch {
	case p.Notify && person.ChannelID == "":
		a.Notification = "unsupported"
	case p.Notify:
		a.Notification = "sent"
	}
	if p.Owner {
		a.Owner = "unavailable"
	}
	return encoded(a)
}

func (s *Server) dismissPairing(ctx context.Context, call *wire.Call) (any, error) {
	p, person, err := s.asked(ctx, call)
	if err != nil {
		return nil, err
	}
	if _, err := s.opts.Pairings.Revoke(ctx, person.Channel, person.UserID, call.Peer.Client.ID); err != nil {
		return nil, pairingRefusalOf(p.RequestID, err)
	}
	return encoded(pairedAnswer{ID: p.RequestID, SenderID: person.UserID})
}

// pairingRefusalOf converts an error of Pairings. What has been decided meanwhile is gone.
func pairingRefusalOf(id string, err error) error {
	refused, is := errors.AsType[*pairing.Refusal](err)
	switch {
	case !is:
		return err
	case refused.Reason == pairing.CodeUnknown:
		return gone(id)
	}
	return invalidRequest(refused.Text, fault{Code: refused.Reason, Field: refused.Field, Value: echo(refused.Value), Hint: refused.HintText})
}
