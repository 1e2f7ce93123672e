package monitor

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// SQL answers questions in SQL. Whatever is asked, it changes nothing and keeps within its limits. Errors that the caller is told are
// eventstore.Coded with one of the codes of sqlStatus.
type SQL interface {
	// Query answers with limit rows at most. Of the answer it leaves AsOfSeq to the caller.
	Query(ctx context.Context, statement string, limit int) (SQLAnswer, error)
	// Schema lists tables and views by name.
	Schema(ctx context.Context) ([]SQLTable, error)
}

// AdminTokenVariable is the environment variable that turns SQL on.
const AdminTokenVariable = "OPENCLAWD_ADMIN_TOKEN"

// Bounds of the rows of one answer.
const (
	DefaultSQLRows = 1_000
	MaxSQLRows     = 10_000
)

const sqlPath = "/api/sql"

// SQLAnswer is the answer to a question in SQL.
type SQLAnswer struct {
	Columns []SQLColumn `json:"columns"`
	// Rows are arrays with a value for each column: integers with all their digits, blobs as text in hexadecimal.
	Rows      []json.RawMessage `json:"rows"`
	RowCount  int               `json:"rowCount"`
	Truncated bool              `json:"truncated"` // there are more rows
	ElapsedMs int64             `json:"elapsedMs"`
	AsOfSeq   int64             `json:"asOfSeq"` // the answer reflects the log at least up to here
}

// SQLColumn is a column of an answer.
type SQLColumn struct {
	Name string `json:"name"`
	Type string `json:"type"` // as it was declared; "" for what is worked out
}

// SQLTable is a table or a view.
type SQLTable struct {
	Name    string         `json:"name"`
	Kind    string         `json:"kind"` // table, view
	Doc     string         `json:"doc,omitempty"`
	Columns []SQLColumnDoc `json:"columns"`
}

// SQLColumnDoc is a column of a table or a view.
type SQLColumnDoc struct {
	SQLColumn
	Doc string `json:"doc,omitempty"`
}

// asAdmin lets only those in who show the token of administrators. To all others the path is what a write is to them.
func (s *Server) asAdmin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		refused := s.checkAdmin(r)
		if refused == nil {
			return next(c)
		}
		s.opts.Logger.Debug("SQL refused", "method", r.Method, "peer", r.RemoteAddr, "reason", refused.Hint)
		if refused.Status == http.StatusNotFound && r.Method == http.MethodPost {
			if _, err := readBodyIfAny(c); err != nil { // what is too large is told before what is not here
				return err
			}
		}
		return refused
	}
}

func (s *Server) checkAdmin(r *http.Request) *problem {
	on := s.opts.SQL != nil && s.opts.AdminToken != ""
	if on && isBearer(r, s.opts.AdminToken.Reveal()) {
		if refused := s.checkSite(r); refused != nil {
			return refused
		}
		if r.ContentLength > maxBodyBytes {
			return tooLarge()
		}
		return checkContent(r)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		// Where SQL is on, what is missing is its token, whatever a write would be told to show.
		if refused := s.settings.Load().check(r); refused != nil && !(on && refused.Status == http.StatusUnauthorized) {
			return refused
		}
	}
	if !on {
		return &problem{Status: http.StatusNotFound, Code: "sql_off", Message: "SQL is off",
			Hint: "set " + AdminTokenVariable + " where the server starts, and show it as Authorization: Bearer"}
	}
	return unauthorized("Authorization", "show the token of "+AdminTokenVariable+" as Authorization: Bearer")
}

// isBearer compares digests, so that the time tells neither the token nor its length.
func isBearer(r *http.Request, token string) bool {
	scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(strings.TrimSpace(shown)))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// checkSite refuses pages of other sites than those that may read.
