package monitor

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// approvalProblem maps a refused decision to a status. It replaces task_id and plan_id, as agents call them, by id.
func approvalProblem(err error) error {
	refused, ok := errors.AsType[*approval.Refusal](err)
	if !ok {
		return err
	}
	p := &problem{Status: http.StatusConflict, Code: "conflict", Message: refused.Text, Field: refused.Field, Hint: refused.HintText}
	if p.Field == "task_id" || p.Field == "plan_id" {
		p.Field = "id"
	}
	switch {
	case refused.Details.Unknown:
		p.Status, p.Code, p.Hint = http.StatusNotFound, "not_found", hintApprovals
	case strings.HasPrefix(refused.Reason, "invalid_"), refused.Reason == task.CodeUnknownAgent: // of tasks, plans and requests without either
		p.Status, p.Code = http.StatusBadRequest, "invalid_parameter"
	case refused.Reason == task.CodeState: // of plans too
		p.Code = "wrong_state"
	case refused.Reason == task.CodeNotAllowed: // of plans too
		p.Code = "not_allowed"
	}
	return p
}

// maxField is how many characters of a field or its value an error shows.
const maxField = 80

func badField(field, message, hint string) *problem {
	return &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: coordination.Beginning(field, maxField), Message: message, Hint: hint}
}

func shownJSON(value any) string {
	text, _ := json.Marshal(value) // it was parsed from JSON
	return coordination.Beginning(string(text), maxField)
}
