package monitor

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/internal/budget"
)

// problem is an error answer. Message is the original's text if it has one.
type problem struct {
	Status     int    `json:"-"`
	Message    string `json:"error"`
	Code       string `json:"code"`
	Field      string `json:"field,omitempty"` // field of the request
	Value      string `json:"value,omitempty"` // value of the field as given, truncated
	Hint       string `json:"hint,omitempty"`  // how to fix it
	RetryAfter int    `json:"-"`               // seconds; 0: retrying does not help

	Allowed []string `json:"allowed,omitempty"` // allowed values
}

func (p *problem) Error() string { return p.Message }

func notFound(message string) *problem {
	return &problem{Status: http.StatusNotFound, Code: "not_found", Message: message}
}

// refuse sends an error. Internal causes are logged and not sent.
func (s *Server) refuse(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	p := s.problemOf(err, c)
	if p == nil {
		return
	}
	if p.RetryAfter > 0 {
		c.Response().Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	s.position(c)
	if err := writeJSON(c, p.Status, p); err != nil {
		s.opts.Logger.Debug("cannot write answer", "path", c.Request().URL.Path, "err", err)
	}
}

// problemOf maps an error to an answer; nil if the client has left.
func (s *Server) problemOf(err error, c echo.Context) *problem {
	var p *problem
	var h *echo.HTTPError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &h) && h.Code == http.StatusNotFound:
		return notFound("Not found")
	case errors.As(err, &h) && h.Code == http.StatusMethodNotAllowed:
		return &problem{Status: h.Code, Code: "method_not_allowed", Message: "Method not allowed"}
	case errors.Is(err, context.Canceled) && c.Request().Context().Err() != nil:
		return nil
	case errors.Is(err, eventstore.ErrClosed):
		return &problem{Status: http.StatusServiceUnavailable, Code: "closed", Message: "The server is shutting down", RetryAfter: 1}
	}
	var busy *eventstore.BusyError
	if errors.As(err, &busy) {
		message := "Too many writes are waiting"
		if busy.Held {
			message = "Another process holds the write lock of the database"
		}
		return &problem{Status: http.StatusServiceUnavailable, Code: busy.Code(), Message: message, Hint: busy.Hint(),
			RetryAfter: max(1, int(busy.RetryAfter.Seconds()))}
	}
	var held *budget.FullError
	if errors.As(err, &held) {
		return &problem{Status: http.StatusServiceUnavailable, Code: held.Code(), Message: "Other reads use too much memory", Hint: held.Hint(),
			RetryAfter: max(1, int(budget.RetryAfter.Seconds()))}
	}
	if refused := shared.Refusal(err); refused != nil {
		return &problem{Status: http.StatusServiceUnavailable, Code: refused.Code(), Message: refused.Error(), Hint: refused.Hint(), RetryAfter: 1}
	}
	var full *eventstore.DiskFullError
	if errors.As(err, &full) {
		s.opts.Logger.Error("disk full", "err", err)
		return &problem{Status: http.StatusInsufficientStorage, Code: full.Code(), Message: "The disk is full", Hint: full.Hint()}
	}
	var lost *eventstore.LostError
	if errors.As(err, &lost) {
		s.opts.Logger.Error("database lost", "err", err)
		return &problem{Status: http.StatusServiceUnavailable, Code: lost.Code(), Message: "The database was removed, replaced or truncated", Hint: lost.Hint()}
	}
	var foreign *eventstore.ForeignError
	if errors.As(err, &foreign) {
		s.opts.Logger.Error("another program has written to the log", "err", err)
		return &problem{Status: http.StatusServiceUnavailable, Code: foreign.Code(), Message: "Another program has written to the log", Hint: foreign.Hint()}
	}
	var broken *eventstore.IOError
	if errors.As(err, &broken) {
		s.opts.Logger.Error("disk failure", "err", err)
		return &problem{Status: http.StatusServiceUnavailable, Code: broken.Code(), Message: "The database's disk fails", Hint: broken.Hint()}
	}
	var corrupt *eventstore.CorruptError
	if errors.As(err, &corrupt) {
		s.opts.Logger.Error("database damaged", "err", err)
		return &problem{Status: http.StatusServiceUnavailable, Code: corrupt.Code(), Message: "The database is damaged", Hint: corrupt.Hint()}
	}
	s.opts.Logger.Error("request failed", "path", c.Request().URL.Path, "query", c.Request().URL.RawQuery, "err", err)
	return &problem{Status: http.StatusInternalServerError, Code: "internal", Message: "Internal server error"}
}
