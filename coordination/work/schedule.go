package work

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// Limits of scheduled work.
const (
	maxEffectID = 512
	maxName     = 256 // kind, pool, owner
	maxKey      = 4 << 10
	maxPayload  = 1 << 20
	maxAttempts = 1_000_000
)

// Refusal says why work cannot be scheduled or changed.
type Refusal struct {
	Reason   string // one of those below
	Field    string
	Value    string
	Text     string // "": it follows from the others
	HintText string
}

func (r *Refusal) Error() string {
	if r.Text != "" {
		return r.Text
	}
	value := r.Value
	if len(value) > 120 {
		value = strings.ToValidUTF8(value[:120], "") + "..."
	}
	return r.Field + ": bad value " + strconv.Quote(value) + ": " + r.HintText
}
func (r *Refusal) Code() string { return r.Reason }
func (r *Refusal) Hint() string { return r.HintText }

const (
	CodeInvalid  = "invalid_work"
	CodeUnknown  = "unknown_work" // no such item, or it is done
	CodeNotDead  = "not_dead"     // only dead letters are resent
	CodeUnderWay = "under_way"    // an attempt is running
	CodeRun      = "is_a_run"     // stop it as a run
	CodeJob      = "is_a_job"     // cancel it as a flow
)

// Check refuses, with a *Refusal, work that can never be queued.
func Check(w *coordination.WorkScheduled) error {
	n := New{EffectID: w.EffectID, Kind: w.Kind, Key: w.Key, Pool: w.Pool, Owner: w.Owner}
	if err := n.check(); err != nil {
		return err
	}
	bad := func(field, value, hint string) error {
		return &Refusal{Reason: CodeInvalid, Field: field, Value: value, HintText: hint}
	}
	switch {
	case w.DueAtMs < 0 || w.DueAtMs > maxNumber:
		return bad("dueAtMs", strconv.FormatInt(w.DueAtMs, 10), "give milliseconds since 1970, or 0 for at once")
	case w.MaxAttempts < 0 || w.MaxAttempts > maxAttempts:
		return bad("maxAttempts", strconv.Itoa(w.MaxAttempts), "give 1 to 1000000, or 0 for the default of its kind")
	case len(w.Payload) > maxPayload:
		return bad("payload", string(w.Payload[:64]), "keep it below 1 MiB")
	case w.Payload != nil && (!json.Valid(w.Payload) || coordination.EachField(w.Payload, func(string, []byte) bool { return false }) != nil):
		return bad("payload", string(w.Payload[:min(len(w.Payload), 64)]), "give a JSON object, or nothing")
	}
	return nil
}

func (n *New) check() error {
	for _, f := range [...]struct {
		name, value string
		most        int
		blank       bool
	}{{"effectId", n.EffectID, maxEffectID, false}, {"kind", n.Kind, maxName, false}, {"key", n.Key, maxKey, false},
		{"pool", n.Pool, maxName, false}, {"owner", n.Owner, maxName, true}} {
		if f.value == "" && !f.blank || len(f.value) > f.most || !utf8.ValidString(f.value) || strings.IndexByte(f.value, 0) >= 0 {
			return &Refusal{Reason: CodeInvalid, Field: f.name, Value: f.value, HintText: "give 1 to " + strconv.Itoa(f.most) + " bytes of UTF-8 without NUL"}
		}
	}
	switch {
	case (n.Kind == KindRun) != strings.HasPrefix(n.EffectID, runPrefix):
		return &Refusal{Reason: CodeInvalid, Field: "effectId", Value: n.EffectID, HintText: "choose another id or kind: run is reserved for agents' runs"}
	case (n.Kind == KindJob) != strings.HasPrefix(n.EffectID, jobPrefix):
		return &Refusal{Reason: CodeInvalid, Field: "effectId", Value: n.EffectID, HintText: "choose another id or kind: job is reserved for flows between agents"}
	}
	return nil
}
