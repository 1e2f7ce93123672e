package monitor

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
)

// headerAsOf says up to which event of the log an answer speaks.
const headerAsOf = "X-As-Of-Seq"

// view is what one answer is made from: the log and its tables at one moment.
type view struct {
	*Options
	tx     *sql.Tx
	roster *coordination.Roster
	now    float64 // ms since 1970
	asOf   int64   // the tables reflect the log up to here
}

// answer makes an answer in one read transaction and writes it after that has ended.
func (s *Server) answer(c echo.Context, minSeq int64, answer func(context.Context, *view) (any, error)) error {
	ctx := c.Request().Context()
	if err := s.await(ctx, minSeq); err != nil {
		return err
	}
	share := s.opts.Reads.Open()
	defer share.Close()
	var text json.RawMessage
	if err := share.Read(ctx, s.opts.MaxWait, func(ctx context.Context) (err error) {
		text, err = s.read(ctx, c, minSeq, answer)
		return err
	}); err != nil {
		return err
	}
	share.Keep(int64(len(text))) // until it is written, at the pace of who reads it
	return writeJSON(c, http.StatusOK, text)
}

// read makes an answer, as it is written.
func (s *Server) read(ctx context.Context, c echo.Context, minSeq int64, answer func(context.Context, *view) (any, error)) (json.RawMessage, error) {
	var body any
	var named *Wording
	err := s.opts.Store.View(ctx, func(tx *sql.Tx) (err error) {
		v := view{Options: &s.opts, tx: tx, now: float64(s.opts.Now().UnixMilli())}
		if v.asOf, err = projections.AsOf(ctx, tx); err != nil {
			return fmt.Errorf("read position: %w", err)
		}
		if v.asOf < minSeq {
			return stuck(ctx, tx, minSeq)
		}
		if v.roster, err = index.Roster(ctx, tx); err != nil {
			return err
		}
		c.Response().Header().Set(headerAsOf, strconv.FormatInt(v.asOf, 10))
		named = v.wording()
		body, err = answer(ctx, &v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return named.worded(body)
}

// position names, on an answer that is not made from the tables, how far they have come. Where that cannot be read it is left out.
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

// await waits until the log has come to seq. Live projections come with it.
func (s *Server) await(ctx context.Context, seq int64) error {
	if seq == 0 {
		return nil
	}
	waiting, stop := context.WithTimeout(ctx, s.opts.MaxWait)
	defer stop()
	_, err := s.opts.Store.Wait(waiting, seq)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return behind(fmt.Sprintf("The log has not come to %d", seq), "try again, or ask without min_seq")
	}
	return err
}

// stuck names the first projection that keeps answers from reflecting seq.
func stuck(ctx context.Context, tx *sql.Tx, seq int64) error {
	list, err := projections.List(ctx, tx)
	if err != nil {
		return fmt.Errorf("list projections: %w", err)
	}
	for _, p := range list {
		if p.Kind == projections.ReadModel && p.Seq < seq {
			return behind(fmt.Sprintf("Projection %s is %s and stands at %d; %d was asked for", p.Name, p.State, p.Seq, seq),
				"see GET /api/health; a parked projection goes on after openclawd projections rebuild")
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

// encode writes an answer as it goes out, without the escapes that only pages need.
func encode(body any) (json.RawMessage, error) {
	if text, is := body.(json.RawMessage); is {
		return text, nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
