package monitor

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

// categoryTail is the last path segment of a work session's category.
const categoryTail = "/category"

// Limits of an operator's input, in characters.
const (
	maxWorkSessionID = 1_024
	maxUpdatedBy     = 200
)

// overrideAnswer is an operator's override of a work session's category.
type overrideAnswer struct {
	CollabCategory coordination.Category `json:"collabCategory"`
	UpdatedAt      string                `json:"updatedAt"`
	UpdatedBy      string                `json:"updatedBy,omitempty"`
}

// categorySetAnswer answers PATCH and DELETE /api/work-sessions/:id/category.
type categorySetAnswer struct {
	OK            bool            `json:"ok"`
	WorkSessionID string          `json:"workSessionId"`
	Override      *overrideAnswer `json:"override"` // null: the vote decides
	Seq           int64           `json:"seq"`      // of the event that sets it; if none was needed, the newest of the log
}

// setCategory stores an override for an existing work session. It is on disk and in the tables when the answer is
// sent.
func (s *Server) setCategory(c echo.Context) error {
	id, err := categoryIDOf(c)
	if err != nil {
		return err
	}
	body, err := readBody(c)
	if err != nil {
		return err
	}
	category, _ := body["collabCategory"].(string)
	said := coordination.WorkSessionCategory{Category: coordination.Category(coordination.TrimJS(category))}
	if !said.Category.Valid() {
		return &problem{Status: http.StatusBadRequest, Code: "invalid_category", Field: "collabCategory",
			Message: "collabCategory is required and must be a valid category", Hint: "use one from GET /api/categories"}
	}
	updatedBy, _ := body["updatedBy"].(string)
	if said.UpdatedBy = coordination.TrimJS(updatedBy); utf8.RuneCountInString(said.UpdatedBy) > maxUpdatedBy {
		return tooLong("updatedBy", said.UpdatedBy, maxUpdatedBy)
	}
	known, err := s.known(c.Request().Context(), id)
	if err != nil {
		return err
	}
	if err := known.missing(id); err != nil {
		return err
	}
	seq, err := s.sayCategory(c.Request().Context(), coordination.TypeWorkSessionCategorySet, known.name, &said)
	if err != nil {
		return err
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, categorySetAnswer{OK: true, WorkSessionID: known.name, Seq: seq,
		Override: &overrideAnswer{said.Category, said.UpdatedAt, said.UpdatedBy}})
}

// clearCategory removes an override. Without one, nothing happens.
func (s *Server) clearCategory(c echo.Context) error {
	id, err := categoryIDOf(c)
	if err != nil {
		return err
	}
	known, err := s.known(c.Request().Context(), id)
	if err != nil {
		return err
	}
	a := categorySetAnswer{OK: true, WorkSessionID: known.name, Seq: known.asOf}
	// Tables that lag behind may not contain an override yet.
	if known.overridden || known.behind {
		a.Seq, err = s.sayCategory(c.Request().Context(), coordination.TypeWorkSessionCategoryCleared, known.name, &coordination.WorkSessionCategory{})
		if err != nil {
			return err
		}
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, a)
}

func (s *Server) sayCategory(ctx context.Context, typ, name string, said *coordination.WorkSessionCategory) (seq int64, err error) {
	now := s.opts.Now()
	said.Context = coordination.Context{WorkSessionID: name, EventRole: coordination.RoleObservability}
	said.UpdatedAt = now.UTC().Format(timestampLayout)
	appends, err := eventstore.One(coordination.WorkSessionStream, eventstore.NewEvent{Type: typ, Actor: eventstore.ActorHuman}, said, now.UnixMilli())
	if err != nil {
		return 0, err
	}
	stored, err := s.opts.Store.Append(ctx, appends...)
	if err != nil {
		return 0, err
	}
	return stored.Events[0].Seq, nil
}

// categoryHistoryAnswer answers GET /api/work-sessions/:id/category.
type categoryHistoryAnswer struct {
	WorkSessionID string           `json:"workSessionId"`
	Override      *overrideAnswer  `json:"override"` // null: the vote decides
	History       []categoryChange `json:"history"`  // newest first
	AsOfSeq       int64            `json:"asOfSeq"`
}

