package slacktest

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

// Wake lets Until look again.
func (s *Server) Wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.happened()
}

// WaitRequest waits for a matching request, and returns the first one, possibly unanswered.
func (s *Server) WaitRequest(ctx context.Context, m Match) (Request, error) {
	return first(ctx, s, func() []Request { return s.RequestsTo(m) }, func(Request) bool { return true }, "a request of "+m.Method)
}

// WaitMessage waits for a message in a conversation that passes test, and returns the first one.
func (s *Server) WaitMessage(ctx context.Context, channelID string, test func(Message) bool) (Message, error) {
	return first(ctx, s, func() []Message { return s.Messages(channelID) }, test, "a message in "+channelID)
}

// WaitDelivery waits for a delivery to an app that passes test, and returns the first one.
func (s *Server) WaitDelivery(ctx context.Context, appID string, test func(Delivery) bool) (Delivery, error) {
	return first(ctx, s, func() []Delivery { return s.Deliveries(appID) }, test, "a delivery to "+appID)
}

// WaitConnected waits until each of the apps has at least one socket.
func (s *Server) WaitConnected(ctx context.Context, apps ...*App) error {
	err := s.Until(ctx, func() bool {
		return !slices.ContainsFunc(apps, func(a *App) bool { return s.Sockets(a.ID) == 0 })
	})
	return waited(err, "apps to connect")
}

// WaitGone waits until the app has no socket.
func (s *Server) WaitGone(ctx context.Context, a *App) error {
	return waited(s.Until(ctx, func() bool { return s.Sockets(a.ID) == 0 }), "app "+a.Name+" to be gone")
}

func first[T any](ctx context.Context, s *Server, list func() []T, test func(T) bool, what string) (found T, err error) {
	err = s.Until(ctx, func() bool {
		all := list()
		i := slices.IndexFunc(all, test)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found, waited(err, what)
}

func waited(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("wait for %s: %w", what, err)
}
