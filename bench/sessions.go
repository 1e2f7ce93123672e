package main

import (
	"bufio"
	"os"
	"time"
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
