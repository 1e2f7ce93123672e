package milestone

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/internal/taskhub"
	"github.com/pronto-lab/openclawd/tools"
)

// idempotencyKey is the header by which Task-Hub recognizes a repeated request.
const idempotencyKey = "Idempotency-Key"

// digest hashes a list of texts unambiguously.
func digest(of ...string) string {
	text, _ := json.Marshal(of) // texts always encode
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// callTarget describes a request to Task-Hub, for the explanation of an error.
type callTarget struct {
	milestoneID, itemID string
	reads               bool // read-only
}

func (a *callTarget) path() []string { return []string{a.milestoneID, items, a.itemID} }

type refused struct {
	Success      bool   `json:"success"`
	Error        string `json:"error"`
	Code         string `json:"code"`
	Field        string `json:"field,omitempty"`
	Hint         string `json:"hint"`
	Status       int    `json:"status,omitempty"` // HTTP status
	RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
}

const (
	codeInvalid     = "invalid_arguments"
	codeUnknown     = "not_found"            // no such milestone or item
	codeRefused     = "task_hub_refused"     // the request is invalid
	codeFailed      = "task_hub_failed"      // an error or overload of Task-Hub
	codeUnreachable = "task_hub_unreachable" // no answer
	codeUnreadable  = "task_hub_unreadable"  // the answer is not what was expected
)

const (
	hintOperator = "go on without it, and tell a person if you need it: Task-Hub has to be checked"
	hintLook     = "it may have been done all the same: check with milestone_list before you ask again"
)

// refuse returns the output for an error of Task-Hub. Other errors are not for agents.
func refuse(ctx context.Context, err error, of callTarget) (tool.Output, error) {
	why, is := errors.AsType[*taskhub.Error](err)
	if !is || ctx.Err() != nil {
		return tool.Output{}, errors.Join(ctx.Err(), err)
	}
	answer := refused{Status: why.Status, Error: "Task-Hub: " + coordination.Mask(why.Text), RetryAfterMs: why.After.Milliseconds()}
	if why.Text == "" {
		answer.Error = "Task-Hub: " + http.StatusText(why.Status)
	}
	switch {
	case why.Status == 0 && !why.Temporary():
		answer.Code, answer.Hint = codeInvalid, "give milestone_id and item_id as milestone_list shows them"
	case why.Unreadable() && of.reads:
		answer.Code, answer.Hint = codeUnreadable, hintOperator
	case why.Unreadable():
		answer.Code, answer.Hint = codeUnreadable, hintLook+", and tell a person: Task-Hub has to be checked"
	case why.Status == 0 && of.reads:
		answer.Code, answer.Hint = codeUnreachable, "try again later, or go on without it"
	case why.Status == 0:
		answer.Code, answer.Hint = codeUnreachable, hintLook
	case why.Status == http.StatusNotFound:
		answer.Code, answer.Hint = codeUnknown, "milestone_list shows which there are, and with milestone_id their items"
	case why.Status == http.StatusUnauthorized || why.Status == http.StatusForbidden:
		answer.Code, answer.Hint = codeRefused, hintOperator
	case !why.Temporary():
		answer.Code, answer.Hint = codeRefused, "correct what it refuses, and ask again"
	case of.reads || why.Status == http.StatusTooManyRequests:
		answer.Code, answer.Hint = codeFailed, "try again later"+in(why.After)
	default:
		answer.Code, answer.Hint = codeFailed, "try again later"+in(why.After)+"; check with milestone_list first, it may have been done all the same"
	}
	return tools.Refuse(answer)
}

func in(after time.Duration) string {
	if after == 0 {
		return ""
	}
	return ", in " + after.Round(time.Second).String()
}

// maxAnswer bounds the part of Task-Hub's answer to a change that is shown, in bytes.
const maxAnswer = 8 << 10

// bounded returns an answer of Task-Hub that can be shown; nil for an empty or too long one.
func bounded(body json.RawMessage) json.RawMessage {
	if shown := clean(body); len(shown) <= maxAnswer {
		return shown
	}
	return nil
}

// clean returns JSON of Task-Hub with secrets masked, nil if nothing is left.
func clean(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil {
		return nil
	}
	shown := json.RawMessage(coordination.Mask(b.String()))
	if !json.Valid(shown) { // a cut secret has taken the end with it
		return nil
	}
	return shown
}

func memberOf(object json.RawMessage, name string) (value json.RawMessage, found bool) {
	_ = coordination.EachField(object, func(member string, raw []byte) bool { // anything else has no members
		if member == name {
			value, found = raw, true
		}
		return !found
	})
	return value, found
}

// idOf returns the id of the created thing from an answer: the answer's own, or that of the named member; "" for none.
func idOf(body json.RawMessage, member string) string {
	if inner, found := memberOf(body, member); found {
		body = inner
	}
	for _, name := range []string{"id", "_id", member + "Id"} {
		var id string
		if raw, found := memberOf(body, name); found && json.Unmarshal(raw, &id) == nil && id != "" {
			return short(id)
		}
	}
	return ""
}

const maxShown = 200

func short(id string) string { return coordination.Head(coordination.Mask(id), maxShown) }
