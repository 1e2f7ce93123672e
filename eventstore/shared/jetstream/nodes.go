package jetstream

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Announce implements shared.Log. The broker counts in whole seconds.
func (l *Log) Announce(ctx context.Context, node string, text []byte, ttl time.Duration) error {
	_, err := l.js.Publish(ctx, l.node(hex.EncodeToString([]byte(node))), text, jetstream.WithMsgTTL(max(ttl, time.Second).Round(time.Second)))
	return err
}

// Announced implements shared.Log.
func (l *Log) Announced(ctx context.Context) (map[string][]byte, error) {
	info, err := l.leases.Info(ctx, jetstream.WithSubjectFilter(l.node("*")))
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for subject := range info.State.Subjects {
		name, err := hex.DecodeString(subject[len(l.node("")):])
		if err != nil {
			return nil, fmt.Errorf("subject %s: %w", subject, err)
		}
		m, err := l.leases.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // it ended meanwhile
		}
		if err != nil {
			return nil, err
		}
		all[string(name)] = m.Data
	}
	return all, nil
}
