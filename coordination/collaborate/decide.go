package collaborate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Decide returns the plan for a request at a time, ms since 1970, or why there is none.
func Decide(s *Situation, r Request, now int64) (*Plan, *Refusal) {
	r = r.trimmed()
	if no := r.valid(); no != nil {
		return nil, no
	}
	from := s.agent(r.From)
	target, known := s.find(r.Target)
	if strings.EqualFold(from.ID, target.ID) {
		return nil, &Refusal{Reason: CodeSelf, Field: "targetAgent", Value: r.Target, Text: fmt.Sprintf("targetAgent %q is the requesting agent itself", r.Target),
			HintText: "name another agent"}
	}
	if v := s.Judge(from.ID, target.ID); !v.Allowed {
		return nil, &Refusal{Reason: CodeForbidden, Field: "targetAgent", Value: r.Target,
			Text: fmt.Sprintf("%s must not ask %s: %s", from.ID, target.ID, v.Why), HintText: v.Hint}
	}
	targetBot, ok := s.botOf(target)
	if !ok {
		return nil, s.unmapped("targetAgent", r.Target, target, known)
	}
	speaker, no := s.speaker(&r, from, targetBot)
	if no != nil {
		return nil, no
	}
	at, no := s.spot(&r, target)
	if no != nil {
		return nil, no
	}
	p := &Plan{From: from.ID, Target: target.ID, FromName: from.name(), TargetName: target.name(), AccountID: speaker.AccountID, BotID: speaker.UserID,
		TargetBotID: targetBot.UserID, Original: Original(r.Message), Base: now, SessionKey: s.Session.Key, RunID: s.Session.RunID, Hop: s.Session.Hop + 1}
	p.identify(&r, at)
	switch done, no := s.before(p, now); {
	case no != nil:
		return nil, no
	case done:
		return p, nil
	}
	if no := s.tooFar(p); no != nil {
		return nil, no
	}
	if no := s.pairLimit(p, now); no != nil && !p.Again {
		return nil, no
	}
	if no := s.route(p, &r, at, now); no != nil {
		return nil, no
	}
	if p.Route == RouteNew {
		p.ThreadName = s.threadName(&r, from, target)
	}
	p.compose(s, r.Message)
	p.Participants = []string{p.BotID, p.TargetBotID}
	p.Tracked = p.Route != RouteShared
	return p, nil
}

// identify computes what makes the request equal to another one.
func (p *Plan) identify(r *Request, at spot) {
	about := topic(r.ThreadName)
	p.Content = hash(p.From, p.Target, about, r.Message)
	if r.Key != "" {
		p.Key = "key:" + p.From + ":" + r.Key
		return
	}
	place := at.thread.ID
	if place == "" {
		place = at.channel.ID
	}
	p.Key = "same:" + hash(p.From, p.Target, place, about, r.Message)
}

func hash(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:16])
}

// before finds the same request within SameRequest. A failed one is retried under its nonces, so that messages that
// did get through are not posted twice.
func (s *Situation) before(p *Plan, now int64) (done bool, no *Refusal) {
	e, ok := s.State.Requests[p.Key]
	if !ok || now-e.At >= SameRequest.Milliseconds() {
		return false, nil
	}
	if e.Content != p.Content {
		return false, &Refusal{Reason: CodeConflict, Field: "idempotencyKey", Value: p.Key,
			Text: fmt.Sprintf("idempotencyKey: request %s has the same key and another content", e.RequestID), HintText: "use a new key for each request"}
	}
	if e.Status == StatusFailed {
		p.Base, p.Again = e.Base, e.Redecide
		return false, nil
	}
	p.Earlier = &e
	return true, nil
}

// tooFar refuses what was passed on between agents too often.
func (s *Situation) tooFar(p *Plan) *Refusal {
	if s.Cut != nil {
		return s.Cut
	}
	if s.Policy.MaxHops <= 0 || p.Hop <= s.Policy.MaxHops {
		return nil
	}
	return &Refusal{Reason: CodeHops, Field: "targetAgent", Value: p.Target,
		Text:     fmt.Sprintf("this was passed on between agents %d times; at most %d are allowed", p.Hop, s.Policy.MaxHops),
		HintText: "answer yourself, or tell a person"}
}

// pairLimit refuses requests beyond what two agents may ask each other, counted in both directions.
func (s *Situation) pairLimit(p *Plan, now int64) *Refusal {
	window := min(s.Policy.PairWindow, keepPairs).Milliseconds()
	var recent []int64
	for _, at := range s.State.Pairs[pairKey(p.From, p.Target)] {
		if now-at < window {
			recent = append(recent, at)
		}
	}
	limit := max(s.Policy.PairLimit, 1)
	if len(recent) < limit {
		return nil
	}
	reset := recent[len(recent)-limit] + window
	return &Refusal{Reason: CodePairLimit, Field: "targetAgent", Value: p.Target, From: p.From, Target: p.Target, ResetAt: reset,
		Text: fmt.Sprintf("warning: %s and %s have asked each other %d times within %d min, which is the limit; again in %d min",
			p.From, p.Target, len(recent), minutes(window), minutes(reset-now)),
		HintText: "wait until then, or continue with the answers you have"}
}

// minutes converts ms to minutes, rounded up.
func minutes(ms int64) int64 {
	const minute = int64(time.Minute / time.Millisecond)
	return (ms + minute - 1) / minute
}

// route finds the thread.
func (s *Situation) route(p *Plan, r *Request, at spot, now int64) *Refusal {
	if at.thread.ID != "" {
		p.Route, p.ThreadID, p.ThreadName = RouteNamed, at.thread.ID, at.thread.Name
		if at.shared {
			p.Route = RouteShared
		}
		p.ChannelID, p.GuildID = at.channel.ID, at.channel.GuildID
		return nil
	}
	p.ReuseKey = s.reuseKey(p.From, p.Target, topic(r.ThreadName))
	if kept, ok := s.State.Threads[p.ReuseKey]; ok && now-kept.LastUsedAt < s.Policy.Reuse.Milliseconds() {
		t, there := s.place(kept.ThreadID)
		c := s.parent(t)
		switch {
		case !there || t.Archived || t.Locked:
			p.Forget = true
		case at.named && c.ID != at.channel.ID, s.allowed(c, "threadId", t.ID) != nil:
		default:
			p.Route, p.ThreadID, p.ThreadName, p.ChannelID, p.GuildID = RouteReused, t.ID, kept.ThreadName, c.ID, c.GuildID
			return nil
		}
	}
	if at.channel.ID == "" {
		return &Refusal{Reason: CodeNoChannel, Field: "channelId", Text: "channelId: no channel is given or configured for a new thread",
			HintText: fmt.Sprintf("name a channelId, or set channels.%s.collaboration.defaultChannel", s.traits().Name)}
	}
	p.Route, p.ChannelID, p.GuildID, p.Starter = RouteNew, at.channel.ID, at.channel.GuildID, at.channel.Kind == Forum
	return nil
}

// pairKey is the same for both directions.
func pairKey(a, b string) string {
	if b < a {
		a, b = b, a
	}
	return a + "::" + b
}

// Original is the stored text of a request: without secrets, at most MaxOriginal characters.
func Original(text string) string {
	return coordination.Head(coordination.Mask(text), MaxOriginal)
}
