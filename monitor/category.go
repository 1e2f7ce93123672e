package monitor

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversation"
)

// categoryTail is how the path of a work session's category ends, after the id.
const categoryTail = "/category"

// Bounds of what an operator gives, in characters.
const (
	maxWorkSessionID = 1_024
	maxUpdatedBy     = 200
)

// overrideAnswer is an operator's word on the category of a work session.
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
	Seq           int64           `json:"seq"`      // of the event that says so; where none was needed, of the newest in the log
}

// setCategory stores an operator's word on a work session that there is. It is on disk, and the tables reflect it, when the answer goes out.
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
			Message: "collabCategory is required and must be a valid category", Hint: "use one of GET /api/categories"}
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

// clearCategory takes an operator's word back. Where there is none, nothing happens.
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
	// Tables that are behind may not know yet of one.
	if known.overridden || known.behind {
		a.Seq, err = s.sayCategory(c.Request().Context(), coordination.TypeWorkSessionCategoryCleared, known.name, &coordination.WorkSessionCategory{})
		if err != nil {
			return err
		}
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, a)
}

// sayCategory appends an operator's word and notes in it when that was.
func (s *Server) sayCategory(ctx context.Context, typ, name string, said *coordination.WorkSessionCategory) (seq int64, err error) {
	now := s.opts.Now()
	said.Context = coordination.Context{WorkSessionID: name, EventRole: coordination.RoleObservability}
	said.UpdatedAt = now.UTC().Format(timestampLayout)
	data, err := json.Marshal(said)
	if err != nil {
		return 0, fmt.Errorf("write category event: %w", err)
	}
	e := eventstore.NewEvent{Type: typ, Actor: eventstore.ActorHuman, Data: data}.WithTS(now.UnixMilli())
	stored, err := s.opts.Store.Append(ctx, eventstore.StreamAppend{Stream: coordination.WorkSessionStream, Events: []eventstore.NewEvent{e}})
	if err != nil {
		return 0, err
	}
	return stored.Events[0].Seq, nil
}

// categoryHistoryAnswer answers GET /api/work-sessions/:id/category.
type categoryHistoryAnswer struct {
	WorkSessionID string           `json:"workSessionId"`
	Override      *overrideAnswer  `json:"override"` // null: the vote decides
	History       []categoryChange `json:"history"`  // the newest first
	AsOfSeq       int64            `json:"asOfSeq"`
}

// categoryChange is what an operator once said.
type categoryChange struct {
	CollabCategory *string `json:"collabCategory"` // null: taken back
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
	limit, minSeq := p.limit(), p.minSeq()
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		name, override, err := overrideOf(ctx, v.tx, id)
		if err != nil {
			return nil, err
		}
		changes, err := conversation.OverrideHistory(ctx, v.tx, name, limit)
		if err != nil {
			return nil, err
		}
		a := categoryHistoryAnswer{WorkSessionID: name, History: make([]categoryChange, len(changes)), AsOfSeq: v.asOf}
		if override != nil {
			a.Override = &overrideAnswer{override.Category, override.UpdatedAt, override.UpdatedBy}
		}
		for i, change := range changes {
			a.History[i] = categoryChange{textOrNull(string(change.Category)), change.UpdatedAt, change.UpdatedBy, change.Seq}
		}
		return a, nil
	})
}

// categoryIDOf is the work session that the path names.
func categoryIDOf(c echo.Context) (string, error) {
	id := coordination.TrimJS(idBefore(c, categoryTail))
	switch {
	case id == "" || id == idPrefix:
		return "", echo.ErrNotFound
	case !utf8.ValidString(id):
		return "", &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: "id",
			Message: fmt.Sprintf("Bad value %.80q for id", id), Hint: "escape what is no letter or digit as %XX, in UTF-8"}
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

// knownSession is what the tables say of a session that an operator speaks of.
type knownSession struct {
	name       string
	exists     bool
	overridden bool
	asOf       int64
	behind     bool // the tables do not reflect the whole log
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
		_, exists, err := conversation.ByName(ctx, tx, name)
		k = knownSession{name: name, exists: exists, overridden: override != nil, asOf: asOf, behind: asOf < head.Seq}
		return err
	})
	return k, err
}

// missing refuses an operator's word on a session that there is not. Tables that are behind the log cannot tell.
func (k *knownSession) missing(id string) error {
	switch {
	case k.exists:
		return nil
	case k.behind:
		return behind(fmt.Sprintf("The tables stand at %d and do not know of work session %.80q", k.asOf, id), "try again when they have come to the end of the log; see GET /api/health")
	}
	p := notFound("Work session not found: " + id)
	p.Field, p.Value, p.Hint = "id", id, "GET /api/work-sessions lists those that there are"
	return p
}

// overrideOf says which session an id means, and what an operator says of it, nil where the vote decides. An id with prefix means the
// session with just that name only if there is one or if somebody spoke of it.
func overrideOf(ctx context.Context, tx *sql.Tx, id string) (name string, override *conversation.Override, err error) {
	bare, prefixed := strings.CutPrefix(id, idPrefix)
	name = id
	if override, err = conversation.OverrideOf(ctx, tx, name); err != nil {
		return "", nil, err
	}
	if prefixed && override == nil {
		_, exists, err := conversation.ByName(ctx, tx, id)
		if err != nil {
			return "", nil, err
		}
		if !exists {
			name = cmp.Or(coordination.TrimJS(bare), id)
			if override, err = conversation.OverrideOf(ctx, tx, name); err != nil {
				return "", nil, err
			}
		}
	}
	if override != nil && override.Category == "" {
		override = nil
	}
	return name, override, nil
}
