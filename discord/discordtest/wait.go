package discordtest

import (
	"context"
	"slices"

	"github.com/pronto-lab/openclawd/internal/faults"
)

// Until returns nil as soon as so returns true: it is called at once, and whenever something happens. It may call
// inspecting methods. The error is the context's, or ErrClosed.
func (s *Server) Until(ctx context.Context, so func() bool) error {
	return faults.Until(ctx, s.changes, s.closed, ErrClosed, so)
}

// changes is closed when something happens.
func (s *Server) changes() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// WaitRequest waits for a matching request, and returns the first one, possibly unanswered.
func (s *Server) WaitRequest(ctx context.Context, m Match) (Request, error) {
	return faults.First(ctx, s.Until, func() []Request { return s.RequestsTo(m) }, faults.Any[Request], "a request to %q of bot %q", m.Route, m.Bot)
}

// WaitMessage waits for a message in a channel that passes test, and returns the first one.
func (s *Server) WaitMessage(ctx context.Context, channelID string, test func(Message) bool) (Message, error) {
	return faults.First(ctx, s.Until, func() []Message { return s.Messages(channelID) }, test, "a message in channel %s", channelID)
}

// WaitThread waits for a thread of a channel that passes test, and returns the first one.
func (s *Server) WaitThread(ctx context.Context, parentID string, test func(Channel) bool) (Channel, error) {
	return faults.First(ctx, s.Until, func() []Channel { return s.Threads(parentID) }, test, "a thread in channel %s", parentID)
}

// WaitDispatch waits until an event of the type that passes test, if not nil, has been written to a socket of the bot,
// and returns the first one.
func (s *Server) WaitDispatch(ctx context.Context, botID, kind string, test func(Dispatch) bool) (Dispatch, error) {
	return faults.First(ctx, s.Until, func() []Dispatch { return s.Dispatches(botID) }, func(d Dispatch) bool { return d.Written && d.Type == kind && (test == nil || test(d)) }, "a dispatch of %s to bot %s", kind, botID)
}

// WaitConnected waits until all bots have a connected session.
func (s *Server) WaitConnected(ctx context.Context, botIDs ...string) error {
	err := s.Until(ctx, func() bool {
		connected := s.Connected()
		return !slices.ContainsFunc(botIDs, func(id string) bool { return !slices.Contains(connected, id) })
	})
	return faults.Waited(err, "bots %v to connect", botIDs)
}

// WaitHeartbeat waits for a heartbeat on a socket of the bot; see Heartbeats.
func (s *Server) WaitHeartbeat(ctx context.Context, botID string) error {
	err := s.Until(ctx, func() bool { return s.Heartbeats(botID) > 0 })
	return faults.Waited(err, "a heartbeat of bot %s", botID)
}

// WaitGone waits until the bot has no socket.
func (s *Server) WaitGone(ctx context.Context, botID string) error {
	err := s.Until(ctx, func() bool { return !slices.Contains(s.Connected(), botID) })
	return faults.Waited(err, "bot %s to be gone", botID)
}
