package overrides

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/pronto-lab/openclawd/eventstore"
)

// agreementVersion is the version of the file format. Files of other versions are ignored.
const agreementVersion = 1

// syncState is a common state of the overrides file and the log.
type syncState struct {
	Version int `json:"version"`
	// Seq and Hash identify the last override event at that time, or else the head of the log: the agreement is valid only for a log
	// with that event.
	Seq     int64           `json:"seq"`
	Hash    eventstore.Hash `json:"hash"`
	Entries entries         `json:"entries"`
}

// recall loads the agreement stored by the last Sync, once. One that is unreadable or belongs to another log is ignored; errors are the
// log's.
func (s *Sync) recall(ctx context.Context) error {
	if s.recalled {
		return nil
	}
	found, err := readSyncState(s.Agreement, s.Database)
	if err != nil {
		s.Logger.Info("category overrides: cannot read the last agreement of file and log; comparing times instead", "file", s.Agreement, "err", err)
	}
	if found != nil {
		e, err := s.Log.Event(ctx, found.Seq)
		switch {
		case err != nil && !errors.Is(err, eventstore.ErrNotFound):
			return fmt.Errorf("read the log: %w", err)
		case err == nil && e.Hash == found.Hash:
			s.agreed = found.Entries
		default:
			s.Logger.Info("category overrides: the last agreement belongs to another log; comparing times instead", "file", s.Agreement)
		}
	}
	s.recalled = true
	return nil
}

// readSyncState returns nil if there is none.
func readSyncState(path, database string) (*syncState, error) {
	f, err := read(path, database)
	if err != nil || !f.exists {
		return nil, err
	}
	var a syncState
	if err := json.Unmarshal(f.text, &a); err != nil {
		return nil, err
	}
	if a.Version != agreementVersion || a.Seq < 1 || a.Entries == nil {
		return nil, fmt.Errorf("it is not an agreement of version %d", agreementVersion)
	}
	return &a, nil
}

// agree records a common state of file and log, where words is the log's, and stores it for the next start. A failure to store it is
// only logged: the next start compares times, or uses an older agreement.
func (s *Sync) agree(ctx context.Context, on entries, words latestOverrides) {
	s.agreed = on
	seq := words.newest()
	if s.kept.agreed != nil && s.kept.seq == seq && maps.Equal(s.kept.agreed, on) {
		return
	}
	if err := s.saveState(context.WithoutCancel(ctx), seq); err != nil {
		s.Logger.Warn("category overrides: cannot store the agreement of file and log", "file", s.Agreement, "err", err)
		return
	}
	s.kept.agreed, s.kept.seq = on, seq
}

// saveState stores the agreement as of the override event at seq, 0 for none. For an empty log there is nothing to store.
func (s *Sync) saveState(ctx context.Context, seq int64) error {
	at, err := s.at(ctx, seq)
	if err != nil || at.Seq == 0 {
		return err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(syncState{agreementVersion, at.Seq, at.Hash, s.agreed}); err != nil {
		return err
	}
	before, err := statFile(s.Agreement, s.Database)
	if err != nil {
		return err
	}
	const fresh = 0o600
	return before.replaceAs(s.Agreement, text.Bytes(), fresh)
}

// at returns the event at seq, or the head of the log for 0: an override stored meanwhile is later than the agreement.
func (s *Sync) at(ctx context.Context, seq int64) (eventstore.Head, error) {
	if seq == 0 {
		return s.Log.Head(ctx)
	}
	e, err := s.Log.Event(ctx, seq)
	return eventstore.Head{Seq: seq, Hash: e.Hash}, err
}

// newest returns the seq of the last override event, 0 for none.
func (h latestOverrides) newest() (seq int64) {
	for _, o := range h {
		seq = max(seq, o.Seq)
	}
	return seq
}
