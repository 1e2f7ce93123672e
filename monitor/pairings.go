package monitor

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/pairing"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/routing"
)

const (
	pairingsPath      = "/api/pairings"
	pairingsApproving = pairingsPath + "/approve"
	pairingsRevoking  = pairingsPath + "/revoke"
)

// Pairings decides which people may write direct messages to agents. Errors are *pairing.Refusal, or the log's.
type Pairings interface {
	Approve(ctx context.Context, channel, code, by string, notify bool) (pairing.Person, error)
	Revoke(ctx context.Context, channel, userID, by string) (pairing.Person, error)
}

// PairingsAnswer answers GET /api/pairings.
type PairingsAnswer struct {
	Pairings []pairing.Person `json:"pairings"`
	Count    int              `json:"count"`
	AsOfSeq  int64            `json:"asOfSeq"`
}

// listPairings lists people who wait for approval, by channel and user id; with state=approved those who were approved.
func (s *Server) listPairings(c echo.Context) error {
	p := parametersOf(c)
	var names []string
	for _, traits := range coordination.Channels() {
		names = append(names, traits.Name)
	}
	channel := p.word("channel", names...)
	state := pairing.State(p.choice("state", string(pairing.Pending), string(pairing.Approved), string(pairing.Revoked)))
	limit := p.limit()
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		a := &PairingsAnswer{Pairings: []pairing.Person{}, AsOfSeq: v.asOf}
		for _, name := range names {
			if channel != "" && channel != name {
				continue
			}
			people, err := routing.People(projections.Reading(ctx, v.tx), name, state, int64(v.now), limit-len(a.Pairings))
			if err != nil {
				return nil, err
			}
			a.Pairings = append(a.Pairings, people...)
		}
		a.Count = len(a.Pairings)
		return a, nil
	})
}

// pairedAnswer answers POST /api/pairings/approve and /revoke.
type pairedAnswer struct {
	OK bool `json:"ok"`
	pairing.Person
}

func (s *Server) approvePairing(c echo.Context) error {
	return s.pair(c, "code", func(ctx context.Context, said map[string]string, notify bool, by string) (pairing.Person, error) {
		return s.opts.Pairings.Approve(ctx, said["channel"], said["code"], by, notify)
	})
}

func (s *Server) revokePairing(c echo.Context) error {
	return s.pair(c, "userId", func(ctx context.Context, said map[string]string, _ bool, by string) (pairing.Person, error) {
		return s.opts.Pairings.Revoke(ctx, said["channel"], said["userId"], by)
	})
}

// pair applies a decision about the person that a field of the body names. It is on disk when the answer is sent.
func (s *Server) pair(c echo.Context, field string, decide func(ctx context.Context, said map[string]string, notify bool, by string) (pairing.Person, error)) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	if s.opts.Pairings == nil {
		return &problem{Status: http.StatusConflict, Code: "decided_elsewhere", Message: "No one is paired here",
			Hint: "another gateway runs the agents: ask it"}
	}
	notify := false
	if told, has := body["notify"]; has && field == "code" {
		if notify, has = told.(bool); !has {
			return badField("notify", "Bad value "+shownJSON(told)+" for notify: it is neither true nor false", "give true or false, or leave it out")
		}
		delete(body, "notify")
	}
	said, err := textsIn(body, []string{"channel", field, "by"})
	if err != nil {
		return err
	}
	for _, required := range []string{"channel", field} {
		if said[required] == "" {
			return &problem{Status: http.StatusBadRequest, Code: "missing_field", Message: required + " is required", Field: required,
				Hint: "GET " + pairingsPath + " lists who waits, with channel and code"}
		}
	}
	by, err := personIn(c, said["by"])
	if err != nil {
		return err
	}
	p, err := decide(context.WithoutCancel(c.Request().Context()), said, notify, by)
	if err != nil {
		return pairingProblem(err)
	}
	s.opts.Logger.Info("pairing decided", "channel", p.Channel, "user", p.UserID, "state", p.State, "by", by)
	s.position(c)
	return writeJSON(c, http.StatusOK, pairedAnswer{true, p})
}

func pairingProblem(err error) error {
	refused, ok := errors.AsType[*pairing.Refusal](err)
	if !ok {
		return err
	}
	p := &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Message: refused.Text, Field: refused.Field, Hint: refused.HintText}
	switch refused.Reason {
	case pairing.CodeInvalid:
		p.Message = fmt.Sprintf("Bad value %q for %s: %s", coordination.Beginning(refused.Value, maxField), refused.Field, refused.Text)
	case pairing.CodeUnknownCode, pairing.CodeUnknown:
		p.Status, p.Code = http.StatusNotFound, "not_found"
	case pairing.CodeTooMany:
		p.Status, p.Code = http.StatusConflict, "not_allowed"
	}
	return p
}
