package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/projections/conversations"
)

// Sizes of the lookup benchmark.
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
		atLeast("lookup.speedup", scan/atBig, "times faster", 1, 2500,
			fmt.Sprintf("%.1f us at %d events; baseline: parsing the last %d NDJSON lines, %.0f us; %s", atBig, b.Events, scannedLines, scan, note)),
		atMost("lookup.growth", atBig, "us", atSmall, 2, fmt.Sprintf("%d events against %d; %s", b.Events, smallLog, note)),
	)
}

// timeLookup returns the median time in microseconds to find the conversation of a route in a log of so many events.
func (b *bench) timeLookup(ctx context.Context, events int) (float64, error) {
	h, err := b.filled(ctx, events)
	if err != nil {
		return 0, err
	}
	db, _, err := h.open(ctx)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	type pair struct{ ws, from, to string }
	var pairs []pair
	err = db.View(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT work_session, from_agent, to_agent FROM v_conversations
 WHERE conversation <> '' AND to_agent <> 'explorer' AND from_agent <> 'explorer' LIMIT 500 OFFSET 100`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var p pair
			if err := rows.Scan(&p.ws, &p.from, &p.to); err != nil {
				return err
			}
			pairs = append(pairs, p)
		}
		return rows.Err()
	})
	if err != nil {
		return 0, err
	}
	if len(pairs) == 0 {
		return 0, fmt.Errorf("a log of %d events has no routes", events)
	}
	var times []float64
	err = db.View(ctx, func(tx *sql.Tx) error {
		for i := range lookups * b.Rounds {
			p := pairs[i%len(pairs)]
			start := time.Now()
			_, found, err := conversations.LookupRoute(ctx, tx, p.ws, p.from, p.to)
			if err != nil {
				return err
			}
			if !found {
				return fmt.Errorf("no route for %v", p)
			}
			times = append(times, float64(time.Since(start).Nanoseconds())/1000)
		}
		return nil
	})
	return median(times), err
}

// timeScan returns the median time in microseconds of what the route table replaces: parse the last lines of the
// log, newest first, and check each for the route.
func (b *bench) timeScan(path string) (float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if _, err := f.Seek(max(0, info.Size()-scannedLines*(dataBytes+60)), io.SeekStart); err != nil {
		return 0, err
	}
	tail, err := io.ReadAll(f)
	if err != nil {
		return 0, err
	}
	var times []float64
	for range b.Rounds {
		start := time.Now()
		lines := bufio.NewScanner(bytes.NewReader(tail))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e struct {
				Type string `json:"type"`
				Data struct {
					WorkSessionID  string `json:"workSessionId"`
					FromAgent      string `json:"fromAgent"`
					ToAgent        string `json:"toAgent"`
					ConversationID string `json:"conversationId"`
				} `json:"data"`
			}
			if json.Unmarshal(lines.Bytes(), &e) == nil && e.Data.WorkSessionID == "ws_that_is_not_there" {
				return 0, fmt.Errorf("found a route that does not exist")
			}
		}
		times = append(times, float64(time.Since(start).Microseconds()))
	}
	return median(times), nil
}
