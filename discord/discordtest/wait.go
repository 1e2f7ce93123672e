package discordtest

import (
	"context"
	"fmt"
	"slices"
)

// Until returns nil as soon as so returns true: it is called at once, and whenever something happens. It may call
// inspecting methods. The error is the context's, or ErrClosed.
func (s *Server) Until(ctx context.Context, so func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if so() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closed:
			return ErrClosed
		}
	}
}

// WaitRequest waits for a matching request, and returns the first one, possibly unanswered.
func (s *Server) WaitRequest(ctx context.Context, m Match) (Request, error) {
	var found Request
	err := s.Until(ctx, func() bool {
		all := s.RequestsTo(m)
		if len(all) > 0 {
			found = all[0]
		}
		return len(all) > 0
	})
	return found, waited(err, "a request to %q of bot %q", m.Route, m.Bot)
}

// WaitMessage waits for a message in a channel that passes test, and returns the first one.
func (s *Server) WaitMessage(ctx context.Context, channelID string, test func(Message) bool) (Message, error) {
	var found Message
	err := s.Until(ctx, func() bool {
		all := s.Messages(channelID)
		i := slices.IndexFunc(all, test)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found, waited(err, "a message in channel %s", channelID)
}

// WaitThread waits for a thread of a channel that passes test, and returns the first one.
func (s *Server) WaitThread(ctx context.Context, parentID string, test func(Channel) bool) (Channel, error) {
	var found Channel
	err := s.Until(ctx, func() bool {
		all := s.Threads(parentID)
		i := slices.IndexFunc(all, test)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found, waited(err, "a thread in channel %s", parentID)
}

// WaitDispatch waits until an event of the type that passes test, if not nil, has been written to a socket of the bot,
// and returns the first one.
func (s *Server) WaitDispatch(ctx context.Context, botID, kind string, test func(Dispatch) bool) (Dispatch, error) {
	var found Dispatch
	err := s.Until(ctx, func() bool {
		all := s.Dispatches(botID)
		i := slices.IndexFunc(all, func(d Dispatch) bool { return d.Written && d.Type == kind && (test == nil || test(d)) })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found, waited(err, "a dispatch of %s to bot %s", kind, botID)
}

// WaitConnected waits until all bots have a connected session.
func (s *Server) WaitConnected(ctx context.Context, botIDs ...string) error {
	err := s.Until(ctx, func() bool {
		connected := s.Connected()
		return !slices.ContainsFunc(botIDs, func(id string) bool { return !slices.Contains(connected, id) })
	})
	return waited(err, "bots %v to connect", botIDs)
}

// WaitHeartbeat waits for a heartbeat on a socket of the bot; see Heartbeats.
func (s *Server) WaitHeartbeat(ctx context.Context, botID string) error {
	err := s.Until(ctx, func() bool { return s.Heartbeats(botID) > 0 })
	return waited(err, "a heartbeat of bot %s", botID)
}

// WaitGone waits until the bot has no socket.
func (s *Server) WaitGone(ctx context.Context, botID string) error {
	err := s.Until(ctx, func() bool { return !slices.Contains(s.Connected(), botID) })
	return waited(err, "bot %s to be gone", botID)
}

func waited(err error, what string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("wait for %s: %w", fmt.Sprintf(what, args...), err)
}
