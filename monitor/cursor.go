package monitor

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/projections/conversations"
)

// Cursors are opaque to clients: a letter for the list, then a position in it.

const badCursor = "give the unchanged nextCursor of an earlier answer of the same list"

func eventCursor(before int64) string { return sealed("e", strconv.FormatInt(before, 10)) }

// eventCursor parses the seq before which the page ends. Without a cursor, it is the end of the log.
func (p *parameters) eventCursor() int64 {
	text := p.first("cursor")
	if text == "" {
		return math.MaxInt64
	}
	parts, ok := opened(text, "e", 1)
	if ok {
		if before, err := strconv.ParseInt(parts[0], 10, 64); err == nil && before > 0 {
			return before
		}
	}
	p.refuse("cursor", text, badCursor)
	return math.MaxInt64
}

func sessionCursor(p *conversations.Position) string {
	return sealed("s", strconv.FormatUint(math.Float64bits(p.Last), 16), strconv.FormatInt(p.ID, 10))
}

// sessionCursor parses the position after which the page starts; nil without a cursor.
func (p *parameters) sessionCursor() *conversations.Position {
	text := p.first("cursor")
	if text == "" {
		return nil
	}
	parts, ok := opened(text, "s", 2)
	if ok {
		bits, err := strconv.ParseUint(parts[0], 16, 64)
		id, err2 := strconv.ParseInt(parts[1], 10, 64)
		if last := math.Float64frombits(bits); err == nil && err2 == nil && !math.IsNaN(last) && !math.IsInf(last, 0) {
			return &conversations.Position{Last: last, ID: id}
		}
	}
	p.refuse("cursor", text, badCursor)
	return nil
}

// placeCursor parses the seq at which a page ends or starts; 0: none given.
func (p *parameters) placeCursor(list string) int64 {
	text := p.first("cursor")
	if text == "" {
		return 0
	}
	if parts, ok := opened(text, list, 1); ok {
		if seq, err := strconv.ParseInt(parts[0], 10, 64); err == nil && seq > 0 && seq < math.MaxInt64 {
			return seq
		}
	}
	p.refuse("cursor", text, badCursor)
	return 0
}

// pageOf cuts rows to a page, and returns the cursor of the next one, for placeCursor; nil if there are no more rows.
func pageOf[T any](rows []T, limit int, list string, seq func(*T) int64) (page []T, next *string) {
	if len(rows) <= limit {
		return rows, nil
	}
	cursor := sealed(list, strconv.FormatInt(seq(&rows[limit-1]), 10))
	return rows[:limit], &cursor
}

func sealed(list string, parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(list + "." + strings.Join(parts, ".")))
}

func opened(text, list string, n int) (parts []string, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	parts = strings.Split(string(b), ".")
	if err != nil || len(parts) != n+1 || parts[0] != list {
		return nil, false
	}
	return parts[1:], true
}
