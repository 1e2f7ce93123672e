package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// Limits of what a change's event records.
const (
	maxChangedPaths = 200
	maxNote         = 2000 // characters; other texts too
)

// configWriter changes the configuration file on behalf of clients.
type configWriter struct {
	configuration Configuration
	limit         *writeLimit
}

// writeParams are the parameters of config.patch, config.set and config.apply. A restart delay is ignored: nothing
// restarts.
type writeParams struct {
	Raw          string            `json:"raw"`
	BaseHash     string            `json:"baseHash"`
	SessionKey   string            `json:"sessionKey"`
	Note         string            `json:"note"`
	ReplacePaths []json.RawMessage `json:"replacePaths"`
}

// writeAnswer is the answer to a change of the file. Restart is nil for config.set, which has no such member.
type writeAnswer struct {
	OK      bool            `json:"ok"`
	Path    string          `json:"path"`
	Config  json.RawMessage `json:"config"`
	Hash    string          `json:"hash"`
	Noop    bool            `json:"noop,omitempty"` // the file already has these values
	Restart *restartAnswer  `json:"restart,omitempty"`
}

// restartAnswer says that the change is in force, except Settings, which require a restart of openclawd.
type restartAnswer struct {
	OK       bool     `json:"ok"`
	Required bool     `json:"required"`
	Settings []string `json:"settings"`
	Reason   string   `json:"reason"`
}

func (w *configWriter) patch(ctx context.Context, call *wire.Call) (any, error) {
	return answered(w.change(ctx, call, (*config.Document).Patch))
}

func (w *configWriter) apply(ctx context.Context, call *wire.Call) (any, error) {
	return answered(w.change(ctx, call, (*config.Document).Replace))
}

func (w *configWriter) set(ctx context.Context, call *wire.Call) (any, error) {
	a, err := w.change(ctx, call, (*config.Document).Replace)
	if err != nil {
		return nil, err
	}
	a.Restart = nil
	return a, nil
}

// answered returns no payload beside an error.
func answered(a *writeAnswer, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return a, nil
}

// change derives a new document from the current file and replaces the file with it.
func (w *configWriter) change(ctx context.Context, call *wire.Call,
	edit func(d *config.Document, raw string) (*config.Document, []string, error),
) (*writeAnswer, error) {
	if err := w.limit.admit(call); err != nil {
		return nil, err
	}
	p, err := paramsOf[writeParams](call)
	if err != nil {
		return nil, err
	}
	if len(p.ReplacePaths) > 0 {
		return nil, invalidRequest(call.Method+" does not support replacePaths", fault{Field: "replacePaths", Hint: "send the whole file with config.apply"})
	}
	before, err := w.configuration.Document()
	if err != nil {
		return nil, err
	}
	if err := checkBase(before, strings.TrimSpace(p.BaseHash)); err != nil {
		return nil, err
	}
	next, changed, err := edit(before, p.Raw)
	if err != nil {
		return nil, configRefusal(call.Method, err)
	}
	a := &writeAnswer{OK: true, Path: next.Path(), Config: next.Resolved(), Hash: next.Hash(), Noop: !next.Changed()}
	waiting := []string{}
	if next.Changed() {
		settings, err := w.configuration.Write(ctx, next, configPatched(call, &p, before, next, changed))
		if err != nil {
			return nil, configRefusal(call.Method, err)
		}
		waiting = append(waiting, settings...)
	}
	a.Restart = &restartAnswer{OK: true, Required: len(waiting) > 0, Settings: waiting, Reason: call.Method}
	return a, nil
}

// checkBase refuses a client that has not seen the current file.
func checkBase(d *config.Document, base string) error {
	switch {
	case !d.Exists():
		return nil
	case base == "":
		return invalidRequest("config base hash required; re-run config.get and retry", nil)
	case base != d.Hash():
		return errBase()
	}
	return nil
}

func errBase() error {
	return invalidRequest("config changed since last load; re-run config.get and retry", nil)
}

// configPatched is the event of a change. It contains no values.
func configPatched(call *wire.Call, p *writeParams, before, next *config.Document, changed []string) coordination.ConfigPatched {
	if len(changed) > maxChangedPaths {
		changed = append(changed[:maxChangedPaths:maxChangedPaths], "...")
	}
	shown := func(s string) string {
		text := []rune(next.Shown(before.Shown(s)))
		return string(text[:min(len(text), maxNote)])
	}
	return coordination.ConfigPatched{
		Context: coordination.Context{EventRole: coordination.RoleObservability},
		Method:  call.Method, Source: filepath.Base(next.Path()), HashBefore: next.BaseHash(), HashAfter: next.Hash(),
		Changed: append([]string{}, changed...), Note: shown(p.Note), SessionKey: shown(p.SessionKey), By: shown(clientOf(call.Peer)),
	}
}

func configRefusal(method string, err error) error {
	if invalid, ok := errors.AsType[*config.InvalidError](err); ok {
		return invalidRequest("invalid config", struct {
			Issues []config.Issue `json:"issues"`
		}{invalid.Issues})
	}
	if edit, ok := errors.AsType[*config.EditError](err); ok {
		return invalidRequest(method+": "+edit.Error(), fault{Field: "raw", Value: edit.Path, Hint: edit.Hint})
	}
	switch {
	case errors.Is(err, config.ErrNotObject):
		return invalidRequest(method+" raw must be an object", nil)
	case errors.Is(err, config.ErrChanged):
		return errBase()
	}
	return refusalOf(err)
}
