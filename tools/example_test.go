package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// calendar is the part of a calendar that the tool needs.
type calendar interface {
	Due(ctx context.Context, agentID string, within time.Duration) ([]string, error)
}

// reminders returns a tool: its file holds the schema, the arguments as a Go type, and the function.
func reminders(c calendar) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "reminders_list", Group: "reminders", Label: "Reminders",
			Description: "List what is due soon.",
			Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
				"hours":{"type":"integer","minimum":1,"maximum":720,"description":"How far to look ahead; 24 if absent."}
			}}`),
		},
		Who: tools.Who{NotFrom: []coordination.KeyKind{coordination.KeySubagent}, NotUtility: true},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[struct {
				Hours int `json:"hours"`
			}](call)
			if err != nil {
				return tool.Output{}, err
			}
			if args.Hours == 0 {
				args.Hours = 24
			}
			due, err := c.Due(ctx, call.AgentID, time.Duration(args.Hours)*time.Hour)
			if err != nil {
				return tool.Output{}, err // into the log; the model is told that the tool failed
			}
			if len(due) == 0 {
				return tools.Refuse(map[string]string{"status": "error", "error": "nothing is due"})
			}
			return tools.Answer(map[string]any{"count": len(due), "due": due})
		},
	}
}

// wall is a calendar.
type wall struct{}

func (wall) Due(_ context.Context, agentID string, within time.Duration) ([]string, error) {
	return []string{agentID + ": 회의, in less than " + within.String()}, nil
}

func ExampleTool() {
	r, err := tools.New(tools.Options{Config: config.Default, Logger: slog.New(slog.DiscardHandler), Tools: []tools.Tool{reminders(wall{})}})
	if err != nil {
		fmt.Println(err)
		return
	}
	caller := tool.Caller{Entry: tool.ByRun, AgentID: "eden", SessionKey: "agent:eden:main"}
	out, err := r.Call(context.Background(), caller, "reminders_list", json.RawMessage(`{"hours":2}`))
	fmt.Println(out.Text, err)
	_, err = r.Call(context.Background(), caller, "reminders_list", json.RawMessage(`{"hours":"two"}`))
	fmt.Println(err)
	// Output:
	// {"count":1,"due":["eden: 회의, in less than 2h0m0s"]} <nil>
	// invalid arguments of reminders_list: /hours is "two", must be a whole number (make it a whole number)
}
