package slacktest

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

// Wake lets Until look again.
func (s *Server) Wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.happened()
}

// WaitRequest waits for a matching request, and returns the first one, possibly unanswered.
func (s *Server) WaitRequest(ctx context.Context, m Match) (Request, error) {
	return faults.First(ctx, s.Until, func() []Request { return s.RequestsTo(m) }, faults.Any[Request], "a request of %s", m.Method)
}

// WaitMessage waits for a message in a conversation that passes test, and returns the first one.
func (s *Server) WaitMessage(ctx context.Context, channelID string, test func(Message) bool) (Message, error) {
	return faults.First(ctx, s.Until, func() []Message { return s.Messages(channelID) }, test, "a message in %s", channelID)
}

// WaitDelivery waits for a delivery to an app that passes test, and returns the first one.
func (s *Server) WaitDelivery(ctx context.Context, appID string, test func(Delivery) bool) (Delivery, error) {
	return faults.First(ctx, s.Until, func() []Delivery { return s.Deliveries(appID) }, test, "a delivery to %s", appID)
}

// WaitConnected waits until each of the apps has at least one socket.
func (s *Server) WaitConnected(ctx context.Context, apps ...*App) error {
	err := s.Until(ctx, func() bool {
		return !slices.ContainsFunc(apps, func(a *App) bool { return s.Sockets(a.ID) == 0 })
	})
	return faults.Waited(err, "apps to connect")
}

// WaitGone waits until the app has no socket.
func (s *Server) WaitGone(ctx context.Context, a *App) error {
	return faults.Waited(s.Until(ctx, func() bool { return s.Sockets(a.ID) == 0 }), "app %s to be gone", a.Name)
}
