package eventstore

import "context"

type urgentKey struct{}

// Urgent returns a context for appends and decisions that a person waits for. A store may store them before others that
// wait, but not so that those never come. Appends made one after the other keep their order.
func Urgent(ctx context.Context) context.Context {
	return context.WithValue(ctx, urgentKey{}, true)
}

// IsUrgent reports whether a context was made by Urgent.
func IsUrgent(ctx context.Context) bool { return ctx.Value(urgentKey{}) != nil }
