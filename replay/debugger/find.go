package debugger

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Direction of a search in the log.
type Direction int

const (
	Later   Direction = 1
	Earlier Direction = -1
)

// findPage is the number of events read at a time by a search.
const findPage = 1_000

// Find searches the next event after a seq, or before it, that matches. found is 0 if there is none. tell may be nil.
func Find(ctx context.Context, log eventstore.Reader, from int64, d Direction, match func(*eventstore.Event) bool, tell func(done, total int64)) (found int64, err error) {
	head, err := log.Head(ctx)
	if err != nil {
		return 0, err
	}
	total := head.Seq - from
	if d == Earlier {
		from = min(from, head.Seq+1)
		total = from - 1
	}
	for done := int64(0); done < total; {
		n := min(findPage, total-done)
		after := from + done
		if d == Earlier {
			after = from - done - n - 1
		}
		page, err := log.Read(ctx, after, int(n))
		if err != nil || len(page) == 0 {
			return 0, err
		}
		for i := range page {
			e := &page[i]
			if d == Earlier {
				e = &page[len(page)-1-i]
			}
			if match(e) {
				return e.Seq, nil
			}
		}
		done += n
		if tell != nil {
			tell(done, total)
		}
	}
	return 0, nil
}

// IsTrouble is a predicate for Find: events that Trouble reports as errors.
func IsTrouble(e *eventstore.Event) bool {
	_, is := Trouble(e)
	return is
}

// Says is a predicate for Find: events whose type, agent, stream, id or payload contains a text, ignoring case.
func Says(text string) func(*eventstore.Event) bool {
	low := strings.ToLower(text)
	needles := [][]byte{[]byte(low)}
	if escaped, err := json.Marshal(low); err == nil {
		if inside := escaped[1 : len(escaped)-1]; string(inside) != low {
			needles = append(needles, inside) // the encoding of our own events
		}
	}
	return func(e *eventstore.Event) bool {
		for _, column := range []string{e.Type, e.AgentID, e.Stream, e.ID.String()} {
			if strings.Contains(strings.ToLower(column), low) {
				return true
			}
		}
		for _, payload := range [][]byte{e.Data, e.Original} {
			payload = bytes.ToLower(payload)
			for _, needle := range needles {
				if bytes.Contains(payload, needle) {
					return true
				}
			}
		}
		return false
	}
}
