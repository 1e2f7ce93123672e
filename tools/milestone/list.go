package milestone

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

const maxListBytes = 64 << 10

func (d *service) listTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "milestone_list", Group: tool.GroupPlans, Label: "Milestones",
			Description: "List the milestones of the project in Task-Hub, or with milestone_id the items of one milestone.",
			Schema: tools.Object("",
				`"status":{"type":"string","maxLength":64,"description":"Only milestones with this status, e.g. active, planning or completed. Default: all."}`,
				`"milestone_id":{"type":"string","minLength":1,"maxLength":200,"description":"List the items of this milestone instead."}`),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[struct {
				Status      string `json:"status"`
				MilestoneID string `json:"milestone_id"`
			}](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.list(ctx, coordination.TrimJS(args.MilestoneID), coordination.TrimJS(args.Status))
		},
	}
}

// listAnswer is the answer of milestone_list. Milestones and items are in Task-Hub's form.
type listAnswer struct {
	Success     bool              `json:"success"`
	Count       int               `json:"count"`
	MilestoneID string            `json:"milestoneId,omitempty"`
	Milestones  []json.RawMessage `json:"milestones,omitzero"`
	Items       []json.RawMessage `json:"items,omitzero"`
	Omitted     int               `json:"omitted,omitempty"` // number of those left out
	Hint        string            `json:"hint,omitempty"`
}

func (d *service) list(ctx context.Context, milestoneID, status string) (tool.Output, error) {
	path, member := []string(nil), "milestones"
	if milestoneID != "" {
		path, member = []string{milestoneID, items}, "items"
	}
	body, err := d.hub.Do(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return refuse(ctx, err, callTarget{reads: true})
	}
	found, is := membersOf(body, member)
	if !is {
		return tools.Refuse(refused{Code: codeUnreadable, Error: "Task-Hub's answer is not a list of " + member, Hint: hintOperator})
	}
	answer := listAnswer{Success: true, MilestoneID: milestoneID}
	kept, size := []json.RawMessage{}, 0
	for _, raw := range found {
		if status != "" && status != "all" && !strings.EqualFold(statusOf(raw), status) {
			continue
		}
		shown := clean(raw)
		if shown == nil || size+len(shown) > maxListBytes {
			answer.Omitted++
			continue
		}
		kept, size = append(kept, shown), size+len(shown)
	}
	if answer.Count = len(kept) + answer.Omitted; answer.Omitted > 0 {
		answer.Hint = "there is more than one answer holds: ask for one status, or for the items of one milestone"
	}
	if member == "items" {
		answer.Items = kept
	} else {
		answer.Milestones = kept
	}
	return tools.Answer(answer)
}

// membersOf returns the list that an answer is or has as a member.
func membersOf(body json.RawMessage, member string) (list []json.RawMessage, is bool) {
	if json.Unmarshal(body, &list) == nil && list != nil {
		return list, true
	}
	raw, found := memberOf(body, member)
	return list, found && json.Unmarshal(raw, &list) == nil
}

func statusOf(raw json.RawMessage) (status string) {
	if value, found := memberOf(raw, "status"); found {
		_ = json.Unmarshal(value, &status) // not a text: no cursor
	}
	return status
}
