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

// SQL runs read-only SQL queries within limits. Errors for the caller are eventstore.Coded with one of the codes of
// sqlStatus; they may name the Field of the request that is wrong, otherwise it is the statement.
type SQL interface {
	// Query answers a question. The caller sets AsOfSeq.
	Query(ctx context.Context, q SQLQuestion) (SQLAnswer, error)
	// Schema lists tables and views by name.
	Schema(ctx context.Context) ([]SQLTable, error)
}

// SQLQuestion is one statement with the values of its parameters.
type SQLQuestion struct {
	Statement string
	Limit     int // maximum number of rows
	// Values are nil, int64, float64 or string. At most one of the fields is set: by position, or by name without prefix.
	List  []any
	Named map[string]any
}

// AdminTokenVariable is the environment variable that enables SQL, and profiles for other machines.
const AdminTokenVariable = "OPENCLAWD_ADMIN_TOKEN"

// Limits of the number of rows.
const (
	DefaultSQLRows = 1_000
	MaxSQLRows     = 10_000
)

const sqlPath = "/api/sql"

// SQLAnswer is the result of a query.
type SQLAnswer struct {
	Columns []SQLColumn `json:"columns"`
	// Rows are arrays with one value per column: integers with all digits, blobs in hexadecimal.
	Rows      []json.RawMessage `json:"rows"`
	RowCount  int               `json:"rowCount"`
	Truncated bool              `json:"truncated"` // there are more rows
	ElapsedMs int64             `json:"elapsedMs"`
	AsOfSeq   int64             `json:"asOfSeq"` // the answer reflects the log at least up to here
}

// SQLColumn is a column of a result.
type SQLColumn struct {
	Name string `json:"name"`
	Type string `json:"type"` // declared type; "" for an expression
}

// SQLTable is a table or view.
type SQLTable struct {
	Name    string         `json:"name"`
	Kind    string         `json:"kind"` // table, view
	Doc     string         `json:"doc,omitempty"`
	Columns []SQLColumnDoc `json:"columns"`
}

// SQLColumnDoc is a column of a table or view.
type SQLColumnDoc struct {
	SQLColumn
	Doc string `json:"doc,omitempty"`
}

// asAdmin requires the administrator's token. Others get the same answers as on a write.
func (s *Server) asAdmin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		refused := s.checkAdmin(r)
		if refused == nil {
			return next(c)
		}
		s.opts.Logger.Debug("SQL refused", "method", r.Method, "peer", r.RemoteAddr, "reason", refused.Hint)
		if refused.Status == http.StatusNotFound && r.Method == http.MethodPost {
			if _, err := readBodyIfAny(c); err != nil { // size is checked before the route
				return err
			}
		}
		return refused
	}
}

func (s *Server) checkAdmin(r *http.Request) *problem {
	on := s.opts.SQL != nil && s.opts.AdminToken != ""
	if grant, granted := grantOf(r.Context()); granted && on {
		return grant.checkAdmin(r)
	}
	if on && isBearer(r, s.opts.AdminToken.Reveal()) {
		if refused := s.checkSite(r, "send SQL"); refused != nil {
			return refused
		}
		return checkBody(r)
	}
	if _, granted := grantOf(r.Context()); !granted && r.Method != http.MethodGet && r.Method != http.MethodHead {
		// If SQL is on, the missing token is SQL's, whatever a write requires.
		if refused := s.settings.Load().check(r); refused != nil && !(on && refused.Status == http.StatusUnauthorized) {
			return refused
		}
	}
	if !on {
		return &problem{Status: http.StatusNotFound, Code: "sql_off", Message: "SQL is off",
			Hint: "set " + AdminTokenVariable + " where the server starts, and show it as Authorization: Bearer"}
	}
	return adminRequired()
}

func adminRequired() *problem {
	return unauthorized("Authorization", "send the token of "+AdminTokenVariable+" as Authorization: Bearer")
}

// isBearer compares digests, so that timing reveals neither the token nor its length.
func isBearer(r *http.Request, token string) bool {
	scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(strings.TrimSpace(shown)))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// checkSite refuses pages of other sites to do something.
func (s *Server) checkSite(r *http.Request, what string) *problem {
	origins := r.Header.Values("Origin")
	known := len(origins) == 1 && (isSame(origins[0], r) || s.shares(origins[0]))
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case len(origins) > 0 && !known:
		return crossOrigin("Origin", fmt.Sprintf("a page of %.100q may not %s", origins[0], what))
	case !known && site != "" && site != "none" && site != "same-origin":
		return crossOrigin("Sec-Fetch-Site", fmt.Sprintf("a page of another site (%.20q) may not %s", site, what))
	}
	return nil
}

// askSQL answers POST /api/sql.
func (s *Server) askSQL(c echo.Context) error {
	q, err := readQuestion(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	asOf, err := s.standsAt(ctx)
	if err != nil {
		return err
	}
	start := s.opts.Now()
	answer, err := s.opts.SQL.Query(ctx, q)
	refused := sqlProblem(err)
	s.logSQL(c.Request(), q, answer.RowCount, s.opts.Now().Sub(start).Milliseconds(), refused)
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

func (s *Server) standsAt(ctx context.Context) (seq int64, err error) {
	err = s.opts.Store.View(ctx, func(tx *sql.Tx) (err error) {
		seq, err = projections.AsOf(ctx, tx)
		return err
	})
	return seq, err
}

// logSQL logs that a query was made, but neither its text nor its values, which may contain secrets.
func (s *Server) logSQL(r *http.Request, q SQLQuestion, rows int, ms int64, refused *problem) {
	digest := sha256.Sum256([]byte(q.Statement))
	code := "ok"
	if refused != nil {
		code = refused.Code
	}
	attributes := []any{"peer", r.RemoteAddr, "bytes", len(q.Statement), "sha256", hex.EncodeToString(digest[:8]), "params", len(q.List) + len(q.Named),
		"rows", rows, "ms", ms, "code", code}
	if s.opts.then != nil {
		attributes = append(attributes, "as_of", s.opts.then.Seq)
	}
	s.opts.Logger.Info("SQL", attributes...)
}

var sqlStatus = map[string]int{
	"sql_refused": http.StatusForbidden, "sql_error": http.StatusBadRequest, "sql_timeout": http.StatusUnprocessableEntity,
	"sql_too_large": http.StatusUnprocessableEntity, "sql_busy": http.StatusServiceUnavailable,
}

// sqlProblem converts an SQL error; nil if it is not the caller's.
func sqlProblem(err error) *problem {
	var coded eventstore.Coded
	if !errors.As(err, &coded) || sqlStatus[coded.Code()] == 0 {
		return nil
	}
	p := &problem{Status: sqlStatus[coded.Code()], Code: coded.Code(), Message: coded.Error(), Field: "sql", Hint: coded.Hint()}
	if wrong, is := errors.AsType[interface {
		error
		Field() string
	}](err); is {
		p.Field = wrong.Field()
	}
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
