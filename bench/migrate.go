package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// transcriptLines is how many messages a transcript of the benchmark has.
const transcriptLines = 1_000

// writeTranscripts writes the state directory of OpenClaw 2026.2 with so many messages.
func writeTranscripts(dir string, lines int) error {
	at := filepath.Join(dir, "agents", "main", "sessions")
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	store := map[string]any{}
	for n := 0; n < lines; n += transcriptLines {
		id := fmt.Sprintf("t%d", n)
		store["agent:main:"+id] = map[string]any{"sessionId": id, "updatedAt": 1_795_888_200_000}
		if err := writeTranscript(filepath.Join(at, id+".jsonl"), n, min(transcriptLines, lines-n)); err != nil {
			return err
		}
	}
	text, err := json.Marshal(store)
	return errors.Join(err, os.WriteFile(filepath.Join(at, "sessions.json"), text, 0o600))
}

// writeTranscript writes messages of people and models in turn, of about 700 bytes.
func writeTranscript(path string, first, lines int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	words := strings.Repeat("a word of the answer ", 20)
	for i := range lines {
		n, ms := first+i, 1_795_800_000_000+int64(first+i)
		said := fmt.Sprintf(`"role":"user","content":"message %d: %s"`, n, words)
		if i%2 == 1 {
			said = fmt.Sprintf(`"role":"assistant","content":[{"type":"text","text":"message %d: %s"}],"api":"openai-completions","provider":"p","model":"m","stopReason":"stop",`+
				`"usage":{"input":1200,"output":90,"cacheRead":0,"cacheWrite":0,"totalTokens":1290}`, n, words)
		}
		fmt.Fprintf(out, `{"type":"message","id":"m%d","parentId":null,"timestamp":%d,"message":{%s,"timestamp":%d}}`+"\n", n, ms, said, ms)
	}
	return errors.Join(out.Flush(), f.Close())
}

// readTranscripts reads and parses all lines of the state directory, and does nothing with them.
func readTranscripts(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "agents", "*", "sessions", "*.jsonl"))
	for _, file := range files {
		err = errors.Join(err, readTranscript(file))
	}
	return err
}

func readTranscript(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var entry map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return err
		}
	}
	return lines.Err()
}

func runMigrate(ctx context.Context, b *bench) error {
	from := filepath.Join(b.Dir, "openclaw")
	if err := writeTranscripts(from, b.Events); err != nil {
		return err
	}
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) (err error) {
		h, err := b.newHome("")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(string(h))) }()
		started := time.Now()
		peak, err := b.peakOf(ctx, "migrate", "openclaw", "--from", from, "--db", h.db())
		if err != nil {
			return err
		}
		v.add("rate", float64(b.Events)/time.Since(started).Seconds())
		v.add("peak MB", peak)
		took, err := seconds(func() error { return readTranscripts(from) })
		v.add("read", float64(b.Events)/took)
		return err
	}, func(v values) []figure {
		return []figure{
			reaches("migrate.rate", v.mid("rate"), "lines/s", 20_000, fmt.Sprintf("openclawd migrate openclaw, %d lines of about 700 bytes; %s", b.Events, b.medians())),
			atLeast("migrate.reading", v.mid("rate"), "lines/s", v.mid("read"), 0.05, "the same; baseline: reading and parsing the source alone"),
			within("migrate.rss", v.mid("peak MB"), "MB", 200, fmt.Sprintf("largest resident set of that; %s", b.medians())),
		}
	})
}
