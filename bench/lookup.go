package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

const (
	lookups      = 2_000
	scannedLines = 10_000
	smallLog     = 1_000
)

func runLookup(ctx context.Context, b *bench) error {
	lines, err := b.lines(b.Events)
	if err != nil {
		return err
	}
	scan, err := b.timeScan(lines)
	if err != nil {
		return err
	}
	atSmall, err := b.timeLookup(ctx, smallLog)
	if err != nil {
		return err
	}
	atBig, err := b.timeLookup(ctx, b.Events)
	if err != nil {
		return err
	}
	note := fmt.Sprintf("median of %d lookups of random routes, %d rounds", lookups, b.Rounds)
	return b.report(
		atLeast("lookup.speedup", scan/atBig, "times faster", 1, 6000,
			fmt.Sprintf("%.1f us at %d events; baseline: parsing the last %d NDJSON lines, %.0f us; %s", atBig, b.Events, scannedLines, scan, note)),
		atMost("lookup.growth", atBig, "us", atSmall, 2, fmt.Sprintf("%d events against %d; %s", b.Events, smallLog, note)),
	)
}

// timeLookup returns the median time in microseconds to find the conversation of a route in a log of so many events.
func (b *bench) timeLookup(ctx context.Context, events int) (us float64, err error) {
	h, err := b.filled(ctx, events)
	if err != nil {
		return 0, err
	}
	err = h.reading(ctx, func(log *sqlite.DB) error {
		return log.View(ctx, func(tx *sql.Tx) error {
			routes, err := someRoutes(ctx, tx)
			if err != nil {
				return err
			}
			var times []float64
			for i := range lookups * b.Rounds {
				r := routes[i%len(routes)]
				start := time.Now()
				_, found, err := conversations.LookupRoute(ctx, tx, r[0], r[1], r[2])
				if err != nil || !found {
					return errors.Join(fmt.Errorf("no conversation of route %v", r), err)
				}
				times = append(times, float64(time.Since(start).Nanoseconds())/1000)
			}
			us = median(times)
			return nil
		})
	})
	return us, err
}

// someRoutes returns work sessions, each with a sender and a receiver in it.
func someRoutes(ctx context.Context, tx *sql.Tx) (routes [][3]string, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT work_session, from_agent, to_agent FROM v_conversations
 WHERE conversation <> '' AND to_agent <> 'explorer' AND from_agent <> 'explorer' LIMIT 500 OFFSET 100`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r [3]string
		if err := rows.Scan(&r[0], &r[1], &r[2]); err != nil {
			return nil, err
		}
		routes = append(routes, r)
	}
	if len(routes) == 0 {
		return nil, errors.Join(errors.New("the log has no routes"), rows.Err())
	}
	return routes, rows.Err()
}

// timeScan returns the median time in microseconds of what the route table replaces: parse the last lines of the
// log, and check each for the route.
func (b *bench) timeScan(path string) (float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	const tail = scannedLines * (dataBytes + 60)
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, size-tail), tail))
	if err != nil {
		return 0, err
	}
	var times []float64
	for range b.Rounds {
		start := time.Now()
		for line := range bytes.Lines(text) {
			var e struct {
				Type string
				Data struct{ WorkSessionID, FromAgent, ToAgent, ConversationID string }
			}
			if json.Unmarshal(line, &e) == nil && e.Data.WorkSessionID == "ws_that_is_not_there" {
				return 0, errors.New("found a route that does not exist")
			}
		}
		times = append(times, float64(time.Since(start).Microseconds()))
	}
	return median(times), nil
}