func (s *Server) checkSite(r *http.Request) *problem {
	origins := r.Header.Values("Origin")
	known := len(origins) == 1 && (isSame(origins[0], r) || s.shares(origins[0]))
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case len(origins) > 0 && !known:
		return crossOrigin("Origin", fmt.Sprintf("a page of %.100q may not ask here", origins[0]))
	case !known && site != "" && site != "none" && site != "same-origin":
		return crossOrigin("Sec-Fetch-Site", fmt.Sprintf("a page of another site (%.20q) may not ask here", site))
	}
	return nil
}

// askSQL answers POST /api/sql.
func (s *Server) askSQL(c echo.Context) error {
	members, err := readBody(c)
	if err != nil {
		return err
	}
	statement, is := members["sql"].(string)
	if !is || strings.TrimSpace(statement) == "" {
		return &problem{Status: http.StatusBadRequest, Code: "missing_field", Message: "Missing sql", Field: "sql", Hint: "send one statement as a text"}
	}
	limit := DefaultSQLRows
	if given, there := members["limit"]; there {
		n, is := given.(float64)
		if !is || n != float64(int(n)) || n < 1 || n > MaxSQLRows {
			return &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Message: "Invalid limit", Field: "limit",
				Hint: fmt.Sprintf("give a whole number from 1 to %d", MaxSQLRows)}
		}
		limit = int(n)
	}
	ctx := c.Request().Context()
	asOf, err := s.standsAt(ctx)
	if err != nil {
		return err
	}
	start := s.opts.Now()
	answer, err := s.opts.SQL.Query(ctx, statement, limit)
	refused := sqlProblem(err)
	s.logSQL(c.Request(), statement, answer.RowCount, s.opts.Now().Sub(start).Milliseconds(), refused)
	switch {
	case refused != nil:
		return refused
	case err != nil:
		return err
	}
	answer.AsOfSeq = asOf
	s.position(c)
	return writeJSON(c, http.StatusOK, answer)
}

// standsAt is how far the tables have come.
func (s *Server) standsAt(ctx context.Context) (seq int64, err error) {
	err = s.opts.Store.View(ctx, func(tx *sql.Tx) (err error) {
		seq, err = projections.AsOf(ctx, tx)
		return err
	})
	return seq, err
}

// logSQL notes that somebody has asked, but not what: a statement may hold what must not stand in a log file.
func (s *Server) logSQL(r *http.Request, statement string, rows int, ms int64, refused *problem) {
	digest := sha256.Sum256([]byte(statement))
	code := "ok"
	if refused != nil {
		code = refused.Code
	}
	s.opts.Logger.Info("SQL", "peer", r.RemoteAddr, "bytes", len(statement), "sha256", hex.EncodeToString(digest[:8]), "rows", rows, "ms", ms, "code", code)
}

// sqlStatus are the statuses of what is told.
var sqlStatus = map[string]int{
	"sql_refused": http.StatusForbidden, "sql_error": http.StatusBadRequest, "sql_timeout": http.StatusUnprocessableEntity,
	"sql_too_large": http.StatusUnprocessableEntity, "sql_busy": http.StatusServiceUnavailable,
}

// sqlProblem is how an error of SQL is told; nil for one that is not its caller's.
func sqlProblem(err error) *problem {
	var coded eventstore.Coded
	if !errors.As(err, &coded) || sqlStatus[coded.Code()] == 0 {
		return nil
	}
	p := &problem{Status: sqlStatus[coded.Code()], Code: coded.Code(), Message: coded.Error(), Field: "sql", Hint: coded.Hint()}
	if p.Status == http.StatusServiceUnavailable {
		p.Field, p.RetryAfter = "", 1
	}
	return p
}

// showSchema answers GET /api/sql/schema.
func (s *Server) showSchema(c echo.Context) error {
	tables, err := s.opts.SQL.Schema(c.Request().Context())
	if refused := sqlProblem(err); refused != nil {
		return refused
	}
	if err != nil {
		return err
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, struct {
		Tables []SQLTable `json:"tables"`
	}{tables})
}
