package gateway

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

const (
	// usualPage is the default page size for clients of protocol 4. Older clients get all rows, up to maxPage.
	usualPage = 100
	// maxPage is the maximum number of rows per answer.
	maxPage = 20_000
	// maxListBytes is the maximum size of the rows of an answer: it fits into a frame that stock clients accept, protocol.MaxPayload, with
	// the queues of the sessions.
	maxListBytes = 16 << 20
)

type sessionLists struct {
	server   *Server
	kept     *listCache
	maxPage  int
	maxBytes int
}

type listParams struct {
	Limit         int             `json:"limit"`
	Offset        int             `json:"offset"`
	ActiveMinutes int             `json:"activeMinutes"`
	Global        bool            `json:"includeGlobal"`
	Unknown       bool            `json:"includeUnknown"`
	Titles        bool            `json:"includeDerivedTitles"`
	LastMessage   bool            `json:"includeLastMessage"`
	Label         string          `json:"label"`
	SpawnedBy     string          `json:"spawnedBy"`
	Agent         string          `json:"agentId"`
	Search        string          `json:"search"`
	Archived      json.RawMessage `json:"archived"` // protocol 4: true, false, "all"
}

// listQuery is what an answer depends on besides the sessions and the configuration.
type listQuery struct {
	sessions.Query
	titles, lastMessage bool
	archived            bool // there are none
	version             int
	all                 bool // as many rows as fit were requested
}

