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

// idempotencyKey is the header by which Task-Hub can tell that it was asked before.
const idempotencyKey = "Idempotency-Key"

// digest is that of a list of texts, another one for each list.
func digest(of ...string) string {
	text, _ := json.Marshal(of) // texts can always be written
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// asked is what a call was about.
type asked struct {
	milestoneID, itemID string
	reads               bool // it changes nothing
}

// path is that of an item.
func (a *asked) path() []string { return []string{a.milestoneID, items, a.itemID} }

// refused is the answer to what is not done.
type refused struct {
	Success      bool   `json:"success"`
	Error        string `json:"error"`
	Code         string `json:"code"`
	Field        string `json:"field,omitempty"`
	Mend         string `json:"mend"`
	Status       int    `json:"status,omitempty"` // of HTTP
	RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
}

// Codes of refused.
const (
	codeInvalid     = "invalid_arguments"
	codeUnknown     = "not_found"            // Task-Hub has no such milestone or item
	codeRefused     = "task_hub_refused"     // it understood, and does not do it
	codeFailed      = "task_hub_failed"      // it broke, or is overloaded
	codeUnreachable = "task_hub_unreachable" // nobody answers
	codeUnreadable  = "task_hub_unreadable"  // it answers something else
)

const (
	mendOperator = "go on without it, and tell a person if you need it: Task-Hub has to be looked at"
	mendLook     = "it may have been done all the same: look with milestone_list before you ask again"
)

// refuse is the output for what Task-Hub has not done. Other errors are not for agents.
func refuse(ctx context.Context, err error, of asked) (tool.Output, error) {
	why, is := errors.AsType[*taskhub.Error](err)
	if !is || ctx.Err() != nil {
		return tool.Output{}, errors.Join(ctx.Err(), err)
	}
	answer := refused{Status: why.Status, Error: "Task-Hub: " + coordination.Mask(why.Text), RetryAfterMs: why.After.Milliseconds()}
	if why.Text == "" {
		answer.Error = "Task-Hub: " + http.StatusText(why.Status)
	}
	switch {
	case why.Status == 0 && !why.Passing():
		answer.Code, answer.Mend = codeInvalid, "give milestone_id and item_id as milestone_list shows them"
	case why.Unreadable() && of.reads:
		answer.Code, answer.Mend = codeUnreadable, mendOperator
	case why.Unreadable():
		answer.Code, answer.Mend = codeUnreadable, mendLook+", and tell a person: Task-Hub has to be looked at"
	case why.Status == 0 && of.reads:
		answer.Code, answer.Mend = codeUnreachable, "try again later, or go on without it"
	case why.Status == 0:
		answer.Code, answer.Mend = codeUnreachable, mendLook
	case why.Status == http.StatusNotFound:
		answer.Code, answer.Mend = codeUnknown, "milestone_list shows which there are, and with milestone_id their items"
	case why.Status == http.StatusUnauthorized || why.Status == http.StatusForbidden:
		answer.Code, answer.Mend = codeRefused, mendOperator
	case !why.Passing():
		answer.Code, answer.Mend = codeRefused, "change what it does not take, and ask again"
	case of.reads || why.Status == http.StatusTooManyRequests:
		answer.Code, answer.Mend = codeFailed, "try again later"+in(why.After)
	default:
		answer.Code, answer.Mend = codeFailed, "try again later"+in(why.After)+"; look with milestone_list before, it may have been done all the same"
	}
	return tools.Refuse(answer)
}

func in(after time.Duration) string {
	if after == 0 {
		return ""
	}
	return ", in " + after.Round(time.Second).String()
}

// maxAnswer bounds what is told of Task-Hub's answer to a change, in bytes.
const maxAnswer = 8 << 10

// bounded is an answer of Task-Hub that can be shown; nil for one that is too long, or says nothing.
func bounded(body json.RawMessage) json.RawMessage {
	if shown := clean(body); len(shown) <= maxAnswer {
		return shown
	}
	return nil
}

// clean is JSON of Task-Hub without secrets, nil where nothing is left of it.
func clean(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil {
		return nil
	}
	shown := json.RawMessage(coordination.Mask(b.String()))
	if !json.Valid(shown) { // a secret that was cut off has taken the end with it
		return nil
	}
	return shown
}

// memberOf is a member of an object.
func memberOf(object json.RawMessage, name string) (value json.RawMessage, found bool) {
	_ = coordination.EachField(object, func(member string, raw []byte) bool { // what is no object has none
		if member == name {
			value, found = raw, true
		}
		return !found
	})
	return value, found
}

// idOf is the id of what was made, as an answer has it: its own, or that of its member of that name; "" if there is none.
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

// maxShown is how many characters of an id are shown.
const maxShown = 200

func short(id string) string { return coordination.Head(coordination.Mask(id), maxShown) }
