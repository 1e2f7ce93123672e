package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

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

func runImport(ctx context.Context, b *bench) error {
	file, err := b.lines(b.Events)
	if err != nil {
		return err
	}
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		err := b.withLog(ctx, func(log *sqlite.DB) error {
			took, err := seconds(func() error { return importLog(ctx, log, file) })
			v.add("rate", float64(b.Events)/took)
			return err
		})
		if err != nil {
			return err
		}
		if err := b.importPeak(ctx, file, v); err != nil {
			return err
		}
		return b.withTable(func(t *table) error {
			rate, err := t.batches(b.Events)
			v.add("bare", rate)
			return err
		})
	}, func(v values) []figure {
		return []figure{
			atLeast("import.rate", v.mid("rate"), "events/s", v.mid("bare"), 0.35, fmt.Sprintf("synchronous=FULL, %d lines of about %d bytes; "+
				"baseline: the same events, parsed already, in 1,000-row transactions into a bare table; %s", b.Events, dataBytes+60, b.medians())),
			within("import.rss", v.mid("peak MB"), "MB", 150, fmt.Sprintf("largest resident set of openclawd import of these lines; %s", b.medians())),
		}
	})
}

// importPeak imports a file with the program and measures the largest resident set of its process, in MB.
func (b *bench) importPeak(ctx context.Context, file string, v values) (err error) {
	h, err := b.newHome("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(string(h))) }()
	peak, err := b.peakOf(ctx, "import", "--db", h.db(), file)
	v.add("peak MB", peak)
	return err
}

// peakOf runs the program and returns the largest resident set of its process, in MB.
func (b *bench) peakOf(ctx context.Context, args ...string) (peak float64, err error) {
	cmd := exec.CommandContext(ctx, b.Binary, args...)
	cmd.Stderr = b.Log
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			if err == nil && peak == 0 {
				err = errors.New("the system does not say how much memory a process has")
			}
			return peak, err
		case <-look.C:
			if mb, err := memoryOf(cmd.Process.Pid, residentPeak); err == nil { // else it has just ended
				peak = mb
			}
		}
	}
}

// batches returns the rate of inserts of n events in transactions of 1,000.
func (t *table) batches(n int) (float64, error) {
	team := newCorpus(1, 1_771_000_000_000)
	batch := make([]eventstore.StreamAppend, 1000)
	took := 0.0
	for done := 0; done < n; done += len(batch) {
		for i := range batch {
			batch[i] = team.next().append()
		}
		s, err := seconds(func() error { return t.batch(batch) })
		if err != nil {
			return 0, err
		}
		took += s
	}
	return float64(n) / took, nil
}
