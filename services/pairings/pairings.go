// Package pairings approves people who asked to write direct messages to agents, and takes that back, on behalf of operators.
package pairings

import (
	"context"
	"errors"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/pairing"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// Service decides for operators. It is safe for concurrent use.
type Service struct {
	Log    eventstore.Decider
	Config func() *config.Config // in force
	Now    func() time.Time
}

// Approve allows the person whose pending request has the code to write to the agents of a channel. With notify the bot tells the person.
// A wrong code is recorded, within a limit. The decision is on disk when Approve returns. Errors are *pairing.Refusal, or the log's.
func (s *Service) Approve(ctx context.Context, channel, code, by string, notify bool) (p pairing.Person, err error) {
	c, err := named(channel)
	if err != nil {
		return p, err
	}
	return s.decide(ctx, c.Name, func(tx eventstore.Tx, now pairing.Situation) (*decision, error) {
		found, approved, err := now.Approve(code, by)
		if refused, is := errors.AsType[*pairing.Refusal](err); is && refused.Details.Counts {
			return &decision{typ: coordination.TypePairingRefused, data: now.Wrong(by)}, err
		}
		if err != nil {
			return nil, err
		}
		d := &decision{typ: coordination.TypePairingApproved, data: approved, person: *found}
		if notify && found.ChannelID != "" {
			d.told, err = s.told(found)
		}
		return d, err
	})
}

// Revoke takes back the permission of a person, or the request for it. It is on disk when Revoke returns. Errors are as for Approve.
func (s *Service) Revoke(ctx context.Context, channel, userID, by string) (p pairing.Person, err error) {
	c, err := named(channel)
	if err != nil {
		return p, err
	}
	if !c.IsUserID(userID) {
		return p, &pairing.Refusal{Reason: pairing.CodeInvalid, Field: "userId", Value: userID, Text: "userId is not the id of a user in " + c.Title,
			HintText: "openclawd pairing list " + c.Name + " shows the ids"}
	}
	return s.decide(ctx, c.Name, func(tx eventstore.Tx, now pairing.Situation) (*decision, error) {
		known, err := routing.PersonOf(tx, c.Name, userID)
		if err != nil {
			return nil, err
		}
		revoked, err := now.Revoke(&known, by)
		return &decision{typ: coordination.TypePairingRevoked, data: revoked, person: known}, err
	})
}

// decision is what is appended, and the person it is about.
type decision struct {
	typ    string
	data   *coordination.Pairing
	person pairing.Person
	told   []eventstore.StreamAppend
}

// decide appends what decide returns. A refusal may come with a decision that is appended nevertheless.
func (s *Service) decide(ctx context.Context, channel string, decide func(eventstore.Tx, pairing.Situation) (*decision, error)) (p pairing.Person, err error) {
	var refused error
	_, err = s.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		refused = nil
		at := s.Now().UnixMilli()
		now, err := routing.Pairings(tx, channel, at)
		if err != nil {
			return nil, err
		}
		d, err := decide(tx, now)
		if d != nil && err != nil && d.typ == coordination.TypePairingRefused {
			refused, err = err, nil
		}
		if err != nil {
			return nil, err
		}
		event := eventstore.NewEvent{Type: d.typ, AgentID: d.person.AgentID, Actor: eventstore.ActorHuman}
		appends, err := eventstore.One(coordination.PairingStream(channel, d.data.UserID), event, d.data, at)
		p = d.person
		p.Apply(d.typ, d.data, at)
		return append(appends, d.told...), err
	})
	if err == nil {
		err = refused
	}
	return p, err
}

// told schedules the message that tells a person of the approval, once for each request.
func (s *Service) told(p *pairing.Person) ([]eventstore.StreamAppend, error) {
	text := s.Config().Language().Say("승인되었습니다. 이제 메시지를 보낼 수 있습니다.", "You are approved. Send a message to start.")
	d := delivery.Delivery{Channel: coordination.OtherChannel(p.ChannelID), Purpose: delivery.Notice, AgentID: p.AgentID, AccountID: p.AccountID, ChannelID: p.ChannelID,
		Messages: []string{text}, System: true}
	asked, err := d.Work(p.Channel+"/paired/"+p.UserID+"/"+p.Code, 0)
	if err != nil {
		return nil, err
	}
	scheduled, err := worker.Schedule(asked)
	return []eventstore.StreamAppend{scheduled}, err
}

func named(channel string) (coordination.Channel, error) {
	c, known := coordination.ChannelNamed(channel)
	if !known || channel == "" {
		return c, &pairing.Refusal{Reason: pairing.CodeInvalid, Field: "channel", Value: channel, Text: "there is no such channel", HintText: "give discord, telegram or slack"}
	}
	return c, nil
}
