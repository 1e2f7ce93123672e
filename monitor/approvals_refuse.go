package monitor

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/task"
)

// approvalProblem gives the refusal of a decision its status. Its words are for agents: what they call task_id or plan_id is the id here.
func approvalProblem(err error) error {
	refused, ok := errors.AsType[*ApprovalError](err)
	if !ok {
		return err
	}
	p := &problem{Status: http.StatusConflict, Code: "conflict", Message: refused.Text, Field: refused.Field, Hint: refused.Mend}
	if p.Field == "task_id" || p.Field == "plan_id" {
		p.Field = "id"
	}
	switch {
	case refused.Unknown:
		p.Status, p.Code, p.Hint = http.StatusNotFound, "not_found", hintApprovals
	case strings.HasPrefix(refused.Reason, "invalid_"): // of tasks, plans and what says neither
		p.Status, p.Code = http.StatusBadRequest, "invalid_parameter"
	case refused.Reason == task.CodeState: // of plans too
		p.Code = "wrong_state"
	case refused.Reason == task.CodeNotAllowed: // likewise
		p.Code = "not_allowed"
	}
	return p
}

// maxField is how many characters of a field, or of its value, a refusal shows.
const maxField = 80

// badField refuses a field of a body.
func badField(field, message, mend string) *problem {
	return &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: beginning(field, maxField), Message: message, Hint: mend}
}

// shownJSON is the beginning of a value of a body.
func shownJSON(value any) string {
	text, _ := json.Marshal(value) // it has been JSON before
	return beginning(string(text), maxField)
}