// answer returns the sessions, last changed first, as they are in the database now: cached rows are used only if no
// session has changed since, and queue counts are read each time unless all queues are idle.
func (l *sessionLists) answer(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[listParams](call)
	if err != nil {
		return nil, err
	}
	c, now := l.server.opts.Configuration.InForce(), l.server.opts.Now()
	q, err := p.query(c, call.Peer.Protocol, l.maxPage)
	if err != nil {
		return nil, err
	}
	var text *listText
	if p.ActiveMinutes > 0 { // the query depends on the time
		q.Since = now.Add(-time.Duration(min(p.ActiveMinutes, maxMinutes)) * time.Minute).UnixMilli()
	} else if text, err = l.shared(ctx, c, q); err != nil {
		return nil, err
	}
	if text == nil {
		if text, err = l.made(ctx, c, q); err != nil {
			return nil, err
		}
	}
	var queues map[string]*sessionQueue
	err = l.server.opts.Log.View(ctx, func(tx *sql.Tx) error {
		idle, err := l.server.isIdle(ctx, tx)
		if err == nil && !idle {
			queues, err = l.server.queues(ctx, tx, text.keys)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return text.at(now, queues)
}

// made reads and encodes the part of an answer after the time.
func (l *sessionLists) made(ctx context.Context, c *config.Config, q listQuery) (*listText, error) {
	var found listResult
	err := l.server.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		found, err = q.read(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return l.encode(c, q, found)
}

// shared is computed once for equal requests while nothing changes. It is nil if the computation failed.
func (l *sessionLists) shared(ctx context.Context, c *config.Config, q listQuery) (text *listText, err error) {
	var (
		list  *cachedList
		mine  bool
		found listResult
	)
	defer func() {
		if mine {
			l.kept.done(q, list, text)
		}
	}()
	err = l.server.opts.Log.View(ctx, func(tx *sql.Tx) error {
		changed, err := sessions.Changed(ctx, tx)
		if err != nil {
			return err
		}
		if list, mine = l.kept.find(changed, c, q); mine {
			found, err = q.read(ctx, tx)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case mine:
		return l.encode(c, q, found)
	}
	return list.wait(ctx)
}

type listResult struct {
	sessions []sessions.Session
	total    int // without offset and limit; at least the number of returned rows
}

// read queries the sessions. It counts them only if not all are returned and the client wants the number.
func (q *listQuery) read(ctx context.Context, tx *sql.Tx) (found listResult, err error) {
	if q.archived {
		return found, nil
	}
	if found.sessions, err = sessions.List(ctx, tx, q.Query); err != nil {
		return found, err
	}
	found.total = q.Offset + len(found.sessions)
	full, beyond := len(found.sessions) == q.Limit, q.Offset > 0 && len(found.sessions) == 0
	if full && (q.paged() || q.all || q.Offset > 0) || beyond {
		found.total, err = sessions.Total(ctx, tx, q.Query)
	}
	return found, err
}

func (q *listQuery) paged() bool { return q.version >= protocol.SincePages }

// maxMinutes reaches back before any session.
const maxMinutes = 100 * 365 * 24 * 60

func (p *listParams) query(c *config.Config, version, maxPage int) (q listQuery, err error) {
	q = listQuery{
		Query: sessions.Query{
			Agent: strings.ToLower(coordination.TrimJS(p.Agent)), Label: coordination.TrimJS(p.Label), Search: coordination.TrimJS(p.Search),
			Global: p.Global, Unknown: p.Unknown, Limit: maxPage,
		},
		titles: p.Titles, lastMessage: p.LastMessage, version: version,
	}
	if q.Spawner, err = spawnerOf(c, p.SpawnedBy); err != nil {
		return q, err
	}
	q.Offset = max(0, p.Offset) // for older clients too, as it is their way to rows beyond one answer
	if q.paged() {
		q.Limit, q.archived = usualPage, string(p.Archived) == "true"
	}
	if p.Limit > 0 {
		q.Limit = min(p.Limit, maxPage)
	}
	q.all = q.Limit == maxPage
	return q, nil
}

// listAnswer is the part of an answer after the time.
type listAnswer struct {
	Path     string        `json:"path"`
	Count    int           `json:"count"`
	Defaults listDefaults  `json:"defaults"`
	Sessions [0]sessionRow `json:"sessions"` // see listText
	*listPage
}

// listPage describes the returned page. Clients without paging receive it only if rows they requested are missing.
type listPage struct {
	TotalCount   int  `json:"totalCount"`
	LimitApplied int  `json:"limitApplied"`
	Offset       int  `json:"offset"`
	NextOffset   *int `json:"nextOffset,omitempty"`
	HasMore      bool `json:"hasMore"`
	Truncated    bool `json:"truncated,omitempty"` // more was requested than fits; continue at nextOffset
}

// encode encodes the part of an answer after the time: as many of the rows as fit.
func (l *sessionLists) encode(c *config.Config, q listQuery, found listResult) (*listText, error) {
	t, err := l.encodeRows(c, q, found.sessions)
	if err != nil {
		return nil, err
	}
	count := len(t.rows)
	a := listAnswer{Path: l.server.opts.Database, Count: count, Defaults: defaultsOf(c), Sessions: [0]sessionRow{}}
	from := min(q.Offset, found.total)
	to := from + count
	if more := to < found.total; more || q.paged() {
		a.listPage = &listPage{TotalCount: found.total, LimitApplied: q.Limit, Offset: from, HasMore: more, Truncated: more && (q.all || count < len(found.sessions))}
		if more {
			a.NextOffset = &to
		}
	}
	body, err := encoded(a)
	if err != nil {
		return nil, err
	}
	t.head, t.tail, _ = bytes.Cut(body[1:], []byte(listRows)) // unescaped quotes cannot occur inside a JSON string
	t.size += len(body)
	return t, nil
}

// encodeRows encodes sessions until the rows are too large together, but at least one.
func (l *sessionLists) encodeRows(c *config.Config, q listQuery, list []sessions.Session) (*listText, error) {
	t := &listText{keys: make([]string, 0, len(list)), rows: make([][]byte, 0, len(list))}
	for i := range list {
		one := &list[i]
		row := rowOf(c, one, q.version)
		if q.titles {
			row.DerivedTitle = derivedTitle(&row, one)
		}
		if q.lastMessage {
			row.LastMessage = one.LastText
		}
		text, err := encoded(row)
		if err != nil {
			return nil, err
		}
		if t.size+len(text) > l.maxBytes && i > 0 {
			break
		}
		t.rows, t.keys = append(t.rows, text), append(t.keys, one.Key)
		t.size += len(text)
	}
	return t, nil
}

// listRows separates the parts of an answer before and after its rows.
const listRows = `"sessions":[]`

// listText is an encoded answer without the time and the queue counts. It is immutable.
type listText struct {
	head, tail []byte
	keys       []string
	rows       [][]byte
	size       int
}

// at completes the answer with a time and the current queue counts.
func (t *listText) at(now time.Time, queues map[string]*sessionQueue) (json.RawMessage, error) {
	const room = 96 // room for a time, or a session's queue
	text := append(make([]byte, 0, t.size+len(t.rows)+room*(1+len(queues))), `{"ts":`...)
	text = append(strconv.AppendInt(text, now.UnixMilli(), 10), ',')
	text = append(append(text, t.head...), `"sessions":[`...)
	for i, row := range t.rows {
		if i > 0 {
			text = append(text, ',')
		}
		queue := queues[t.keys[i]]
		if queue == nil {
			text = append(text, row...)
			continue
		}
		waits, err := encoded(queue)
		if err != nil {
			return nil, err
		}
		text = append(append(text, row[:len(row)-1]...), `,"queue":`...)
		text = append(append(text, waits...), '}')
	}
	return append(append(text, ']'), t.tail...), nil
}
