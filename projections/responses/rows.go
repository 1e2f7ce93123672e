package responses

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// row is a row of collaborations.
type row struct {
	Row
	name     string
	pair     string
	askedSeq int64
	sentAt   int64
	sentSeq  int64
	hop      int64
	earlier  collaborate.Earlier
}

var requestColumns = []string{"id", "name", "collab_id", "from_agent", "target_agent", "pair", "accepted_at", "version", "last_seq", "key",
	"asked_at", "asked_seq", "route", "thread_id", "thread_name", "channel_id", "guild_id", "session_key", "run_id", "work_session_id", "hop", "delivery",
	"code", "error", "sent_at", "sent_seq", "status", "earlier", "request"}

func newRequests(table string) *projections.Table[string, row] {
	return projections.NewTable(projections.Columns[string, row]{
		Table: table, Key: 1, Fixed: 2, Keep: 500, Names: requestColumns,
		Lookup: "name = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, x *row) (err error) {
			*x, err = scanRow(r)
			return err
		},
		Args: func(args []any, x *row) []any {
			id := x.ID
			if id == x.name {
				id = ""
			}
			earlier, _ := json.Marshal(&x.earlier) // texts, numbers and flags always marshal
			request, _ := json.Marshal(&x.Request)
			return append(args, x.Seq, x.name, id, strings.ToLower(x.FromAgent), strings.ToLower(x.TargetAgent), x.pair, x.AcceptedAt, x.Version, x.LastSeq,
				x.Key, x.earlier.At, x.askedSeq, string(x.Route), x.thread(), x.ThreadName, x.ChannelID, x.GuildID, x.SessionKey, x.RunID,
				x.WorkSessionID, x.hop, string(x.Delivery), x.Code, x.Error, x.sentAt, x.sentSeq, string(x.Status), string(earlier), string(request))
		},
	})
}

// thread is where the request was posted, or will be.
func (x *row) thread() string {
	if x.sentSeq > 0 {
		return x.ThreadID
	}
	return x.earlier.ThreadID
}

// columns returns the scan targets for one row.
type columns interface {
	Int(i int) int64
	Text(i int) string
}

// scanRow reads requestColumns.
func scanRow(r columns) (row, error) {
	x := row{name: r.Text(1), pair: r.Text(5), askedSeq: r.Int(11), hop: r.Int(20), sentAt: r.Int(24), sentSeq: r.Int(25)}
	if err := json.Unmarshal([]byte(r.Text(27)), &x.earlier); err != nil {
		return row{}, fmt.Errorf("decode deduplication state of request %s: %w", x.name, err)
	}
	if err := json.Unmarshal([]byte(r.Text(28)), &x.Request); err != nil {
		return row{}, fmt.Errorf("read request %s: %w", x.name, err)
	}
	x.Row = Row{Request: x.Request, Key: r.Text(9), Delivery: collaborate.Status(r.Text(21)), Code: r.Text(22), Error: r.Text(23),
		Route: collaborate.Route(r.Text(12)), ThreadName: r.Text(14), ChannelID: r.Text(15), GuildID: r.Text(16), SessionKey: r.Text(17),
		RunID: r.Text(18), AcceptedAt: r.Int(6), Version: r.Int(7), Seq: r.Int(0), LastSeq: r.Int(8)}
	return x, nil
}

// announced returns the row as the event that announced it.
func (x *row) announced() Row {
	r := x.Row
	if r.ThreadID = x.thread(); r.Hop == nil && x.hop > 0 {
		hop := int(x.hop)
		r.Hop = &hop // a2a.collaborate.sent does not repeat it
	}
	return r
}

// tracker returns the request's response tracking: zero while no answer is expected.
func (x *row) tracker() response.State {
	if x.Status == "" {
		return response.State{}
	}
	return response.State{Requests: []response.Request{x.Request}}
}

// keptThread is a row of collaboration_threads.
type keptThread struct {
	collaborate.Kept
	key string
	seq int64
}

var threadColumns = []string{"reuse_key", "direction", "last_used_at", "thread_id", "thread_name", "channel_id", "created_at", "messages", "seq"}

func newThreads(table string) *projections.Table[string, keptThread] {
	return projections.NewTable(projections.Columns[string, keptThread]{
		Table: table, Key: 1, Fixed: 2, Keep: 500, Names: threadColumns,
		Lookup: "reuse_key = ?", LookUp: func(key string) []any { return []any{key} },
		Scan: func(r eventstore.Row, k *keptThread) error {
			*k = scanKept(r)
			return nil
		},
		Args: func(args []any, k *keptThread) []any {
			return append(args, k.key, directionOf(k.key), k.LastUsedAt, k.ThreadID, k.ThreadName, k.ChannelID, k.CreatedAt, k.MessageCount, k.seq)
		},
		Empty: func(k *keptThread) bool { return k.ThreadID == "" },
	})
}

// scanKept reads threadColumns.
func scanKept(r columns) keptThread {
	return keptThread{key: r.Text(0), seq: r.Int(8), Kept: collaborate.Kept{ThreadID: r.Text(3), ThreadName: r.Text(4), ChannelID: r.Text(5), CreatedAt: r.Int(6),
		LastUsedAt: r.Int(2), MessageCount: int(r.Int(7))}}
}

// directionOf returns the direction in a thread's reuse key: <agent>:<agent>, or that and a topic.
func directionOf(reuseKey string) string {
	from, rest, _ := strings.Cut(reuseKey, ":")
	target, _, _ := strings.Cut(rest, ":")
	return from + ":" + target
}
