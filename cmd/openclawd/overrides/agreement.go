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

// agreementVersion is the shape of the file. One of another shape is not used.
const agreementVersion = 1

// agreement is what the file of overrides and the log said alike at some moment.
type agreement struct {
	Version int `json:"version"`
	// Seq and Hash name the last word of the log by then, or its head if there was none yet: the agreement counts only for a log that
	// holds that event.
	Seq     int64           `json:"seq"`
	Hash    eventstore.Hash `json:"hash"`
	Entries entries         `json:"entries"`
}

// recall takes up what the last Sync has kept, once. What cannot be read, or is of another log, is as good as lost; the error is the log's.
func (s *Sync) recall(ctx context.Context) error {
	if s.recalled {
		return nil
	}
	found, err := readAgreement(s.Agreement, s.Database)
	if err != nil {
		s.Logger.Info("category overrides: what file and log last agreed on is not known, so times decide", "file", s.Agreement, "err", err)
	}
	if found != nil {
		e, err := s.Log.Event(ctx, found.Seq)
		switch {
		case err != nil && !errors.Is(err, eventstore.ErrNotFound):
			return fmt.Errorf("read the log: %w", err)
		case err == nil && e.Hash == found.Hash:
			s.agreed = found.Entries
		default:
			s.Logger.Info("category overrides: what is kept of the last agreement is of another log, so times decide", "file", s.Agreement)
		}
	}
	s.recalled = true
	return nil
}

// readAgreement returns nil where there is none.
func readAgreement(path, database string) (*agreement, error) {
	f, err := read(path, database)
	if err != nil || !f.exists {
		return nil, err
	}
	var a agreement
	if err := json.Unmarshal(f.text, &a); err != nil {
		return nil, err
	}
	if a.Version != agreementVersion || a.Seq < 1 || a.Entries == nil {
		return nil, fmt.Errorf("it is no agreement of version %d", agreementVersion)
	}
	return &a, nil
}

// agree notes what the file and the log agree on, the log saying words, and keeps it for the next start. That it cannot be kept is only
// logged: without it the next start goes by times, with an older one by what that says.
func (s *Sync) agree(ctx context.Context, on entries, words held) {
	s.agreed = on
	seq := words.newest()
	if s.kept.agreed != nil && s.kept.seq == seq && maps.Equal(s.kept.agreed, on) {
		return
	}
	if err := s.keep(context.WithoutCancel(ctx), seq); err != nil {
		s.Logger.Warn("category overrides: what file and log agree on is not kept for the next start", "file", s.Agreement, "err", err)
		return
	}
	s.kept.agreed, s.kept.seq = on, seq
}

// keep writes agreed down, as of the word at seq; 0: there is none. Of a log without any event there is nothing to keep.
func (s *Sync) keep(ctx context.Context, seq int64) error {
	at, err := s.at(ctx, seq)
	if err != nil || at.Seq == 0 {
		return err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(agreement{agreementVersion, at.Seq, at.Hash, s.agreed}); err != nil {
		return err
	}
	before, err := look(s.Agreement, s.Database)
	if err != nil {
		return err
	}
	const fresh = 0o600
	return before.replaceAs(s.Agreement, text.Bytes(), fresh)
}

// at names the event at seq, or the log's head for 0: a word that is stored meanwhile is none of the agreement's, and later than it.
func (s *Sync) at(ctx context.Context, seq int64) (eventstore.Head, error) {
	if seq == 0 {
		return s.Log.Head(ctx)
	}
	e, err := s.Log.Event(ctx, seq)
	return eventstore.Head{Seq: seq, Hash: e.Hash}, err
}

// newest is the seq of the last word, 0 without any.
func (h held) newest() (seq int64) {
	for _, o := range h {
		seq = max(seq, o.Seq)
	}
	return seq
}
