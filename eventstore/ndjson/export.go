package ndjson

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Format is what a line of an export looks like.
type Format string

const (
	// FormatOpenclaw is the log that Task-Monitor reads: {"type","agentId","ts","data"}, or the imported record with
	// its data appended. Removed payloads are null.
	FormatOpenclaw Format = "openclaw"
	// FormatFull contains everything that a store knows about an event, so that an import can restore the log exactly.
	FormatFull Format = "full"
)

// ParseFormat parses the name of a format. The error is an *eventstore.InvalidError.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case FormatOpenclaw, FormatFull:
		return f, nil
	}
	return "", &eventstore.InvalidError{Field: "format", Value: s, HintText: "use openclaw or full"}
}

// ExportOptions select what is exported. The zero value is the whole log as FormatOpenclaw.
type ExportOptions struct {
	Format Format
	// IDs appends the event's id to each line of FormatOpenclaw. Without it, only lines that were canonical when they
	// were imported get the same id when the export is imported; with it, importing the export adds nothing to the log
	// that it came from.
	IDs       bool
	From      int64 // first seq
	UntilSeq  int64 // last seq; 0: the head of the log when the export begins
	UntilTime int64 // last RecordedAt, ms since 1970; 0: no bound
	// Internal names the types that FormatOpenclaw leaves out because they are internal bookkeeping. Imported events
	// of such a type (Actor import) are written all the same. nil leaves nothing out.
	Internal func(typ string) bool
}

// Bounds of one page of an export.
const (
	exportPage  = 500
	exportBytes = 32 << 20 // data, plus one event
)

// boundedReader is a log that can also bound pages by bytes. Other logs are read by number of events only.
type boundedReader interface {
	ReadWithin(ctx context.Context, after int64, limit int, most int64) ([]eventstore.Event, error)
}

func readPage(ctx context.Context, log eventstore.Reader, after int64) ([]eventstore.Event, error) {
	if bounded, is := log.(boundedReader); is {
		return bounded.ReadWithin(ctx, after, exportPage, exportBytes)
	}
	return log.Read(ctx, after, exportPage)
}

// Export writes a part of the log, one line per event in the order of Seq, and returns how many it wrote. The same log
// and options give the same bytes. It holds one page of events in memory and stops at the head that the log had when
// it started.
func Export(ctx context.Context, log eventstore.Reader, w io.Writer, o ExportOptions) (events int64, err error) {
	if o.UntilSeq == 0 {
		head, err := log.Head(ctx)
		if err != nil {
			return 0, fmt.Errorf("export: %w", err)
		}
		o.UntilSeq = head.Seq
	}
	out := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	for after := max(o.From-1, 0); after < o.UntilSeq; {
		found, err := readPage(ctx, log, after)
		if err != nil {
			return events, fmt.Errorf("export after seq %d: %w", after, err)
		}
		for i := range found {
			e := &found[i]
			if e.Seq > o.UntilSeq || o.UntilTime != 0 && e.RecordedAt > o.UntilTime {
				return events, out.Flush()
			}
			after = e.Seq
			if o.leavesOut(e) {
				continue
			}
			line = append(o.append(line[:0], e), '\n')
			if _, err := out.Write(line); err != nil {
				return events, fmt.Errorf("export seq %d: %w", e.Seq, err)
			}
			events++
		}
		if len(found) == 0 {
			break
		}
	}
	return events, out.Flush()
}

func (o *ExportOptions) leavesOut(e *eventstore.Event) bool {
	return o.Format != FormatFull && o.Internal != nil && e.Actor != eventstore.ActorImport && o.Internal(e.Type)
}

func (o *ExportOptions) append(dst []byte, e *eventstore.Event) []byte {
	if o.Format == FormatFull {
		return AppendFull(dst, e)
	}
	dst = appendRecord(dst, e)
	if o.IDs {
		dst = appendID(dst, e.ID)
	}
	return dst
}

// appendRecord appends the line of e, as it was or would have been in a coordination log.
func appendRecord(dst []byte, e *eventstore.Event) []byte {
	if e.Original == nil {
		dst = appendEnvelope(dst, e.Type, e.AgentID, e.TS)
		return appendMember(dst, `"data":`, e.Data)
	}
	original := bytes.TrimSpace(e.Original)
	dst = append(dst, oneLine(original)...)
	if r := readRecord(original); !r.has(fieldData) {
		dst = appendMember(dst, `"data":`, e.Data)
	}
	return dst
}

func appendEnvelope(dst []byte, typ, agentID string, ts int64) []byte {
	dst = appendString(append(dst, `{"type":`...), typ)
	dst = appendString(append(dst, `,"agentId":`...), agentID)
	dst = strconv.AppendInt(append(dst, `,"ts":`...), ts, 10)
	return append(dst, '}')
}

func appendID(object []byte, id eventstore.ID) []byte {
	return appendMember(object, `"id":`, appendString(nil, id.String()))
}

// appendMember adds a member to the object at the end of dst. An empty value is written as null.
func appendMember(dst []byte, key string, value json.RawMessage) []byte {
	if value == nil {
		value = json.RawMessage("null")
	}
	dst = bytes.TrimRight(dst[:len(dst)-1], " \t")
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, key...)
	return append(append(dst, oneLine(value)...), '}')
}
