package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// Sessions of a log interleave as those of a team do: this many are active at a time.
const sideBySide = 24

// sessions writes the events of many sessions side by side.
type sessions struct {
	teams   []*corpus
	written int
}

// newSessions returns sessions whose event n happens about now.
func newSessions(n int, now time.Time) *sessions {
	// A session takes about 25 s of corpus time for 13 events.
	span := int64(n/sideBySide) * 1_700
	s := &sessions{teams: make([]*corpus, sideBySide)}
	for i := range s.teams {
		s.teams[i] = newCorpus(uint64(i)+1, now.UnixMilli()-span)
	}
	return s
}

// write writes the next n events as NDJSON.
func (s *sessions) write(path string, n int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	var buf []byte
	for range n {
		buf = s.teams[s.written%sideBySide].next().ndjson(buf[:0])
		s.written++
		if _, err := out.Write(buf); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// writeLog writes a log of n events as NDJSON, ending about now.
func writeLog(path string, n int, now time.Time) error { return newSessions(n, now).write(path, n) }

// importLog imports an NDJSON file like the import command.
func importLog(ctx context.Context, db *sqlite.DB, path string) error {
	im := ndjson.New(ndjson.Options{
		Log: db, Restorer: db,
		Stream: func(typ, agent string, data, original []byte) string {
			r := coordination.ReadRecord(coordination.RulesV2, typ, agent, 0, 0, data, original)
			return coordination.StreamOf(&r)
		},
		Reject: func(string, int64, ndjson.Rejection) (string, json.RawMessage) {
			return coordination.TypeImportRejected, json.RawMessage(`{}`)
		},
	})
	_, err := im.ImportFiles(ctx, []string{path})
	return err
}

// bigLog is a log of options.Events events with all projections.
type bigLog struct {
	ndjson string
	db     string
}

func (b *bench) bigLog(ctx context.Context) (*bigLog, error) {
	if b.big != nil {
		return b.big, nil
	}
	big, err := b.buildLog(ctx, "big", b.Events)
	if err != nil {
		return nil, err
	}
	b.big = big
	return big, nil
}

func (b *bench) buildLog(ctx context.Context, name string, events int) (*bigLog, error) {
	log := &bigLog{ndjson: filepath.Join(b.Dir, name+".ndjson"), db: filepath.Join(b.Dir, name+".db")}
	if err := writeLog(log.ndjson, events, time.Now()); err != nil {
		return nil, err
	}
	db, _, err := openLog(ctx, log.db)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := importLog(ctx, db, log.ndjson); err != nil {
		return nil, err
	}
	b.logf("built a log of %d events in %s", events, time.Since(start).Round(time.Second))
	return log, db.Close()
}

func runImport(ctx context.Context, b *bench) ([]figure, error) {
	file := filepath.Join(b.Dir, "import.ndjson")
	if err := writeLog(file, b.Events, time.Now()); err != nil {
		return nil, err
	}
	var ours, raw []float64
	for round := range b.Rounds {
		path := filepath.Join(b.Dir, fmt.Sprintf("import-%d.db", round))
		db, _, err := openLog(ctx, path)
		if err != nil {
			return nil, err
		}
		took, err := seconds(func() error { return importLog(ctx, db, file) })
		if err != nil {
			return nil, err
		}
		ours = append(ours, float64(b.Events)/took)
		if err := db.Close(); err != nil {
			return nil, err
		}
		if round == b.Rounds-1 && b.big == nil {
			b.big = &bigLog{ndjson: file, db: path}
		} else if err := remove(path); err != nil {
			return nil, err
		}
		rate, err := b.rawBatches(fmt.Sprintf("import-raw-%d.db", round))
		if err != nil {
			return nil, err
		}
		raw = append(raw, rate)
		b.logf("import round %d: ours %.0f/s, raw %.0f/s", round+1, ours[round], raw[round])
	}
	return []figure{atLeast("import.rate", median(ours), "events/s", median(raw), 0.12,
		fmt.Sprintf("synchronous=FULL, %d lines of about %d bytes; baseline: the same events, parsed already, in 1,000-row transactions into a bare table; median of %d rounds", b.Events, dataBytes+60, b.Rounds))}, nil
}

// rawBatches returns the rate of 1,000-row batched inserts of the same events into a bare table.
func (b *bench) rawBatches(name string) (float64, error) {
	path := filepath.Join(b.Dir, name)
	db, err := sqlite.OpenPlain(path, 1)
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close(); _ = remove(path) }()
	if _, err := db.Exec(bareTable); err != nil {
		return 0, err
	}
	insert, err := db.Prepare(bareInsert)
	if err != nil {
		return 0, err
	}
	ids := newIDs()
	team := newCorpus(1, 1_771_000_000_000)
	batch := make([]eventstore.StreamAppend, 1000)
	took := 0.0
	for done := 0; done < b.Events; done += len(batch) {
		for i := range batch {
			batch[i] = team.next().append()
		}
		t, err := seconds(func() error {
			tx, err := db.Begin()
			if err != nil {
				return err
			}
			in := tx.Stmt(insert)
			for _, l := range batch {
				if _, err := in.Exec(bareArgs(ids.Next(), l)...); err != nil {
					return err
				}
			}
			return tx.Commit()
		})
		if err != nil {
			return 0, err
		}
		took += t
	}
	return float64(b.Events) / took, nil
}

func runRebuild(ctx context.Context, b *bench) ([]figure, error) {
	big, err := b.bigLog(ctx)
	if err != nil {
		return nil, err
	}
	db, engine, err := openLog(ctx, big.db)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var ours, raw []float64
	for round := range b.Rounds {
		took, err := seconds(func() error { return readAndDecode(ctx, db) })
		if err != nil {
			return nil, err
		}
		raw = append(raw, float64(b.Events)/took)
		if took, err = seconds(func() error { return engine.Rebuild(ctx, projections.RebuildOptions{}) }); err != nil {
			return nil, err
		}
		ours = append(ours, float64(b.Events)/took)
		b.logf("rebuild round %d: ours %.0f/s, read and decode %.0f/s", round+1, ours[round], raw[round])
	}
	return []figure{atLeast("rebuild.rate", median(ours), "events/s", median(raw), 0.20,
		fmt.Sprintf("%d events, all projections into shadow tables and swapped; baseline: reading all events and decoding their data with encoding/json; median of %d rounds", b.Events, b.Rounds))}, nil
}

// readAndDecode is the minimum that any rebuild must do.
func readAndDecode(ctx context.Context, log eventstore.Reader) error {
	type data struct {
		FromAgent, ToAgent, ConversationID, WorkSessionID, TaskID, RunID, EventRole, Message, ReplyPreview string
	}
	for after := int64(0); ; {
		events, err := log.Read(ctx, after, 1000)
		if err != nil {
			return err
		}
		for i := range events {
			var d data
			if err := json.Unmarshal(events[i].Data, &d); err != nil {
				return err
			}
		}
		if len(events) < 1000 {
			return nil
		}
		after = events[len(events)-1].Seq
	}
}

func remove(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		if err := os.Remove(path + suffix); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
