package monitor

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// headerAsOf carries the seq of the last event an answer reflects.
const headerAsOf = "X-As-Of-Seq"

// view is the input of one answer: the log and its tables in one snapshot.
type view struct {
	*Options
	tx     *sql.Tx
	roster *coordination.Roster
	now    float64 // ms since 1970
	asOf   int64   // the tables reflect the log up to here

	mark     eventstore.Mark // of the snapshot; one that is neither settled nor intact if it is unknown
	rendered *renderings
	asks     *asks   // of the event being rendered; nil: none is
	varies   bool    // the answer depends on what is not in the log, and must not be kept
	until    float64 // from then on the answer is another, in ms since 1970

	titles map[string]string // of the tasks that read events name, by id
	bots   map[string]string // agents of bots by user id; nil: not read yet
}

// answerTo answers a request that has no parameters but those of p and min_seq.
func (s *Server) answerTo(c echo.Context, p *parameters, answer func(context.Context, *view) (any, error)) error {
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, answer)
}

// answer builds an answer in one read transaction and writes it after the transaction has ended.
func (s *Server) answer(c echo.Context, minSeq int64, answer func(context.Context, *view) (any, error)) error {
	ctx := c.Request().Context()
	if err := s.await(ctx, minSeq); err != nil {
		return err
	}
	return s.compute(c, func(ctx context.Context) (json.RawMessage, error) {
		_, text, err := s.read(ctx, c, minSeq, answer)
		return text, err
	})
}

// answerKept is answer for what depends on the log and its tables, apart from what the view records: while nothing is
// committed, the answer to a request is kept.
func (s *Server) answerKept(c echo.Context, minSeq int64, answer func(context.Context, *view) (any, error)) error {
	if err := s.await(c.Request().Context(), minSeq); err != nil {
		return err
	}
	key, now := requestKey(c), float64(s.opts.Now().UnixMilli())
	return s.compute(c, func(ctx context.Context) (json.RawMessage, error) {
		if kept := s.kept.get(key, s.opts.Store.Mark(), now); kept != nil {
			setAsOf(c, kept.asOf)
			return kept.text, nil
		}
		v, text, err := s.read(ctx, c, minSeq, answer)
		if err == nil && v.mark.Settled() && !v.varies {
			s.kept.put(key, v.mark, &keptAnswer{text: text, asOf: v.asOf, from: v.now, until: v.until})
		}
		return text, err
	})
}

// compute writes an answer. It may be made more than once, until there is memory for it.
func (s *Server) compute(c echo.Context, make func(context.Context) (json.RawMessage, error)) error {
	share := s.opts.Reads.Open()
	defer share.Close()
	var text json.RawMessage
	if err := share.Read(c.Request().Context(), s.opts.MaxWait, func(ctx context.Context) (err error) {
		text, err = make(ctx)
		return err
	}); err != nil {
		return err
	}
	share.Keep(int64(len(text))) // until written, at the reader's pace
	return writeJSON(c, http.StatusOK, text)
}

func (s *Server) read(ctx context.Context, c echo.Context, minSeq int64, answer func(context.Context, *view) (any, error)) (*view, json.RawMessage, error) {
	var body any
	var named *Wording
	v := &view{Options: &s.opts, now: float64(s.opts.Now().UnixMilli()), rendered: &s.rendered, until: math.Inf(1)}
	err := s.opts.Store.ViewMarked(ctx, func(tx *sql.Tx, mark eventstore.Mark) (err error) {
		v.tx, v.mark = tx, mark
		if v.asOf, err = projections.AsOf(ctx, tx); err != nil {
			return fmt.Errorf("read position: %w", err)
		}
		if v.asOf < minSeq {
			return stuck(ctx, tx, minSeq)
		}
		if v.roster, err = s.rosters.Read(ctx, tx); err != nil {
			return err
		}
		setAsOf(c, v.asOf)
		named = v.wording()
		body, err = answer(ctx, v)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	text, err := named.worded(body)
	return v, text, err
}

func setAsOf(c echo.Context, seq int64) {
	c.Response().Header().Set(headerAsOf, strconv.FormatInt(seq, 10))
}

// position sets the header of an answer not made from tables to the tables' position. It is left out if unreadable.
func (s *Server) position(c echo.Context) {
	if c.Response().Header().Get(headerAsOf) != "" {
		return
	}
	ctx := c.Request().Context()
	_ = s.opts.Store.View(ctx, func(tx *sql.Tx) error {
		seq, err := projections.AsOf(ctx, tx)
		if err == nil {
			c.Response().Header().Set(headerAsOf, strconv.FormatInt(seq, 10))
		}
		return err
	})
}

// await waits until the log, and with it the live projections, has reached seq.
func (s *Server) await(ctx context.Context, seq int64) error {
	if seq == 0 {
		return nil
	}
	waiting, stop := context.WithTimeout(ctx, s.opts.MaxWait)
	defer stop()
	_, err := s.opts.Store.Wait(waiting, seq)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return behind(fmt.Sprintf("The log has not reached %d", seq), "try again, or ask without min_seq")
	}
	return err
}

// stuck names the first projection that prevents answers from reflecting seq.
func stuck(ctx context.Context, tx *sql.Tx, seq int64) error {
	list, err := projections.List(ctx, tx)
	if err != nil {
		return fmt.Errorf("list projections: %w", err)
	}
	for _, p := range list {
		if p.Kind == projections.ReadModel && p.Seq < seq {
			return behind(fmt.Sprintf("Projection %s is %s and stands at %d; %d was requested", p.Name, p.State, p.Seq, seq),
				"see GET /api/health; resume a parked projection with openclawd projections rebuild")
		}
	}
	return behind(fmt.Sprintf("No projection reflects %d", seq), "see GET /api/health")
}

func behind(message, hint string) *problem {
	return &problem{Status: http.StatusServiceUnavailable, Code: "behind", Message: message, Field: "min_seq", Hint: hint, RetryAfter: 1}
}

func writeJSON(c echo.Context, status int, body any) error {
	text, err := encode(body)
	if err != nil {
		return err
	}
	return c.Blob(status, "application/json", text)
}

// selfEncoding is an answer with many events, which are text already: encoding/json would read them once more. The
// result is the same.
type selfEncoding interface {
	encode() (json.RawMessage, error)
}

func encode(body any) (json.RawMessage, error) {
	switch body := body.(type) {
	case json.RawMessage:
		return body, nil
	case selfEncoding:
		return body.encode()
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