type categoryChange struct {
	CollabCategory *string `json:"collabCategory"` // null: removed
	UpdatedAt      string  `json:"updatedAt"`
	UpdatedBy      string  `json:"updatedBy,omitempty"`
	Seq            int64   `json:"seq"`
}

func (s *Server) showCategory(c echo.Context) error {
	id, err := categoryIDOf(c)
	if err != nil {
		return err
	}
	p := parametersOf(c)
	limit := p.limit()
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		name, override, err := overrideOf(ctx, v.tx, id)
		if err != nil {
			return nil, err
		}
		changes, err := conversations.OverrideHistory(ctx, v.tx, name, limit)
		if err != nil {
			return nil, err
		}
		a := categoryHistoryAnswer{WorkSessionID: name, History: make([]categoryChange, len(changes)), AsOfSeq: v.asOf}
		if override != nil {
			a.Override = &overrideAnswer{override.Category, override.UpdatedAt, override.UpdatedBy}
		}
		for i, change := range changes {
			a.History[i] = categoryChange{orNull(string(change.Category)), change.UpdatedAt, change.UpdatedBy, change.Seq}
		}
		return a, nil
	})
}

func categoryIDOf(c echo.Context) (string, error) {
	id := coordination.TrimJS(idBefore(c, categoryTail))
	switch {
	case id == "" || id == idPrefix:
		return "", echo.ErrNotFound
	case !utf8.ValidString(id):
		return "", &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: "id",
			Message: fmt.Sprintf("Bad value %.80q for id", id), Hint: "escape everything but letters and digits as %XX, in UTF-8"}
	case utf8.RuneCountInString(id) > maxWorkSessionID:
		return "", tooLong("id", id, maxWorkSessionID)
	}
	return id, nil
}

func tooLong(field, value string, most int) *problem {
	return &problem{Status: http.StatusBadRequest, Code: "too_long", Field: field,
		Message: fmt.Sprintf("Bad value %q... for %s: it has more than %d characters", string([]rune(value)[:40]), field, most),
		Hint:    fmt.Sprintf("shorten it to %d characters", most)}
}

type knownSession struct {
	name       string
	exists     bool
	overridden bool
	asOf       int64
	behind     bool // the tables lag behind the log
}

func (s *Server) known(ctx context.Context, id string) (k knownSession, err error) {
	head, err := s.opts.Store.Head(ctx)
	if err != nil {
		return k, err
	}
	err = s.opts.Store.View(ctx, func(tx *sql.Tx) error {
		asOf, err := projections.AsOf(ctx, tx)
		if err != nil {
			return fmt.Errorf("read position: %w", err)
		}
		name, override, err := overrideOf(ctx, tx, id)
		if err != nil {
			return err
		}
		_, exists, err := conversations.ByName(ctx, tx, name)
		k = knownSession{name: name, exists: exists, overridden: override != nil, asOf: asOf, behind: asOf < head.Seq}
		return err
	})
	return k, err
}

// missing refuses an override for an unknown session. Tables that lag behind the log cannot tell.
func (k *knownSession) missing(id string) error {
	switch {
	case k.exists:
		return nil
	case k.behind:
		return behind(fmt.Sprintf("The tables stand at %d and do not contain work session %.80q", k.asOf, id), "try again when they have caught up with the log; see GET /api/health")
	}
	p := notFound("Work session not found: " + id)
	p.Field, p.Value, p.Hint = "id", id, "GET /api/work-sessions lists the existing ones"
	return p
}

// overrideOf returns the session an id names and its override, nil if the vote decides. An id with prefix names a
// session literally only if that session or an override of it exists.
func overrideOf(ctx context.Context, tx *sql.Tx, id string) (name string, override *conversations.Override, err error) {
	bare, prefixed := strings.CutPrefix(id, idPrefix)
	name = id
	if override, err = conversations.OverrideOf(ctx, tx, name); err != nil {
		return "", nil, err
	}
	if prefixed && override == nil {
		_, exists, err := conversations.ByName(ctx, tx, id)
		if err != nil {
			return "", nil, err
		}
		if !exists {
			name = cmp.Or(coordination.TrimJS(bare), id)
			if override, err = conversations.OverrideOf(ctx, tx, name); err != nil {
				return "", nil, err
			}
		}
	}
	if override != nil && override.Category == "" {
		override = nil
	}
	return name, override, nil
}
